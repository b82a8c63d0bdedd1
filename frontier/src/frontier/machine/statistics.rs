//! The frontier in numbers, questions to it, and a list of dropped URLs.
//!
//! All sums are updated with each change, so a progress line may ask for them each second, however large the crawl. Lists of hosts take a
//! walk over the hosts in memory, for reports and dashboards. A URL that is lent out counts as leased and not as queued, though it stays in
//! its queue.
//!
//! # URLs that were dropped
//!
//! [`Drops`] keeps queued URLs that were dropped or set aside at their turn, by robots.txt, a budget or today's rules, so that they can be
//! listed. When the gate refuses a link, the caller that found the link is told, and can list it. But a URL dropped here was found long
//! before, on a page that is done. So the frontier keeps it, with the page that it was found on, until the caller takes it. The list is
//! bounded, since a caller may never take it.
//!
//! Nothing is kept before [`Frontier::keep_dropped`] is called. A crawl with `--skipped` takes the list after each lease, so that it stays
//! short.

use std::ops::RangeInclusive;
use std::time::Duration;
use std::{fmt, io};

use super::{Frontier, FrontierError};
use crate::address::CanonicalUrl;
use crate::frontier::Timestamp;
use crate::frontier::durable::{Journal, read_wire};
use crate::frontier::explain::{Explanation, History, Inquiry};
use crate::frontier::hosts::HostList;
use crate::frontier::hosts::{Host, HostStatistics, Usage};
use crate::gate::{Position, Refusal};

/// The frontier in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrontierStatistics {
    /// URLs waiting.
    pub queued: u64,
    /// URLs whose [time](Frontier::schedule) has not come, and URLs that earlier rules refused and that today's rules have not judged yet.
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

impl FrontierStatistics {
    /// No URL waits for its turn or for a time, and none is lent out.
    pub fn is_drained(&self) -> bool {
        self.queued == 0 && self.scheduled == 0 && self.leased == 0
    }
}

/// Only the numbers: all fields would fill a line for each byte of the queues.
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
    pub fn failing_hosts(&self, most: usize) -> Vec<HostStatistics> {
        let failing = self.state.hosts().with_usage().filter(|(host, _)| host.trouble().is_some());
        let here = failing.map(|(host, usage)| HostStatistics::of(host, usage, &self.politeness));
        let mut hosts: Vec<_> = here.chain(self.state.evicted().failing().iter().cloned()).collect();
        hosts.sort_unstable_by(HostStatistics::worst_first);
        hosts.truncate(most);
        hosts
    }

    /// Hosts with URLs set aside because a budget is spent, most first. Of evicted hosts, a hundred are known. O(hosts in memory).
    pub fn spent_hosts(&self, most: usize) -> Vec<HostStatistics> {
        let spent = self.state.hosts().with_usage().filter(|(_, usage)| usage.left_out > 0);
        let here = spent.map(|(host, usage)| HostStatistics::of(host, usage, &self.politeness));
        let mut hosts: Vec<_> = here.chain(self.state.evicted().left_out().iter().cloned()).collect();
        hosts.sort_unstable_by(HostStatistics::most_left_out_first);
        hosts.truncate(most);
        hosts
    }

    /// How fairly hosts with URLs waiting were asked: Jain's index of their requests (Jain, Chiu, Hawe 1984), 1 if all had equally many,
    /// 1/n if one of n had them all. `None` if fewer than two wait. O(hosts in memory).
    pub fn fairness(&self) -> Option<f64> {
        let waiting = self.state.hosts().iter().filter(|host| host.queue.first().is_some() && !host.is_retired());
        let requests = waiting.map(|host| f64::from(host.requests));
        let (hosts, sum, squares) =
            requests.fold((0.0, 0.0, 0.0), |(hosts, sum, squares), one| (hosts + 1.0, sum + one, squares + one * one));
        (hosts > 1.0 && sum > 0.0).then(|| sum * sum / (hosts * squares))
    }

    /// The longest time that a host of the sample has been due; `None` if none is due.
    pub fn longest_due(&self, now: Timestamp) -> Option<Duration> {
        self.waits.longest_due(now)
    }

    /// Offers `list` at most `count` of the hosts in memory, beginning with number `from`. Returns the number to go on with; `None` after
    /// the last host. So a caller that shares the frontier need not lock it for the whole walk.
    pub fn list_hosts(&self, list: &mut HostList, from: u32, count: u32, now: Timestamp) -> Option<u32> {
        let hosts = self.state.hosts();
        let (end, next) = (hosts.end(), from.saturating_add(count));
        let range = hosts.range(from.min(end), next.min(end));
        range.for_each(|(host, usage)| {
            list.take(host, self.state.spent_of(host.policy, usage), &self.politeness, now);
        });
        if next < end {
            return Some(next);
        }
        list.sort();
        None
    }

    /// A histogram of hosts by their requests, evicted hosts included: for each bucket that has hosts, its least and most requests and the
    /// number of hosts; fewest requests first. The buckets are 0, 1, 2 to 3, 4 to 7 and so on. O(hosts in memory).
    pub fn hosts_by_requests(&self) -> Vec<(RangeInclusive<u64>, u64)> {
        let mut spread = self.state.evicted().spread().clone();
        self.state.hosts().iter().for_each(|host| spread.add(host.requests.into()));
        spread.buckets().collect()
    }

    /// Explains what is known of a URL here: each rule that decides, what the seen set says, and the status of its host. Nothing is
    /// changed, counted or remembered.
    ///
    /// A frontier cannot say whether the URL is queued or was fetched: that takes a walk through the journal, as
    /// [`job::explain`](crate::job::explain) does. Costs a walk over one shard of the seen set, for its false-positive rate.
    ///
    /// ```
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Timestamp};
    ///
    /// let now = Timestamp::from_micros(0);
    /// let mut frontier = Frontier::new(&FrontierOptions::default())?;
    /// frontier.seed("https://example.org/", now)?;
    /// let url = frontier.gate().canonicalizer().canonicalize("https://example.com/a")?;
    /// let explanation = frontier.explain(&url, now)?;
    /// assert_eq!(explanation.verdict().to_string(), "refused: out_of_scope (scope.kind = host)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage), if robots rules have to be read from it.
    pub fn explain(&mut self, url: &CanonicalUrl, now: Timestamp) -> Result<Explanation, FrontierError> {
        let Self { state, rate_groups, .. } = self;
        Ok(Inquiry { state, rate_groups: Some(rate_groups), addresses: &[] }.explain(
            &mut self.journal,
            url,
            History::Unasked,
            now,
        )?)
    }
}

/// The most dropped URLs that are kept; further ones are only counted.
const MOST: usize = 4096;

/// A URL that was admitted, and then refused when its turn came: by its host's robots.txt, because a budget was spent, or by today's rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The wire URL.
    pub url: String,
    /// The wire URL of the page that it was found on.
    pub referrer: Option<String>,
    /// Links from a seed.
    pub depth: u32,
    /// Why.
    pub refusal: Refusal,
}

/// Dropped URLs not taken yet. Unless the list is kept, it costs nothing: the texts of the URLs are not even read.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    /// Whether dropped URLs are kept.
    pub(crate) is_kept: bool,
    /// The URLs that wait to be taken.
    pub(crate) kept: Vec<Dropped>,
    /// How many more there were.
    pub(crate) further: u32,
}

impl Drops {
    /// Keeps the URL of this entry, if URLs are kept.
    pub(crate) fn note(&mut self, journal: &mut impl Journal, position: Position, refusal: Refusal) -> io::Result<()> {
        if !self.is_kept {
            return Ok(());
        }
        if self.kept.len() == MOST {
            self.further = self.further.saturating_add(1);
            return Ok(());
        }
        let entry = journal.read(position)?;
        let (url, depth, referrer) = (entry.wire.to_owned(), entry.depth, entry.referrer);
        let referrer = referrer.map_or(Ok(None), |position| read_wire(journal, position))?;
        self.kept.push(Dropped { url, referrer: referrer.map(Into::into), depth, refusal });
        Ok(())
    }
}

impl<J: Journal> Frontier<J> {
    /// From now on, URLs that are refused at their turn, by robots.txt, a budget or today's rules, are kept for
    /// [`take_dropped`](Self::take_dropped).
    pub fn keep_dropped(&mut self) {
        self.drops.is_kept = true;
    }

    /// The URLs refused since the last call, at most 4,096, and how many more there were.
    pub fn take_dropped(&mut self) -> (Vec<Dropped>, u32) {
        (std::mem::take(&mut self.drops.kept), std::mem::take(&mut self.drops.further))
    }
}
