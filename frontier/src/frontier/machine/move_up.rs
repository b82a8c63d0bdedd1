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
//! [`reprioritize`](Frontier::reprioritize).
//!
//! The table is no state: it follows from the queues, and a resume makes it again. Every change of a queue updates it. If the table lacks a
//! place or has one too many, some URL does not move up, and nothing else is wrong.

use std::io;

use super::Frontier;
use super::recrawl::key_of;
use super::score_table::{ScoreTable, Walk};
use super::waiting_table::{AT_ONCE, MoveUps};
use crate::address::{Fingerprint, IdentityBuf};
use crate::frontier::durable::Journal;
use crate::frontier::hosts::HostId;
use crate::frontier::queues::WaitingPlace;
use crate::frontier::{Lease, Timestamp};
use crate::gate::{Position, fingerprint};

/// If at most one in this many waiting URLs has moved, their entries are read for their fingerprints. If more have moved, the whole table
/// is walked.
const FEW: usize = 64;

/// The table of places follows the queues.
impl<J: Journal> Frontier<J> {
    /// Makes the table from all queues. Called once, at the end of a resume.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub(crate) fn find_places(&mut self) -> io::Result<()> {
        let Some(move_ups) = &mut self.move_ups else { return Ok(()) };
        let (hosts, back) = (self.state.hosts().iter(), self.state.back());
        let queued = hosts.flat_map(|host| back.levels(&host.queue)).flat_map(|level| {
            back.positions(level).map(move |position| position.to_u64() << 9 | 1 << 8 | u64::from(level.priority))
        });
        // In the order of the disk. A number takes half the memory of a place.
        let all = queued.chain(self.state.schedule().iter().map(|position| position.to_u64() << 9));
        let mut all: Vec<u64> = all.collect();
        all.sort_unstable();
        for number in all {
            let [front, flags, ..] = number.to_le_bytes();
            let place =
                WaitingPlace { position: Position::from_u64(number >> 9), front: (flags & 1 == 1).then_some(front) };
            let entry = match self.journal.read(place.position) {
                Ok(entry) => entry,
                // Its turn will say what is wrong.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => continue,
                Err(error) => return Err(error),
            };
            if let Some(name) = move_ups.name_of(&entry) {
                move_ups.places.insert(name, place);
            }
        }
        Ok(())
    }

    /// The fingerprint of a URL that waits, by its entry; `None` if no URL moves up.
    #[inline]
    pub(super) fn name_of(&mut self, position: Position) -> io::Result<Option<Fingerprint>> {
        let Some(move_ups) = &self.move_ups else { return Ok(None) };
        Ok(move_ups.name_of(&self.journal.read(position)?))
    }

    /// The same, of a page that is lent out.
    #[inline]
    pub(super) fn name_of_page(&self, lease: &Lease) -> Option<Fingerprint> {
        let MoveUps { canonicalizer, key, .. } = &**self.move_ups.as_ref()?;
        let url = canonicalizer.canonicalize(lease.url()).ok()?;
        Some(fingerprint(&url, lease.identity.as_ref().map(IdentityBuf::borrow), *key))
    }

    /// A URL waits from now on: in this front queue, or in no host's queue.
    #[inline]
    pub(super) fn place_came(&mut self, name: Option<Fingerprint>, position: Option<Position>, front: Option<u8>) {
        if let (Some(move_ups), Some(name), Some(position)) = (&mut self.move_ups, name, position) {
            move_ups.places.insert(name, WaitingPlace { position, front });
        }
    }

    /// A URL that waits went to this front queue, or left it and still waits.
    #[inline]
    pub(super) fn place_changed(&mut self, name: Option<Fingerprint>, position: Position, front: Option<u8>) {
        if let (Some(move_ups), Some(name)) = (&mut self.move_ups, name) {
            move_ups.places.set_front(name, WaitingPlace { position, front });
        }
    }

    /// A URL waits no more.
    #[inline]
    pub(super) fn place_left(&mut self, name: Option<Fingerprint>, position: Position) {
        if let (Some(move_ups), Some(name)) = (&mut self.move_ups, name) {
            move_ups.places.remove(name, position);
        }
    }

    /// Tells the table what has moved since the last call.
    pub(super) fn keep_places(&mut self) -> io::Result<()> {
        let Some(move_ups) = &mut self.move_ups else { return Ok(()) };
        let moved = std::mem::take(&mut move_ups.moved);
        if moved.len() < move_ups.places.len() / FEW {
            for (position, front) in moved {
                let position = Position::from_u64(position);
                let name = self.name_of(position)?;
                self.place_changed(name, position, u8::try_from(front).ok());
            }
            return Ok(());
        }
        if moved.is_empty() {
            return Ok(());
        }
        // The last counts.
        let moved = ScoreTable::new(moved);
        move_ups.places.change_all(|places| {
            moved.prefetch(places.iter().map(|place| place.position.to_u64()));
            for place in places {
                let front = moved.get(place.position.to_u64()).and_then(|front| u8::try_from(front).ok());
                place.front = front.or(place.front);
            }
        });
        Ok(())
    }
}

#[cfg(test)]
impl<J: Journal> Frontier<J> {
    /// All places of the table, and all that the queues have.
    pub(crate) fn all_places(&mut self) -> [std::collections::BTreeSet<WaitingPlace>; 2] {
        let (hosts, back) = (self.state.hosts().iter(), self.state.back());
        let of_level =
            |level| back.positions(level).map(move |position| WaitingPlace { position, front: Some(level.priority) });
        let queued = hosts.flat_map(|host| back.levels(&host.queue)).flat_map(of_level);
        let all =
            queued.chain(self.state.schedule().iter().map(|position| WaitingPlace { position, front: None })).collect();
        let mut table = std::collections::BTreeSet::new();
        if let Some(move_ups) = &mut self.move_ups {
            move_ups.places.change_all(|places| table.extend(places.iter().copied()));
        }
        [table, all]
    }
}

/// Found again.
impl<J: Journal> Frontier<J> {
    /// Moves up what was found again with better priorities since the last call.
    ///
    /// # Errors
    /// If the journal's storage fails. What has not moved by then keeps its priority.
    #[inline]
    pub(crate) fn move_up(&mut self, now: Timestamp) -> io::Result<()> {
        if self.move_ups.is_some() { self.move_up_found(now) } else { Ok(()) }
    }

    fn move_up_found(&mut self, now: Timestamp) -> io::Result<()> {
        let Some(move_ups) = &mut self.move_ups else { return Ok(()) };
        let mut again = std::mem::take(&mut move_ups.again);
        self.state.gate().take_found_again(&mut again);
        let better = self.better(&again);
        if let Some(move_ups) = &mut self.move_ups {
            move_ups.again = again;
        }
        if better.is_empty() {
            return Ok(());
        }
        self.take_fronts(better.iter().map(|better| better.score).collect())?;
        let moves = self.hosts_of_better(better)?;
        for of_host in moves.chunk_by(|(one, _), (other, _)| one == other) {
            let named = ScoreTable::new(of_host.iter().map(|(_, better)| (better.position, better.score)).collect());
            let mut levels = [false; 256];
            for (_, better) in of_host {
                levels[usize::from(better.front)] = true;
            }
            let mut walk = Walk::over_levels(&named, levels);
            let done = self.move_host(of_host[0].0, &mut walk, now);
            self.shared_priorities += walk.shared();
            self.keep_places()?;
            done?;
            if let Some(move_ups) = &mut self.move_ups {
                move_ups.count += walk.moved();
            }
        }
        Ok(())
    }

    /// What waits in a front queue that is worse than the priority with which it was found again.
    fn better(&self, again: &[(Fingerprint, i64)]) -> Vec<Better> {
        let (Some(move_ups), priorities) = (&self.move_ups, self.state.back().priorities()) else { return Vec::new() };
        let mut better = Vec::new();
        for again in again.chunks(AT_ONCE) {
            move_ups.places.prefetch(again.iter().map(|(name, _)| *name));
            for &(name, score) in again {
                let places =
                    move_ups.places.find(name).filter_map(|place| Some((place.position.to_u64(), place.front?)));
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
    fn hosts_of_better(&mut self, better: Vec<Better>) -> io::Result<Vec<(HostId, Better)>> {
        let mut moves = Vec::with_capacity(better.len());
        for better in better {
            if self.state.back().priorities().closest(better.score) == better.front {
                continue;
            }
            let Some(move_ups) = &self.move_ups else { break };
            let entry = match self.journal.read(Position::from_u64(better.position)) {
                Ok(entry) => entry,
                Err(error) if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) => {
                    continue;
                }
                Err(error) => return Err(error),
            };
            if move_ups.name_of(&entry) != Some(better.name) {
                continue;
            }
            let key = key_of(&entry, &move_ups.canonicalizer).ok();
            let host = key.and_then(|key| self.state.look_up(key.as_str()));
            moves.extend(host.map(|host| (host, better)));
        }
        moves.sort_by_key(|(host, _)| *host);
        Ok(moves)
    }
}

/// A URL that waits, and was found again with a better priority.
#[derive(Clone, Copy, Debug)]
struct Better {
    position: u64,
    score: i64,
    front: u8,
    name: Fingerprint,
}
