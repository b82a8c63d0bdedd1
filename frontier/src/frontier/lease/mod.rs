//! What goes out of a frontier to a fetcher, and what comes back.
//!
//! ```text
//!   Next::Fetch(Lease) ──▶ the request ──▶ Reply ──▶ Outcome ──▶ Completion::Done
//!                                                               Completion::Retry(when)
//! ```
//!
//! A [`Lease`] is one URL lent to one fetcher. It is a debt: until it is completed, it takes one of its host's connections, mostly the only
//! one. It has the URL, its host, the number of the try and the metadata. Nothing in this module changes what a frontier knows.
//!
//! An [`Outcome`] comes back, or a whole [`Reply`] from which the outcome and the links are read. If the try failed, a [`Trouble`] is its
//! [`Failure`] with details in words, and a `Blame` says what the failure counts against: the page, its host, the host's load or rate, or
//! the fetcher itself. A `Setback` is both together, with the rest that the host asked for.
//!
//! [`Next`] is the answer to "what now?". A loop that follows it needs nothing else: it fetches, gives up, sleeps until a time or a
//! completion, or ends.
//!
//! Here is what goes out. `href` has what comes in: a URL with what its finder says about it. `outcome` has replies and outcomes, `trouble`
//! what went wrong and what is to blame.

mod href;
pub(crate) mod outcome;
mod trouble;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::address::{CanonicalUrl, HostKey, Identity, IdentityBuf, host_of};
use crate::frontier::Validators;
use crate::frontier::durable::Entry;
use crate::frontier::hosts::{CountsByAddress, HostId, RateGroupId, ServerAddress, Sharing};
use crate::frontier::queues::Queued;
use crate::frontier::{LeaseToken, Preferences, Timestamp};
use crate::gate::{Found, Links, PageYield, Position, SeenTest, Via};

pub use href::Href;
pub use outcome::{Completion, HostAnswer, Outcome, Reply};
pub(crate) use trouble::{Blame, Setback};
pub use trouble::{Failure, Trouble};

/// The kind of thing that is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseKind {
    /// A page.
    Page,
    /// A sitemap. It is completed as a page is.
    Sitemap,
    /// A host's robots.txt; complete it with [`Outcome::Robots`].
    Robots,
}

/// One URL lent to one fetcher until the lease is completed. Its host is asked nothing else meanwhile, unless it [may have several
/// connections](crate::frontier::Politeness::connections_per_host).
///
/// It moves into the call that completes it, so it cannot be completed twice, and only the frontier that lent it takes it back. A lease is
/// not journaled: if it is lost with its process, its URL is queued again at the next opening. Both differ with a
/// [`lease_timeout`](super::FrontierOptions::lease_timeout): it ends at a deadline, and has a [token](Self::token) that outlives the
/// process.
#[derive(Debug)]
#[must_use = "a lease not completed holds its host back for ever"]
pub struct Lease {
    /// Which frontier lent it.
    pub(crate) frontier: u64,
    /// Its number, if leases end.
    pub(crate) token: Option<LeaseToken>,
    /// Its host, which stays in memory while the lease is out.
    pub(crate) host: HostId,
    pub(crate) kind: LeaseKind,
    /// The entry of its page; `None` for a robots.txt.
    pub(crate) position: Option<Position>,
    /// Its URL, its host's key and its referrer.
    pub(crate) texts: Texts,
    pub(crate) depth: u32,
    /// The front queue that its page was in, and stays in while it is out.
    pub(crate) priority: u8,
    /// The priority of its page.
    pub(crate) score: i64,
    pub(crate) via: Via,
    /// Redirects in a row that led to its page.
    pub(crate) redirects: u8,
    /// Which try this is, from 1 on.
    pub(crate) attempt: u8,
    /// Tries that its page has in all.
    pub(crate) attempts: u8,
    /// The rest of its host when it went out.
    pub(crate) delay: Duration,
    /// Requests of its host that may be out at once.
    pub(crate) connections: u8,
    /// The group of its host, which its request counts for too; `None` if it has none.
    pub(crate) group: Option<(RateGroupId, Arc<Sharing>)>,
    /// Its host's server; `None` if the host shares a clock with no other port of its name.
    pub(crate) server: Option<Arc<Sharing>>,
    /// Whether its request counts for an IP address too.
    pub(crate) by_address: CountsByAddress,
    /// The address that it counts for, if that is known.
    pub(crate) address: Option<OnAddress>,
    /// The tries in its entry, which `attempt` includes.
    pub(crate) earlier: u8,
    /// Its host has never answered.
    pub(crate) is_first_contact: bool,
    /// Its host's failure epoch when it went out.
    pub(crate) failure_epoch: u32,
    /// When it went out.
    pub(crate) lent_at: Timestamp,
    /// When its host had answered it; `None` to take the time of its completion.
    pub(crate) answered_at: Option<Timestamp>,
    /// How long its host took to answer, if that was reported.
    pub(crate) took: Option<Duration>,
    /// Bytes of the response, as far as they were reported.
    pub(crate) received: u64,
    /// Bytes that its request was charged with when it went out.
    pub(crate) charged: u64,
    /// Its host has answered, and was judged: the page is in hand.
    pub(crate) is_in_hand: bool,
    /// That answer asked for fewer requests, and takes no try from the page.
    pub(crate) keeps_tries: bool,
    /// Why its page is to be given up; `None` for one that is to be fetched.
    pub(crate) trouble: Option<Box<Trouble>>,
    /// For a known robots.txt: the validators for a conditional request.
    pub(crate) validators: Option<Box<Validators>>,
    /// For a robots.txt that this host has for other hosts: the origin of the first host that waits for it.
    pub(crate) for_other: Option<Box<str>>,
    /// What its page yielded, once that is known.
    pub(crate) yielded: Option<Box<PageYield>>,
    /// The finder's own bytes.
    pub(crate) metadata: Box<[u8]>,
    /// What stands for its page in the seen test, if not its URL's key.
    pub(crate) identity: Option<IdentityBuf>,
    /// Whether the seen set was asked for its page, and told.
    pub(crate) seen_test: SeenTest,
    /// The queue that its page waits in, if its finder named one: then `host` is that.
    pub(crate) queue: Option<Box<LeaseQueue>>,
    /// What the robots.txt that its page was lent by prefers the page to be used for.
    pub(crate) preferences: Preferences,
    /// How long it waited, if that is known.
    pub(crate) waited: Waited,
}

/// The queue of a lease, if that is not its URL's host.
#[derive(Clone, Debug)]
pub(crate) struct LeaseQueue {
    pub(crate) key: HostKey,
    /// The Crawl-delay of its URL's origin, if robots.txt is honored.
    pub(crate) crawl_delay: Duration,
}

/// The IP address that a lease counts for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnAddress {
    pub(crate) rate_group: RateGroupId,
    pub(crate) address: ServerAddress,
    /// When it took its place there.
    pub(crate) since: Timestamp,
}

/// The texts of a lease, one after the other, in one allocation.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    /// The wire URL, the origin, the referrer; each empty if there is none.
    text: String,
    wire_end: usize,
    origin_end: usize,
}

impl Texts {
    /// The texts of a page or robots.txt that has no referrer yet.
    pub(crate) fn new(wire: &str, origin: &str) -> Self {
        // The referrer's URL is mostly about as long.
        let mut text = String::with_capacity(2 * wire.len() + origin.len() + 32);
        text.push_str(wire);
        text.push_str(origin);
        Self { wire_end: wire.len(), origin_end: text.len(), text }
    }

    /// No URL and this origin, in memory that an earlier text no longer needs.
    pub(crate) fn of_key(mut text: String, origin: &str) -> Self {
        text.clear();
        text.push_str(origin);
        Self { wire_end: 0, origin_end: text.len(), text }
    }

    /// The memory of the texts.
    pub(crate) fn into_buffer(self) -> String {
        self.text
    }

    /// Adds the referrer, or replaces it.
    pub(crate) fn set_referrer(&mut self, referrer: &str) {
        self.text.truncate(self.origin_end);
        self.text.push_str(referrer);
    }

    fn wire(&self) -> &str {
        &self.text[..self.wire_end]
    }

    fn origin(&self) -> &str {
        &self.text[self.wire_end..self.origin_end]
    }

    fn referrer(&self) -> Option<&str> {
        Some(&self.text[self.origin_end..]).filter(|referrer| !referrer.is_empty())
    }
}

impl Lease {
    /// The token by which it may be completed without it; `None` without a [`lease_timeout`](super::FrontierOptions::lease_timeout).
    pub fn token(&self) -> Option<LeaseToken> {
        self.token
    }

    /// The wire URL to request.
    pub fn url(&self) -> &str {
        self.texts.wire()
    }

    /// Whether its host has never answered.
    pub fn is_first_contact(&self) -> bool {
        self.is_first_contact
    }

    /// A page, a sitemap, or the host's robots.txt.
    pub fn kind(&self) -> LeaseKind {
        self.kind
    }

    /// Scheme, host and port of its URL: the text of its [`HostKey`](crate::address::HostKey).
    pub fn origin(&self) -> &str {
        self.texts.origin()
    }

    /// The [queue](Href::queue) that its finder named; `None` if it waits in that of its host. For a robots.txt, the queue that it is asked
    /// for, by its clock.
    pub fn queue(&self) -> Option<&str> {
        self.queue.as_ref().and_then(|queue| queue.key.queue())
    }

    /// The text of the key of the host that it counts for: of its URL's, or of the queue in that host's place.
    #[inline]
    pub(crate) fn host_key(&self) -> &str {
        self.queue.as_ref().map_or_else(|| self.origin(), |queue| queue.key.as_str())
    }

    /// The position of its page's admission in the journal. It names the page, even if several pages have one URL or one
    /// [identity](Href::identity). `None` for a robots.txt, which is not admitted. A page that waits for its next try has another position
    /// then.
    pub fn position(&self) -> Option<Position> {
        self.position
    }

    /// The name of its page's host, if that is not its [`host_key`](Self::host_key)'s; else an empty text.
    pub(crate) fn page_host(&self) -> &str {
        self.queue.as_ref().map_or("", |_| host_of(self.origin()))
    }

    /// The [identity](Href::identity) that its finder gave; `None` if its URL's key stands for it in the seen test.
    pub fn identity(&self) -> Option<Identity<'_>> {
        self.identity.as_ref().map(IdentityBuf::borrow)
    }

    /// The wire URL of the page it was found on.
    pub fn referrer(&self) -> Option<&str> {
        self.texts.referrer()
    }

    /// The origin of the host that waits for this robots.txt, if that is another host; `@name` if it is a [queue](Href::queue).
    pub fn for_other(&self) -> Option<&str> {
        self.for_other.as_deref()
    }

    /// Whether it is the asked host's own robots.txt.
    pub fn is_own_robots(&self) -> bool {
        self.url().strip_prefix(self.origin()) == Some("/robots.txt")
    }

    /// Links from a seed.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// How it was found.
    pub(crate) fn via(&self) -> Via {
        self.via
    }

    /// Redirects in a row that led here.
    pub(crate) fn redirects(&self) -> u8 {
        self.redirects
    }

    /// Whether its host was said to be [done](crate::frontier::Frontier::answered), so that only its page is still lent out.
    pub fn is_in_hand(&self) -> bool {
        self.is_in_hand
    }

    /// The number of this try, from 1 on. For a robots.txt it is one more than the host's failures in a row.
    pub fn attempt(&self) -> u8 {
        self.attempt
    }

    /// Whether its page has no further try if this one fails by the page's fault.
    pub fn is_last_try(&self) -> bool {
        self.attempt >= self.attempts
    }

    /// Why it is given up. Only a lease from [`Next::GiveUp`] has it.
    pub fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_deref()
    }

    /// For a known robots.txt that may have changed: send them with the request, and complete with 304 if the server says that it has not.
    pub fn validators(&self) -> Option<&Validators> {
        self.validators.as_deref()
    }

    /// What the robots.txt of its page's host [prefers](crate::frontier::Robots::preferences) the page to be used for, as it was when the
    /// lease went out. Nothing for robots.txt itself, and where it is not honored. To be kept with the page.
    pub fn preferences(&self) -> Preferences {
        self.preferences
    }

    /// The bytes that [travel with the URL](Href::metadata); empty if its finder gave none.
    pub fn metadata(&self) -> &[u8] {
        &self.metadata
    }

    /// Reports on the answer: when its host had answered the request, how long it took from the request to the head of the response, and
    /// how many bytes came over the wire.
    ///
    /// The rest between two requests to the host counts from `at`. Without this call it counts from the lease's completion, which is later
    /// by the time that it took to read the page. `latency` is for [`adaptive_share`](crate::frontier::Politeness::adaptive_share), `bytes`
    /// for [`byte_rate`](super::FrontierOptions::byte_rate) and [budgets](crate::frontier::Politeness::host_bytes). If no bytes
    /// are reported, a [reply](crate::frontier::Frontier::answer) counts those of its body.
    ///
    /// The host stays busy until the lease is completed; [`Frontier::answered`](crate::frontier::Frontier::answered) says that it is done. After
    /// that, this call changes nothing.
    pub fn answered(&mut self, at: Timestamp, latency: Duration, bytes: u64) {
        if self.is_in_hand {
            return;
        }
        (self.answered_at, self.took, self.received) = (Some(at), Some(latency), bytes);
    }

    /// Takes the length of this body as the bytes received, if the fetcher has reported none.
    pub(crate) fn had(&mut self, body: &[u8]) {
        if self.received == 0 {
            self.received = body.len() as u64;
        }
    }

    /// Fills in what its page's entry says. The page has this place and priority in its host's queue, and this many tries since it came
    /// there.
    #[inline]
    pub(crate) fn fill(&mut self, (queued, score): (Queued, i64), entry: &Entry<'_>, origin: &str, tries: u8) {
        let Entry { wire, depth, via, redirects, attempts: earlier, metadata, .. } = *entry;
        self.kind = if via == Via::Sitemap { LeaseKind::Sitemap } else { LeaseKind::Page };
        (self.position, self.priority, self.score) = (Some(queued.position), queued.priority, score);
        (self.texts, self.depth) = (Texts::new(wire, origin), depth);
        (self.via, self.redirects) = (via, redirects);
        self.attempt = tries.saturating_add(earlier).saturating_add(1);
        (self.earlier, self.metadata) = (earlier, metadata.into());
        (self.identity, self.seen_test) = (entry.identity.map(Identity::to_buf), entry.seen_test);
    }

    /// Whether its page's entry has nothing but a URL, and all tries of the page were made in its host's queue. Such a lease is completed
    /// without reading the entry.
    pub(crate) fn is_plain(&self) -> bool {
        let is_page = self.kind == LeaseKind::Page && self.trouble.is_none();
        is_page && self.earlier == 0 && self.metadata.is_empty() && self.queue.is_none()
    }

    /// Makes it [plain](Self::is_plain), with this place of its page and this many tries.
    pub(crate) fn be_plain(&mut self, position: Position, priority: u8, tries: u8) {
        (self.kind, self.position, self.priority) = (LeaseKind::Page, Some(position), priority);
        self.attempt = tries.saturating_add(1);
    }

    /// When it was lent out.
    pub fn lent_at(&self) -> Timestamp {
        self.lent_at
    }

    /// The priority of its page; the least goes first.
    pub fn priority(&self) -> i64 {
        self.score
    }

    /// How long it waited before it went out, if that is known.
    pub fn waited(&self) -> Waited {
        self.waited
    }

    /// The entry of the same page at this wire URL, which replaces the one that was lent.
    pub(crate) fn entry<'a>(&'a self, wire: &'a str) -> Entry<'a> {
        let Self { depth, priority, score, via, redirects, position, ref metadata, seen_test, .. } = *self;
        let (replaces, identity) = (position, self.identity());
        let queue = self.queue.as_ref().map(|queue| queue.key.as_str());
        let blank = Entry { metadata, identity, seen_test, queue, ..Entry::seed(wire) };
        Entry { depth, priority, score, via, redirects, replaces, ..blank }
    }

    /// The rest of its host between two requests.
    pub fn delay(&self) -> Duration {
        self.delay
    }
}

impl Lease {
    /// Requests of its host that may be out at once.
    pub fn connections(&self) -> u8 {
        self.connections
    }

    /// The limits of its host's group and server.
    pub fn sharings(&self) -> impl Iterator<Item = &Sharing> {
        let group = self.group.as_ref().map(|(_, sharing)| sharing);
        group.into_iter().chain(&self.server).map(|sharing| &**sharing)
    }

    /// The IP address that it counts for, and since when.
    pub fn address(&self) -> Option<(ServerAddress, Timestamp)> {
        self.address.map(|on| (on.address, on.since))
    }

    /// Whether the addresses of its host are to be reported before a connection is made.
    pub fn counts_by_address(&self) -> bool {
        self.by_address != CountsByAddress::No && self.trouble.is_none()
    }

    /// The address that it must count for from now on, if its host has these addresses; `None` if it already counts for that address, or
    /// need not count for any.
    pub(crate) fn address_among(&self, addresses: &[IpAddr]) -> Option<ServerAddress> {
        let address = ServerAddress::of(addresses).filter(|_| self.trouble.is_none() && !self.is_in_hand)?;
        let counts = match self.by_address {
            CountsByAddress::No => false,
            CountsByAddress::ButOnLoopback => !address.is_loopback(),
            CountsByAddress::Always => true,
        };
        (counts && self.address.is_none_or(|on| on.address != address)).then_some(address)
    }
}

impl Links {
    /// No links yet, for the page that `lease` fetched. A page that a sitemap lists counts as one link from a seed.
    pub fn of(lease: &Lease) -> Self {
        let depth = if lease.kind() == LeaseKind::Sitemap { 1 } else { lease.depth().saturating_add(1) };
        Self::new(depth, lease.position())
    }
}

impl Found {
    /// A link on the page that `lease` fetched: one deeper, without the page's own priority, metadata and queue.
    pub fn link(url: CanonicalUrl, lease: &Lease) -> Self {
        let depth = lease.depth().saturating_add(1);
        Self { depth, via: Via::Link, referrer: lease.position(), ..Self::seed(url) }
    }

    /// A URL that the response to `lease` redirects to. It is as deep as the page itself, and inherits its priority, metadata and queue.
    ///
    /// A request with an identity of its own is the same request there, which the seen set knows already: it keeps the identity, and the
    /// seen set is not asked. A request that was queued without asking the seen set is queued at the target without asking too. Chains of
    /// redirects are bounded by `traps.redirects`.
    pub(crate) fn redirect(url: CanonicalUrl, lease: &Lease) -> Self {
        let redirects = lease.redirects().saturating_add(1);
        let (depth, referrer) = (lease.depth(), lease.position());
        // The priority and metadata that the finder gave hold for the target too.
        let (priority, metadata) = (Some(lease.score), lease.metadata.clone());
        let via = if lease.kind() == LeaseKind::Sitemap { Via::Sitemap } else { Via::Redirect };
        let identity = lease.identity.clone();
        let seen_test = if identity.is_some() { SeenTest::Skipped } else { lease.seen_test };
        let queue = lease.queue.as_ref().map(|queue| queue.key.clone());
        Self { depth, via, redirects, referrer, priority, metadata, identity, seen_test, queue, ..Self::seed(url) }
    }
}

/// The answer to "what now?". Any answer without a lease says when to ask again: at a time, when a lease comes back, or never.
#[derive(Debug)]
#[must_use = "a lease in it holds its host back until it is completed"]
pub enum Next {
    /// Fetch this, then complete it.
    Fetch(Lease),
    /// Its host cannot be reached: do not fetch it, record [why](Lease::trouble), and complete it with
    /// [`Outcome::GivenUp`]. The URL then waits until it is [asked for
    /// again](crate::frontier::Frontier::ask_again).
    GiveUp(Lease),
    /// No host and no scheduled URL is due before this time; a completion, submission or schedule may bring it forward. If it is not after
    /// `now`, one call has done enough work: call again.
    Wait(Timestamp),
    /// Everything queued waits for outstanding leases, which may bring more URLs.
    Busy,
    /// Nothing is queued, scheduled or lent out: the crawl is over. Pages that were given up may wait to be asked for again.
    Drained,
}

/// How long a lease waited before it went out. `None` if the URL or the host is not in the sample.
///
/// `queued` shows how deep the queue is, `rested` what politeness costs, and `due` what the other bounds cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// Its URL, since it was queued.
    pub queued: Option<Duration>,
    /// Its host, for the end of its rest, while it had URLs queued.
    pub rested: Option<Duration>,
    /// Its host, after that: for its group or address, for the rate limit of the crawl, for a free connection.
    pub due: Option<Duration>,
}

/// The answer to the addresses reported for a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a lease that must wait is not to be asked for"]
#[non_exhaustive]
pub enum Resolved {
    /// Go on, and connect.
    Connect,
    /// The address rests, or has as many requests out as it may. Do not connect, and complete the lease with
    /// [`Outcome::Released`]: its host is then in the wait queue of the address.
    Release,
}
