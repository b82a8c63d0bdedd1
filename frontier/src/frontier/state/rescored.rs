//! The priorities of URLs that are in no host's queue, if they are not those of their entries.
//!
//! A URL that waits for a time, is set aside or was given up has its priority in its entry. If it is [given
//! another](crate::frontier::Frontier::reprioritize), that is kept here until the URL is queued. The map is ordered, so that a checkpoint
//! can save it in chunks.
//!
//! A record sets a priority or takes it away, whatever was there before. So a resume applies each record to what a piece has, whether the
//! piece has it already or not, and ends with what the last one said. No piece needs a position.
//!
//! # Bytes in a checkpoint
//!
//! ```text
//! piece:   PRIORITIES, 0, 0, then scores as a record has them
//! ```
//!
//! A piece of [priorities](crate::frontier::Priorities) has only front queues that stand for other numbers than their own, so no such piece
//! begins with a step of 0.

use std::collections::BTreeMap;
use std::io;

use super::State;
use crate::frontier::PRIORITIES;
use crate::frontier::durable::{Journal, Record, Scores, ScoresBuf};
use crate::gate::Position;

/// How a piece begins.
const BEGINNING: [u8; 3] = [PRIORITIES, 0, 0];

/// URLs of one piece: the frontier is locked while it is written.
const PIECE: usize = 4096;

/// The priorities of URLs that are in no host's queue, if they are not those of their entries.
#[derive(Debug, Default)]
pub(crate) struct Rescored {
    scores: BTreeMap<Position, i64>,
    /// Whether URLs were ever moved. Before that, each URL in a host's queue has the priority of its entry, or the closest.
    has_moved: bool,
}

impl Rescored {
    /// The priority of a URL, if it is not that of its entry.
    #[inline]
    pub(crate) fn get(&self, position: Position) -> Option<i64> {
        if self.scores.is_empty() { None } else { self.scores.get(&position).copied() }
    }

    /// Whether URLs were ever moved.
    pub(crate) fn has_moved(&self) -> bool {
        self.has_moved
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        // A map's node may be half empty.
        self.scores.len() * 2 * size_of::<(Position, i64)>()
    }

    /// URLs were moved.
    pub(super) fn note_moved(&mut self) {
        self.has_moved = true;
    }

    /// URLs get these priorities.
    pub(super) fn set(&mut self, scores: Scores<'_>) {
        self.has_moved = true;
        self.scores.extend(scores.iter());
    }

    /// A URL is queued, or is no longer anywhere.
    #[inline]
    pub(super) fn remove(&mut self, position: Position) {
        if !self.scores.is_empty() {
            self.scores.remove(&position);
        }
    }

    /// Appends a piece, of the URLs from this position on. Returns where the next piece begins; `None` if this is the last.
    pub(crate) fn save(&self, from: Position, to: &mut Vec<u8>) -> Option<Position> {
        to.extend(BEGINNING);
        let mut scores = ScoresBuf::default();
        let mut rest = self.scores.range(from..);
        rest.by_ref().take(PIECE).for_each(|(position, score)| scores.url(*position, *score));
        to.extend_from_slice(scores.list().to_bytes());
        rest.next().map(|(position, _)| *position)
    }

    /// Loads a piece; `None` if this is another piece.
    ///
    /// # Errors
    /// If it is not valid.
    pub(super) fn load(&mut self, piece: &[u8]) -> Option<Result<(), &'static str>> {
        let scores = Scores::read(piece.strip_prefix(&BEGINNING)?);
        Some(scores.map(|scores| self.set(scores)))
    }
}

impl State {
    /// A URL of this priority was set aside. If it was moved before, its priority is kept: its entry has another.
    ///
    /// # Errors
    /// If the journal fails.
    pub(crate) fn keep_score(&mut self, journal: &mut impl Journal, position: Position, front: u8) -> io::Result<()> {
        if !self.rescored().has_moved() {
            return Ok(());
        }
        let score = self.back().priorities().of(front);
        if journal.read(position)?.score == score {
            return Ok(());
        }
        let mut list = ScoresBuf::default();
        list.url(position, score);
        self.commit(journal, &Record::Rescored(list.list()), None).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_pieces_lose_nothing_and_the_last_word_counts() {
        let mut rescored = Rescored::default();
        let at = |number: u64| Position::from_u64(number * 100);
        for round in 0..2 {
            let mut scores = ScoresBuf::default();
            (0..10_000).for_each(|number| scores.url(at(number), -i64::MAX + (number.cast_signed() << (40 * round))));
            rescored.set(scores.list());
        }
        rescored.remove(at(7));
        let (mut again, mut from, mut chunks) = (Rescored::default(), Some(Position::default()), 0);
        while let Some(begin) = from {
            let mut piece = Vec::new();
            from = rescored.save(begin, &mut piece);
            assert_eq!(again.load(&piece), Some(Ok(())));
            chunks += 1;
        }
        assert_eq!((chunks, again.scores == rescored.scores, again.has_moved()), (3, true, true));
        assert_eq!((again.get(at(7)), again.get(at(8))), (None, Some(-i64::MAX + (8 << 40))));
        assert_eq!(again.load(&[PRIORITIES, 9, 1]), None, "priorities");
        assert!(again.load(&[PRIORITIES, 0, 0, 1]).unwrap().is_err());
    }
}
