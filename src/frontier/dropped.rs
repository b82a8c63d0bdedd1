//! Queued URLs that robots.txt turned away when their turn came, kept for whoever lists them.

use std::io;

use super::lend::read_wire;
use super::{Frontier, Journal, Position};

/// URLs that wait to be taken, at most; further ones are only counted.
const MOST: usize = 4096;

/// A URL that was admitted, and that its host's robots.txt disallows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// The wire URL.
    pub url: String,
    /// The wire URL of the page that it was found on.
    pub referrer: Option<String>,
    /// Links from a seed.
    pub depth: u32,
}

/// Those that nobody has taken yet.
#[derive(Debug, Default)]
pub(super) struct Drops {
    is_kept: bool,
    kept: Vec<Dropped>,
    further: u32,
}

impl Drops {
    /// Keeps the URL of this entry, where that was asked for.
    pub(super) fn note(&mut self, journal: &mut impl Journal, position: Position) -> io::Result<()> {
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
        self.kept.push(Dropped { url, referrer: referrer.map(Into::into), depth });
        Ok(())
    }
}

impl<J: Journal> Frontier<J> {
    /// From here on, URLs that robots.txt turns away when their turn comes are kept for [`take_dropped`](Self::take_dropped).
    pub fn keep_dropped(&mut self) {
        self.drops.is_kept = true;
    }

    /// The URLs that robots.txt turned away since this was last asked, at most 4,096, and how many there were beyond.
    pub fn take_dropped(&mut self) -> (Vec<Dropped>, u32) {
        (std::mem::take(&mut self.drops.kept), std::mem::take(&mut self.drops.further))
    }
}
