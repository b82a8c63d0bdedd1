//! Bounds how many idle connections are kept open, over all hosts.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ahash::{AHashMap, RandomState};

use super::recall::Recall;

/// How long a connection is kept without use.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Bounds how many connections are kept open. The client bounds them by host and not in all, and a wide crawl has many hosts. Where no
/// place is free, the host that was asked least recently loses its place, and its connection is closed.
pub(super) struct Connections {
    /// Hosts at once. Each connection takes an open file and its buffers.
    most: usize,
    hosts: Arc<Mutex<Hosts>>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Hosts {
    /// By the hash of the host's name. Two that collide count as one.
    by_name: AHashMap<u64, Host>,
    /// The hosts by age, the one that was asked least recently first.
    by_age: BTreeMap<u64, u64>,
    /// Requests so far.
    asked: u64,
}

#[derive(Debug)]
struct Host {
    age: u64,
    /// Requests under way.
    users: u32,
    recall: Arc<Recall>,
}

/// A host's place, held while a request is under way. Meanwhile no other host can have it.
#[derive(Debug)]
pub(super) struct Permit {
    host: u64,
    hosts: Arc<Mutex<Hosts>>,
    /// Closes the connection when another host gets the place.
    pub(super) recall: Arc<Recall>,
}

impl Connections {
    /// At most so many hosts keep connections.
    pub(super) fn new(most: usize) -> Self {
        Self { most, hosts: Arc::default(), hasher: RandomState::new() }
    }

    /// A place for a request to `host`: its connection may be kept open afterwards. `None` where requests hold all places. O(log hosts),
    /// and a look at each host that is just being asked before one that is not.
    pub(super) fn permit(&self, host: impl Hash) -> Option<Permit> {
        let host = self.hasher.hash_one(host);
        // Nothing panics under the lock.
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.asked += 1;
        let age = hosts.asked;
        if let Some(before) = hosts.by_name.get(&host).map(|place| place.age) {
            hosts.by_age.remove(&before);
        } else if hosts.by_name.len() >= self.most && !hosts.recall_oldest() {
            return None;
        }
        hosts.by_age.insert(age, host);
        let new = || Host { age, users: 0, recall: Arc::default() };
        let place = hosts.by_name.entry(host).or_insert_with(new);
        (place.age, place.users) = (age, place.users + 1);
        Some(Permit { host, recall: Arc::clone(&place.recall), hosts: Arc::clone(&self.hosts) })
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").field("most", &self.most).finish_non_exhaustive()
    }
}

impl Hosts {
    /// Takes the place of the host that was asked least recently and is not being asked. Returns whether there is one.
    fn recall_oldest(&mut self) -> bool {
        let is_idle = |host: &u64| self.by_name.get(host).is_some_and(|place| place.users == 0);
        let Some((&age, &host)) = self.by_age.iter().find(|(_, host)| is_idle(host)) else { return false };
        self.by_age.remove(&age);
        if let Some(place) = self.by_name.remove(&host) {
            place.recall.close();
        }
        true
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = hosts.by_name.get_mut(&self.host) {
            place.users = place.users.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_asked_least_recently_makes_room() {
        let connections = Connections::new(3);
        let recalls: Vec<_> = (0..3).map(|host| Arc::clone(&connections.permit(host).unwrap().recall)).collect();
        drop(connections.permit(0));
        drop(connections.permit(3));
        assert_eq!(recalls.iter().map(|recall| recall.is_closed()).collect::<Vec<_>>(), [false, true, false]);
        let again = connections.permit(0).unwrap();
        assert!(Arc::ptr_eq(&again.recall, &recalls[0]), "who has a place keeps it");
        assert!(!Arc::ptr_eq(&connections.permit(1).unwrap().recall, &recalls[1]), "who comes back has another");
    }

    #[test]
    fn who_is_being_asked_keeps_its_place() {
        let connections = Connections::new(2);
        let (first, second) = (connections.permit("a").unwrap(), connections.permit("b").unwrap());
        let same = connections.permit("a").unwrap();
        assert!(connections.permit("c").is_none());
        drop(first);
        assert!(connections.permit("c").is_none(), "it is asked twice");
        drop(same);
        assert!(connections.permit("c").is_some());
        assert!(!second.recall.is_closed());
    }

    #[test]
    fn places_are_few_whatever_is_asked() {
        let connections = Connections::new(256);
        for host in 0..10_000 {
            assert!(connections.permit(host % 3_000).is_some());
        }
        let hosts = connections.hosts.lock().unwrap();
        assert_eq!((hosts.by_name.len(), hosts.by_age.len()), (256, 256));
    }
}
