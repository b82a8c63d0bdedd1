//! A URL that somebody found, before the gate.

use super::Position;
use crate::address::CanonicalUrl;

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
    pub(crate) fn widens_scope(self, depth: u32) -> bool {
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

    /// Its front queue.
    pub(crate) fn priority(&self) -> u8 {
        u8::try_from(self.depth).unwrap_or(u8::MAX)
    }
}
