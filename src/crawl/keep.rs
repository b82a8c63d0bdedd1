use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ahash::{AHashMap, RandomState};

/// Hosts whose connections may be kept open at once. Each is an open file, of which many systems grant 1,024.
const MAX_KEPT: usize = 256;

/// How long a connection is kept without use.
pub(super) const KEPT_FOR: Duration = Duration::from_secs(30);

/// Decides whose connections are kept open: the client bounds them by host, not in all, and a wide crawl has many hosts.
#[derive(Debug, Default)]
pub(super) struct Keeper {
    /// When each was asked last, by the hash of its name: two that collide count as one.
    hosts: Mutex<AHashMap<u64, Instant>>,
    hasher: RandomState,
}

impl Keeper {
    /// Whether the connection for a request to `host` now may be kept afterwards: there is a place for its host. A look at
    /// one place, and at all 256 where none is free.
    pub(super) fn keeps(&self, host: impl Hash, now: Instant) -> bool {
        let host = self.hasher.hash_one(host);
        // Nothing panics under the lock.
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= MAX_KEPT && !hosts.contains_key(&host) {
            hosts.retain(|_, asked| now.saturating_duration_since(*asked) < KEPT_FOR);
            if hosts.len() >= MAX_KEPT {
                return false;
            }
        }
        hosts.insert(host, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_few_and_come_free() {
        let keeper = Keeper::default();
        let start = Instant::now();
        let kept = (0..1_000).filter(|host| keeper.keeps(host, start)).count();
        assert_eq!(kept, MAX_KEPT);
        let half = start + KEPT_FOR / 2;
        assert!(keeper.keeps(0, half), "who has a place keeps it");
        assert!(!keeper.keeps(1_000, half));
        let later = start + KEPT_FOR;
        assert_eq!((1_000..2_000).filter(|host| keeper.keeps(host, later)).count(), MAX_KEPT - 1);
        assert!(keeper.keeps(0, later));
    }
}
