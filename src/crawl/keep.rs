//! Whose connections are kept open.

use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ahash::{AHashMap, RandomState};

/// How long a connection is kept without use.
pub(super) const KEPT_FOR: Duration = Duration::from_secs(30);

/// Decides whose connections are kept open: the client bounds them by host, not in all, and a wide crawl has many hosts.
#[derive(Debug)]
pub(super) struct Keeper {
    /// Hosts at once. Each connection is an open file, and its buffers.
    most: usize,
    /// When each was asked last, by the hash of its name: two that collide count as one.
    hosts: Mutex<AHashMap<u64, Instant>>,
    hasher: RandomState,
}

impl Keeper {
    /// Of so many hosts at once.
    pub(super) fn new(most: usize) -> Self {
        Self { most, hosts: Mutex::default(), hasher: RandomState::new() }
    }

    /// Whether the connection for a request to `host` now may be kept afterwards: there is a place for its host. A look at
    /// one place, and at all where none is free.
    pub(super) fn keeps(&self, host: impl Hash, now: Instant) -> bool {
        let host = self.hasher.hash_one(host);
        // Nothing panics under the lock.
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= self.most && !hosts.contains_key(&host) {
            hosts.retain(|_, asked| now.saturating_duration_since(*asked) < KEPT_FOR);
            if hosts.len() >= self.most {
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
        let keeper = Keeper::new(256);
        let start = Instant::now();
        let kept = (0..1_000).filter(|host| keeper.keeps(host, start)).count();
        assert_eq!(kept, 256);
        let half = start + KEPT_FOR / 2;
        assert!(keeper.keeps(0, half), "who has a place keeps it");
        assert!(!keeper.keeps(1_000, half));
        let later = start + KEPT_FOR;
        assert_eq!((1_000..2_000).filter(|host| keeper.keeps(host, later)).count(), 255);
        assert!(keeper.keeps(0, later));
    }
}
