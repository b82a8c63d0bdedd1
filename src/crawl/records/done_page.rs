//! A completed page, as outputs receive it.

use super::edge::Edge;
use super::page_record::PageRecord;
use crate::crawl::http::Exchange;

/// A completed page, as outputs receive it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DonePage<'a> {
    /// Its record, which does not yet say what happened to its links.
    pub record: &'a PageRecord,
    /// The response as it came, if there is one and an output [needs it](super::Sink::needs_exchange).
    pub exchange: Option<&'a Exchange>,
    /// Its links, if an output [needs them](super::Sink::needs_links).
    pub links: &'a [Edge],
    /// What its next visit needs, if an output [keeps visits](super::Sink::keeps_visits).
    pub(in crate::crawl) visit: &'a [u8],
}
