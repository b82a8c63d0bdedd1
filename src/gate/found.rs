//! A URL that was found, before the gate.

use super::{MetadataError, Position, metadata};
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
    /// It is a sitemap: a robots.txt or another sitemap names it, or it is at the place where one is expected. [`Found::sitemap`] says what
    /// is different for it.
    Sitemap,
    /// A sitemap lists it.
    Listed,
    /// A feed has it as an item.
    Feed,
}

impl Via {
    /// Its name, in lower case.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Seed => "seed",
            Self::Link => "link",
            Self::Redirect => "redirect",
            Self::Sitemap => "sitemap",
            Self::Listed => "listed page",
            Self::Feed => "feed item",
        }
    }

    /// Whether a URL found this way, at this depth, is what the user asked for, and widens the scope: a seed, or the URL that a seed
    /// redirects to, as `http://example.org/` does to `https://www.example.org/`. Redirects add no depth and links do, so a redirect at
    /// depth 0 can only come from a seed.
    pub(crate) fn widens_scope(self, depth: u32) -> bool {
        match self {
            Self::Seed => true,
            Self::Link | Self::Sitemap | Self::Listed | Self::Feed => false,
            Self::Redirect => depth == 0,
        }
    }
}

/// A URL that was found, before the gate, with everything that its place in the crawl depends on.
#[derive(Clone, Debug)]
pub struct Found {
    /// The URL.
    pub url: CanonicalUrl,
    /// Links from a seed; a redirect adds none. Of a sitemap, the sitemaps above it.
    pub depth: u32,
    /// How it was found.
    pub via: Via,
    /// Redirects in a row that led here. A link on a page begins again at 0.
    pub redirects: u8,
    /// The entry of the page that it was found on; a report names that page as its referrer.
    pub referrer: Option<Position>,
    /// Its front queue: 0 goes first. By default it is the depth, at most 255.
    pub priority: Option<u8>,
    pub(crate) metadata: Box<[u8]>,
}

impl Found {
    /// Bytes of [metadata](Self::with_metadata) that may travel with a URL.
    pub const METADATA: usize = metadata::MOST;

    /// A seed: depth 0, no referrer.
    pub fn seed(url: CanonicalUrl) -> Self {
        Self { url, depth: 0, via: Via::Seed, redirects: 0, referrer: None, priority: None, metadata: Box::default() }
    }

    /// A sitemap nested `above` levels deep. It is leased like any page, but as a sitemap, and stays one over redirects. It need not be in
    /// scope, unless a redirect led there: the caller vouches that it may be requested. No depth and no pattern but `exclude` refuses it.
    pub fn sitemap(url: CanonicalUrl, above: u32) -> Self {
        Self { depth: above, via: Via::Sitemap, ..Self::seed(url) }
    }

    /// The same with metadata. The bytes travel with the URL, and come back in its lease.
    ///
    /// # Errors
    /// More than [`METADATA`](Self::METADATA) bytes.
    pub fn with_metadata(self, bytes: &[u8]) -> Result<Self, MetadataError> {
        Ok(Self { metadata: MetadataError::check(bytes)?.into(), ..self })
    }

    /// Its front queue.
    pub(crate) fn front_queue(&self) -> u8 {
        self.priority.unwrap_or_else(|| u8::try_from(self.depth).unwrap_or(u8::MAX))
    }
}
