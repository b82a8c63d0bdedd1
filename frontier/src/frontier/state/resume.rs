//! Rebuilding a frontier from a checkpoint and the journal after it.
//!
//! The owner of the files makes these calls, in this order:
//!
//! 1. [`Resume::new`], with the checkpoint's seen set.
//! 2. Where the shards were saved; [`load`](Resume::load) for each chunk, in order; then the addresses, the images of evicted hosts, the
//!    contents and the counts.
//! 3. [`record`](Resume::record) for each record of the journal from the beginning of the checkpoint on. [`State::apply`] applies it as
//!    when it was written, except to parts of the state that already have it. If the rules have changed since, the owner then journals the
//!    [record of a new round](Resume::changed_rules).
//! 4. [`finish`](Resume::finish), which places the hosts and makes a frontier.
//!
//! Without a checkpoint the second step is skipped, and the journal is read from its beginning.
//!
//! Three things differ from a change while running. The record's host may be evicted, and is then brought back from its image. A chunk of
//! the checkpoint may already have the record: see [`SavedAt`]. And the record of a page that is done may be missing in an output; the page
//! is then queued again: see [`Lost`].
//!
//! # Lost pages
//!
//! A page is done once two things are on disk: the journal's record that says so, and the page's own record in each output. A crash may
//! keep the first and lose the second. So on resume, for each page that the journal calls done, the outputs are checked for the bytes that
//! its receipts describe. If they are not there, the page counts as not done, and is queued again.
//!
//! An earlier resume after an earlier crash did the same. So the replay queues those pages where that resume did: at the record that says
//! that the journal was opened again.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ahash::AHashMap;

use super::restore::{Again, Done, Lost, LostPage};
use super::save::SavedAt;
use super::{Change, LeaseTable, PendingParts, State};
use crate::address::{CanonicalUrl, Canonicalizer, HostKey, IdentityBuf};
use crate::frontier::durable::{
    Counts, Entry, HostRecord, InvalidChunk, Journal, Receipts, Record, Settled, idle_hosts, image,
};
use crate::frontier::explain::{Explanation, History, Inquiry};
use crate::frontier::hosts::{Host, HostId, PolitenessTable};
use crate::frontier::queues::{self, Queued, SCHEDULE};
use crate::frontier::{Frontier, FrontierOptions, LeaseToken, PRIORITIES, Priorities, Timestamp};
use crate::gate::{Found, Gate, OptionError, Position, fingerprint};
use crate::seen::SeenSet;

/// A frontier being rebuilt: a checkpoint's chunks first, then the journal's records after it, then [`finish`](Self::finish).
///
/// Each record changes the state as it did when it was written, except for parts that have it from the checkpoint. A page counts as done
/// only if the outputs have its bytes.
#[derive(Debug)]
pub(crate) struct Resume {
    state: State,
    /// The gate's canonicalizer without its limit on bytes: admitted URLs stay admitted even if the limit is lower now.
    canonicalizer: Canonicalizer,
    options: FrontierOptions,
    /// Where each chunk of the checkpoint was saved.
    saved_at: SavedAt,
    /// Pages that are done, and pages whose records the outputs do not have.
    lost: Lost,
    /// The number of records read. If there were none, and nothing was lent out when the checkpoint was written, each host keeps its clock
    /// as it was.
    records: u64,
    /// Whether anything was lent out when the checkpoint was written: then it is not known when each host was last asked.
    was_busy: bool,
    /// The fingerprints of page contents, until the counts are loaded: the gate takes both at once.
    contents: Option<SeenSet>,
    /// The address of each host of the chunks, in their order, as [`Frontier::save_addresses`] writes them.
    addresses: Vec<u8>,
    /// By how much the clock was ahead, if it was and has been set right since.
    went_back: Option<Duration>,
    /// The pages that are out under a token: a record that one came back names the page.
    pages_out: AHashMap<Position, LeaseToken>,
}

impl Resume {
    /// Begins; `seen` is the checkpoint's seen set.
    ///
    /// # Errors
    /// If an option is out of its range or does not parse.
    pub(crate) fn new(options: &FrontierOptions, seen: Option<SeenSet>) -> Result<Self, OptionError> {
        options.check()?;
        let politeness_table = Arc::new(PolitenessTable::new(&options.politeness, &options.rules)?);
        let mut gate = options.gate();
        gate.metadata.memory = u64::MAX; // It is on disk.
        Ok(Self {
            state: State::new(Gate::new(gate, seen, politeness_table.depths())?, politeness_table),
            canonicalizer: Canonicalizer::new(&options.keys).with_max_bytes(usize::MAX),
            options: options.clone(),
            saved_at: SavedAt::default(),
            lost: Lost::default(),
            records: 0,
            was_busy: false,
            contents: None,
            addresses: Vec::new(),
            went_back: None,
            pages_out: AHashMap::new(),
        })
    }

    /// Loads the next chunk, which was saved when the journal ended at `position`. Call it in the order in which chunks were saved: that
    /// gives hosts their numbers. Records from `position` on are new to the hosts of this chunk; each chunk has its own position.
    ///
    /// # Errors
    /// If it is not valid.
    pub(crate) fn load(&mut self, mut chunk: &[u8], position: Position) -> Result<(), InvalidChunk> {
        if let Some(loaded) = self.state.rescored.load(chunk) {
            return loaded.map_err(|_| InvalidChunk);
        }
        if chunk.first() == Some(&PRIORITIES) {
            *self.state.back.priorities_mut() = Priorities::load(chunk).ok_or(InvalidChunk)?;
            self.saved_at.priorities = position;
            return Ok(());
        }
        if chunk.first() == Some(&SCHEDULE) {
            let last = self.state.schedule_mut().load(chunk).ok_or(InvalidChunk)?;
            self.saved_at.schedule.push((last, position));
            return Ok(());
        }
        while !chunk.is_empty() {
            self.state.load_host(|back| image::load(&mut chunk, back)).ok_or(InvalidChunk)?;
        }
        self.saved_at.hosts.push((self.state.hosts().end(), position));
        Ok(())
    }

    /// Loads the address of each host of the chunks. Only [`explain`](Self::explain) uses them.
    pub(crate) fn load_addresses(&mut self, addresses: &[u8]) {
        self.addresses = addresses.to_vec();
    }

    /// Loads where each shard of the seen set was saved, in their order; for layouts that can [forget](crate::seen::Layout::forgets). With
    /// the others, inserting a URL twice does no harm.
    pub(crate) fn load_seen_at(&mut self, positions: Vec<Position>) {
        self.saved_at.shards = positions;
    }

    /// Loads the checkpoint's fingerprints of page contents. Call it before the counts, with which the budgets get both. If it is not
    /// called, the budgets begin with what the journal's records have.
    pub(crate) fn load_contents(&mut self, contents: SeenSet) {
        self.contents = Some(contents);
    }

    /// Loads the counts of a checkpoint, of the frontier and of its gate, with the scope that seeds had opened, what the budgets know and
    /// the leases that were out.
    ///
    /// # Errors
    /// If the leases are not valid.
    pub(crate) fn load_counts(&mut self, counts: &Counts) -> Result<(), &'static str> {
        *self.state.leases_mut() = LeaseTable::load(&counts.leases)?;
        let pages = self.state.leases().iter().filter_map(|(token, lease)| Some((lease.page.position()?, token)));
        self.pages_out.extend(pages);
        self.saved_at.counts = counts.position;
        let count = self.state.count_mut();
        (count.completed, count.retries, count.output) = (counts.completed, counts.retries, counts.output);
        self.was_busy |= counts.leased > 0;
        *self.state.rules_mut() = counts.rules;
        let gate = self.state.gate_mut();
        gate.restore(counts.admitted, &counts.refused, (counts.scope, &counts.roots), &counts.originals);
        gate.budgets_mut().restore(&counts.evidence, self.contents.take());
        Ok(())
    }

    /// Loads the newest image of a host that was evicted at some time. If no chunk has the host, it is still evicted. Call it after the
    /// chunks, once for each host.
    ///
    /// # Errors
    /// If it is not a host, or the host is not idle.
    pub(crate) fn load_evicted(&mut self, image: &[u8]) -> Result<(), InvalidChunk> {
        let idle = idle_hosts(image).next().ok_or(InvalidChunk)?;
        if self.state.hosts().find(idle.key).is_none() {
            let (host, usage) = self.state.of_image(image, idle.key).map_err(|_| InvalidChunk)?;
            let politeness_table = Arc::clone(self.state.hosts().politeness_table());
            self.state.load_evicted(&host, usage, &politeness_table);
        }
        Ok(())
    }

    /// Applies the next record of the journal. `has` says whether the outputs have the bytes that a page's receipts describe; if not, the
    /// page stays queued. `evicted` returns the newest image of an evicted host, as [`Journal::host`] does.
    ///
    /// # Errors
    /// If `evicted` fails.
    pub(crate) fn record(
        &mut self,
        at: Position,
        record: &Record<'_>,
        has: impl FnOnce(Receipts<'_>) -> bool,
        evicted: impl FnOnce(&str) -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<()> {
        self.records += 1;
        let fresh = self.saved_at.fresh(at);
        match record {
            Record::Admitted(entry) => self.admitted(at, entry, evicted)?,
            Record::Settled(settled) => self.settled(at, record, settled, None, has, evicted)?,
            Record::Again { settled, entry } => self.settled(at, record, settled, Some(entry), has, evicted)?,
            Record::Due(due) => {
                self.state.rescored.remove(due.position);
                // If the URL is not there, the schedule was saved after the URL had left it, and the chunk of its host even later: both
                // have the record.
                let schedule = self.state.schedule();
                let is_there = match due.from {
                    Some(from) => !self.saved_at.has_second(queues::second_of(from), at),
                    None => [schedule.first(), schedule.first_parked()].contains(&Some(due.position)),
                };
                if is_there {
                    let host = self.host_or_new(due.host, evicted)?;
                    self.apply(at, record, Some(host), None, fresh);
                }
            }
            Record::Disallowed(disallowed) => {
                let host = self.host(disallowed.host, evicted)?;
                self.apply(at, record, host, None, fresh);
            }
            Record::Aside(aside) => {
                self.lost.queue(aside.position, &mut self.state);
                let host = if aside.host.is_empty() { None } else { self.host(aside.host, evicted)? };
                let is_new = |place| !self.saved_at.has_second(queues::second_of(place), at);
                let fresh = PendingParts { schedule: is_new(aside.to), aside: aside.from.is_some_and(is_new), ..fresh };
                self.apply(at, record, host, None, fresh);
            }
            Record::Priority { .. } if at < self.saved_at.priorities => {}
            Record::Moved(moved) => {
                self.lost.queue_moved(moved.moves, &mut self.state);
                let host = self.host(moved.host, evicted)?;
                self.apply(at, record, host, None, fresh);
            }
            Record::Rules { .. } | Record::Extended { .. } | Record::Priority { .. } | Record::Rescored(_) => {
                self.apply(at, record, None, None, fresh);
            }
            Record::Forgotten { fingerprint } => {
                let shard = self.state.gate().seen().shard_of(*fingerprint);
                let fresh = PendingParts { seen: !self.saved_at.has_seen(shard, at), ..fresh };
                self.apply(at, record, None, None, fresh);
            }
            Record::Host(of) => {
                // A host that only others have asked has no URL yet.
                let host = self.host_or_new(of.host, evicted)?;
                self.apply(at, record, Some(host), None, fresh);
            }
            Record::Lent(lent) => {
                if let Some(page) = lent.page.filter(|_| fresh.counts)
                    && let Some(before) = self.pages_out.insert(page, lent.token)
                {
                    // It came back, and the journal could not take the record.
                    self.state.leases_mut().end(before);
                }
                self.apply(at, record, None, None, fresh);
            }
            Record::Answered(answered) => {
                let host = self.host(answered.host, evicted)?;
                self.apply(at, record, host, None, fresh);
            }
            Record::Returned { token, .. } => {
                let page = self.state.leases().get(*token).and_then(|lease| lease.page.position());
                page.filter(|_| fresh.counts).map(|page| self.pages_out.remove(&page));
                self.apply(at, record, None, None, fresh);
            }
            Record::Resumed { output } if fresh.counts => self.lost.cut(*output, &mut self.state),
            Record::Resumed { .. } => {}
        }
        Ok(())
    }

    /// The record that this frontier must continue with if its URLs were judged by other rules; `None` if the rules are the same.
    pub(crate) fn changed_rules(&self) -> Option<Record<'static>> {
        let digest = self.state.rules_digest();
        (self.state.rules().digest != digest).then_some(Record::Rules { digest })
    }

    /// Applies that record, which is at this position, the journal's end.
    pub(crate) fn begin_round(&mut self, at: Position, rules: &Record<'_>) {
        self.apply(at, rules, None, None, PendingParts::ALL);
    }

    /// The clock was ahead by this much, and is right now: hosts rest no longer than follows from their status, and scheduled URLs wait for
    /// that much less.
    pub(crate) fn went_back(&mut self, by: Option<Duration>) {
        self.went_back = by;
    }

    /// The number of records read, including those that changed nothing because the checkpoint has them.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// Bytes of the first output that the records so far confirm. Anything after that belongs to pages that will be fetched again.
    pub(crate) fn output(&self) -> u64 {
        self.state.count().output
    }

    /// The state so far; queues pages whose records are lost.
    #[cfg(test)]
    pub(crate) fn state(&mut self) -> &State {
        self.lost.queue_all(&mut self.state);
        &self.state
    }

    /// Widens the scope by a seed that this journal does not have, such as one of another partition.
    pub(crate) fn widen(&self, seed: &Found) {
        // The check widens the scope; its verdict does not matter.
        let _ = self.state.gate().check(seed);
    }

    /// Explains a URL for a frontier that is not running: nothing is lent out, and no host rests longer than it was told to. Call it after
    /// the last record. `history` is what `journal` says of the URL; if it is queued, its place is found.
    ///
    /// # Errors
    /// If the journal's storage fails.
    pub(crate) fn explain(
        &mut self,
        journal: &mut impl Journal,
        url: &CanonicalUrl,
        own: (Option<IdentityBuf>, Option<HostKey>),
        history: History,
        now: Timestamp,
    ) -> io::Result<Explanation> {
        self.lost.queue_all(&mut self.state);
        Inquiry { state: &self.state, rate_groups: None, addresses: &self.addresses }
            .explain(journal, url, own, history, now)
    }

    /// The frontier over its journal.
    ///
    /// Pages that were lent out are queued again: no record says that they were out, unless they have tokens, and then they are still out.
    /// Each host first rests for its delay, since it is not known when it was last asked, unless the checkpoint says that nothing was out
    /// and nothing happened since. In case the clock was set back, no host rests longer than it could have been told to. Groups of hosts
    /// rest first, unless the crawl is new.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub(crate) fn finish<J: Journal>(mut self, journal: J, now: Timestamp) -> io::Result<Frontier<J>> {
        self.lost.queue_all(&mut self.state);
        let is_unclean = self.was_busy || self.records > 0;
        let is_new = self.state.hosts().len() == 0 && self.state.evicted().len() == 0;
        self.state.set_clocks(is_unclean.then_some(now), self.went_back.is_some(), now);
        if let Some(by) = self.went_back {
            self.state.schedule_mut().hasten(by);
            self.state.leases_mut().hasten(by);
        }
        // It is not known when a host of each group was last asked. The address of each host is reported when it is next asked.
        let mut frontier = Frontier::of(self.state, &self.options, journal, (!is_new).then_some(now));
        frontier.take_up(now)?;
        Ok(frontier)
    }

    /// Applies a record to the state as when it was written, but not to a host that has it from its chunk. Everything that is resumed goes
    /// through here, except the parts of a checkpoint and lost pages.
    fn apply(
        &mut self,
        at: Position,
        record: &Record<'_>,
        host: Option<HostId>,
        remember: Option<&CanonicalUrl>,
        fresh: PendingParts,
    ) {
        self.apply_returned(at, record, host, remember, None, fresh);
    }

    /// The same, for a record with which the lease of this page may have come back.
    fn apply_returned(
        &mut self,
        at: Position,
        record: &Record<'_>,
        host: Option<HostId>,
        remember: Option<&CanonicalUrl>,
        page: Option<Position>,
        fresh: PendingParts,
    ) {
        let host = host.filter(|&host| !self.saved_at.has_host(host, at));
        let token = page.filter(|_| fresh.counts).and_then(|page| self.pages_out.remove(&page));
        self.state.apply(&Change { record, at: Some(at), host, remember, token, fresh });
    }

    /// A URL was queued or scheduled.
    fn admitted(
        &mut self,
        at: Position,
        entry: &Entry<'_>,
        evicted: impl FnOnce(&str) -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<()> {
        // It was a valid URL when it was admitted. Only other key rules could change that, and a job refuses to be opened with other key
        // rules.
        let Ok(url) = self.canonicalizer.canonicalize(entry.wire) else { return Ok(()) };
        let host = match entry.not_before {
            Some(_) => None,
            None => Some(self.host_or_new(entry.queue.unwrap_or(url.origin()), evicted)?),
        };
        let (remember, fresh) = self.schedules(at, &url, entry);
        self.apply(at, &Record::Admitted(*entry), host, remember, fresh);
        Ok(())
    }

    /// The parts that do not have an entry yet, and the URL if the gate is to remember it. An entry that replaces another is the same page,
    /// which the gate remembers from the first entry.
    fn schedules<'a>(
        &self,
        at: Position,
        url: &'a CanonicalUrl,
        entry: &Entry<'_>,
    ) -> (Option<&'a CanonicalUrl>, PendingParts) {
        let gate = self.state.gate();
        let shard = gate.seen().shard_of(fingerprint(url, entry.identity, gate.fingerprint_key()));
        let fresh = PendingParts {
            schedule: entry.not_before.is_none_or(|time| !self.saved_at.has_scheduled(time, at)),
            seen: !self.saved_at.has_seen(shard, at),
            ..self.saved_at.fresh(at)
        };
        (entry.replaces.is_none().then_some(url), fresh)
    }

    /// A page's lease came back. Three cases need care, and none is an error:
    ///
    /// - Its output record is missing, lost in a crash. The page is [noted as lost](Lost::add) and queued again, whatever it waited for.
    /// - It is not queued, though its lease came back: an earlier lease of it, whose record is in the output, already made it done.
    /// - Its host already has the record, from a chunk of the checkpoint.
    ///
    /// In the first two cases the host was still asked, so its status is applied. `again` is the page's new entry, if it has one.
    fn settled(
        &mut self,
        at: Position,
        record: &Record<'_>,
        settled: &Settled<'_>,
        again: Option<&Entry<'_>>,
        has: impl FnOnce(Receipts<'_>) -> bool,
        evicted: impl FnOnce(&str) -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<()> {
        let Settled { position, priority, attempts, done, receipts, cost, .. } = *settled;
        let host = self.host(settled.host, evicted)?;
        self.lost.queue(position, &mut self.state);
        let url = again.and_then(|entry| self.canonicalizer.canonicalize(entry.wire).ok());
        let (remember, fresh) = match (again, &url) {
            (Some(entry), Some(url)) => self.schedules(at, url, entry),
            _ => (None, self.saved_at.fresh(at)),
        };
        let is_there = !fresh.counts || receipts.is_empty() || has(receipts);
        // The contents were saved before the counts. Adding to them what they already have does no harm.
        if let Some((yielded, at)) = settled.yielded_at().filter(|_| is_there) {
            self.state.gate().budgets().remember(at, &yielded);
        }
        let new_to = host.filter(|&host| !self.saved_at.has_host(host, at));
        let queued = Queued { position, priority };
        let is_queued = |host: HostId| self.state.back().holds(&self.state.host(host).queue, queued);
        let end = receipts.first().map_or(0, |receipt| receipt.end);
        let page = |host| LostPage { host, queued, tries: attempts.saturating_sub(1), end, cost };
        if let Some(host) = new_to
            && (!is_queued(host) || (done && !is_there))
        {
            // The page was done before, or its record is lost: only the host's status counts.
            if is_queued(host) {
                self.state.unqueue(host, queued);
                self.lost.add(page(host));
            }
            let was_asked = !again.is_some_and(Entry::is_parked);
            let of = HostRecord {
                host: settled.host,
                status: settled.status.clone(),
                robots: None,
                was_asked,
                is_retry: false,
            };
            self.apply_returned(at, &Record::Host(of), Some(host), None, Some(position), fresh);
            return Ok(());
        }
        if let (Some(host), true) = (new_to, fresh.counts && !receipts.is_empty()) {
            let waits = again.and_then(|entry| Some((entry.not_before?, entry.is_parked())));
            let again = waits.map(|(time, is_parked)| Again { at: time, position: at, is_parked });
            self.lost.add_done(Done { page: page(host), again });
        }
        self.apply_returned(at, record, host, remember, Some(position), fresh);
        Ok(())
    }

    /// The host with this key. An evicted host comes back to memory; `None` if it is new. Records name hosts by their keys, since each
    /// process gives numbers anew.
    ///
    /// # Errors
    /// If `evicted` fails, or does not return an image of that host.
    fn host(
        &mut self,
        key: &str,
        evicted: impl FnOnce(&str) -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<Option<HostId>> {
        if let Some(host) = self.state.look_up(key) {
            return Ok(Some(host));
        }
        let Some(image) = evicted(key)? else { return Ok(None) };
        let (host, usage) = self.state.of_image(&image, key)?;
        Ok(Some(self.state.bring_back(host, usage)))
    }

    /// As [`host`](Self::host), but adds a new host: nothing is known of it but that one of its URLs was found, or that it was asked.
    fn host_or_new(
        &mut self,
        key: &str,
        evicted: impl FnOnce(&str) -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<HostId> {
        let known = self.host(key, evicted)?;
        Ok(known.unwrap_or_else(|| self.state.add_host(Host::new(HostKey::of_origin(key)))))
    }
}
