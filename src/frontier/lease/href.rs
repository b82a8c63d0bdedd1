//! A URL as it is written, and what its finder says of it.

use crate::gate::MetadataError;

/// A URL as it is written, on a page or in a list of seeds, and what its finder says of it. A text alone is one:
/// `"/a".into()`.
///
/// ```
/// use crawler::frontier::{Frontier, FrontierOptions, Href, LeaseKind, Next, Outcome, Timestamp};
///
/// let (mut frontier, now) = (Frontier::new(&FrontierOptions::default())?, Timestamp::from_micros(0));
/// frontier.seed(Href::new("https://example.org/books").metadata("shelf=7")?.priority(3), now)?;
/// let Next::Fetch(robots) = frontier.next(now)? else { panic!("its host's robots.txt comes first") };
/// let outcome = Outcome::response(&robots, 404, b"");
/// frontier.complete(robots, outcome, now)?;
/// let Next::Wait(later) = frontier.next(now)? else { panic!("the host rests for a second") };
/// let Next::Fetch(lease) = frontier.next(later)? else { panic!("the page") };
/// assert_eq!(lease.metadata(), b"shelf=7");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Href<'a> {
    pub(crate) text: &'a str,
    pub(crate) nofollow: bool,
    pub(crate) priority: Option<u8>,
    pub(crate) metadata: &'a [u8],
}

impl<'a> Href<'a> {
    /// A text alone.
    pub const fn new(text: &'a str) -> Self {
        Self { text, nofollow: false, priority: None, metadata: &[] }
    }

    /// Whether it is not to be followed: it is counted as refused then.
    #[must_use]
    pub const fn nofollow(mut self, nofollow: bool) -> Self {
        self.nofollow = nofollow;
        self
    }

    /// Its front queue: 0 goes first. Where nobody says, it is the depth.
    #[must_use]
    pub const fn priority(mut self, priority: u8) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Bytes of your own that travel with the URL and come back in [its lease](super::Lease::metadata), at each try, after each
    /// restart, and where another spelling of it is asked for. Links on its page do not inherit them. A URL that was seen
    /// before keeps those that it had.
    ///
    /// # Errors
    /// More than [`Found::METADATA`](crate::gate::Found::METADATA) bytes.
    pub fn metadata(mut self, bytes: &'a (impl AsRef<[u8]> + ?Sized)) -> Result<Self, MetadataError> {
        self.metadata = MetadataError::check(bytes.as_ref())?;
        Ok(self)
    }
}

impl<'a> From<&'a str> for Href<'a> {
    fn from(text: &'a str) -> Self {
        Self::new(text)
    }
}

impl<'a> From<&'a String> for Href<'a> {
    fn from(text: &'a String) -> Self {
        Self::new(text)
    }
}
