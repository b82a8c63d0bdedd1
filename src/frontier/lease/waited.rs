//! How long a lease waited before it went out.

use std::time::Duration;

/// How long a lease waited before it went out, as far as the sample knows. `None` where the sample has not the URL or the host.
///
/// `queued` says how deep the queue is, `rested` what politeness costs, and `due` what the other bounds cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waited {
    /// Its URL, since it was queued.
    pub(crate) queued: Option<Duration>,
    /// Its host, for the end of its rest, while it had URLs.
    pub(crate) rested: Option<Duration>,
    /// Its host, from then on: for its group or address, for the rate of the crawl, for a free place.
    pub(crate) due: Option<Duration>,
}
