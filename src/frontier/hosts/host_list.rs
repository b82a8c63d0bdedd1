//! A list of hosts, for people who want to know why each of them waits.

use std::cmp::Ordering;
use std::time::Duration;

use super::{Host, HostState, Manners};
use crate::address::HostKey;
use crate::frontier::{Timestamp, Trouble};

/// Hosts whose names or states have a text in them, those with the most URLs queued first.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HostList {
    /// How many were found.
    pub found: u64,
    /// The first of them.
    pub hosts: Vec<ListedHost>,
    /// What is looked for, in lower case.
    find: String,
    /// How many are kept.
    most: usize,
}

/// One host, and why it waits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedHost {
    /// Scheme, host and port.
    pub host: HostKey,
    /// `due`, `failing`, `idle`, `in flight`, `resting`, `unreachable` or `waiting`.
    pub state: &'static str,
    /// Why it is not asked just now, in words.
    pub why: &'static str,
    /// Not asked before.
    pub due: Timestamp,
    /// The rest in force.
    pub delay: Duration,
    /// URLs queued.
    pub queued: u64,
    /// Requests that came back, those for robots.txt among them.
    pub requests: u64,
    /// Failures in a row.
    pub failures: u32,
    /// The last of them.
    pub trouble: Option<Trouble>,
}

impl HostList {
    /// An empty list that keeps at most so many hosts. An empty text finds all.
    pub fn new(find: &str, most: usize) -> Self {
        Self { found: 0, hosts: Vec::new(), find: find.to_lowercase(), most }
    }

    /// Takes a host, if it is one of those that are looked for.
    pub(crate) fn take(&mut self, host: &Host, manners: &Manners) {
        let (state, why) = standing(host);
        if !host.key.as_str().contains(&*self.find) && !state.contains(&*self.find) {
            return;
        }
        self.found += 1;
        self.hosts.push(ListedHost {
            host: host.key.clone(),
            state,
            why,
            due: host.due,
            delay: host.delay(manners),
            queued: host.waiting(),
            requests: host.requests.into(),
            failures: host.failures.into(),
            trouble: host.ill.as_deref().map(|ill| ill.trouble.clone()),
        });
        // Sorted now and then: each host is compared a few times at most.
        if self.hosts.len() >= 2 * self.most.max(1) {
            self.sort();
        }
    }

    /// Puts those first that come first, and forgets those beyond the list's end.
    pub(crate) fn sort(&mut self) {
        self.hosts.sort_unstable_by(ListedHost::most_queued_first);
        self.hosts.truncate(self.most);
    }
}

impl ListedHost {
    /// Which goes first; equals go by name.
    fn most_queued_first(&self, other: &Self) -> Ordering {
        other.queued.cmp(&self.queued).then_with(|| self.host.cmp(&other.host))
    }
}

/// A host's state, and why it is not asked just now.
fn standing(host: &Host) -> (&'static str, &'static str) {
    if host.is_retired() {
        return ("unreachable", "could not be reached; the next run asks it again");
    }
    match host.seat.state {
        HostState::LeasedRobots => ("in flight", "its robots.txt is being fetched"),
        HostState::Leased => ("in flight", "as many requests are out as it may have"),
        _ if host.seat.out > 0 => ("in flight", "some of its requests are out"),
        HostState::Idle => ("idle", "nothing of it is queued"),
        HostState::Snoozed if host.failures > 0 => ("failing", "has failed, and is tried again when it is due"),
        HostState::Snoozed => ("resting", "its rest is not over"),
        HostState::Due(_) | HostState::Called(_) | HostState::CalledByAddress(_) => ("due", "its turn comes"),
        HostState::InLine(_) => ("waiting", "its group rests, or has as many requests out as it may"),
        HostState::InLineOfAddress(_) => ("waiting", "its IP address rests, or has as many requests out as it may"),
        HostState::Held(_) => ("waiting", "has never answered, and as many such hosts are asked as may be"),
    }
}
