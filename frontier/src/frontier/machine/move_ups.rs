//! URLs that are found again with a better priority move up in their queues, if the [option](super::FrontierOptions::move_up) is on.
//!
//! ```text
//!   gate: seen, with this priority ──▶ Places: waits in this front queue ──▶ better? its entry: the URL, and its host
//!                                                                           ──▶ a record for each host ──▶ its levels, rebuilt once
//! ```
//!
//! The gate keeps the fingerprints of what it has refused as seen, and the frontier takes them with its next call. A table finds the place
//! of each by its fingerprint: most no longer wait or have a priority that is as good, and cost one lookup. For each of the others its
//! entry is read, to be sure that it is the same URL, and to find its host. These URLs then move as by
//! [`reprioritize`](super::Frontier::reprioritize).
//!
//! The table is no state: it follows from the queues, and a resume makes it again. Every change of a queue updates it. If the table lacks a
//! place or has one too many, some URL does not move up, and nothing else is wrong.

use std::io;

use super::score_table::ScoreTable;
use crate::address::{Canonicalizer, Fingerprint, FingerprintKey, IdentityBuf};
use crate::frontier::Lease;
use crate::frontier::durable::{Entry, Journal, Moves};
use crate::frontier::hosts::HostId;
use crate::frontier::queues::{Places, WaitingPlace};
use crate::frontier::state::State;
use crate::gate::{Gate, Position, fingerprint};

/// The place of each waiting URL, by its fingerprint; nothing if URLs do not move up.
#[derive(Debug)]
pub(super) struct MoveUps(Option<Box<WaitingTable>>);

/// The place of each waiting URL, and the moves that the table has yet to be told.
#[derive(Debug)]
struct WaitingTable {
    places: Places,
    /// Without the limit on bytes: an admitted URL stays admitted even if the limit is lower now.
    canonicalizer: Canonicalizer,
    key: FingerprintKey,
    /// URLs that went to other front queues, until the table is told.
    moved: Vec<(u64, i64)>,
    /// What the gate handed over last; kept for its memory.
    again: Vec<(Fingerprint, i64)>,
    /// URLs that moved up.
    count: u64,
}

/// A URL that waits, and was found again with a better priority.
#[derive(Clone, Copy, Debug)]
pub(super) struct Better {
    pub(super) position: u64,
    pub(super) score: i64,
    pub(super) front: u8,
    name: Fingerprint,
}

/// This many URLs are looked up at once.
const AT_ONCE: usize = 64;
/// If at most one in this many waiting URLs has moved, their entries are read for their fingerprints. If more have moved, the whole table
/// is walked.
const FEW: usize = 64;

impl MoveUps {
    /// For a frontier in which nothing waits.
    pub(super) fn new(gate: &Gate, is_on: bool) -> Self {
        let table = || WaitingTable {
            places: Places::default(),
            canonicalizer: gate.canonicalizer().clone().with_max_bytes(usize::MAX),
            key: gate.fingerprint_key(),
            moved: Vec::new(),
            again: Vec::new(),
            count: 0,
        };
        Self(is_on.then(|| Box::new(table())))
    }

    /// Makes the table from all queues. Called once, at the end of a resume.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub(super) fn find_all(&mut self, state: &State, journal: &mut impl Journal) -> io::Result<()> {
        let Some(table) = &mut self.0 else { return Ok(()) };
        let (hosts, back) = (state.hosts().iter(), state.back());
        let queued = hosts.flat_map(|host| back.levels(&host.queue)).flat_map(|level| {
            back.positions(level).map(move |position| position.to_u64() << 9 | 1 << 8 | u64::from(level.priority))
        });
        // In the order of the disk. A number takes half the memory of a place.
        let all = queued.chain(state.schedule().iter().map(|position| position.to_u64() << 9));
        let mut all: Vec<u64> = all.collect();
        all.sort_unstable();
        for number in all {
            let [front, flags, ..] = number.to_le_bytes();
            let place =
                WaitingPlace { position: Position::from_u64(number >> 9), front: (flags & 1 == 1).then_some(front) };
            let entry = match journal.read(place.position) {
                Ok(entry) => entry,
                // Its turn will say what is wrong.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => continue,
                Err(error) => return Err(error),
            };
            if let Some(name) = table.name_of(&entry) {
                table.places.insert(name, place);
            }
        }
        Ok(())
    }

    /// Whether URLs move up.
    #[inline]
    pub(super) fn are_on(&self) -> bool {
        self.0.is_some()
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, |table| table.places.memory())
    }

    /// URLs that moved up.
    pub(super) fn count(&self) -> u64 {
        self.0.as_ref().map_or(0, |table| table.count)
    }

    /// Counts URLs that moved up.
    pub(super) fn add(&mut self, moved: u64) {
        self.0.iter_mut().for_each(|table| table.count += moved);
    }
}

/// The table follows the queues.
impl MoveUps {
    /// The fingerprint of a URL that waits, by the position of its entry; `None` if no URL moves up.
    #[inline]
    pub(super) fn name_at(&self, journal: &mut impl Journal, position: Position) -> io::Result<Option<Fingerprint>> {
        if self.are_on() { Ok(self.name_of(&journal.read(position)?)) } else { Ok(None) }
    }

    /// The same, by its entry. `None` too if its text is no URL by the rules of today.
    #[inline]
    pub(super) fn name_of(&self, entry: &Entry<'_>) -> Option<Fingerprint> {
        self.0.as_ref()?.name_of(entry)
    }

    /// The same, of a page that is lent out.
    #[inline]
    pub(super) fn name_of_page(&self, lease: &Lease) -> Option<Fingerprint> {
        let WaitingTable { canonicalizer, key, .. } = &**self.0.as_ref()?;
        let url = canonicalizer.canonicalize(lease.url()).ok()?;
        Some(fingerprint(&url, lease.identity.as_ref().map(IdentityBuf::borrow), *key))
    }

    /// A URL waits from now on: in this front queue, or in no host's queue.
    #[inline]
    pub(super) fn came(&mut self, name: Option<Fingerprint>, position: Option<Position>, front: Option<u8>) {
        if let (Some(table), Some(name), Some(position)) = (&mut self.0, name, position) {
            table.places.insert(name, WaitingPlace { position, front });
        }
    }

    /// A URL that waits went to this front queue, or left it and still waits.
    #[inline]
    pub(super) fn changed(&mut self, name: Option<Fingerprint>, position: Position, front: Option<u8>) {
        if let (Some(table), Some(name)) = (&mut self.0, name) {
            table.places.set_front(name, WaitingPlace { position, front });
        }
    }

    /// A URL waits no more.
    #[inline]
    pub(super) fn left(&mut self, name: Option<Fingerprint>, position: Position) {
        if let (Some(table), Some(name)) = (&mut self.0, name) {
            table.places.remove(name, position);
        }
    }

    /// Notes the moves of a record, until the table [is told](Self::catch_up) of them.
    pub(super) fn note_moves(&mut self, moves: Moves<'_>) {
        let Some(table) = &mut self.0 else { return };
        let (_, mut levels) = moves.parts();
        while levels.begin().is_some() {
            while let Some((position, to)) = levels.next() {
                table.moved.push((position.to_u64(), to.into()));
            }
        }
    }

    /// Tells the table what has moved since the last call.
    pub(super) fn catch_up(&mut self, journal: &mut impl Journal) -> io::Result<()> {
        let Some(table) = &mut self.0 else { return Ok(()) };
        let moved = std::mem::take(&mut table.moved);
        if moved.len() < table.places.len() / FEW {
            for (position, front) in moved {
                let position = Position::from_u64(position);
                if let Some(name) = table.name_of(&journal.read(position)?) {
                    table.places.set_front(name, WaitingPlace { position, front: u8::try_from(front).ok() });
                }
            }
            return Ok(());
        }
        if moved.is_empty() {
            return Ok(());
        }
        // The last counts.
        let moved = ScoreTable::new(moved);
        table.places.change_all(|places| {
            moved.prefetch(places.iter().map(|place| place.position.to_u64()));
            for place in places {
                let front = moved.get(place.position.to_u64()).and_then(|front| u8::try_from(front).ok());
                place.front = front.or(place.front);
            }
        });
        Ok(())
    }

    /// All places of the table, and all that the queues have.
    #[cfg(test)]
    pub(super) fn all_places(&mut self, state: &State) -> [std::collections::BTreeSet<WaitingPlace>; 2] {
        let (hosts, back) = (state.hosts().iter(), state.back());
        let of_level =
            |level| back.positions(level).map(move |position| WaitingPlace { position, front: Some(level.priority) });
        let queued = hosts.flat_map(|host| back.levels(&host.queue)).flat_map(of_level);
        let all =
            queued.chain(state.schedule().iter().map(|position| WaitingPlace { position, front: None })).collect();
        let mut known = std::collections::BTreeSet::new();
        if let Some(table) = &mut self.0 {
            table.places.change_all(|places| known.extend(places.iter().copied()));
        }
        [known, all]
    }
}

/// What the table is asked.
impl MoveUps {
    /// The places of the URLs with these fingerprints, which are ascending: calls `each` with the fingerprint's number.
    pub(super) fn find(&self, names: &[(u64, i64)], mut each: impl FnMut(usize, WaitingPlace)) {
        let Some(WaitingTable { places, .. }) = self.0.as_deref() else { return };
        let name = |(bits, _): &(u64, i64)| Fingerprint::from_bits(*bits);
        for (chunk, names) in names.chunks(AT_ONCE).enumerate() {
            places.prefetch(names.iter().map(name));
            for (number, named) in names.iter().enumerate() {
                places.find(name(named)).for_each(|place| each(chunk * AT_ONCE + number, place));
            }
        }
    }

    /// Takes from the gate what was found again. Returns the URLs of these that wait in a front queue that is worse than the priority with
    /// which they were found.
    pub(super) fn take_better(&mut self, state: &State) -> Vec<Better> {
        let Some(table) = &mut self.0 else { return Vec::new() };
        let priorities = state.back().priorities();
        state.gate().take_found_again(&mut table.again);
        let mut better = Vec::new();
        for again in table.again.chunks(AT_ONCE) {
            table.places.prefetch(again.iter().map(|(name, _)| *name));
            for &(name, score) in again {
                let places = table.places.find(name).filter_map(|place| Some((place.position.to_u64(), place.front?)));
                let worse = places.filter(|(_, front)| score < priorities.of(*front));
                better.extend(worse.map(|(position, front)| Better { position, score, front, name }));
            }
        }
        // Found more than once, it goes by the best.
        better.sort_unstable_by_key(|better| (better.position, better.score));
        better.dedup_by_key(|better| better.position);
        better
    }

    /// Reads the entries of these URLs, and sorts them by host. It leaves out places of other URLs, and URLs that would stay where they are
    /// because no front queue is closer to their priority.
    pub(super) fn by_host(
        &self,
        better: Vec<Better>,
        state: &mut State,
        journal: &mut impl Journal,
    ) -> io::Result<Vec<(HostId, Better)>> {
        let Some(table) = &self.0 else { return Ok(Vec::new()) };
        let mut moves = Vec::with_capacity(better.len());
        for better in better {
            if state.back().priorities().closest(better.score) == better.front {
                continue;
            }
            let entry = match journal.read(Position::from_u64(better.position)) {
                Ok(entry) => entry,
                Err(error) if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) => {
                    continue;
                }
                Err(error) => return Err(error),
            };
            if table.name_of(&entry) != Some(better.name) {
                continue;
            }
            let key = entry.queue_key(&table.canonicalizer).ok();
            let host = key.and_then(|key| state.look_up(key.as_str()));
            moves.extend(host.map(|host| (host, better)));
        }
        moves.sort_by_key(|(host, _)| *host);
        Ok(moves)
    }
}

impl WaitingTable {
    /// The fingerprint of an entry; `None` if its text is no URL by the rules of today.
    fn name_of(&self, entry: &Entry<'_>) -> Option<Fingerprint> {
        let url = self.canonicalizer.canonicalize(entry.wire).ok()?;
        Some(fingerprint(&url, entry.identity, self.key))
    }
}
