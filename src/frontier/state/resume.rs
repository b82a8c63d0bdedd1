//! A frontier on its way back, from a checkpoint and the journal behind it.
//!
//! In this order, and by whoever has the files:
//!
//! 1. [`Resume::new`], with the checkpoint's seen set.
//! 2. [`load`](Resume::load) for each slice, then where the shards were saved, the counts, and the images of evicted hosts.
//! 3. [`record`](Resume::record) for each record of the journal from the checkpoint's begin on. It goes to [`State::apply`], as it did
//!    when it was written, with what of the state has it already taken out.
//! 4. [`finish`](Resume::finish), which places the hosts and makes a frontier.
//!
//! Without a checkpoint the second step is left out, and the journal is read from its begin.
//!
//! Three things differ from a live change. A host may be evicted, and is brought back by its image. A piece of the checkpoint may have
//! the record, by [`SavedAt`]. And a page that is done may have lost its record in an output, by [`Lost`]; then it waits again.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::lost::{Again, Done, Lost, LostPage};
use super::saved_at::SavedAt;
use super::{Change, PendingParts, State};
use crate::address::{CanonicalUrl, Canonicalizer, HostKey, host_of};
use crate::frontier::durable::{
    BadSlice, Counts, Entry, HostRecord, Journal, Receipts, Record, Settled, idle_hosts, image,
};
use crate::frontier::explain::{Explanation, History, Inquiry};
use crate::frontier::hosts::{Host, HostId, PolitenessTable};
use crate::frontier::queues::{self, Queued, RateGroups, SCHEDULE};
use crate::frontier::{Frontier, FrontierOptions, Timestamp};
use crate::gate::{Found, Gate, OptionError, Position};
use crate::seen::SeenSet;

/// A frontier on its way back: a checkpoint's slices first, then the journal's records behind it, then [`finish`](Self::finish).
///
/// Each record changes the state as it did when it was written, but for the parts that have it from the checkpoint. And a
/// page counts as done only if the outputs have what it wrote.
#[derive(Debug)]
pub(crate) struct Resume {
    state: State,
    /// The gate's, but for its limits: what was admitted stays so, should they be lower now.
    canonicalizer: Canonicalizer,
    options: FrontierOptions,
    /// Where each piece of the checkpoint was saved.
    pieces: SavedAt,
    /// Pages that are done, and those whose records the outputs have not.
    lost: Lost,
    /// How many were taken. Without any, and with nothing out, the checkpoint is all: each host keeps its clock as it was.
    records: u64,
    /// Something was lent out when the checkpoint was written, so nobody knows when its host was asked.
    was_busy: bool,
    /// What pages said, until the counts come: the gate takes both at once.
    contents: Option<SeenSet>,
    /// The address of each host of the slices, in their order, as [`Frontier::save_addresses`] has it.
    addresses: Vec<u8>,
    /// How far the clock has gone back since.
    went_back: Option<Duration>,
}

impl Resume {
    /// Begins; `seen` is the checkpoint's seen set.
    ///
    /// # Errors
    /// If an option is out of its range or does not parse.
    pub(crate) fn new(options: &FrontierOptions, seen: Option<SeenSet>) -> Result<Self, OptionError> {
        options.check()?;
        let politeness_table = Arc::new(PolitenessTable::new(&options.politeness, &options.rules)?);
        Ok(Self {
            state: State::new(Gate::new(options.gate(), seen, politeness_table.depths())?, politeness_table),
            canonicalizer: Canonicalizer::new(&options.keys).with_max_bytes(usize::MAX),
            options: options.clone(),
            pieces: SavedAt::default(),
            lost: Lost::default(),
            records: 0,
            was_busy: false,
            contents: None,
            addresses: Vec::new(),
            went_back: None,
        })
    }

    /// Takes the next slice, saved where the journal ended at `position`. In the order in which they were saved: hosts have their numbers by
    /// it, and records behind `position` are new to the hosts of this slice alone.
    ///
    /// # Errors
    /// If it is none.
    pub(crate) fn load(&mut self, mut slice: &[u8], position: Position) -> Result<(), BadSlice> {
        if slice.first() == Some(&SCHEDULE) {
            let last = self.state.schedule_mut().load(slice).ok_or(BadSlice)?;
            self.pieces.schedule.push((last, position));
            return Ok(());
        }
        while !slice.is_empty() {
            self.state.load_host(|back| image::load(&mut slice, back)).ok_or(BadSlice)?;
        }
        self.pieces.hosts.push((self.state.hosts().end(), position));
        Ok(())
    }

    /// Takes the address of each host of the slices. Only who [asks](Self::explain) is told them.
    pub(crate) fn load_addresses(&mut self, addresses: &[u8]) {
        self.addresses = addresses.to_vec();
    }

    /// Takes where each shard of the seen set was saved, in their order; for layouts that can
    /// [forget](crate::seen::Layout::forgets). For all others it does no harm to insert a URL that is there.
    pub(crate) fn load_seen_at(&mut self, positions: Vec<Position>) {
        self.pieces.shards = positions;
    }

    /// Takes what pages said, as the checkpoint has it. Before the counts, with which the budgets get both. Where it is not called, the
    /// budgets begin with what the journal's records say.
    pub(crate) fn load_contents(&mut self, contents: SeenSet) {
        self.contents = Some(contents);
    }

    /// Takes the counts of a checkpoint, of the frontier and of its gate, with what seeds had opened and what the budgets know.
    pub(crate) fn load_counts(&mut self, counts: &Counts) {
        self.pieces.counts = counts.position;
        let count = self.state.count_mut();
        (count.completed, count.retries, count.output) = (counts.completed, counts.retries, counts.output);
        self.was_busy |= counts.leased > 0;
        *self.state.rules_mut() = counts.rules;
        let gate = self.state.gate_mut();
        gate.restore(counts.admitted, &counts.refused, (counts.scope, &counts.roots), &counts.originals);
        gate.budgets_mut().restore(&counts.evidence, self.contents.take());
    }

    /// Takes the newest image of a host that was evicted at some time. It still is where no slice has the host. Call it behind the
    /// slices, once for each host.
    ///
    /// # Errors
    /// If it is no host, or one that is not idle.
    pub(crate) fn load_evicted(&mut self, image: &[u8]) -> Result<(), BadSlice> {
        let idle = idle_hosts(image).next().ok_or(BadSlice)?;
        if self.state.hosts().find(idle.key).is_none() {
            let (host, usage) = self.state.of_image(image, idle.key).map_err(|_| BadSlice)?;
            let politeness_table = Arc::clone(self.state.hosts().politeness_table());
            self.state.load_evicted(&host, usage, &politeness_table);
        }
        Ok(())
    }

    /// Takes the next record of the journal. `has` says whether the outputs have what the receipts of a page say;
    /// where they have not, the page stays queued. `evicted` gives the newest image of an evicted host, as [`Journal::host`] does.
    ///
    /// # Errors
    /// Fails where `evicted` does.
    pub(crate) fn record(
        &mut self,
        at: Position,
        record: &Record<'_>,
        has: impl FnOnce(Receipts<'_>) -> bool,
        evicted: impl FnOnce(&str) -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<()> {
        self.records += 1;
        let fresh = self.pieces.fresh(at);
        match record {
            Record::Admitted(entry) => self.admitted(at, entry, evicted)?,
            Record::Settled(settled) => self.settled(at, record, settled, None, has, evicted)?,
            Record::Again { settled, entry } => self.settled(at, record, settled, Some(entry), has, evicted)?,
            Record::Due(due) => {
                // Where it is not in the schedule, that was saved after it had gone, and its host later still.
                let schedule = self.state.schedule();
                let is_there = match due.from {
                    Some(from) => !self.pieces.has_second(queues::second_of(from), at),
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
                let is_new = |place| !self.pieces.has_second(queues::second_of(place), at);
                let fresh = PendingParts { schedule: is_new(aside.to), aside: aside.from.is_some_and(is_new), ..fresh };
                self.apply(at, record, host, None, fresh);
            }
            Record::Rules { .. } => self.apply(at, record, None, None, fresh),
            Record::Forgotten { fingerprint } => {
                let shard = self.state.gate().seen().shard_of(*fingerprint);
                let fresh = PendingParts { seen: !self.pieces.has_seen(shard, at), ..fresh };
                self.apply(at, record, None, None, fresh);
            }
            Record::Host(of) => {
                let host = self.host(of.host.key, evicted)?;
                self.apply(at, record, host, None, fresh);
            }
            Record::Resumed { output } if fresh.counts => self.lost.cut(*output, &mut self.state),
            Record::Resumed { .. } => {}
        }
        Ok(())
    }

    /// The record with which this frontier must go on where its URLs were judged by other rules; `None` where the rules are the same.
    pub(crate) fn changed_rules(&self) -> Option<Record<'static>> {
        let digest = self.state.rules_digest();
        (self.state.rules().digest != digest).then_some(Record::Rules { digest })
    }

    /// Takes that record: it stands at this position, at the journal's end.
    pub(crate) fn begin_round(&mut self, at: Position, rules: &Record<'_>) {
        self.state.apply(&Change { record: rules, at: Some(at), host: None, remember: None, fresh: PendingParts::ALL });
    }

    /// The clock was ahead by this much, and is right now: hosts rest no longer than follows from how they stand, and what is
    /// scheduled waits for that much less.
    pub(crate) fn went_back(&mut self, by: Option<Duration>) {
        self.went_back = by;
    }

    /// Records taken, those too that changed nothing because the checkpoint has them.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// Bytes of the first output that the records so far confirm. What the file has beyond them is of pages that are asked for again.
    pub(crate) fn output(&self) -> u64 {
        self.state.count().output
    }

    /// What is known so far; pages whose records are lost are queued.
    #[cfg(test)]
    pub(crate) fn state(&mut self) -> &State {
        self.lost.queue_all(&mut self.state);
        &self.state
    }

    /// Opens the scope for what a seed of somebody else opens.
    pub(crate) fn widen(&self, seed: &Found) {
        // Only that it is judged matters, not how.
        let _ = self.state.gate().check(seed);
    }

    /// Explains a URL by the frontier that was left behind: nothing is lent out, and no host rests longer than it
    /// was told to. Call it behind the last record. `history` is what `journal` says of the URL; where it is queued, its
    /// place is found.
    ///
    /// # Errors
    /// If the journal's storage fails.
    pub(crate) fn explain(
        &mut self,
        journal: &mut impl Journal,
        url: &CanonicalUrl,
        history: History,
        now: Timestamp,
    ) -> io::Result<Explanation> {
        self.lost.queue_all(&mut self.state);
        Inquiry { state: &self.state, rate_groups: None, addresses: &self.addresses }
            .explain(journal, url, history, now)
    }

    /// The frontier over its journal.
    ///
    /// Pages that were lent out are queued again: no record says that they were. Unless the checkpoint says that nothing was out, and
    /// nothing happened since, each host rests for its delay first, for nobody knows when it was asked last. No host rests longer than
    /// it could have been told to, should the clock have been set back. Groups of hosts rest first, unless the crawl is new.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub(crate) fn finish<J: Journal>(mut self, journal: J, now: Timestamp) -> io::Result<Frontier<J>> {
        self.lost.queue_all(&mut self.state);
        let politeness_table = Arc::clone(self.state.hosts().politeness_table());
        let is_unclean = self.was_busy || self.records > 0;
        let is_new = self.state.hosts().len() == 0 && self.state.evicted().len() == 0;
        self.state.set_clocks(is_unclean.then_some(now), self.went_back.is_some(), now);
        if let Some(by) = self.went_back {
            self.state.schedule_mut().hasten(by);
        }
        let mut frontier = Frontier::of(self.state, &self.options, journal);
        // Nobody knows which of their hosts was asked last, and when. Which address each host has is told when it is asked.
        frontier.rate_groups = RateGroups::new(&politeness_table, (!is_new).then_some(now));
        frontier.leave_pages();
        frontier.place_all(now)?;
        Ok(frontier)
    }

    /// Hands a record to the state, as it was handed when it was written, but for a host that has it from its slice. All that is resumed goes
    /// through here, and nothing but the parts of a checkpoint and lost pages goes round it.
    fn apply(
        &mut self,
        at: Position,
        record: &Record<'_>,
        host: Option<HostId>,
        remember: Option<&CanonicalUrl>,
        fresh: PendingParts,
    ) {
        let host = host.filter(|&host| !self.pieces.has_host(host, at));
        self.state.apply(&Change { record, at: Some(at), host, remember, fresh });
    }

    /// A URL was queued or scheduled. It may replace a page that is lent out. Where the record of that page was lost, the
    /// page is queued again first: it must stand there to be replaced.
    fn admitted(
        &mut self,
        at: Position,
        entry: &Entry<'_>,
        evicted: impl FnOnce(&str) -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<()> {
        // It was canonical when it was admitted. Only other rules on keys could change that, and a job refuses these.
        let Ok(url) = self.canonicalizer.canonicalize(entry.wire) else { return Ok(()) };
        let host = match entry.not_before {
            Some(_) => None,
            None => Some(self.host_or_new(url.origin(), evicted)?),
        };
        if let Some(replaced) = entry.replaces {
            self.lost.queue(replaced, &mut self.state);
        }
        let (remember, fresh) = self.schedules(at, &url, entry);
        self.apply(at, &Record::Admitted(*entry), host, remember, fresh);
        Ok(())
    }

    /// The parts that do not have an entry yet, and the URL if the gate is to remember it. An entry that takes another's place is the
    /// same page: the gate remembers it since the first one.
    fn schedules<'a>(
        &self,
        at: Position,
        url: &'a CanonicalUrl,
        entry: &Entry<'_>,
    ) -> (Option<&'a CanonicalUrl>, PendingParts) {
        let gate = self.state.gate();
        let shard = gate.seen().shard_of(url.fingerprint(gate.fingerprint_key()));
        let fresh = PendingParts {
            schedule: entry.not_before.is_none_or(|time| !self.pieces.has_scheduled(time, at)),
            seen: !self.pieces.has_seen(shard, at),
            ..self.pieces.fresh(at)
        };
        (entry.replaces.is_none().then_some(url), fresh)
    }

    /// A page's lease came back. Three things can be wrong with that, and none is an error:
    ///
    /// - Its output record is not there: a crash took it. The page is [set aside](Lost::add) and queued again, whatever it waited for.
    /// - It is not queued, though its lease came back: an earlier settlement of it, whose record is in the output, was taken for its
    ///   last already.
    /// - Its host has the record already, from a slice of the checkpoint.
    ///
    /// In each case the host was asked, and how it stands is taken in. `again` is the entry by which the page waits, where it does.
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
        let host = self.host(settled.host.key, evicted)?;
        self.lost.queue(position, &mut self.state);
        let url = again.and_then(|entry| self.canonicalizer.canonicalize(entry.wire).ok());
        let (remember, fresh) = match (again, &url) {
            (Some(entry), Some(url)) => self.schedules(at, url, entry),
            _ => (None, self.pieces.fresh(at)),
        };
        let is_there = !fresh.counts || receipts.is_empty() || has(receipts);
        // The contents were saved before the counts. What they have already, they may be told again.
        if let Some(yielded) = settled.yielded.as_ref().filter(|_| is_there) {
            self.state.gate().budgets().remember(host_of(settled.host.key), yielded);
        }
        let new_to = host.filter(|&host| !self.pieces.has_host(host, at));
        let queued = Queued { position, priority };
        let is_queued = |host: HostId| self.state.back().holds(&self.state.host(host).queue, queued);
        let end = receipts.first().map_or(0, |receipt| receipt.end);
        let page = |host| LostPage { host, queued, tries: attempts.saturating_sub(1), end, cost };
        if let Some(host) = new_to
            && (!is_queued(host) || (done && !is_there))
        {
            // Done before, or its record is lost: only what the host did counts.
            if is_queued(host) {
                self.state.unqueue(host, queued);
                self.lost.add(page(host));
            }
            let was_asked = !again.is_some_and(Entry::is_parked);
            let of = HostRecord { host: settled.host, robots: None, was_asked, is_retry: false };
            self.apply(at, &Record::Host(of), Some(host), None, fresh);
            return Ok(());
        }
        if let (Some(host), true) = (new_to, fresh.counts && !receipts.is_empty()) {
            let waits = again.and_then(|entry| Some((entry.not_before?, entry.is_parked())));
            let again = waits.map(|(time, is_parked)| Again { at: time, position: at, is_parked });
            self.lost.add_done(Done { page: page(host), again });
        }
        self.apply(at, record, host, remember, fresh);
        Ok(())
    }

    /// The host with this key. An evicted one comes back to memory; `None` where it is new. Records are about hosts by their keys, since
    /// numbers are given anew by each process.
    ///
    /// # Errors
    /// Fails where `evicted` does, or gives no image of that host.
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

    /// As [`host`](Self::host), and a new host is added: nothing of it is known but that a URL of it was found.
    fn host_or_new(
        &mut self,
        key: &str,
        evicted: impl FnOnce(&str) -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<HostId> {
        let known = self.host(key, evicted)?;
        Ok(known.unwrap_or_else(|| self.state.add_host(Host::new(HostKey::of_origin(key)))))
    }
}
