//! Judges a crawl's politeness from the times at which its requests were sent.

use std::fmt;
use std::time::Duration;

use ahash::AHashMap;
use serde::{Deserialize, Serialize};

use crate::address::HostKey;
use crate::frontier::Timestamp;

/// An independent judge of politeness. It sees only when requests were really sent, and knows nothing of the agenda.
///
/// It remembers when each of the hosts asked last was asked: at least the last [`REMEMBERED`](Self::REMEMBERED)` / 2` hosts, and at
/// most `REMEMBERED`, which take 20 MiB with the longest names. So it misses a violation only if 32,768 other hosts were asked within
/// one delay.
#[derive(Default)]
pub struct PolitenessWatch {
    /// Hosts asked since the last turn.
    recent: AHashMap<HostKey, Timestamp>,
    /// Hosts asked in the turn before, and not since. The next turn forgets them.
    older: AHashMap<HostKey, Timestamp>,
    counts: PolitenessCounts,
    worst: Option<Violation>,
}

/// How many requests were judged, and how many came too early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PolitenessCounts {
    /// Requests judged.
    pub requests: u64,
    /// Requests that came too early. Anything but zero is a fault of this program.
    pub violations: u64,
}

impl PolitenessCounts {
    /// Adds what another has counted.
    pub fn merge(&mut self, other: Self) {
        self.requests += other.requests;
        self.violations += other.violations;
    }
}

/// A request sent before its host's rest was over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Scheme, host and port.
    pub host: HostKey,
    /// Time since the last request to it.
    pub waited: Duration,
    /// The time that should have passed.
    pub delay: Duration,
}

impl PolitenessWatch {
    /// Hosts that are remembered, at most.
    pub const REMEMBERED: usize = 65_536;

    /// Judges a request that was sent at `at` to the host of this [origin](HostKey::as_str). Its requests must be `delay` apart. O(1).
    pub fn sent(&mut self, host: &str, at: Timestamp, delay: Duration) {
        self.counts.requests += 1;
        let last = if let Some(last) = self.recent.get_mut(host) {
            Some(std::mem::replace(last, at))
        } else {
            let (host, last) = match self.older.remove_entry(host) {
                Some((host, last)) => (host, Some(last)),
                None => (HostKey::of_origin(host), None),
            };
            self.recent.insert(host, at);
            last
        };
        if self.recent.len() >= Self::REMEMBERED / 2 {
            self.older = std::mem::take(&mut self.recent);
        }
        let Some(waited) = last.map(|last| at.since(last)).filter(|&waited| waited < delay) else { return };
        self.counts.violations += 1;
        let violation = Violation { host: HostKey::of_origin(host), waited, delay };
        if self.worst.as_ref().is_none_or(|worst| worst.short() < violation.short()) {
            self.worst = Some(violation);
        }
    }

    /// How many requests were judged, and how many came too early.
    pub fn counts(&self) -> PolitenessCounts {
        self.counts
    }

    /// The request that came earliest before its time.
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

    const SECOND: Duration = Duration::from_secs(1);

    fn host(name: &str) -> HostKey {
        let url = Canonicalizer::new(&KeyRules::default()).canonicalize(&format!("http://{name}/"));
        url.expect("an address").host_key()
    }

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_micros(ms * 1000)
    }

    #[test]
    fn a_rest_kept_is_no_violation_and_a_rest_cut_short_is_one() {
        let mut watch = PolitenessWatch::default();
        let (slow, quick) = (host("slow.test"), host("quick.test"));
        watch.sent(slow.as_str(), at(0), SECOND);
        watch.sent(quick.as_str(), at(1), SECOND);
        watch.sent(slow.as_str(), at(1000), SECOND);
        assert_eq!((watch.counts(), watch.worst()), (PolitenessCounts { requests: 3, violations: 0 }, None));

        watch.sent(slow.as_str(), at(1900), SECOND);
        watch.sent(quick.as_str(), at(501), SECOND);
        watch.sent(slow.as_str(), at(2700), SECOND);
        let (waited, delay) = (Duration::from_millis(500), SECOND);
        assert_eq!(watch.counts().violations, 3);
        assert_eq!(watch.worst(), Some(&Violation { host: quick, waited, delay }));
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
    fn a_clock_that_steps_back_is_a_violation_not_a_panic() {
        let mut watch = PolitenessWatch::default();
        let host = host("a.test");
        watch.sent(host.as_str(), at(5000), SECOND);
        watch.sent(host.as_str(), at(1000), SECOND);
        assert_eq!(watch.worst().map(Violation::short), Some(SECOND));
    }

    #[test]
    fn hosts_without_end_are_remembered_in_bounds_and_the_recent_ones_surely() {
        let mut watch = PolitenessWatch::default();
        let faithful = host("faithful.test");
        for i in 0..PolitenessWatch::REMEMBERED as u64 * 3 {
            watch.sent(host(&format!("h{i}.test")).as_str(), at(i), SECOND);
            if i % 30_000 == 0 {
                watch.sent(faithful.as_str(), at(i), 40_000 * SECOND);
            }
            assert!(watch.recent.len() + watch.older.len() <= PolitenessWatch::REMEMBERED);
        }
        // Each return of the faithful host was too early, and none was overlooked.
        assert_eq!(watch.counts().violations, PolitenessWatch::REMEMBERED as u64 * 3 / 30_000);
    }
}
