//! A frontier on its way back, from a checkpoint and the journal behind it.

use std::collections::BTreeMap;
use std::io;

use super::{Again, Count, Done};
use crate::address::{CanonicalUrl, Canonicalizer, Fingerprint};
use crate::frontier::durable::{
    BadSlice, Counts, DueRecord, Entry, Journal, Receipt, Record, Settled, Standing, image,
};
use crate::frontier::hosts::{Away, Hosts};
use crate::frontier::queues::{Back, MARK, Queued, Schedule, second};
use crate::frontier::{Frontier, FrontierOptions, Timestamp};
use crate::gate::{Gate, OptionError, Position, Refusal};
use crate::seen::SeenSet;

/// A frontier on its way back: a checkpoint's slices first, then the journal's records behind it, then [`finish`](Self::finish).
///
/// A slice holds its hosts as they were at a position of its own, so that none has to wait for the others while they are
/// saved. A record before it is in the slice already, and passed over. The schedule is saved before any host, by seconds, each
/// piece at a position of its own as well: so a URL whose time came before its piece was saved is in its host's slice.
#[derive(Debug)]
pub struct Replay {
    pub(crate) gate: Gate,
    /// The gate's, but for its limits: what was admitted stays so, should they be lower now.
    canonicalizer: Canonicalizer,
    pub(crate) options: FrontierOptions,
    pub(crate) hosts: Hosts,
    pub(crate) away: Away,
    pub(crate) back: Back,
    pub(crate) schedule: Schedule,
    pub(crate) count: Count,
    /// For each slice one more than its last host's number, and where it was saved.
    slices: Vec<(u32, Position)>,
    /// The last second of each piece of the schedule, and where it was saved.
    scheduled_at: Vec<(u64, Position)>,
    /// Where each shard of the seen set was saved; none where what it remembers stays remembered.
    seen_at: Vec<Position>,
    /// Records from here on are not in the counts yet.
    pub(crate) counted_to: Position,
    records: u64,
    rests: bool,
    /// Pages of hosts that were done, and whose records are lost. They are queued in the end: what came off their queue later
    /// stood behind them, and would be taken for what follows URLs that robots.txt disallows.
    pub(crate) lost: BTreeMap<Position, (u32, Queued)>,
    /// Pages that are done: the output may still prove to have been shorter.
    pub(crate) done: Vec<Done>,
}

impl Replay {
    /// Begins; `seen` is the checkpoint's seen set.
    ///
    /// # Errors
    /// Where an option is out of its range or does not parse.
    pub fn new(options: &FrontierOptions, seen: Option<SeenSet>) -> Result<Self, OptionError> {
        options.check()?;
        Ok(Self {
            gate: Gate::new(options.gate(), seen)?,
            canonicalizer: Canonicalizer::new(&options.keys).with_max_bytes(usize::MAX),
            options: options.clone(),
            hosts: Hosts::default(),
            away: Away::default(),
            back: Back::default(),
            schedule: Schedule::default(),
            count: Count::default(),
            slices: Vec::new(),
            scheduled_at: Vec::new(),
            seen_at: Vec::new(),
            counted_to: Position::default(),
            records: 0,
            rests: false,
            lost: BTreeMap::new(),
            done: Vec::new(),
        })
    }

    /// Takes the next slice, saved where the journal ended at `position`.
    ///
    /// # Errors
    /// Where it is none.
    pub fn load(&mut self, mut slice: &[u8], position: Position) -> Result<(), BadSlice> {
        if slice.first() == Some(&MARK) {
            let last = self.schedule.load(slice).ok_or(BadSlice)?;
            self.scheduled_at.push((last, position));
            return Ok(());
        }
        while !slice.is_empty() {
            let host = image::load(&mut slice, &mut self.back).ok_or(BadSlice)?;
            self.count.queued += u64::from(host.queue.len());
            self.count.retired_hosts += u64::from(host.is_retired());
            self.count.rules += host.robots.memory();
            self.hosts.put(host).ok_or(BadSlice)?;
        }
        self.slices.push((self.hosts.end(), position));
        Ok(())
    }

    /// Takes where each shard of the seen set was saved, in their order; for layouts that can
    /// [forget](crate::seen::Layout::forgets).
    pub fn load_seen_at(&mut self, positions: Vec<Position>) {
        self.seen_at = positions;
    }

    /// Takes the counts of a checkpoint.
    pub fn load_counts(&mut self, counts: &Counts) {
        self.counted_to = counts.position;
        self.count.completed = counts.completed;
        self.count.retries = counts.retries;
        self.count.output = counts.output;
        self.rests |= counts.leased > 0;
        self.gate.restore(counts.admitted, &counts.refused, &counts.roots);
    }

    /// Takes the next record of the journal. `has` says whether the output has what a receipt says; where it has not, the
    /// page stays queued. `host` gives the newest image of a host that is away, as [`Journal::host`] does.
    ///
    /// # Errors
    /// Those of `host`.
    pub fn record(
        &mut self,
        position: Position,
        record: &Record<'_>,
        has: impl FnOnce(&Receipt) -> bool,
        host: impl FnOnce(&str) -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<()> {
        self.records += 1;
        match record {
            Record::Admitted(entry) => self.admitted(position, entry, host)?,
            Record::Settled(settled) => self.settled(position, settled, None, has, host)?,
            Record::Again { settled, entry } => self.settled(position, settled, Some(entry), has, host)?,
            Record::Due(record) => self.due(position, record, host)?,
            Record::Forgotten { fingerprint } if !self.has_shard(*fingerprint, position) => {
                // A layout that cannot has noted none.
                let _ = self.gate.seen().remove(*fingerprint);
            }
            Record::Host(record) => {
                self.recall(record.host.key, host)?;
                self.host(position, record);
            }
            Record::Resumed { output } if position >= self.counted_to => self.resumed(*output),
            Record::Forgotten { .. } | Record::Limited { .. } | Record::Resumed { .. } => {}
        }
        Ok(())
    }

    /// Records replayed.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Bytes of the output that are confirmed.
    pub fn output(&self) -> u64 {
        self.count.output
    }

    /// The frontier over its journal.
    ///
    /// What was lent out is queued again. Unless the last checkpoint tells that nothing was, each host rests for its delay
    /// first, since nobody knows when it was asked last; and none rests longer than it could have been told to, should the
    /// clock have been set back.
    pub fn finish<J: Journal>(mut self, journal: J, now: Timestamp) -> Frontier<J> {
        self.queue_lost();
        let politeness = &self.options.politeness;
        let latest = now + politeness.longest_rest();
        let is_unclean = self.rests || self.records > 0;
        // Dropped after their host was saved and before the counts were taken, by robots.txt alone: queued again here, they will
        // be counted when they are dropped.
        let dropped =
            (self.count.completed + self.count.queued + self.schedule.len()).saturating_sub(self.gate.admitted());
        self.gate.reinstate(Refusal::Robots, dropped);
        self.away.since = is_unclean.then_some(now);
        for number in 0..self.hosts.end() {
            let host = &mut self.hosts[number];
            let rested = if is_unclean { now + host.delay(politeness) } else { now };
            host.due = host.due.max(rested).min(latest);
        }
        let mut frontier = Frontier::of(self.gate, &self.options, journal);
        let hosts = self.hosts.end();
        (frontier.hosts, frontier.away) = (self.hosts, self.away);
        (frontier.back, frontier.count) = (self.back, self.count);
        frontier.schedule = self.schedule;
        for number in 0..hosts {
            frontier.place(number, now);
        }
        frontier
    }

    /// Whether a record is in its host's slice. One that was away when the checkpoint began, or new, and took the number of a host
    /// of a slice that was saved before, is in none, and all of its records are replayed.
    fn is_saved(&self, number: u32, position: Position) -> bool {
        let slice = self.slices.partition_point(|(end, _)| *end <= number);
        self.slices.get(slice).is_some_and(|(_, saved)| position < *saved)
    }

    /// Whether what happened to a fingerprint at this position is in its shard as that was saved, and must not happen again.
    fn has_shard(&self, fingerprint: Fingerprint, position: Position) -> bool {
        let shard = self.gate.seen().shard_of(fingerprint);
        self.seen_at.get(shard).is_some_and(|saved| position < *saved)
    }

    /// Whether a URL was in the schedule when that was saved, or had been before.
    fn was_scheduled(&self, at: Timestamp, position: Position) -> bool {
        let pieces = &self.scheduled_at;
        let piece = pieces.iter().find(|(last, _)| second(at) <= *last).or(pieces.last());
        piece.is_some_and(|(_, saved)| position < *saved)
    }

    fn admitted(
        &mut self,
        position: Position,
        entry: &Entry<'_>,
        host: impl FnOnce(&str) -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<()> {
        // What was admitted was canonical; only with other rules on keys, which a job refuses, it would not be now.
        let Ok(url) = self.canonicalizer.canonicalize(entry.wire) else { return Ok(()) };
        let is_new = position >= self.counted_to;
        if let Some(at) = entry.not_before {
            self.scheduled(position, &url, entry, at);
            return Ok(());
        }
        let number = self.recall_or_add(url.origin(), host)?;
        let queued = Queued { position, priority: entry.priority, attempts: 0 };
        let is_saved = self.is_saved(number, position);
        if let Some(replaced) = entry.replaces {
            if !is_saved && self.take(number, entry.priority, replaced, is_new) {
                self.queue_first(number, queued);
            }
            return Ok(());
        }
        self.gate.remember(&url, (entry.via, entry.depth), |fingerprint| self.has_shard(fingerprint, position), is_new);
        if !is_saved {
            self.queue_last(number, entry.priority, position);
        }
        Ok(())
    }

    fn scheduled(&mut self, position: Position, url: &CanonicalUrl, entry: &Entry<'_>, at: Timestamp) {
        // What takes another's place was told of before.
        if entry.replaces.is_none() {
            let is_new = position >= self.counted_to;
            self.gate.remember(
                url,
                (entry.via, entry.depth),
                |fingerprint| self.has_shard(fingerprint, position),
                is_new,
            );
        }
        if !self.was_scheduled(at, position) {
            self.schedule.push(at, position);
        }
    }

    /// Of the schedule as it was at this record, this was the URL that went first. Where it is not, the piece that would have
    /// it was saved after it had gone, and its host later still.
    fn due(
        &mut self,
        at: Position,
        due: &DueRecord<'_>,
        host: impl FnOnce(&str) -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<()> {
        if self.schedule.first() == Some(due.position) {
            self.schedule.pop();
        } else if self.schedule.first_parked() == Some(due.position) {
            self.schedule.pop_parked();
            self.count.completed -= u64::from(at >= self.counted_to);
        } else {
            return Ok(());
        }
        let number = self.recall_or_add(due.host, host)?;
        if !self.is_saved(number, at) {
            self.queue_last(number, due.priority, due.position);
        }
        Ok(())
    }

    /// `again` is the entry by which the page waits. Where its record is lost it is asked for once more, and waits for nothing.
    fn settled(
        &mut self,
        position: Position,
        settled: &Settled<'_>,
        again: Option<&Entry<'_>>,
        has: impl FnOnce(&Receipt) -> bool,
        host: impl FnOnce(&str) -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<()> {
        let is_new = position >= self.counted_to;
        let is_there = !is_new || settled.receipt.as_ref().is_none_or(has);
        self.recall(settled.host.key, host)?;
        let waits = again.and_then(|entry| Some((entry, entry.not_before?)));
        if let Some((entry, at)) = waits
            && is_there
            && let Ok(url) = self.canonicalizer.canonicalize(entry.wire)
        {
            self.scheduled(position, &url, entry, at);
        }
        let done = settled.done && is_there;
        let Settled { position: page, priority, attempts, .. } = *settled;
        let number = self.known(&settled.host, position);
        let was_queued = number.map(|number| self.take(number, priority, page, is_new));
        let is_again = was_queued == Some(false);
        if is_new {
            self.count.completed += u64::from(done && !is_again);
            self.count.retries += u64::from(!settled.done);
        }
        let Some(number) = number else { return Ok(()) };
        let queued = Queued { position: page, priority, attempts };
        let before = Queued { attempts: attempts.saturating_sub(1), ..queued };
        if !is_again && !settled.done {
            if waits.is_none() {
                self.queue_first(number, queued);
            }
        } else if !is_again && !done {
            self.lost.insert(page, (number, before));
        } else if let Some(receipt) = settled.receipt.filter(|_| is_new && !is_again) {
            self.count.output = receipt.end;
            let again = waits.map(|(entry, at)| Again { at, position, is_parked: entry.is_parked() });
            self.done.push(Done { end: receipt.end, number, queued: before, again });
        }
        let was_asked = !again.is_some_and(Entry::is_parked);
        self.stands(number, &settled.host, was_asked);
        Ok(())
    }

    /// The number of a host that was admitted to before, where this record is not in its slice.
    pub(crate) fn known(&self, host: &Standing<'_>, position: Position) -> Option<u32> {
        self.hosts.find(host.key).filter(|&number| !self.is_saved(number, position))
    }

    /// Takes a page from its queue, and whatever stands before it: robots.txt disallowed that.
    fn take(&mut self, number: u32, priority: u8, page: Position, is_new: bool) -> bool {
        if self.lost.remove(&page).is_some() {
            return true;
        }
        let dropped = self.back.take(&mut self.hosts[number].queue, priority, page);
        if let Some(dropped) = dropped {
            self.count.queued -= u64::from(dropped) + 1;
            self.gate.withdraw(Refusal::Robots, if is_new { dropped.into() } else { 0 });
        }
        dropped.is_some()
    }

    fn queue_last(&mut self, number: u32, priority: u8, position: Position) {
        self.back.push(&mut self.hosts[number].queue, priority, position);
        self.count.queued += 1;
    }
}
