//! A URL that was found, before the gate, and the verdict on it: the proof that it passed, or the reason why it did not.

use super::metadata::MOST_METADATA;
use super::{MetadataError, Refusal};
use crate::address::{
    CanonicalUrl, Fingerprint, FingerprintKey, HostKey, Identity, IdentityBuf, IdentityError, QueueError,
};

/// How a URL was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// The user gave it.
    Seed,
    /// A page links to it.
    Link,
    /// A response points to it.
    Redirect,
    /// It is a sitemap: a robots.txt or another sitemap names it, or it has the usual address of one. [`Found::sitemap`] says which rules
    /// apply to it.
    Sitemap,
    /// A sitemap lists it.
    Listed,
    /// A feed has it as an item.
    Feed,
}

impl Via {
    /// Its name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seed => "seed",
            Self::Link => "link",
            Self::Redirect => "redirect",
            Self::Sitemap => "sitemap",
            Self::Listed => "listed page",
            Self::Feed => "feed item",
        }
    }

    /// Whether a URL that was found this way, at this depth, is one that the user asked for, so that it widens the scope. It is if it is a
    /// seed, or the URL that a seed redirects to, as `http://example.org/` does to `https://www.example.org/`. Redirects add no depth and
    /// links do, so a redirect at depth 0 can only come from a seed.
    pub fn widens_scope(self, depth: u32) -> bool {
        match self {
            Self::Seed => true,
            Self::Link | Self::Sitemap | Self::Listed | Self::Feed => false,
            Self::Redirect => depth == 0,
        }
    }
}

/// How the seen set treats a URL that passes all other rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SeenTest {
    /// The set is asked, and remembers the URL.
    #[default]
    Asked,
    /// The set is not asked, but remembers the URL.
    Told,
    /// The set is neither asked nor told of the URL.
    Skipped,
}

/// A URL that was found, as the gate is asked about it, with everything that its place in the crawl depends on.
#[derive(Clone, Debug)]
pub struct Found {
    /// The URL.
    pub url: CanonicalUrl,
    /// How many links from a seed it is; a redirect adds none. For a sitemap, how many sitemaps are above it.
    pub depth: u32,
    /// How it was found.
    pub via: Via,
    /// Redirects in a row that led here. A link on a page begins again at 0.
    pub redirects: u8,
    /// The entry of the page that it was found on; a report names that page as its referrer.
    pub referrer: Option<Position>,
    /// Its priority: lower goes first. `None` stands for the depth.
    pub priority: Option<i64>,
    /// What an embedder keeps with the URL.
    pub metadata: Box<[u8]>,
    /// What stands for it in the seen test; `None` for its URL's key.
    pub identity: Option<IdentityBuf>,
    /// How the seen set treats it.
    pub seen_test: SeenTest,
    /// The [queue](HostKey::queue) that it waits in; `None` for that of its URL's host.
    pub queue: Option<HostKey>,
}

impl Found {
    /// The most bytes of [metadata](Self::with_metadata) that may travel with a URL, if
    /// [`metadata.bytes`](crate::gate::MetadataLimits::bytes) allows as many.
    pub const METADATA: usize = MOST_METADATA;

    /// A seed: depth 0, no referrer.
    pub fn seed(url: CanonicalUrl) -> Self {
        Self {
            url,
            depth: 0,
            via: Via::Seed,
            redirects: 0,
            referrer: None,
            priority: None,
            metadata: Box::default(),
            identity: None,
            seen_test: SeenTest::Asked,
            queue: None,
        }
    }

    /// A sitemap nested `above` levels deep. It is leased like any page, but as a sitemap, and stays one over redirects. It need not be in
    /// scope, unless a redirect led there: the caller vouches that it may be requested. Of the scope's other rules only `exclude`, the
    /// blocklists and what the user has dropped apply.
    pub fn sitemap(url: CanonicalUrl, above: u32) -> Self {
        Self { depth: above, via: Via::Sitemap, ..Self::seed(url) }
    }

    /// The same URL with metadata. The bytes travel with the URL, and come back in its lease. If the gate is asked directly,
    /// [`fits`](super::Gate::fits) says first whether the frontier can keep them.
    ///
    /// # Errors
    /// More than [`METADATA`](Self::METADATA) bytes.
    pub fn with_metadata(self, bytes: &[u8]) -> Result<Self, MetadataError> {
        Ok(Self { metadata: MetadataError::check(bytes)?.into(), ..self })
    }

    /// The same URL with an identity of its own.
    ///
    /// # Errors
    /// If there are no bytes, or more than [64](Identity::MOST).
    pub fn with_identity(self, bytes: &[u8]) -> Result<Self, IdentityError> {
        Ok(Self { identity: Some(Identity::new(bytes)?.to_buf()), ..self })
    }

    /// The same URL in a queue of this name, in place of that of its host.
    ///
    /// # Errors
    /// If the name is not 1 to 64 bytes, has control characters or blanks around it, or is `*`.
    pub fn with_queue(self, name: &str) -> Result<Self, QueueError> {
        Ok(Self { queue: Some(HostKey::of_queue(name)?), ..self })
    }

    /// The fingerprint by which the seen set knows it: that of its identity, or else of its URL's key.
    pub fn fingerprint(&self, key: FingerprintKey) -> Fingerprint {
        fingerprint(&self.url, self.identity.as_ref().map(IdentityBuf::borrow), key)
    }

    /// Its priority, or else its depth.
    pub(crate) fn score(&self) -> i64 {
        self.priority.unwrap_or_else(|| self.depth.into())
    }
}

/// The fingerprint of a request: that of its identity, or else of its URL's key.
#[inline]
pub(crate) fn fingerprint(url: &CanonicalUrl, identity: Option<Identity<'_>>, key: FingerprintKey) -> Fingerprint {
    identity.map_or_else(|| url.fingerprint(key), |identity| identity.fingerprint(key))
}

/// The proof that a URL is in scope, no trap, and new, or [not to be tested](SeenTest). Only the [`Gate`](super::Gate) makes it, and only
/// [`Frontier::submit`](crate::frontier::Frontier::submit) takes it: so no URL is queued around the rules, and none twice unasked.
#[derive(Debug)]
#[must_use = "an admitted URL is remembered as seen: it is lost unless it is submitted"]
pub struct Admitted {
    pub(crate) found: Found,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) priority: i64,
}

impl Admitted {
    /// The URL and how it was found.
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// The fingerprint of its identity, or of its URL's key. The seen set remembers it unless the [seen test](SeenTest) was skipped.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Its priority: lower goes first. It is [`Found::priority`], or else the depth.
    pub fn priority(&self) -> i64 {
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

/// An entry's place in the journal: the offset of its first byte. So positions grow with time. This number is all that memory holds of a
/// waiting URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position(u64);

impl Position {
    /// The position with this number, which [`to_u64`](Self::to_u64) gave before.
    pub const fn from_u64(number: u64) -> Self {
        Self(number)
    }

    /// The number, for storage.
    pub const fn to_u64(self) -> u64 {
        self.0
    }
}
