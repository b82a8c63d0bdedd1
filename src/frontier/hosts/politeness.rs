//! How hosts are treated.

use std::time::Duration;

use super::Hours;

/// How hosts are treated.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Politeness {
    /// The product token that robots groups are matched with: `crawler`, without version.
    pub agent: String,
    /// Honor robots.txt.
    pub robots: bool,
    /// Rest between a response of a host and the next request to it; with several connections, between the starts of two requests.
    pub host_delay: Duration,
    /// Requests of one host that may be out at the same time, from 1 to 64. More than 1 is for your own hosts, and for those that agreed: a
    /// delay then runs from the start of one request to the start of the next, and with no delay the next starts at once. A host that has
    /// not answered yet, or fails, has one request at a time; its robots.txt is fetched alone; a rest that one response asks for, such as a
    /// Retry-After, holds for all requests that follow.
    pub connections_per_host: u8,
    /// Rest between two requests to one IP address, over all its hosts: a server of ten thousand names is one server. It is kept if the
    /// fetcher [reports](crate::frontier::Frontier::resolved) the addresses. With 0, no host counts by address.
    ///
    /// `None` takes 100 ms, for most hosts: not for hosts on this machine's loopback addresses, nor for hosts that may be asked more
    /// quickly than this, by `host_delay` and `connections_per_host`, a rule of their own or their group. So a crawl of one's own hosts
    /// goes as fast as it is set to, and a crawl of the web asks an address at most ten times a second. A value set here holds for all
    /// hosts.
    pub address_delay: Option<Duration>,
    /// Requests to one IP address that may be out at the same time, from 1 to 64. With 1, the rest runs from a response to the next
    /// request; with more, from the start of one request to the start of the next, and a host that hangs does not delay the others.
    pub connections_per_address: u8,
    /// Pages of one host, over all runs of a job. A page counts once it is done, with an answer or its last failure, and a page that is
    /// visited again counts again. Not counted are robots.txt, sitemaps, tries that are followed by another, and pages given up without a
    /// request. No more pages are lent out than are left. Once it is spent, URLs still queued are [set
    /// aside](crate::gate::Refusal::HostPages), and queued again once a frontier is opened that allows more. `None` is no bound.
    pub host_pages: Option<u64>,
    /// Bytes of bodies of one host, as they came over the wire, over all runs of a job: of pages and sitemaps, every try, as far as
    /// [`Lease::answered`](crate::frontier::Lease::answered) reports them. The length of a response is not known before it ends, so
    /// outstanding requests are completed beyond the bound. URLs still queued are then [set aside](crate::gate::Refusal::HostBytes), as
    /// above.
    pub host_bytes: Option<u64>,
    /// Times of day in which hosts may be asked at all: outside them they sleep, and the crawl waits. A request that is out when they end
    /// is completed. `None` is always.
    pub hours: Option<Hours>,
    /// Share of a host's time that requests may take, more than 0 and at most 1: with 0.1, a host that took a second to answer rests for
    /// nine. Its rest grows at once with a slow answer, and shrinks by half the difference with a quick page, never with an error. It is no
    /// shorter than `host_delay` or a `Crawl-delay`. The fetcher [reports](crate::frontier::Lease::answered) how long an answer took.
    /// `None`: rests do not follow the latency.
    pub adaptive_share: Option<f64>,
    /// Longest rest that `adaptive_share` leads to.
    pub max_adaptive_delay: Duration,
    /// Longest rest that a robots `Crawl-delay` can ask for.
    pub max_crawl_delay: Duration,
    /// Longest rest that a `Retry-After` can ask for.
    pub max_retry_after: Duration,
    /// Tries of one URL in all.
    pub attempts: u8,
    /// First rest of a page or a host after a failure; doubles with each failure in a row.
    pub backoff: Duration,
    /// Longest rest that failures lead to.
    pub max_backoff: Duration,
    /// Failures in a row after which a host is not asked again in this run.
    pub host_failures: u32,
    /// How long to wait for failing hosts once no others are left. Hosts whose names do not exist are not waited for.
    pub patience: Duration,
    /// How long a robots.txt is good for.
    pub robots_ttl: Duration,
    /// Bytes of parsed robots rules that stay in memory. Beyond that, the least recently used are dropped, and read from the journal when
    /// their host is next asked. It may be exceeded by the rules of one host, and is no bound over a journal that keeps no rules, such as
    /// the [`Arena`](crate::frontier::Arena).
    pub robots_memory: usize,
}

impl Default for Politeness {
    fn default() -> Self {
        Self {
            agent: "crawler".to_owned(),
            robots: true,
            host_delay: Duration::from_secs(1),
            connections_per_host: 1,
            address_delay: None,
            connections_per_address: 8,
            host_pages: None,
            host_bytes: None,
            hours: None,
            adaptive_share: None,
            max_adaptive_delay: Duration::from_secs(60),
            max_crawl_delay: Duration::from_secs(300),
            max_retry_after: Duration::from_secs(24 * 3600),
            attempts: 3,
            backoff: Duration::from_secs(10),
            max_backoff: Duration::from_secs(3600),
            host_failures: 8,
            patience: Duration::from_secs(60),
            robots_ttl: Duration::from_secs(24 * 3600),
            robots_memory: 64 << 20,
        }
    }
}

impl Politeness {
    /// The most that `connections_per_host` may be.
    pub(crate) const MOST_CONNECTIONS: u8 = 64;
    /// The default rest of an address: a tenth of the default rest of a host, since many hosts share the addresses of hosting providers.
    pub(crate) const ADDRESS_DELAY: Duration = Duration::from_millis(100);

    /// The rest after the `nth` failure in a row: it doubles with each.
    pub(crate) fn backoff_of(&self, nth: u32) -> Duration {
        let factor = 1u32.checked_shl(nth.saturating_sub(1)).unwrap_or(u32::MAX);
        self.backoff.saturating_mul(factor).min(self.max_backoff)
    }
}
