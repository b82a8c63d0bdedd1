//! A URL as it is written, with what its finder says about it.

use crate::gate::MetadataError;

/// A URL as it is written, on a page or in a list of seeds, with what its finder says about it. A text converts to one: `"/a".into()`.
///
/// ```
/// use crawler::frontier::{Frontier, FrontierOptions, Href, LeaseKind, Next, Outcome, Timestamp};
///
/// let (mut frontier, now) = (Frontier::new(&FrontierOptions::default())?, Timestamp::from_micros(0));
/// let mut books = Href::from("https://example.org/books").metadata("shelf=7")?;
/// books.priority = Some(3);
/// frontier.seed(books, now)?;
/// let Next::Fetch(robots) = frontier.next(now)? else { panic!("its host's robots.txt comes first") };
/// let outcome = Outcome::response(&robots, 404, b"");
/// frontier.complete(robots, outcome, now)?;
/// let Next::Wait(later) = frontier.next(now)? else { panic!("the host rests for a second") };
/// let Next::Fetch(lease) = frontier.next(later)? else { panic!("the page") };
/// assert_eq!(lease.metadata(), b"shelf=7");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Href<'a> {
    /// The link, as it is written.
    pub text: &'a str,
    /// It is not to be followed, and counts as refused.
    pub nofollow: bool,
    /// Its front queue: 0 goes first. `None` takes the depth, at most 255.
    pub priority: Option<u8>,
    pub(crate) metadata: &'a [u8],
}

impl<'a> Href<'a> {
    /// Your own bytes, which travel with the URL and come back in [its lease](super::Lease::metadata): at each try, after each restart, and
    /// if another spelling of it is asked for. Links on its page do not inherit them. A URL that was seen before keeps the bytes that it
    /// had.
    ///
    /// # Errors
    /// If there are more than [`Found::METADATA`](crate::gate::Found::METADATA) bytes.
    pub fn metadata(mut self, bytes: &'a (impl AsRef<[u8]> + ?Sized)) -> Result<Self, MetadataError> {
        self.metadata = MetadataError::check(bytes.as_ref())?;
        Ok(self)
    }
}

impl<'a> From<&'a str> for Href<'a> {
    fn from(text: &'a str) -> Self {
        Self { text, ..Self::default() }
    }
}

impl<'a> From<&'a String> for Href<'a> {
    fn from(text: &'a String) -> Self {
        Self::from(text.as_str())
    }
}
