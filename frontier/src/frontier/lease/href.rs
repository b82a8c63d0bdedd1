//! A URL as its finder gives it: with its priority, its metadata, what stands for it in the seen test, and the queue that it waits in.

use crate::address::{HostKey, Identity, IdentityError, QueueError};
use crate::gate::{Found, MetadataError, SeenTest};

/// A URL as it is written, on a page or in a list of seeds, with what its finder says about it. A text converts to one: `"/a".into()`.
///
/// ```
/// use crawler_frontier::frontier::{Frontier, FrontierOptions, Href, LeaseKind, Next, Outcome, Timestamp};
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
    /// Its priority: the least goes first. `None` takes the depth.
    pub priority: Option<i64>,
    pub(crate) metadata: &'a [u8],
    pub(crate) identity: Option<Identity<'a>>,
    pub(crate) seen_test: SeenTest,
    /// A name that was checked.
    pub(crate) queue: Option<&'a str>,
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

    /// What stands for this request in the seen test, in place of its URL's key: 1 to 64 bytes, such as a digest of its method and body,
    /// Scrapy's request fingerprint or Crawlee's `uniqueKey`. Requests of one URL with two identities are two requests, and requests of two
    /// URLs with one identity are one. An identity is never taken for a URL.
    ///
    /// Scope, traps, robots.txt and politeness go by the URL all the same. The budgets of `traps` leave the request out unless
    /// [`budget_identities`](crate::gate::TrapLimits::budget_identities) is on. The identity is journaled, and comes back in [the
    /// lease](super::Lease::identity).
    ///
    /// ```
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Href, Timestamp};
    /// use crawler_frontier::gate::Refusal;
    ///
    /// let (mut frontier, now) = (Frontier::new(&FrontierOptions::default())?, Timestamp::from_micros(0));
    /// for (body, refusal) in [("q=red", None), ("q=blue", None), ("q=red", Some(Refusal::Seen))] {
    ///     let search = Href::from("https://example.org/api/search").metadata(body)?.identity(body)?;
    ///     assert_eq!(frontier.seed(search, now)?, refusal);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there are no bytes, or more than 64.
    pub fn identity(mut self, bytes: &'a (impl AsRef<[u8]> + ?Sized)) -> Result<Self, IdentityError> {
        self.identity = Some(Identity::new(bytes)?);
        Ok(self)
    }

    /// The queue that it waits in, by a name: the unit of politeness, in place of its URL's scheme, host and port. A queue is an API's
    /// account, Scrapy's slot, `URLFrontier`'s key. Pages of one host may be in several queues, and pages of several hosts in one.
    ///
    /// Rest, failures, connections and budgets are then the queue's; the host's own clock is neither asked nor set. Scope and traps still
    /// go by the URL. So does robots.txt: the file of the URL's origin is fetched by the queue's clock, and after each page the queue rests
    /// for the longer of its own rest and that file's Crawl-delay. A queue has rules like a host, [under the name
    /// `@name`](super::super::HostRules); with `robots: Some(false)` it asks for no robots.txt. No IP address has a clock for it.
    ///
    /// Links on its page do not inherit it; a redirect does. It is journaled, and comes back in [the lease](super::Lease::queue).
    ///
    /// ```
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, HostRule, Href, Next, Timestamp};
    ///
    /// let mut options = FrontierOptions::default();
    /// let no_robots = HostRule { robots: Some(false), ..HostRule::default() };
    /// options.rules.hosts.insert("@*".to_owned(), no_robots);
    /// let (mut frontier, now) = (Frontier::new(&options)?, Timestamp::from_micros(0));
    /// for (account, path) in [("ann", "1"), ("bob", "2"), ("ann", "3")] {
    ///     let url = format!("https://api.example/{path}");
    ///     frontier.seed(Href::from(&url).queue(account)?, now)?;
    /// }
    /// // One host, and two accounts that are each asked once a second.
    /// let Next::Fetch(first) = frontier.next(now)? else { panic!("it is due") };
    /// let Next::Fetch(second) = frontier.next(now)? else { panic!("it is due") };
    /// assert_eq!((first.queue(), second.queue()), (Some("ann"), Some("bob")));
    /// assert!(matches!(frontier.next(now)?, Next::Busy));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the name is not 1 to 64 bytes, has control characters or blanks around it, or is `*`.
    pub fn queue(mut self, name: &'a (impl AsRef<str> + ?Sized)) -> Result<Self, QueueError> {
        self.queue = Some(QueueError::check(name.as_ref())?);
        Ok(self)
    }

    /// The key of its queue, if it names one.
    pub(crate) fn queue_key(&self) -> Option<HostKey> {
        self.queue.and_then(|name| HostKey::of_queue(name).ok())
    }

    /// Queues it whatever the seen set says. The seen set is neither asked nor told: Scrapy's `dont_filter`, Crawlee's `always_enqueue`.
    /// All other rules apply. A page that is queued twice is fetched twice: each is an entry of its own, with a
    /// [position](super::Lease::position).
    ///
    /// ```
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Href, Timestamp};
    /// use crawler_frontier::gate::Refusal;
    ///
    /// let (mut frontier, now) = (Frontier::new(&FrontierOptions::default())?, Timestamp::from_micros(0));
    /// let page = Href::from("https://example.org/account");
    /// // To sign in, and after that the page itself.
    /// assert_eq!(frontier.seed(page.unconditional(), now)?, None);
    /// assert_eq!(frontier.seed(page, now)?, None);
    /// assert_eq!(frontier.seed(page, now)?, Some(Refusal::Seen));
    /// // Whatever the seen set says, and no link to it is new from then on.
    /// assert_eq!(frontier.seed(Href::from("https://example.org/").unconditional().and_remembered(), now)?, None);
    /// assert_eq!(frontier.seed("https://example.org/", now)?, Some(Refusal::Seen));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn unconditional(mut self) -> Self {
        self.seen_test = SeenTest::Skipped;
        self
    }

    /// After [`unconditional`](Self::unconditional): the seen set is not asked, but told.
    #[must_use]
    pub const fn and_remembered(mut self) -> Self {
        self.seen_test = SeenTest::Told;
        self
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

impl Found {
    /// The same, with everything that its finder gave.
    pub(crate) fn said(self, href: &Href<'_>) -> Self {
        let Href { priority, metadata, identity, seen_test, .. } = *href;
        let (identity, queue) = (identity.map(Identity::to_buf), href.queue_key());
        Self { priority, metadata: metadata.into(), identity, seen_test, queue, ..self }
    }
}
