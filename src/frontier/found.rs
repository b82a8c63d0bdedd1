use super::{Lease, Position, Refusal};
use crate::address::{CanonicalUrl, Fingerprint};

/// How a URL was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Via {
    /// The user gave it.
    Seed,
    /// A page links to it.
    Link,
    /// A response points to it.
    Redirect,
}

impl Via {
    /// Whether a URL found so, this deep, is what the user asked for, and widens the scope: a seed, or where a seed
    /// redirects to, as `http://example.org/` does to `https://www.example.org/`. Redirects add no depth and links do, so
    /// at depth 0 there is nothing else.
    pub(super) fn widens_scope(self, depth: u32) -> bool {
        match self {
            Self::Seed => true,
            Self::Link => false,
            Self::Redirect => depth == 0,
        }
    }
}

/// A URL that somebody found, before the gate.
#[derive(Clone, Debug)]
pub struct Found {
    /// The URL.
    pub url: CanonicalUrl,
    /// Links from a seed; a redirect adds none.
    pub depth: u32,
    /// How it was found.
    pub via: Via,
    /// Redirects in a row that led here.
    pub redirects: u8,
    /// The page that it was found on.
    pub referrer: Option<Position>,
}

impl Found {
    /// A seed: depth 0, no referrer.
    pub fn seed(url: CanonicalUrl) -> Self {
        Self { url, depth: 0, via: Via::Seed, redirects: 0, referrer: None }
    }

    /// A link on the page that `lease` fetched.
    pub fn link(url: CanonicalUrl, lease: &Lease) -> Self {
        Self { url, depth: lease.depth().saturating_add(1), via: Via::Link, redirects: 0, referrer: lease.position() }
    }

    /// Where the response to `lease` points.
    pub fn redirect(url: CanonicalUrl, lease: &Lease) -> Self {
        let redirects = lease.redirects().saturating_add(1);
        Self { url, depth: lease.depth(), via: Via::Redirect, redirects, referrer: lease.position() }
    }

    /// Its front queue.
    pub(super) fn priority(&self) -> u8 {
        u8::try_from(self.depth).unwrap_or(u8::MAX)
    }
}

/// The proof that a URL is in scope, no trap, and new. Only the [`Gate`](super::Gate) makes it.
#[derive(Debug)]
#[must_use = "an admitted URL is remembered as seen: it is lost unless it is submitted"]
pub struct Admitted {
    pub(super) found: Found,
    pub(super) fingerprint: Fingerprint,
    pub(super) priority: u8,
}

impl Admitted {
    /// The URL and how it was found.
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// What the seen set remembers of it.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Its front queue: its depth, at most 255; 0 goes first.
    pub fn priority(&self) -> u8 {
        self.priority
    }
}

/// The gate's verdict on one URL.
#[derive(Debug)]
pub enum Admission {
    /// New: submit it.
    Admitted(Admitted),
    /// Not for this crawl, and why.
    Refused(Refusal),
}
