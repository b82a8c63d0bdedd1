//! Samples of how long URLs and hosts wait before they are lent out.
//!
//! None of this is state: a restart begins with an
//! empty sample, in which nothing that already waits is.
//!
//! Bits of a URL's position, or of a host's number, decide whether it is in the sample. So the answer is the same when the URL is queued
//! and when it is lent out, and nothing is kept for the others. When the sample is full, one more bit decides which half is dropped. The
//! sample has at most 4,096 URLs and 1,024 hosts, some 200 KB, however many wait; a call for one that is not in it costs a multiplication
//! or two.

use std::time::Duration;

use ahash::AHashMap;

use crate::frontier::Timestamp;
use crate::frontier::hosts::HostId;
use crate::frontier::lease::Waited;
use crate::gate::Position;

/// When waiting URLs and hosts began to wait.
#[derive(Debug)]
pub(crate) struct Waits {
    urls: Sample<Timestamp>,
    hosts: Sample<Rest>,
}

/// How a host with URLs waits.
#[derive(Clone, Copy, Debug)]
struct Rest {
    /// When it began to wait: it got its first URL, or its last lease came back.
    since: Timestamp,
    /// When its rest is over.
    due: Timestamp,
}

/// Values for a sample of numbers: for all numbers while they are few, then for every second, fourth or eighth as they become more.
#[derive(Debug)]
struct Sample<V> {
    /// By their numbers.
    known: AHashMap<u64, V>,
    most: usize,
    /// One number in `one_in` is known; a power of two.
    one_in: u64,
}

/// The most URLs in the sample.
const URLS: usize = 4096;
/// The most hosts in the sample.
const HOSTS: usize = 1024;

impl Default for Waits {
    fn default() -> Self {
        Self { urls: Sample::of(URLS), hosts: Sample::of(HOSTS) }
    }
}

impl Waits {
    /// A URL is queued.
    #[inline]
    pub(crate) fn queued(&mut self, url: Position, now: Timestamp) {
        self.urls.note(url.to_u64(), now);
    }

    /// A URL left its queue without being lent out.
    #[inline]
    pub(crate) fn dropped(&mut self, url: Position) {
        self.urls.take(url.to_u64());
    }

    /// A host with URLs may be asked from `due` on. If it already waits, its first `due` counts: when a host moves between queues, its wait
    /// goes on.
    #[inline]
    pub(crate) fn placed(&mut self, host: HostId, due: Timestamp, now: Timestamp) {
        self.hosts.note(host.number().into(), Rest { since: now, due });
    }

    /// A host has no URLs any more.
    #[inline]
    pub(crate) fn idle(&mut self, host: HostId) {
        self.hosts.take(host.number().into());
    }

    /// A host is lent out, with one of its URLs or with its robots.txt. Returns what both waited, as far as they are in the sample, and
    /// forgets them.
    #[inline]
    pub(crate) fn lent(&mut self, host: HostId, url: Option<Position>, now: Timestamp) -> Waited {
        let queued = url.and_then(|url| self.urls.take(url.to_u64())).map(|since| now.since(since));
        let rest = self.hosts.take(host.number().into());
        Waited {
            queued,
            rested: rest.map(|rest| rest.due.since(rest.since)),
            due: rest.map(|rest| now.since(rest.due.max(rest.since))),
        }
    }

    /// The longest time that a host of the sample has been due; `None` if none is due. O(1,024): for progress, now and then.
    pub(crate) fn longest_due(&self, now: Timestamp) -> Option<Duration> {
        let due = self.hosts.known.values().map(|rest| rest.due.max(rest.since)).filter(|due| *due <= now);
        due.min().map(|due| now.since(due))
    }
}

impl<V> Sample<V> {
    fn of(most: usize) -> Self {
        Self { known: AHashMap::new(), most, one_in: 1 }
    }

    /// Notes the value of this number, if it belongs to the sample and is not noted yet.
    #[inline]
    fn note(&mut self, number: u64, value: V) {
        if !is_one_in(self.one_in, number) {
            return;
        }
        self.known.entry(number).or_insert(value);
        while self.known.len() > self.most {
            self.one_in *= 2;
            let one_in = self.one_in;
            self.known.retain(|&number, _| is_one_in(one_in, number));
        }
    }

    /// Removes and returns the value of this number.
    #[inline]
    fn take(&mut self, number: u64) -> Option<V> {
        if is_one_in(self.one_in, number) { self.known.remove(&number) } else { None }
    }
}

/// Whether a number is in a sample of one in `one_in`, a power of two. Bits that look random decide.
#[inline]
fn is_one_in(one_in: u64, number: u64) -> bool {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).reverse_bits() & (one_in - 1) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(micros: u64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    #[test]
    fn a_host_rests_is_due_and_goes_out() {
        let (mut waits, host, url) = (Waits::default(), HostId::new(3), Position::from_u64(77));
        waits.queued(url, at(5));
        waits.placed(host, at(30), at(10));
        // It moves up, which changes nothing.
        waits.placed(host, at(40), at(20));
        assert_eq!(waits.longest_due(at(29)), None);
        assert_eq!(waits.longest_due(at(33)), Some(Duration::from_micros(3)));
        let micros = |micros| Some(Duration::from_micros(micros));
        let waited = waits.lent(host, Some(url), at(42));
        assert_eq!(waited, Waited { queued: micros(37), rested: micros(20), due: micros(12) });
        assert_eq!(waits.lent(host, Some(url), at(50)), Waited::default());
        // A host whose rest was over when its first URL came.
        waits.placed(host, at(30), at(60));
        assert_eq!(waits.lent(host, None, at(61)), Waited { queued: None, rested: micros(0), due: micros(1) });
        waits.placed(host, at(30), at(60));
        waits.idle(host);
        assert_eq!(waits.longest_due(at(99)), None);
    }

    #[test]
    fn of_many_a_share_is_known_and_it_is_the_same_one_at_both_ends() {
        let mut waits = Waits::default();
        let positions = || (0..100_000).map(|number| Position::from_u64(number * 93));
        positions().for_each(|url| waits.queued(url, at(0)));
        let known = waits.urls.known.len();
        assert!((URLS / 4..=URLS).contains(&known), "{known}");
        let came = positions().filter(|url| waits.lent(HostId::new(0), Some(*url), at(9)).queued.is_some()).count();
        assert_eq!(came, known);
        assert_eq!(waits.urls.known.len(), 0);
    }
}
