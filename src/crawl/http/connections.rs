//! Whose connections are kept open: those of the hosts that were asked last.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ahash::{AHashMap, RandomState};

use super::recall::Recall;

/// How long a connection is kept without use.
pub(super) const KEPT_FOR: Duration = Duration::from_secs(30);

/// Decides whose connections are kept open: the client bounds them by host, not in all, and a wide crawl has many hosts. Where
/// no place is free, the host that was asked least recently loses its own, and the connection is closed.
#[derive(Debug)]
pub(super) struct Keeper {
    /// Hosts at once. Each connection is an open file, and its buffers.
    most: usize,
    places: Arc<Mutex<Places>>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Places {
    /// By the hash of the host's name: two that collide count as one.
    by_host: AHashMap<u64, Place>,
    /// The hosts by their ages, the one that was asked least recently first.
    by_age: BTreeMap<u64, u64>,
    /// Requests so far.
    asked: u64,
}

#[derive(Debug)]
struct Place {
    age: u64,
    /// Requests under way.
    users: u32,
    recall: Arc<Recall>,
}

/// A host's place, for as long as one request takes: meanwhile nobody else can have it.
#[derive(Debug)]
pub(super) struct Kept {
    host: u64,
    places: Arc<Mutex<Places>>,
    /// What closes the connection once the place is another's.
    pub(super) recall: Arc<Recall>,
}

impl Keeper {
    /// Of so many hosts at once.
    pub(super) fn new(most: usize) -> Self {
        Self { most, places: Arc::default(), hasher: RandomState::new() }
    }

    /// A place for the connection that a request to `host` uses, which may be kept afterwards then; `None` where all places are in
    /// use. O(log hosts), and a look at each host that is just being asked where nobody else has a place.
    pub(super) fn place(&self, host: impl Hash) -> Option<Kept> {
        let host = self.hasher.hash_one(host);
        // Nothing panics under the lock.
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.asked += 1;
        let age = places.asked;
        if let Some(before) = places.by_host.get(&host).map(|place| place.age) {
            places.by_age.remove(&before);
        } else if places.by_host.len() >= self.most && !places.recall_oldest() {
            return None;
        }
        places.by_age.insert(age, host);
        let new = || Place { age, users: 0, recall: Arc::default() };
        let place = places.by_host.entry(host).or_insert_with(new);
        (place.age, place.users) = (age, place.users + 1);
        Some(Kept { host, recall: Arc::clone(&place.recall), places: Arc::clone(&self.places) })
    }
}

impl Places {
    /// Takes its place from the host that was asked least recently, of those that are not being asked; whether there is one.
    fn recall_oldest(&mut self) -> bool {
        let is_idle = |host: &u64| self.by_host.get(host).is_some_and(|place| place.users == 0);
        let Some((&age, &host)) = self.by_age.iter().find(|(_, host)| is_idle(host)) else { return false };
        self.by_age.remove(&age);
        if let Some(place) = self.by_host.remove(&host) {
            place.recall.close();
        }
        true
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = places.by_host.get_mut(&self.host) {
            place.users = place.users.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_asked_least_recently_makes_room() {
        let keeper = Keeper::new(3);
        let recalls: Vec<_> = (0..3).map(|host| Arc::clone(&keeper.place(host).unwrap().recall)).collect();
        drop(keeper.place(0));
        drop(keeper.place(3));
        assert_eq!(recalls.iter().map(|recall| recall.is_closed()).collect::<Vec<_>>(), [false, true, false]);
        let again = keeper.place(0).unwrap();
        assert!(Arc::ptr_eq(&again.recall, &recalls[0]), "who has a place keeps it");
        assert!(!Arc::ptr_eq(&keeper.place(1).unwrap().recall, &recalls[1]), "who comes back has another");
    }

    #[test]
    fn who_is_being_asked_keeps_its_place() {
        let keeper = Keeper::new(2);
        let (first, second) = (keeper.place("a").unwrap(), keeper.place("b").unwrap());
        let same = keeper.place("a").unwrap();
        assert!(keeper.place("c").is_none());
        drop(first);
        assert!(keeper.place("c").is_none(), "it is asked twice");
        drop(same);
        assert!(keeper.place("c").is_some());
        assert!(!second.recall.is_closed());
    }

    #[test]
    fn places_are_few_whatever_is_asked() {
        let keeper = Keeper::new(256);
        for host in 0..10_000 {
            assert!(keeper.place(host % 3_000).is_some());
        }
        let places = keeper.places.lock().unwrap();
        assert_eq!((places.by_host.len(), places.by_age.len()), (256, 256));
    }
}
