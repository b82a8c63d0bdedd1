//! Checks a crawl's politeness, by the times at which its requests were sent, and by how many requests were under way at once.

use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use ahash::AHashMap;

use crate::address::HostKey;
use crate::crawl::counters::counters;
use crate::crawl::lock::lock;
use crate::driver::{AddressSharing, Sharing};
use crate::frontier::{Lease, LeaseKind, Politeness, Timestamp};

/// An independent check of politeness. It sees only when requests were really sent and how many are under way, and knows nothing of the
/// agenda.
///
/// If a host has one connection, its delay is checked between the times at which requests were sent. If it may have several, the frontier
/// keeps the delay between the times at which requests are handed out, and these are checked: the frontier cannot know how long a
/// connection takes to open. In both cases, no more requests may be under way at once than there are connections, and a robots.txt takes
/// all of them.
///
/// A rate group is checked like another host, under the name `group NAME`: requests to its hosts count for it too. So are the ports of one
/// server, under the name `server x.example`, and an IP address, under the name `address 192.0.2.1`.
///
/// It remembers the last request to each of the most recently asked hosts: at least 32,768 hosts, and at most twice as many, which take 20
/// MiB with the longest names. So it misses a violation only if at least 32,768 other hosts got requests within one delay.
#[derive(Default)]
pub struct PolitenessWatch {
    /// The last request to each host since the maps were last rotated.
    recent: AHashMap<HostKey, Timestamp>,
    /// The last request to hosts that got one before that, and none since. The next rotation drops them.
    older: AHashMap<HostKey, Timestamp>,
    /// Connections taken. Hosts that have none taken stay, as long as there is room.
    taken: AHashMap<HostKey, u32>,
    /// The limits that hosts on one IP address share.
    addresses: AddressSharing,
    counts: PolitenessCounts,
    worst: Option<Violation>,
}

/// A request under way. It ends at the latest when this is dropped.
pub(crate) struct WatchedRequest<'a> {
    watch: &'a Mutex<PolitenessWatch>,
    lease: &'a Lease,
    /// The host connected to: that of the URL, whatever the lease says.
    origin: &'a str,
    /// The number of its connections that this takes.
    takes: u8,
    /// The name of its IP address, if it counts for one.
    address: Option<String>,
}

counters! {
    /// Whether requests came too early, judged from the times at which they were really sent.
    #[derive(Copy, Eq)]
    pub struct PolitenessCounts {
        /// Requests that were sent and judged.
        pub requests: u64,
        /// How many of them were judged by IP address, too.
        pub by_address: u64,
        /// Requests that came too early, or while all connections of the host were taken. Anything but zero is a fault of this program.
        pub violations: u64,
    }
}

/// A request sent before its host's rest was over, or while all its host's connections were taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Scheme, host and port; or the name of a group or an IP address.
    pub host: HostKey,
    /// Time since the last request to it.
    pub waited: Duration,
    /// The time that should have passed.
    pub delay: Duration,
    /// Connections of the host taken at once, if these were more than allowed; otherwise 0.
    pub taken: u32,
}

impl<'a> WatchedRequest<'a> {
    /// Begins the request of this lease, to the host with this origin.
    pub(crate) fn begin(watch: &'a Mutex<PolitenessWatch>, lease: &'a Lease, origin: &'a str) -> Self {
        let mut judge = lock(watch);
        let connections = lease.connections();
        let takes = taken_by(lease, origin);
        judge.begin(origin, takes, connections);
        if connections > 1 {
            judge.sent(origin, lease.lent_at(), lease.delay());
        }
        for Sharing { name, delay, connections, .. } in lease.sharings() {
            judge.begin(name, 1, *connections);
            if *connections > 1 {
                judge.rested(name, lease.lent_at(), *delay);
            }
        }
        let AddressSharing { delay, connections } = judge.addresses;
        let address = lease.address().map(|(address, since)| {
            let name = address.to_string();
            judge.begin(&name, 1, connections);
            if connections > 1 {
                judge.by_address(&name, since, delay);
            }
            name
        });
        Self { watch, lease, origin, takes, address }
    }

    /// Ends the request, which was sent at this time.
    pub(crate) fn sent(self, at: Timestamp) {
        let mut judge = lock(self.watch);
        if self.lease.connections() == 1 {
            judge.sent(self.origin, at, self.lease.delay());
        }
        for Sharing { name, delay, .. } in self.lease.sharings().filter(|sharing| sharing.connections == 1) {
            judge.rested(name, at, *delay);
        }
        if let (Some(name), AddressSharing { delay, connections: 1 }) = (&self.address, judge.addresses) {
            judge.by_address(name, at, delay);
        }
    }
}

impl Drop for WatchedRequest<'_> {
    fn drop(&mut self) {
        let mut judge = lock(self.watch);
        judge.end(self.origin, self.takes);
        for sharing in self.lease.sharings() {
            judge.end(&sharing.name, 1);
        }
        if let Some(name) = &self.address {
            judge.end(name, 1);
        }
    }
}

/// The connections of this origin that a lease's request takes. A host's own robots.txt must be alone. If the robots.txt of an http host
/// has moved to https, its request takes one connection of the server of both, and none of the https host, whose own robots.txt may be
/// requested at the same time.
fn taken_by(lease: &Lease, origin: &str) -> u8 {
    match lease.kind() {
        LeaseKind::Robots if lease.origin() == origin => lease.connections(),
        LeaseKind::Robots => 0,
        _ => 1,
    }
}

impl PolitenessWatch {
    /// At most this many hosts are remembered.
    pub(crate) const REMEMBERED: usize = 65_536;

    /// Checks a crawl with this politeness.
    pub(crate) fn judging(politeness: &Politeness) -> Self {
        Self { addresses: AddressSharing::of(politeness), ..Self::default() }
    }

    fn by_address(&mut self, address: &str, at: Timestamp, delay: Duration) {
        self.counts.by_address += 1;
        self.rested(address, at, delay);
    }

    /// Begins a request to the host with this [origin](HostKey::as_str). The request adds `adds` to the host's taken connections. The host
    /// may have at most `connections`.
    pub fn begin(&mut self, host: &str, adds: u8, connections: u8) {
        let added = u32::from(adds);
        let taken = if let Some(taken) = self.taken.get_mut(host) {
            *taken += added;
            *taken
        } else {
            if self.taken.len() == self.taken.capacity() {
                self.taken.retain(|_, taken| *taken > 0);
                let live = self.taken.len();
                self.taken.reserve(live);
            }
            self.taken.insert(HostKey::of_origin(host), added);
            added
        };
        if taken > connections.into() {
            self.violated(Violation {
                host: HostKey::of_origin(host),
                waited: Duration::ZERO,
                delay: Duration::ZERO,
                taken,
            });
        }
    }

    /// Ends a request that [began](Self::begin).
    pub fn end(&mut self, host: &str, took: u8) {
        if let Some(taken) = self.taken.get_mut(host) {
            *taken = taken.saturating_sub(took.into());
        }
    }

    /// Checks a request sent at `at` to the host with this [origin](HostKey::as_str). Its requests must be `delay` apart. O(1).
    pub fn sent(&mut self, host: &str, at: Timestamp, delay: Duration) {
        self.counts.requests += 1;
        self.rested(host, at, delay);
    }

    /// As [`sent`](Self::sent), for a host or a group that the request also counts for.
    ///
    /// Requests that are under way at once may be reported in another order than that of their times. So the distance between two times
    /// counts, whichever was reported first, and the later time is remembered.
    pub fn rested(&mut self, host: &str, at: Timestamp, delay: Duration) {
        let last = if let Some(last) = self.recent.get_mut(host) {
            Some(std::mem::replace(last, at.max(*last)))
        } else {
            let (host, last) = match self.older.remove_entry(host) {
                Some((host, last)) => (host, Some(last)),
                None => (HostKey::of_origin(host), None),
            };
            self.recent.insert(host, last.map_or(at, |last| at.max(last)));
            last
        };
        if self.recent.len() >= Self::REMEMBERED / 2 {
            self.older = std::mem::take(&mut self.recent);
        }
        let waited = last.map(|last| at.since(last).max(last.since(at)));
        let Some(waited) = waited.filter(|&waited| waited < delay) else { return };
        self.violated(Violation { host: HostKey::of_origin(host), waited, delay, taken: 0 });
    }

    fn violated(&mut self, violation: Violation) {
        self.counts.violations += 1;
        let badness = |violation: &Violation| (violation.taken, violation.short());
        if self.worst.as_ref().is_none_or(|worst| badness(worst) < badness(&violation)) {
            self.worst = Some(violation);
        }
    }

    /// How many requests were checked, and how many came too early.
    pub fn counts(&self) -> PolitenessCounts {
        self.counts
    }

    /// The worst violation: the one with the most requests at once, or else the one that was the furthest too early.
    pub fn worst(&self) -> Option<&Violation> {
        self.worst.as_ref()
    }
}

impl fmt::Debug for PolitenessWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { counts, worst, .. } = self;
        f.debug_struct("PolitenessWatch").field("counts", counts).field("worst", worst).finish_non_exhaustive()
    }
}

impl Violation {
    /// How much of the rest was missing.
    pub fn short(&self) -> Duration {
        self.delay.saturating_sub(self.waited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::{Canonicalizer, KeyRules};
    use crate::frontier::{Frontier, FrontierOptions, Next};

    const SECOND: Duration = Duration::from_secs(1);

    fn host(name: &str) -> HostKey {
        let url = Canonicalizer::new(&KeyRules::default()).canonicalize(&format!("http://{name}/"));
        url.expect("an address").host_key()
    }

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_micros(ms * 1000)
    }

    #[test]
    fn only_a_rest_cut_short_is_a_violation() {
        let mut watch = PolitenessWatch::default();
        let (slow, quick) = (host("slow.test"), host("quick.test"));
        watch.sent(slow.as_str(), at(0), SECOND);
        watch.sent(quick.as_str(), at(1), SECOND);
        watch.sent(slow.as_str(), at(1000), SECOND);
        assert_eq!(
            (watch.counts(), watch.worst()),
            (PolitenessCounts { requests: 3, ..PolitenessCounts::default() }, None)
        );

        watch.sent(slow.as_str(), at(1900), SECOND);
        watch.sent(quick.as_str(), at(501), SECOND);
        watch.sent(slow.as_str(), at(2700), SECOND);
        let (waited, delay) = (Duration::from_millis(500), SECOND);
        assert_eq!(watch.counts().violations, 3);
        assert_eq!(watch.worst(), Some(&Violation { host: quick, waited, delay, taken: 0 }));
    }

    #[test]
    fn the_delay_in_force_is_the_one_at_the_send() {
        let mut watch = PolitenessWatch::default();
        let host = host("a.test");
        watch.sent(host.as_str(), at(0), Duration::ZERO);
        watch.sent(host.as_str(), at(0), Duration::ZERO);
        watch.sent(host.as_str(), at(500), SECOND);
        assert_eq!(watch.counts().violations, 1);
    }

    #[test]
    fn hosts_that_have_no_connection_taken_are_forgotten() {
        let mut watch = PolitenessWatch::default();
        let hosts: Vec<HostKey> = (0..1000).map(|n| host(&format!("h{n}.test"))).collect();
        for (n, host) in hosts.iter().enumerate() {
            watch.begin(host.as_str(), 1, 1);
            if let Some(ended) = n.checked_sub(8) {
                watch.end(hosts[ended].as_str(), 1);
            }
            assert!(watch.taken.len() < 64, "{} hosts are kept, of which 9 have a connection taken", watch.taken.len());
        }
    }

    #[test]
    fn requests_at_once_are_bounded_by_connections_and_robots_is_alone() {
        for connections in [1, 2, 8] {
            let mut watch = PolitenessWatch::default();
            let host = host("a.test");
            for _ in 0..2 {
                (0..connections).for_each(|_| watch.begin(host.as_str(), 1, connections));
                assert_eq!(watch.counts().violations, 0);
                (0..connections).for_each(|_| watch.end(host.as_str(), 1));
                watch.begin(host.as_str(), connections, connections);
                watch.end(host.as_str(), connections);
            }
            assert!(watch.taken[host.as_str()] == 0 && watch.counts().violations == 0);
            (0..=connections).for_each(|_| watch.begin(host.as_str(), 1, connections));
            let taken = u32::from(connections) + 1;
            assert_eq!(watch.counts().violations, 1, "one more than may be");
            assert_eq!(watch.worst().map(|worst| worst.taken), Some(taken));
            (0..connections).for_each(|_| watch.end(host.as_str(), 1));
            watch.begin(host.as_str(), connections, connections);
            assert_eq!(watch.counts().violations, 2, "robots.txt beside a page");
            watch.end(host.as_str(), 1);
            watch.begin(host.as_str(), 1, connections);
            assert_eq!(watch.counts().violations, 3, "a page beside robots.txt");
        }
    }

    /// The leases of two hosts whose robots.txt lead to one other host.
    #[test]
    fn the_host_that_is_connected_to_is_judged_whatever_host_a_lease_is_of() {
        let mut frontier = Frontier::new(&FrontierOptions::default()).unwrap();
        let mut lease_of = |seed: &str| {
            assert_eq!(frontier.seed(seed, at(0)).unwrap(), None);
            match frontier.next(at(0)).unwrap() {
                Next::Fetch(lease) => lease,
                other => panic!("{other:?}"),
            }
        };
        let leases = ["http://a.test/", "http://b.test/"].map(&mut lease_of);
        let delay = leases[0].delay();
        assert!(leases.iter().all(|lease| lease.kind() == LeaseKind::Robots) && delay > Duration::ZERO);
        let (own, elsewhere) = (Mutex::new(PolitenessWatch::default()), Mutex::new(PolitenessWatch::default()));
        for (lease, milliseconds) in leases.iter().zip([0, 10]) {
            WatchedRequest::begin(&own, lease, lease.origin()).sent(at(milliseconds));
            WatchedRequest::begin(&elsewhere, lease, "http://c.test").sent(at(milliseconds));
        }
        assert_eq!((lock(&own).counts().violations, lock(&elsewhere).counts().violations), (0, 1));
        let waited = Duration::from_millis(10);
        assert_eq!(lock(&elsewhere).worst(), Some(&Violation { host: host("c.test"), waited, delay, taken: 0 }));
    }

    #[test]
    fn requests_are_judged_by_their_times_not_their_order() {
        let mut watch = PolitenessWatch::default();
        let host = host("a.test");
        watch.sent(host.as_str(), at(5000), SECOND);
        watch.sent(host.as_str(), at(4000), SECOND);
        assert_eq!(watch.counts().violations, 0, "a second lies between them");
        watch.sent(host.as_str(), at(5900), SECOND);
        assert_eq!(watch.worst().map(Violation::short), Some(Duration::from_millis(100)), "the later one counts on");
        watch.sent(host.as_str(), at(5500), SECOND);
        assert_eq!(watch.worst().map(Violation::short), Some(Duration::from_millis(600)));
    }

    #[test]
    fn remembered_hosts_are_bounded_and_recent_ones_are_kept() {
        let mut watch = PolitenessWatch::default();
        let faithful = host("faithful.test");
        for i in 0..PolitenessWatch::REMEMBERED as u64 * 3 {
            watch.sent(host(&format!("h{i}.test")).as_str(), at(i), SECOND);
            if i % 30_000 == 0 {
                watch.sent(faithful.as_str(), at(i), 40_000 * SECOND);
            }
            assert!(watch.recent.len() + watch.older.len() <= PolitenessWatch::REMEMBERED);
        }
        // Each return of the faithful host was too early, and none was missed.
        assert_eq!(watch.counts().violations, PolitenessWatch::REMEMBERED as u64 * 3 / 30_000);
    }
}
