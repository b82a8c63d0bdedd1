//! A list of hosts that shows why each of them waits.

use std::cmp::Ordering;
use std::time::Duration;

use super::{Host, HostState, PolitenessTable, SpentBudget};
use crate::address::HostKey;
use crate::frontier::{Timestamp, Trouble};

/// The hosts whose keys or states contain a text, in an order.
#[derive(Clone, Debug)]
pub struct HostList {
    /// How many hosts match.
    pub found: u64,
    /// The first of them.
    pub hosts: Vec<ListedHost>,
    /// The text to find, in lower case.
    find: String,
    /// How many hosts are kept.
    most: usize,
    order: HostOrder,
}

/// Which hosts come first in a list; equals go by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostOrder {
    /// Hosts that may be asked soonest first; hosts with nothing queued, and retired hosts, come last.
    Due,
    /// Most failures in a row first.
    Failures,
    /// By name alone.
    Name,
    /// Most URLs queued first.
    #[default]
    Queued,
    /// Most requests first.
    Requests,
}

impl HostOrder {
    /// All orders.
    pub const ALL: [Self; 5] = [Self::Due, Self::Failures, Self::Name, Self::Queued, Self::Requests];

    /// Its name in lower case: `queued`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Failures => "failures",
            Self::Name => "name",
            Self::Queued => "queued",
            Self::Requests => "requests",
        }
    }
}

/// One host, and why it waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedHost {
    /// Scheme, host and port.
    pub host: HostKey,
    /// `asleep`, `due`, `failing`, `idle`, `in flight`, `resting`, `spent`, `unreachable` or `waiting`.
    pub state: &'static str,
    /// Why it is not being asked now, in words.
    pub why: &'static str,
    /// The time before which it is not asked.
    pub due: Timestamp,
    /// The rest in force.
    pub delay: Duration,
    /// URLs queued.
    pub queued: u64,
    /// Requests that came back, including those for robots.txt.
    pub requests: u64,
    /// Failures in a row.
    pub failures: u32,
    /// The last failure.
    pub trouble: Option<Trouble>,
}

impl HostList {
    /// An empty list that keeps at most `most` hosts. An empty text finds all.
    pub fn by(order: HostOrder, find: &str, most: usize) -> Self {
        Self { found: 0, hosts: Vec::new(), find: find.to_lowercase(), most, order }
    }

    /// Takes a host into the list, if its name or its state contains the text. `spent` is a budget that it has used up.
    pub(crate) fn take(
        &mut self,
        host: &Host,
        spent: Option<SpentBudget>,
        politeness_table: &PolitenessTable,
        now: Timestamp,
    ) {
        let (state, why) = state_and_reason(host, spent);
        if !host.key.as_str().contains(&*self.find) && !state.contains(&*self.find) {
            return;
        }
        self.found += 1;
        self.hosts.push(ListedHost {
            host: host.key.clone(),
            state,
            why,
            due: if host.scheduling.state == HostState::Asleep {
                politeness_table.opens(host.policy, host.status.due, now)
            } else {
                host.status.due
            },
            delay: host.delay(politeness_table),
            queued: host.waiting(),
            requests: host.status.requests.into(),
            failures: host.status.failures.into(),
            trouble: host.status.last_trouble().cloned(),
        });
        // It is sorted only when it is twice as long as it may be, so each host is compared only a few times.
        if self.hosts.len() >= 2 * self.most.max(1) {
            self.sort();
        }
    }

    /// Sorts the list, and cuts it to its length.
    pub(crate) fn sort(&mut self) {
        let order = self.order;
        self.hosts.sort_unstable_by(|one, other| one.compare(other, order));
        self.hosts.truncate(self.most);
    }
}

impl ListedHost {
    /// Which goes first; equals go by name.
    fn compare(&self, other: &Self, order: HostOrder) -> Ordering {
        let is_idle = |host: &Self| ["idle", "unreachable"].contains(&host.state);
        let by_order = match order {
            HostOrder::Due => (is_idle(self), self.due).cmp(&(is_idle(other), other.due)),
            HostOrder::Failures => other.failures.cmp(&self.failures),
            HostOrder::Name => Ordering::Equal,
            HostOrder::Queued => other.queued.cmp(&self.queued),
            HostOrder::Requests => other.requests.cmp(&self.requests),
        };
        by_order.then_with(|| self.host.cmp(&other.host))
    }
}

/// A host's state and why it is not being asked now, in words.
fn state_and_reason(host: &Host, spent: Option<SpentBudget>) -> (&'static str, &'static str) {
    if let Some(SpentBudget { is_of_group, .. }) = spent.filter(|_| host.scheduling.out == 0) {
        let [of_group, own] = [
            "the budget of its group is spent (max_pages, max_bytes); its other URLs are left out",
            "its budget is spent (max_pages, max_bytes); its other URLs are left out",
        ];
        return ("spent", if is_of_group { of_group } else { own });
    }
    if host.status.is_retired() {
        return ("unreachable", "could not be reached; the next run asks it again");
    }
    match host.scheduling.state {
        HostState::RobotsElsewhere => ("waiting", "its robots.txt is on another host, and waits for that one's turn"),
        HostState::LeasedRobots => ("in flight", "its robots.txt is being fetched"),
        HostState::Leased(_) if host.scheduling.out == 0 => {
            ("in hand", "has answered, and its pages are not complete yet")
        }
        HostState::Leased(_) => ("in flight", "as many requests are out as it may have"),
        _ if host.scheduling.out > 0 => ("in flight", "some of its requests are out"),
        HostState::Idle => ("idle", "nothing of it is queued"),
        HostState::Asleep => ("asleep", "is not asked outside its hours"),
        HostState::Snoozed if host.status.failures > 0 => ("failing", "has failed, and is tried again when it is due"),
        HostState::Snoozed => ("resting", "its rest is not over"),
        HostState::Due(_) | HostState::Called(_) | HostState::CalledByAddress(_) | HostState::CalledByServer(_) => {
            ("due", "its turn comes")
        }
        HostState::InLine(_) => ("waiting", "its group rests, or has as many requests out as it may"),
        HostState::InLineOfServer(_) => ("waiting", "another port of its server was asked, and that rests"),
        HostState::InLineOfAddress(_) => ("waiting", "its IP address rests, or has as many requests out as it may"),
        HostState::GivesWay(_) | HostState::NewGivesWay(_) => {
            ("waiting", "its registrable domain has had more turns than others have")
        }
        HostState::Held(_) => ("waiting", "has never answered, and as many such hosts are asked as may be"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::{Frontier, FrontierOptions};

    #[test]
    fn a_list_is_the_same_however_many_hosts_it_is_shown_at_once() {
        let mut frontier = Frontier::new(&FrontierOptions::default()).unwrap();
        let pages =
            [("a", 2), ("b", 7), ("c", 1), ("d", 7)].map(|(host, pages)| (0..pages).map(move |page| (host, page)));
        for (host, page) in pages.into_iter().flatten() {
            frontier.seed(&*format!("https://{host}.example/{page}"), Timestamp::default()).unwrap();
        }
        let list = |find: &str, most: usize, at_once: u32| {
            let mut list = HostList::by(HostOrder::default(), find, most);
            let mut from = Some(0);
            while let Some(at) = from {
                from = frontier.list_hosts(&mut list, at, at_once, Timestamp::default());
            }
            list
        };
        for at_once in [1, 3, u32::MAX] {
            let all = list("", 100, at_once);
            let rows: Vec<_> =
                all.hosts.iter().map(|host| (&host.host.as_str()[8..9], host.queued, host.state)).collect();
            assert_eq!(rows, [("b", 7, "due"), ("d", 7, "due"), ("a", 2, "due"), ("c", 1, "due")]);
            let few = list("", 2, at_once);
            assert_eq!((few.found, &*few.hosts), (4, &all.hosts[..2]));
        }
        assert_eq!(list("C.Ex", 9, 2).hosts[0].host.as_str(), "https://c.example");
        assert_eq!([list("due", 9, 2).found, list("resting", 9, 2).found], [4, 0], "states are found, too");
    }
}
