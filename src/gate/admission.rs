//! The verdict on one URL, and the proof that it passed.

use super::{Found, Refusal};
use crate::address::Fingerprint;

/// The proof that a URL is in scope, no trap, and new. Only the [`Gate`](super::Gate) makes it, and only
/// [`Frontier::submit`](crate::frontier::Frontier::submit) takes it: so no URL is queued around the rules, and none twice.
#[derive(Debug)]
#[must_use = "an admitted URL is remembered as seen: it is lost unless it is submitted"]
pub struct Admitted {
    pub(crate) found: Found,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) priority: u8,
}

impl Admitted {
    /// The URL and how it was found.
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// The fingerprint that the seen set remembers.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Its front queue, fixed here: 0 goes first. It is the finder's priority, or else its depth.
    pub fn priority(&self) -> u8 {
        self.priority
    }
}

/// The gate's verdict on one URL. It is counted before it is returned.
#[derive(Debug)]
pub enum Admission {
    /// New: submit it.
    Admitted(Admitted),
    /// Not for this crawl, and why.
    Refused(Refusal),
}
