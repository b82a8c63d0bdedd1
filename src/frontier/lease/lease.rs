//! A URL that is lent to a fetcher.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::{Href, Trouble, Validators, Waited};
use crate::address::CanonicalUrl;
use crate::frontier::Timestamp;
use crate::frontier::durable::Entry;
use crate::frontier::hosts::{CountsByAddress, HostId, ServerAddress, Sharing};
use crate::frontier::queues::RateGroupId;
use crate::gate::{Found, Links, PageYield, Position, Via};

/// The kind of thing that is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseKind {
    /// A page.
    Page,
    /// A sitemap. It is completed as a page is.
    Sitemap,
    /// A host's robots.txt; complete it with [`Outcome::Robots`](super::Outcome::Robots).
    Robots,
}

/// One URL lent to one fetcher until the lease is completed. Its host is asked nothing else meanwhile, unless it [may have several
/// connections](crate::frontier::Politeness::connections_per_host).
///
/// It moves into the call that completes it, so it cannot be completed twice, and only the frontier that lent it takes it back. A lease is
/// not journaled: if it is lost with its process, its URL is queued again at the next opening.
#[derive(Debug)]
#[must_use = "a lease not completed holds its host back for ever"]
pub struct Lease {
    /// Which frontier lent it.
    pub(crate) frontier: u64,
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
    /// The server of which its host is one port; `None` if it shares a clock with no other port.
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
    /// Bytes that its request was charged for when it went out.
    pub(crate) charged: u64,
    /// Why its page is to be given up; `None` for one that is to be fetched.
    pub(crate) trouble: Option<Box<Trouble>>,
    /// For a known robots.txt: the validators for a conditional request.
    pub(crate) validators: Option<Box<Validators>>,
    /// For a robots.txt that this host has for another: the origin of the first host that waits for it.
    pub(crate) for_other: Option<Box<str>>,
    /// What its page yielded, once that is known.
    pub(crate) yielded: Option<PageYield>,
    /// The finder's own bytes.
    pub(crate) metadata: Box<[u8]>,
    /// How long it waited, if that is known.
    pub(crate) waited: Waited,
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
    /// The wire URL to request.
    pub fn url(&self) -> &str {
        self.texts.wire()
    }

    /// A page, a sitemap, or the host's robots.txt.
    pub fn kind(&self) -> LeaseKind {
        self.kind
    }

    /// Scheme, host and port: the text of its [`HostKey`](crate::address::HostKey).
    pub fn origin(&self) -> &str {
        self.texts.origin()
    }

    /// The position of its admission in the journal; `None` for a robots.txt, which is not admitted.
    pub(crate) fn position(&self) -> Option<Position> {
        self.position
    }

    /// The wire URL of the page it was found on.
    pub fn referrer(&self) -> Option<&str> {
        self.texts.referrer()
    }

    /// The origin of the host that waits for this robots.txt, if that is another host.
    #[cfg_attr(not(feature = "crawl"), expect(dead_code, reason = "a crawl reads sitemaps by it"))]
    pub(crate) fn for_other(&self) -> Option<&str> {
        self.for_other.as_deref()
    }

    /// Whether it is the asked host's own robots.txt.
    pub(crate) fn is_own_robots(&self) -> bool {
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

    /// The number of this try, from 1 on. For a robots.txt it is one more than the host's failures in a row.
    pub fn attempt(&self) -> u8 {
        self.attempt
    }

    /// Whether its page has no further try if this one fails by the page's fault.
    pub(crate) fn is_last_try(&self) -> bool {
        self.attempt >= self.attempts
    }

    /// Why it is given up. Only a lease from [`Next::GiveUp`](super::Next::GiveUp) has it.
    pub fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_deref()
    }

    /// For a known robots.txt that may have changed: send them with the request, and complete with 304 if the server says that it has not.
    pub fn validators(&self) -> Option<&Validators> {
        self.validators.as_deref()
    }

    /// The bytes that [travel with the URL](super::Href::metadata); empty if its finder gave none.
    pub fn metadata(&self) -> &[u8] {
        &self.metadata
    }

    /// Reports on the answer: when its host had answered the request, how long it took from the request to the head of the response, and
    /// how many bytes came over the wire.
    ///
    /// The rest between two requests to the host counts from `at`. Without this call it counts from the lease's completion, which is later
    /// by the time that it took to read the page. `latency` is for [`adaptive_share`](crate::frontier::Politeness::adaptive_share), `bytes`
    /// for [`byte_rate`](crate::frontier::FrontierOptions::byte_rate) and [budgets](crate::frontier::Politeness::host_bytes). If no bytes
    /// are reported, a [reply](crate::frontier::Frontier::answer) counts those of its body.
    pub fn answered(&mut self, at: Timestamp, latency: Duration, bytes: u64) {
        (self.answered_at, self.took, self.received) = (Some(at), Some(latency), bytes);
    }

    /// Takes the length of this body as the bytes received, if the fetcher has reported none.
    pub(crate) fn had(&mut self, body: &[u8]) {
        if self.received == 0 {
            self.received = body.len() as u64;
        }
    }

    /// When it was lent out.
    #[cfg_attr(not(feature = "crawl"), expect(dead_code, reason = "a crawl watches its politeness by it"))]
    pub(crate) fn lent_at(&self) -> Timestamp {
        self.lent_at
    }

    /// How long it waited before it went out, if that is known.
    #[cfg_attr(not(feature = "crawl"), expect(dead_code, reason = "a crawl counts it"))]
    pub(crate) fn waited(&self) -> Waited {
        self.waited
    }

    /// The entry of the same page at this wire URL, which replaces the one that was lent.
    pub(crate) fn entry<'a>(&'a self, wire: &'a str) -> Entry<'a> {
        let Self { depth, priority, via, redirects, position, ref metadata, .. } = *self;
        Entry { depth, priority, via, redirects, replaces: position, metadata, ..Entry::seed(wire) }
    }

    /// The rest of its host between requests.
    #[cfg_attr(not(any(feature = "crawl", test)), expect(dead_code, reason = "a crawl watches its politeness by it"))]
    pub(crate) fn delay(&self) -> Duration {
        self.delay
    }
}

impl Lease {
    /// Requests of its host that may be out at once.
    #[cfg_attr(not(feature = "crawl"), expect(dead_code, reason = "a crawl watches its politeness by it"))]
    pub(crate) fn connections(&self) -> u8 {
        self.connections
    }

    /// The limits of its host's group and server.
    #[cfg_attr(not(feature = "crawl"), expect(dead_code, reason = "a crawl watches its politeness by it"))]
    pub(crate) fn sharings(&self) -> impl Iterator<Item = &Sharing> {
        let group = self.group.as_ref().map(|(_, sharing)| sharing);
        group.into_iter().chain(&self.server).map(|sharing| &**sharing)
    }

    /// The IP address that it counts for, and since when.
    #[cfg_attr(not(feature = "crawl"), expect(dead_code, reason = "a crawl watches its politeness by it"))]
    pub(crate) fn address(&self) -> Option<(ServerAddress, Timestamp)> {
        self.address.map(|on| (on.address, on.since))
    }

    /// Whether the addresses of its host are to be reported before it is connected to.
    #[cfg_attr(not(feature = "crawl"), expect(dead_code, reason = "an embedder tells them always"))]
    pub(crate) fn counts_by_address(&self) -> bool {
        self.by_address != CountsByAddress::No && self.trouble.is_none()
    }

    /// The address that it must count for from now on, if its host has these addresses; `None` if it already does, or need not.
    pub(crate) fn address_among(&self, addresses: &[IpAddr]) -> Option<ServerAddress> {
        let address = ServerAddress::of(addresses).filter(|_| self.trouble.is_none())?;
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
    #[cfg_attr(not(feature = "crawl"), expect(dead_code, reason = "a crawl reads pages by it"))]
    pub(crate) fn of(lease: &Lease) -> Self {
        let depth = if lease.kind() == LeaseKind::Sitemap { 1 } else { lease.depth().saturating_add(1) };
        Self::new(depth, lease.position())
    }
}

impl Found {
    /// A link on the page that `lease` fetched: one deeper, without the page's own priority and metadata.
    pub fn link(url: CanonicalUrl, lease: &Lease) -> Self {
        let depth = lease.depth().saturating_add(1);
        Self { depth, via: Via::Link, referrer: lease.position(), ..Self::seed(url) }
    }

    /// A URL that the response to `lease` redirects to. It is as deep as the page itself, and inherits its priority and metadata.
    pub(crate) fn redirect(url: CanonicalUrl, lease: &Lease) -> Self {
        let redirects = lease.redirects().saturating_add(1);
        let (depth, referrer) = (lease.depth(), lease.position());
        // What the finder asked for also holds for the target.
        let (priority, metadata) = (Some(lease.priority), lease.metadata.clone());
        let via = if lease.kind() == LeaseKind::Sitemap { Via::Sitemap } else { Via::Redirect };
        Self { depth, via, redirects, referrer, priority, metadata, ..Self::seed(url) }
    }

    /// The same, with the priority and metadata that its finder gave.
    pub(crate) fn said(self, href: &Href<'_>) -> Self {
        Self { priority: href.priority, metadata: href.metadata.into(), ..self }
    }
}
