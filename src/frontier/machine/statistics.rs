//! The frontier in numbers.
//!
//! All sums are kept as things change, so a progress line may ask each second, however large the crawl. The lists walk over the hosts in
//! memory, for reports and dashboards. A URL that is lent out counts as leased and not as queued, though it stays in its queue.

use std::fmt;
#[cfg(any(feature = "crawl", test))]
use std::ops::RangeInclusive;
#[cfg(feature = "crawl")]
use std::time::Duration;

use super::Frontier;
use crate::frontier::Timestamp;
use crate::frontier::durable::Journal;
#[cfg(feature = "cli")]
use crate::frontier::hosts::HostList;
use crate::frontier::hosts::{Host, HostStatistics, Usage};

/// The frontier in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrontierStatistics {
    /// URLs waiting.
    pub queued: u64,
    /// URLs whose [time](Frontier::schedule) has not come, and URLs that earlier rules refused and today's are still to judge.
    pub scheduled: u64,
    /// URLs lent out.
    pub leased: u64,
    /// Of these, the robots.txt.
    pub leased_robots: u64,
    /// Page leases completed for good.
    pub completed: u64,
    /// Leases that will be tried again.
    pub retries: u64,
    /// Hosts known.
    pub hosts: u64,
    /// Hosts in memory: idle ones may be evicted.
    pub hosts_in_memory: u64,
    /// Hosts with URLs queued, resting or due.
    pub active_hosts: u64,
    /// Active hosts whose rest is not over.
    pub resting_hosts: u64,
    /// Of these, hosts that may not be asked at this time of day.
    pub sleeping_hosts: u64,
    /// When the first resting host may be asked again.
    pub next_due: Option<Timestamp>,
    /// Hosts that wait for their group, server or IP address, which rests or has as many requests out as it may.
    pub hosts_in_line: u64,
    /// Hosts that may be asked, but wait because their registrable domain has had more turns than others.
    pub hosts_giving_way: u64,
    /// Hosts that may be asked, but wait for the [rate](super::FrontierOptions::request_rate) of the whole crawl.
    pub held_by_rate: u64,
    /// IP addresses that count as one server.
    pub addresses: u64,
    /// Active hosts that fail and are tried again.
    pub failing_hosts: u64,
    /// Hosts that are not asked again in this run.
    pub retired_hosts: u64,
    /// URLs that were [given up](crate::frontier::Next::GiveUp), and wait to be [asked for again](Frontier::ask_again).
    pub unreachable: u64,
    /// Bytes of memory in all: queues, hosts with their robots rules, and journal.
    pub memory: u64,
    /// Of it, the back queues and the schedule: what the URLs waiting cost besides the journal.
    pub queue_memory: u64,
    /// Of it, the journal.
    pub journal_memory: u64,
    /// Of it, what is known of the hosts' robots.txt.
    pub robots_memory: u64,
}

#[cfg(feature = "crawl")]
impl FrontierStatistics {
    /// No URL waits for its turn or for a time, and none is lent out.
    pub(crate) fn is_drained(&self) -> bool {
        self.queued == 0 && self.scheduled == 0 && self.leased == 0
    }
}

/// The numbers only: in full it would be a line for each byte of its queues.
impl<J: Journal> fmt::Debug for Frontier<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frontier").field("statistics", &self.statistics()).finish_non_exhaustive()
    }
}

impl<J: Journal> Frontier<J> {
    /// The frontier in numbers. O(1).
    pub fn statistics(&self) -> FrontierStatistics {
        let (state, count) = (&self.state, self.state.count());
        let hosts = state.hosts_memory() + self.agenda.memory() + self.rate_groups.memory() + self.domains.memory();
        let (queues, journal) = (state.queues_memory(), self.journal.memory());
        FrontierStatistics {
            queued: count.queued - self.lent.pages,
            scheduled: state.schedule().len() + state.schedule().aside(state.rules().number),
            leased: self.lent.all,
            leased_robots: self.lent.all - self.lent.pages,
            completed: count.completed,
            retries: count.retries,
            hosts: state.hosts().len() as u64 + state.evicted().len(),
            hosts_in_memory: state.hosts().len() as u64,
            active_hosts: self.active_hosts() as u64,
            resting_hosts: self.agenda.len() as u64,
            sleeping_hosts: self.asleep as u64,
            next_due: self.agenda.earliest(),
            hosts_in_line: self.rate_groups.waiting() as u64,
            hosts_giving_way: self.domains.waiting() as u64,
            held_by_rate: if self.rate.is_limited() { self.front.len() as u64 } else { 0 },
            addresses: self.rate_groups.addresses() as u64,
            failing_hosts: self.struggle.failing() as u64,
            retired_hosts: count.retired_hosts,
            unreachable: state.schedule().parked(),
            memory: (hosts + queues + journal) as u64,
            queue_memory: queues as u64,
            journal_memory: journal as u64,
            robots_memory: state.rules_memory() as u64,
        }
    }

    /// The hosts with the most requests, most first, equals by name. Of evicted hosts, only the top hundred are known. O(hosts in memory).
    pub fn top_hosts(&self, most: usize) -> Vec<HostStatistics> {
        let mut hosts: Vec<_> = self.state.hosts().with_usage().collect();
        let order = |(a, _): &(&Host, Usage), (b, _): &(&Host, Usage)| {
            b.requests.cmp(&a.requests).then_with(|| a.key.cmp(&b.key))
        };
        if most < hosts.len() {
            hosts.select_nth_unstable_by(most, order);
            hosts.truncate(most);
        }
        let here = hosts.into_iter().map(|(host, usage)| HostStatistics::of(host, usage, &self.politeness));
        let mut top: Vec<_> = here.chain(self.state.evicted().top().iter().cloned()).collect();
        top.sort_unstable_by(HostStatistics::most_first);
        top.truncate(most);
        top
    }

    /// Hosts that fail or are not asked again, worst first. Of evicted hosts, a hundred are known. O(hosts in memory).
    #[cfg(feature = "crawl")]
    pub(crate) fn failing_hosts(&self, most: usize) -> Vec<HostStatistics> {
        let failing = self.state.hosts().with_usage().filter(|(host, _)| host.trouble().is_some());
        let here = failing.map(|(host, usage)| HostStatistics::of(host, usage, &self.politeness));
        let mut hosts: Vec<_> = here.chain(self.state.evicted().failing().iter().cloned()).collect();
        hosts.sort_unstable_by(HostStatistics::worst_first);
        hosts.truncate(most);
        hosts
    }

    /// Hosts with URLs set aside because a budget is spent, most first. Of evicted hosts, a hundred are known. O(hosts in memory).
    #[cfg(feature = "crawl")]
    pub(crate) fn spent_hosts(&self, most: usize) -> Vec<HostStatistics> {
        let spent = self.state.hosts().with_usage().filter(|(_, usage)| usage.left_out > 0);
        let here = spent.map(|(host, usage)| HostStatistics::of(host, usage, &self.politeness));
        let mut hosts: Vec<_> = here.chain(self.state.evicted().left_out().iter().cloned()).collect();
        hosts.sort_unstable_by(HostStatistics::most_left_out_first);
        hosts.truncate(most);
        hosts
    }

    /// How fairly hosts with URLs waiting were asked: Jain's index of their requests (Jain, Chiu, Hawe 1984), 1 if all had equally many,
    /// 1/n if one of n had them all. `None` if fewer than two wait. O(hosts in memory).
    #[cfg(feature = "crawl")]
    pub(crate) fn fairness(&self) -> Option<f64> {
        let waiting = self.state.hosts().iter().filter(|host| host.queue.first().is_some() && !host.is_retired());
        let requests = waiting.map(|host| f64::from(host.requests));
        let (hosts, sum, squares) =
            requests.fold((0.0, 0.0, 0.0), |(hosts, sum, squares), one| (hosts + 1.0, sum + one, squares + one * one));
        (hosts > 1.0 && sum > 0.0).then(|| sum * sum / (hosts * squares))
    }

    /// The longest time that a host of the sample has been due; `None` if none is due.
    #[cfg(feature = "crawl")]
    pub(crate) fn longest_due(&self, now: Timestamp) -> Option<Duration> {
        self.waits.longest_due(now)
    }

    /// Offers `list` at most `count` of the hosts in memory, beginning with number `from`. Returns the number to go on with; `None` after
    /// the last host. So a caller that shares the frontier need not lock it for the whole walk.
    #[cfg(feature = "cli")]
    pub(crate) fn list_hosts(&self, list: &mut HostList, from: u32, count: u32, now: Timestamp) -> Option<u32> {
        let hosts = self.state.hosts();
        let (end, next) = (hosts.end(), from.saturating_add(count));
        let range = hosts.range(from.min(end), next.min(end));
        range.for_each(|(host, usage)| {
            list.take(host, self.state.spent_of(host.treatment, usage), &self.politeness, now);
        });
        if next < end {
            return Some(next);
        }
        list.sort();
        None
    }

    /// A histogram of hosts by their requests, evicted hosts included: for each bucket that has hosts, its least and most requests and the
    /// number of hosts; fewest requests first. The buckets are 0, 1, 2 to 3, 4 to 7 and so on. O(hosts in memory).
    #[cfg(any(feature = "crawl", test))]
    pub(crate) fn hosts_by_requests(&self) -> Vec<(RangeInclusive<u64>, u64)> {
        let mut spread = self.state.evicted().spread().clone();
        self.state.hosts().iter().for_each(|host| spread.add(host.requests.into()));
        spread.buckets().collect()
    }
}
