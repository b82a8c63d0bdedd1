//! Queued URLs that robots.txt or a budget turned away at their turn, kept to be listed.
//!
//! When the gate refuses a link, the caller that found it is told and lists it. A URL dropped here was found long before, on a page that is
//! done. So the frontier keeps it, with the page that it was found on, until the crawl's loop takes it. The list is bounded, since an
//! embedder may never take it.

use std::io;

use crate::frontier::durable::{Journal, read_wire};
use crate::gate::{Position, Refusal};

/// The most URLs that are kept; further ones are only counted.
const MOST: usize = 4096;

/// A URL that was admitted, and then disallowed by its host's robots.txt or refused because its budget is spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    /// The wire URL.
    pub url: String,
    /// The wire URL of the page that it was found on.
    pub referrer: Option<String>,
    /// Links from a seed.
    pub depth: u32,
    /// Why.
    pub refusal: Refusal,
}

/// Dropped URLs not taken yet. Unless the list is kept, it costs nothing: the texts of the URLs are not even read.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    /// Whether dropped URLs are kept.
    pub(crate) is_kept: bool,
    /// The URLs that wait to be taken.
    pub(crate) kept: Vec<Dropped>,
    /// How many more there were.
    pub(crate) further: u32,
}

impl Drops {
    /// Keeps the URL of this entry, if URLs are kept.
    pub(crate) fn note(&mut self, journal: &mut impl Journal, position: Position, refusal: Refusal) -> io::Result<()> {
        if !self.is_kept {
            return Ok(());
        }
        if self.kept.len() == MOST {
            self.further = self.further.saturating_add(1);
            return Ok(());
        }
        let entry = journal.read(position)?;
        let (url, depth, referrer) = (entry.wire.to_owned(), entry.depth, entry.referrer);
        let referrer = referrer.map_or(Ok(None), |position| read_wire(journal, position))?;
        self.kept.push(Dropped { url, referrer: referrer.map(Into::into), depth, refusal });
        Ok(())
    }
}
