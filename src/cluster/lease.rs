//! The lease of a node: until when it may begin requests.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The part of the lease's life in which requests may begin: three quarters. In the last quarter, requests in flight can end.
const ASKS: (u32, u32) = (3, 4);
/// How often in its life the lease is renewed.
const RENEWALS: u32 = 5;

/// The lease of a node. The node's own clock counts, which never steps. Others wait for the whole of the lease's life by theirs, and start
/// later: when they see it renewed.
#[derive(Debug)]
pub(crate) struct NodeLease {
    life: Duration,
    started: Instant,
    /// Requests may begin before this, in microseconds from the start.
    asks_until: AtomicU64,
    /// Others have taken the node for dead.
    is_lost: AtomicBool,
}

impl NodeLease {
    /// A lease that is not held yet.
    pub(crate) fn new(life: Duration) -> Self {
        Self { life, started: Instant::now(), asks_until: AtomicU64::new(0), is_lost: AtomicBool::new(false) }
    }

    pub(crate) fn life(&self) -> Duration {
        self.life
    }

    /// The time between two renewals.
    pub(crate) fn interval(&self) -> Duration {
        self.life / RENEWALS
    }

    /// The lease was renewed, by a message that was sent at this time or later.
    pub(crate) fn renewed(&self, at: Instant) {
        let until = at.duration_since(self.started) + self.life * ASKS.0 / ASKS.1;
        self.asks_until.fetch_max(u64::try_from(until.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// When requests may no longer begin, unless the lease is renewed.
    pub(crate) fn asks_until(&self) -> Instant {
        self.started + Duration::from_micros(self.asks_until.load(Ordering::Relaxed))
    }

    /// Whether a request may begin.
    pub(crate) fn may_ask(&self) -> bool {
        !self.is_lost() && Instant::now() < self.asks_until()
    }

    /// Whether it was renewed recently.
    pub(crate) fn is_fresh(&self) -> bool {
        let left = self.asks_until().saturating_duration_since(Instant::now());
        left + 2 * self.interval() >= self.life * ASKS.0 / ASKS.1
    }

    /// Others have taken the node for dead, and may own its partitions.
    pub(crate) fn lose(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_end_before_it_does() {
        let life = Duration::from_secs(20);
        let lease = NodeLease::new(life);
        assert!(!lease.may_ask(), "not before it is held");
        let sent = Instant::now();
        lease.renewed(sent);
        assert!(lease.may_ask());
        assert_eq!(lease.asks_until().duration_since(sent).as_secs(), 14, "fifteen, less a part of a microsecond");
        lease.renewed(sent.checked_sub(life).unwrap_or(lease.started));
        assert!(lease.may_ask(), "an old answer takes nothing back");
        lease.lose();
        assert!(!lease.may_ask());
    }
}
