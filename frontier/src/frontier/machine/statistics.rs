//! The frontier in numbers, explanations of URLs, the list of dropped URLs, and what a checkpoint saves of the frontier.
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

use super::{Frontier, FrontierError, FrontierStatistics};
use crate::address::{CanonicalUrl, Fingerprint, HostKey, Identity, IdentityBuf};
use crate::bytes::varint;
use crate::frontier::durable::{Counts, Entry, Journal, read_wire};
use crate::frontier::explain::{Explanation, History, Inquiry};
use crate::frontier::hosts::{Host, HostId, HostList, HostStatistics, QueueStatistics, ServerAddress, Usage};
use crate::frontier::{Href, StateChunk, Timestamp};
use crate::gate::{Found, Position, Refusal, fingerprint};

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
        let of_queues = self.queues.statistics(self.rate.is_limited());
        let (queues, journal) = (state.queues_memory() + self.move_ups.memory(), self.journal.memory());
        FrontierStatistics {
            queued: count.queued - (of_queues.leased - of_queues.leased_robots),
            scheduled: state.schedule().len() + state.schedule().aside(state.rules().number),
            completed: count.completed,
            retries: count.retries,
            hosts: state.hosts().len() as u64 + state.evicted().len(),
            hosts_in_memory: state.hosts().len() as u64,
            retired_hosts: count.retired_hosts,
            expired: self.deadlines.expired(),
            shared_priorities: self.shared_priorities,
            moved_up: self.move_ups.count(),
            not_looked_at: state.gate().missed_again(),
            unreachable: state.schedule().parked(),
            memory: of_queues.memory + (state.hosts_memory() + queues + journal) as u64,
            queue_memory: queues as u64,
            journal_memory: journal as u64,
            robots_memory: state.rules_memory() as u64,
            ..of_queues
        }
    }

    /// What each queue in memory waits for, a host's or a [named](Href::queue) one: when it is due, how many of its URLs wait, and how it
    /// fails. Hosts with nothing queued may have been evicted. O(hosts): a million take about 80 ms, so it may be asked each second.
    ///
    /// ```
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Next, Timestamp};
    ///
    /// let (mut frontier, now) = (Frontier::new(&FrontierOptions::default())?, Timestamp::from_micros(0));
    /// for seed in ["https://a.example/1", "https://a.example/2", "https://b.example/"] {
    ///     frontier.seed(seed, now)?;
    /// }
    /// let Next::Fetch(_robots) = frontier.next(now)? else { panic!("a host is due") };
    /// let queues: Vec<_> = frontier.queues(now).map(|(host, queue)| (host.host(), queue.waiting, queue.lent)).collect();
    /// assert_eq!(queues, [("a.example", 2, 1), ("b.example", 1, 0)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn queues(&self, now: Timestamp) -> impl Iterator<Item = (&HostKey, QueueStatistics)> {
        let hosts = self.state.hosts().ids().map(|id| (id, self.state.host(id))).filter(|(_, host)| !host.is_hole());
        hosts.map(move |(id, host)| (&host.key, self.queue_statistics_of(id, host, now)))
    }

    /// What the queue of one host, or a [named](HostKey::of_queue) queue, waits for; `None` if nothing is known of it. O(1): a lookup,
    /// about a microsecond, or if the host was evicted, the reading of its image.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage), if its image has to be read.
    pub fn queue_statistics(
        &mut self,
        host: &HostKey,
        now: Timestamp,
    ) -> Result<Option<QueueStatistics>, FrontierError> {
        let key = host.as_str();
        if let Some(id) = self.state.look_up(key) {
            return Ok(Some(self.queue_statistics_of(id, self.state.host(id), now)));
        }
        let Some(image) = self.journal.host(key)? else { return Ok(None) };
        let (mut host, _) = self.state.of_image(image, key)?;
        self.state.evicted().set_clock(&mut host, &self.politeness, now);
        Ok(Some(QueueStatistics::of(&host, host.status.due, &self.politeness, now)))
    }

    fn queue_statistics_of(&self, id: HostId, host: &Host, now: Timestamp) -> QueueStatistics {
        QueueStatistics::of(host, self.queues.rested(host, id), &self.politeness, now)
    }

    /// The hosts with the most requests, most first, equals by name. Of evicted hosts, only the top hundred are known. O(hosts in memory).
    pub fn top_hosts(&self, most: usize) -> Vec<HostStatistics> {
        let mut hosts: Vec<_> = self.state.hosts().with_usage().collect();
        let order = |(a, _): &(&Host, Usage), (b, _): &(&Host, Usage)| {
            b.status.requests.cmp(&a.status.requests).then_with(|| a.key.cmp(&b.key))
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
        let failing = self.state.hosts().with_usage().filter(|(host, _)| host.status.trouble().is_some());
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
        let waiting =
            self.state.hosts().iter().filter(|host| host.queue.first().is_some() && !host.status.is_retired());
        let requests = waiting.map(|host| f64::from(host.status.requests));
        let (hosts, sum, squares) =
            requests.fold((0.0, 0.0, 0.0), |(hosts, sum, squares), one| (hosts + 1.0, sum + one, squares + one * one));
        (hosts > 1.0 && sum > 0.0).then(|| sum * sum / (hosts * squares))
    }

    /// The longest time that a host of the sample has been due; `None` if none is due.
    pub fn longest_due(&self, now: Timestamp) -> Option<Duration> {
        self.queues.longest_due(now)
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
        self.state.hosts().iter().for_each(|host| spread.add(host.status.requests.into()));
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
        self.explain_own(url, (None, None), now)
    }

    /// As [`explain`](Self::explain), for the request at this URL that has this identity.
    ///
    /// # Errors
    /// As [`explain`](Self::explain).
    pub fn explain_identity(
        &mut self,
        url: &CanonicalUrl,
        identity: Identity<'_>,
        now: Timestamp,
    ) -> Result<Explanation, FrontierError> {
        self.explain_own(url, (Some(identity.to_buf()), None), now)
    }

    /// As [`explain`](Self::explain), for a request with all that its finder says of it: its [identity](Href::identity) and its
    /// [queue](Href::queue), whose clock, failures and rules count.
    ///
    /// # Errors
    /// As [`explain`](Self::explain), and [`Address`](FrontierError::Address).
    pub fn explain_request<'a>(
        &mut self,
        href: impl Into<Href<'a>>,
        now: Timestamp,
    ) -> Result<Explanation, FrontierError> {
        let href = href.into();
        let url = self.gate().canonicalizer().canonicalize(href.text)?;
        self.explain_own(&url, (href.identity.map(Identity::to_buf), href.queue_key()), now)
    }

    fn explain_own(
        &mut self,
        url: &CanonicalUrl,
        own: (Option<IdentityBuf>, Option<HostKey>),
        now: Timestamp,
    ) -> Result<Explanation, FrontierError> {
        let inquiry = Inquiry { state: &self.state, rate_groups: Some(self.queues.rate_groups()), addresses: &[] };
        Ok(inquiry.explain(&mut self.journal, url, own, History::Unasked, now)?)
    }
}

/// URLs that wait, by what names them.
impl<J: Journal> Frontier<J> {
    /// The positions of the waiting requests at this URL, in the order in which they were queued. An [identity](Href::identity) of `href`
    /// selects the requests with that identity, a [queue](Href::queue) the requests in that queue. Use it to name one of several requests
    /// when you have only a URL.
    ///
    /// Reads the entry of each URL that waits in its queue, and of each that waits for a time, is set aside or was given up: about a
    /// microsecond each. No text is kept in memory for it.
    ///
    /// ```
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Href, Timestamp};
    ///
    /// let (mut frontier, now) = (Frontier::new(&FrontierOptions::default())?, Timestamp::from_micros(0));
    /// let api = "https://example.org/api";
    /// frontier.seed(api, now)?;
    /// frontier.seed(Href::from(api).unconditional(), now)?;
    /// frontier.seed(Href::from(api).identity("another")?, now)?;
    /// let [first, second] = frontier.positions_of(api)?[..] else { panic!("two wait") };
    /// assert_eq!(frontier.reprioritize([(second, -1)], now)?.moved, 1);
    /// assert_eq!(frontier.positions_of(Href::from(api).identity("another")?)?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Address`](FrontierError::Address) or [`Storage`](FrontierError::Storage).
    pub fn positions_of<'a>(&mut self, href: impl Into<Href<'a>>) -> Result<Vec<Position>, FrontierError> {
        let href = href.into();
        let url = self.gate().canonicalizer().canonicalize(href.text)?;
        let queue = href.queue_key();
        let host = self.state.look_up(queue.as_ref().map_or(url.origin(), HostKey::as_str));
        let wanted = Found::seed(url).said(&href).fingerprint(self.gate().fingerprint_key());
        let mut positions = Vec::new();
        self.read_waiting(host, |position, fingerprint, _| {
            if fingerprint == wanted {
                positions.push(position);
            }
        })?;
        Ok(positions)
    }

    /// The [metadata](Href::metadata) of all requests with this fingerprint that wait or are lent out, in the order in which they were queued.
    ///
    /// Reads the entry of each waiting URL, at any host: about a microsecond each. It is for callers that know a request's fingerprint and
    /// want to see the request.
    ///
    /// ```
    /// use crawler_frontier::address::Identity;
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Href, Timestamp};
    ///
    /// let (mut frontier, now) = (Frontier::new(&FrontierOptions::default())?, Timestamp::from_micros(0));
    /// frontier.seed(Href::from("https://example.org/api").identity("red")?.metadata(b"q=red")?, now)?;
    /// let red = Identity::new("red")?.fingerprint(frontier.gate().fingerprint_key());
    /// assert_eq!(frontier.metadata_of(red)?, [Box::from(*b"q=red")]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage).
    pub fn metadata_of(&mut self, fingerprint: Fingerprint) -> Result<Vec<Box<[u8]>>, FrontierError> {
        let mut found = Vec::new();
        self.read_waiting(self.state.hosts().ids(), |_, waiting, entry| {
            if waiting == fingerprint {
                found.push(entry.metadata.into());
            }
        })?;
        Ok(found)
    }

    /// The positions of all URLs that wait or are lent out. Each host's URLs come together, in their order; after all hosts come the URLs that
    /// wait for a time, are set aside or were given up. Some 5 ns each.
    pub fn positions(&self) -> impl Iterator<Item = Position> {
        let (hosts, back) = (self.state.hosts().iter(), self.state.back());
        let queued = hosts.flat_map(|host| back.levels(&host.queue)).flat_map(|level| back.positions(level));
        queued.chain(self.state.schedule().iter())
    }

    /// Reads the entries of the URLs that wait at these hosts, and of those in no host's queue, in their order.
    pub(super) fn read_waiting(
        &mut self,
        hosts: impl IntoIterator<Item = HostId>,
        mut each: impl FnMut(Position, Fingerprint, &Entry<'_>),
    ) -> io::Result<()> {
        let state = &self.state;
        let of_host = |id| {
            let (back, queue) = (state.back(), &state.host(id).queue);
            back.levels(queue).flat_map(|level| back.positions(level))
        };
        let mut waiting: Vec<Position> = hosts.into_iter().flat_map(of_host).chain(state.schedule().iter()).collect();
        waiting.sort_unstable();
        // The limits may be lower now; an admitted URL stays admitted.
        let canonicalizer = self.gate().canonicalizer().clone().with_max_bytes(usize::MAX);
        let key = self.gate().fingerprint_key();
        for position in waiting {
            let entry = self.journal.read(position)?;
            if let Ok(url) = canonicalizer.canonicalize(entry.wire) {
                each(position, fingerprint(&url, entry.identity, key), &entry);
            }
        }
        Ok(())
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
    is_kept: bool,
    /// The URLs that wait to be taken.
    kept: Vec<Dropped>,
    /// How many more there were.
    further: u32,
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

/// For checkpoints.
impl<J: Journal> Frontier<J> {
    /// Appends a chunk, of the schedule and then of the hosts with their queues. Returns the next one; `None` after the last. A URL that is
    /// lent out is written as queued.
    pub(crate) fn save(&self, chunk: StateChunk, to: &mut Vec<u8>) -> Option<StateChunk> {
        self.state.save(chunk, to)
    }

    /// Appends the address of each host of a chunk, in its order, as a [`varint`]; 0 if none is known. No record has
    /// them and no resume needs them, since each host's address is reported again before it is connected to. They are for
    /// [`explain`](crate::frontier::Resume::explain) on a job that is not running.
    pub(crate) fn save_addresses(&self, chunk: StateChunk, to: &mut Vec<u8>) {
        for host in self.state.hosts_of(chunk) {
            let address = host.scheduling.address.and_then(|rate_group| self.queues.rate_groups().address(rate_group));
            varint::put(to, address.map_or(0, ServerAddress::number));
        }
    }

    /// The counts at `position`, the journal's end. No URL may be passing the gate meanwhile.
    pub(crate) fn counts(&self, position: Position) -> Counts {
        let (gate, count) = (self.gate(), self.state.count());
        let mut leases = Vec::new();
        self.state.leases().save(&mut leases);
        Counts {
            position,
            admitted: gate.admitted(),
            refused: gate.refusals().iter().filter(|(_, count)| *count > 0).collect(),
            completed: count.completed,
            retries: count.retries,
            output: count.output,
            leased: self.queues.leased(),
            rules: self.state.rules(),
            scope: gate.scope_kind(),
            roots: gate.roots(),
            originals: gate.budgets().originals(),
            evidence: gate.budgets().slots(),
            leases,
        }
    }
}
