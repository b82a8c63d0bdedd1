//! The bytes of new priorities in the journal: of URLs in a host's queue, and of URLs that are in no host's queue.
//!
//! # Bytes of moves, of one host
//!
//! ```text
//! places   how many front queues URLs come to at a given place; for each: its number, 1 byte, and after how many URLs
//! levels   to the end; for each front queue that URLs leave, the best first:
//!          its number, 1 byte
//!          how many URLs leave it; for each, in the order of the queue: the step from the position before, of the first from that of the
//!          level before or from 0; the number of the front queue that it goes to, 1 byte
//! ```
//!
//! # Bytes of scores, of URLs that are in no host's queue
//!
//! ```text
//! for each URL, to the end: the step from the position before, of the first from 0; the step from the priority before, of the first from 0
//! ```
//!
//! Numbers without a size are [`varint`](crate::bytes::varint)s. URLs that move together were mostly found together, so one takes some four
//! bytes. A list may not have more than [`MOST`] bytes: the moves of a larger host are in several records.

use crate::bytes::varint::{encode, number, put, step, walk};
use crate::gate::Position;

/// The most bytes of one list, so that a damaged journal is searched no further for a record.
pub(crate) const MOST: usize = 1 << 20;

/// URLs of one host that go to other front queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moves<'a> {
    bytes: &'a [u8],
}

/// Moves being built.
#[derive(Debug, Default)]
pub(crate) struct MovesBuf {
    bytes: Vec<u8>,
    /// The position of the last URL.
    at: u64,
    /// Where the number of the level's URLs is to be inserted, and the number.
    level: Option<(usize, u64)>,
}

impl MovesBuf {
    /// Begins anew.
    pub(crate) fn begin(&mut self) {
        self.bytes.clear();
        // URLs come to no front queue at a given place.
        self.bytes.push(0);
        (self.at, self.level) = (0, None);
    }

    /// The front queues that URLs come to at a given place: after this many URLs. Call it once, after all others.
    pub(crate) fn places(&mut self, places: &[(u8, u16)]) {
        self.end_level();
        let mut bytes = Vec::new();
        put(&mut bytes, places.len() as u64);
        for (front, after) in places {
            bytes.push(*front);
            put(&mut bytes, (*after).into());
        }
        self.bytes.splice(..1, bytes);
    }

    /// The URLs that follow leave this front queue.
    pub(crate) fn level(&mut self, front: u8) {
        self.end_level();
        self.bytes.push(front);
        self.level = Some((self.bytes.len(), 0));
    }

    /// A URL goes to a front queue.
    pub(crate) fn url(&mut self, position: Position, to: u8) {
        let at = position.to_u64();
        put(&mut self.bytes, step(self.at, at));
        self.bytes.push(to);
        self.at = at;
        if let Some((_, urls)) = &mut self.level {
            *urls += 1;
        }
    }

    /// Whether no further URL may be added.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() + 64 > MOST
    }

    /// The list.
    pub(crate) fn list(&mut self) -> Moves<'_> {
        self.end_level();
        Moves { bytes: &self.bytes }
    }

    /// Inserts the number of the level's URLs. A level without any is taken back.
    fn end_level(&mut self) {
        let Some((at, urls)) = self.level.take() else { return };
        if urls == 0 {
            self.bytes.truncate(at - 1);
            return;
        }
        let (length, bytes) = encode(urls);
        self.bytes.splice(at..at, length[..bytes].iter().copied());
    }
}

/// A URL that moves, and the front queue that it goes to.
pub(crate) type Move = (Position, u8);

impl<'a> Moves<'a> {
    /// Reads a list from its bytes.
    ///
    /// # Errors
    /// If it is not one.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, &'static str> {
        let moves = Self { bytes };
        let (_, mut levels) = moves.split().ok_or("places that cannot be")?;
        while !levels.rest.is_empty() {
            levels.begin().ok_or("a level that cannot be")?;
            while levels.left > 0 {
                levels.next().ok_or("fewer URLs than a level says")?;
            }
        }
        Ok(moves)
    }

    /// Its bytes.
    pub(crate) fn to_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The front queues that URLs come to at a given place, and the levels.
    pub(crate) fn parts(self) -> (Vec<(u8, u16)>, MovedLevels<'a>) {
        self.split().expect("it was checked when it was read")
    }

    fn split(self) -> Option<(Vec<(u8, u16)>, MovedLevels<'a>)> {
        let mut rest = self.bytes;
        let mut places = Vec::new();
        for _ in 0..number(&mut rest)? {
            let front = *rest.split_off_first()?;
            places.push((front, u16::try_from(number(&mut rest)?).ok()?));
        }
        Some((places, MovedLevels { rest, at: 0, left: 0 }))
    }
}

/// The levels of a list, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MovedLevels<'a> {
    rest: &'a [u8],
    at: u64,
    /// URLs of the current level that were not read yet.
    left: u32,
}

impl MovedLevels<'_> {
    /// Goes on to the next level, and says which front queue its URLs leave; `None` after the last. Call it once the URLs of the level
    /// before are read.
    pub(crate) fn begin(&mut self) -> Option<u8> {
        let front = *self.rest.split_off_first()?;
        self.left = u32::try_from(number(&mut self.rest)?).ok()?;
        Some(front)
    }

    /// The next URL of the level.
    pub(crate) fn next(&mut self) -> Option<Move> {
        self.left = self.left.checked_sub(1)?;
        self.at = walk(self.at, number(&mut self.rest)?);
        let to = *self.rest.split_off_first()?;
        Some((Position::from_u64(self.at), to))
    }
}

/// URLs that are in no host's queue, each with its new priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scores<'a> {
    bytes: &'a [u8],
}

/// Scores being built.
#[derive(Debug, Default)]
pub(crate) struct ScoresBuf {
    bytes: Vec<u8>,
    last: (u64, u64),
}

impl ScoresBuf {
    /// A URL gets this priority.
    pub(crate) fn url(&mut self, position: Position, score: i64) {
        let (at, score) = (position.to_u64(), score.cast_unsigned());
        put(&mut self.bytes, step(self.last.0, at));
        put(&mut self.bytes, step(self.last.1, score));
        self.last = (at, score);
    }

    /// Whether no further URL may be added.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() + 64 > MOST
    }

    /// Whether it has none.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The list.
    pub(crate) fn list(&self) -> Scores<'_> {
        Scores { bytes: &self.bytes }
    }
}

impl<'a> Scores<'a> {
    /// Reads a list from its bytes.
    ///
    /// # Errors
    /// If it is not one.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, &'static str> {
        let mut rest = Self { bytes }.iter();
        while rest.next().is_some() {}
        if rest.rest.is_empty() { Ok(Self { bytes }) } else { Err("priorities that cannot be") }
    }

    /// Its bytes.
    pub(crate) fn to_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Each URL with its priority.
    pub(crate) fn iter(self) -> ScoresIter<'a> {
        ScoresIter { rest: self.bytes, last: (0, 0) }
    }
}

/// Each URL of a list, with its priority.
#[derive(Clone, Debug)]
pub(crate) struct ScoresIter<'a> {
    rest: &'a [u8],
    last: (u64, u64),
}

impl Iterator for ScoresIter<'_> {
    type Item = (Position, i64);

    fn next(&mut self) -> Option<Self::Item> {
        let mut rest = self.rest;
        let (at, score) = (number(&mut rest)?, number(&mut rest)?);
        self.rest = rest;
        self.last = (walk(self.last.0, at), walk(self.last.1, score));
        Some((Position::from_u64(self.last.0), self.last.1.cast_signed()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Front queues that URLs leave, each with its URLs.
    type Levels = Vec<(u8, Vec<(u64, u8)>)>;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn moves_are_read_as_they_were_written(
            places in prop::collection::vec(any::<(u8, u16)>(), 0..4),
            levels in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<(u64, u8)>(), 0..200)), 0..5),
        ) {
            let mut buffer = MovesBuf::default();
            buffer.begin();
            for (front, urls) in &levels {
                buffer.level(*front);
                for (at, to) in urls {
                    buffer.url(Position::from_u64(*at), *to);
                }
            }
            buffer.places(&places);
            let bytes = buffer.list().to_bytes().to_vec();
            let moves = Moves::read(&bytes).unwrap();
            let (again, mut rest) = moves.parts();
            prop_assert_eq!(again, places);
            let mut read = Levels::new();
            while let Some(front) = rest.begin() {
                let urls = std::iter::from_fn(|| rest.next()).map(|(at, to)| (at.to_u64(), to)).collect();
                read.push((front, urls));
            }
            let written: Levels = levels.into_iter().filter(|(_, urls)| !urls.is_empty()).collect();
            prop_assert_eq!(read, written);
            for cut in 1..bytes.len().min(50) {
                // Cut between two levels, it is a shorter list; anywhere else it is none, and nothing panics.
                let _ = Moves::read(&bytes[..bytes.len() - cut]).map(Moves::parts);
            }
        }

        #[test]
        fn scores_are_read_as_they_were_written(scores in prop::collection::vec(any::<(u64, i64)>(), 0..200)) {
            let mut buffer = ScoresBuf::default();
            for (at, score) in &scores {
                buffer.url(Position::from_u64(*at), *score);
            }
            let bytes = buffer.list().to_bytes().to_vec();
            let read: Vec<_> = Scores::read(&bytes).unwrap().iter().map(|(at, score)| (at.to_u64(), score)).collect();
            prop_assert_eq!(read, scores);
        }
    }
}
