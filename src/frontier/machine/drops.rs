//! Queued URLs that robots.txt or a budget turned away when their turn came, kept for whoever lists them.
//!
//! A link that the gate refuses is told to whoever found it, who lists it. A URL that is dropped here was found long before, by a page
//! that is done. So the frontier keeps it, with the page that it was found on, until the crawl's loop takes it. The list is
//! bounded, since an embedder may never ask.

use std::io;

use crate::frontier::durable::{Journal, read_wire};
use crate::gate::{Position, Refusal};

/// URLs that wait to be taken, at most; further ones are only counted.
const MOST: usize = 4096;

/// A URL that was admitted, and that its host's robots.txt disallows, or whose budget is spent.
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

/// Dropped URLs that nobody has taken yet. A list that is not asked for costs nothing: their texts are not even read.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    /// Somebody takes them.
    pub(crate) is_kept: bool,
    /// The URLs that wait to be taken.
    pub(crate) kept: Vec<Dropped>,
    /// How many there were beyond.
    pub(crate) further: u32,
}

impl Drops {
    /// Keeps the URL of this entry, where that was asked for.
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
