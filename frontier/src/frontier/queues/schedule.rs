//! URLs that wait for a time of their own, are set aside, or are parked.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use super::{Back, Queue, Queued};
use crate::bytes::varint::{self, number, put};
use crate::frontier::Timestamp;
use crate::frontier::durable::{Aside, Entry as JournalEntry};
use crate::gate::{Position, Refusal};

/// URLs that are not to be fetched before a time, by the first second that ends at or after it; first come, first served within a second.
///
/// So no URL goes early, and none a second late. The URLs of a day are in at most 86,400 queues. These are like the queues of hosts:
/// positions in the journal, two to four bytes each if many share a second, and about a hundred if one has it alone.
///
/// URLs that were admitted and that later rules or a budget refuse are *set aside*: they come after all seconds, by the round of rules and
/// the reason. Pages that were given up are *parked*: they come last. No time releases either: a later round of rules releases URLs that
/// are set aside, and [`ask_again`](crate::frontier::Frontier::ask_again) releases parked pages.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    /// One queue for each second that has URLs. A second's number is its end, in seconds since the Unix epoch. No queue is empty.
    seconds: BTreeMap<u64, Queue>,
    /// The URLs of all seconds. All have one priority here.
    back: Back,
    /// The number of URLs that wait for a time, without those set aside or parked.
    len: u64,
}

/// What a URL that leaves the schedule waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Its time.
    Due,
    /// To be asked for again.
    Parked,
}

/// Microseconds in a second, the unit in which a schedule is kept. A finer one would give each URL a queue of its own.
const SECOND: u64 = 1_000_000;

/// A piece ends after this many bytes, with the second that it is in: a second is never split. The frontier is locked while a piece is
/// written.
const PIECE: usize = 16 << 10;

/// The first byte of a piece of the schedule. It distinguishes the piece from hosts, which begin with the length of a key, never 0.
pub(crate) const SCHEDULE: u8 = 0;

/// URLs that are set aside are in seconds from this one on, after all times. The lower bits are the round of rules and the reason.
const ASIDE: u64 = 1 << 63;

/// The second of parked URLs: after everything else.
const PARKED: u64 = u64::MAX;

/// The second of URLs that wait for this time: the first second that ends at or after it.
pub(crate) fn second(at: Timestamp) -> u64 {
    if at == JournalEntry::NEVER { PARKED } else { at.as_micros().div_ceil(SECOND) }
}

/// The second of URLs that a round of rules has set aside for a reason.
///
/// # Panics
/// If the reason is not one for which a queued URL can be refused.
pub(crate) fn second_of(aside: Aside) -> u64 {
    ASIDE | u64::from(aside.round) << 8 | u64::from(aside.refusal.number().expect("a reason of a rule"))
}

/// The inverse of [`second_of`]; `None` for any other second.
fn aside_of(second: u64) -> Option<Aside> {
    let [number, round @ .., _, _, _] = second.to_le_bytes();
    let refusal = (ASIDE..PARKED).contains(&second).then(|| Refusal::of_number(number)).flatten()?;
    Some(Aside { round: u32::from_le_bytes(round), refusal })
}

impl Schedule {
    /// Notes a URL. O(log seconds).
    pub(crate) fn push(&mut self, at: Timestamp, position: Position) {
        self.put(second(at), position);
    }

    /// Notes a URL that a round of rules refuses.
    pub(crate) fn set_aside(&mut self, to: Aside, position: Position) {
        self.put(second_of(to), position);
    }

    /// Removes the first URL of those set aside by the same round for the same reason.
    pub(crate) fn take_aside(&mut self, from: Aside) {
        self.pop_of(second_of(from));
    }

    /// The first URL that a round before this one has set aside.
    pub(crate) fn first_aside(&self, before: u32) -> Option<(Position, Aside)> {
        let (second, queue) = self.seconds.range(ASIDE..ASIDE | u64::from(before) << 8).next()?;
        Some((queue.first()?.position, aside_of(*second)?))
    }

    /// How many URLs rounds before this one have set aside. O(rounds and reasons).
    pub(crate) fn aside(&self, before: u32) -> u64 {
        self.seconds.range(ASIDE..ASIDE | u64::from(before) << 8).map(|(_, queue)| u64::from(queue.len())).sum()
    }

    /// Each URL that is set aside, with the reason; earlier rounds first.
    pub(crate) fn each_aside(&self) -> impl Iterator<Item = (Position, Refusal)> {
        let seconds = self.seconds.range(ASIDE..PARKED);
        let reasons = seconds.filter_map(|(second, queue)| Some((aside_of(*second)?.refusal, queue)));
        reasons.flat_map(|(refusal, queue)| self.positions(queue).map(move |position| (position, refusal)))
    }

    /// Each URL that waits for a time, is set aside or is parked.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Position> {
        self.seconds.values().flat_map(|queue| self.positions(queue))
    }

    /// Whether it is empty: no URL waits, is set aside or is parked.
    pub(crate) fn is_blank(&self) -> bool {
        self.seconds.is_empty()
    }

    /// When the first URL that waits for a time may go.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        let first = self.seconds.keys().next().filter(|&&second| second < ASIDE);
        first.map(|&second| Timestamp::from_micros(second.saturating_mul(SECOND)))
    }

    /// The first URL that waits for a time.
    pub(crate) fn first(&self) -> Option<Position> {
        self.due()?;
        self.seconds.values().next()?.first().map(|first| first.position)
    }

    /// The URL that was parked first.
    pub(crate) fn first_parked(&self) -> Option<Position> {
        self.seconds.get(&PARKED)?.first().map(|first| first.position)
    }

    /// Removes this URL if it is the first that waits for a time, or the first that is parked; says which.
    pub(crate) fn take_first(&mut self, position: Position) -> Option<Taken> {
        if self.first() == Some(position) {
            return self.pop().map(|_| Taken::Due);
        }
        (self.first_parked() == Some(position)).then(|| self.pop_of(PARKED)).flatten().map(|_| Taken::Parked)
    }

    /// How many URLs are parked.
    pub(crate) fn parked(&self) -> u64 {
        self.seconds.get(&PARKED).map_or(0, |queue| queue.len().into())
    }

    /// The first URL that waits for a time, if that has come.
    pub(crate) fn first_due(&self, now: Timestamp) -> Option<Position> {
        self.due().filter(|due| *due <= now).and_then(|_| self.first())
    }

    /// Removes the first URL that waits for a time.
    pub(crate) fn pop(&mut self) -> Option<Position> {
        let first = *self.seconds.keys().next()?;
        if first < ASIDE { self.pop_of(first) } else { None }
    }

    /// Removes the first URL of a second, and the second itself if that was its last URL: an empty second would stay the next one due for
    /// ever.
    fn pop_of(&mut self, second: u64) -> Option<Position> {
        let queue = self.seconds.get_mut(&second)?;
        let position = self.back.pop(queue)?;
        if queue.first().is_none() {
            self.seconds.remove(&second);
        }
        self.len -= u64::from(second < ASIDE);
        Some(position)
    }

    /// Removes this URL; says whether it was there. O(URLs of that second).
    pub(crate) fn remove(&mut self, at: Timestamp, position: Position) -> bool {
        let second = second(at);
        let Some(queue) = self.seconds.get_mut(&second) else { return false };
        let is_there = self.back.remove(queue, Queued { position, priority: 0 });
        if queue.first().is_none() {
            self.seconds.remove(&second);
        }
        self.len -= u64::from(is_there && second < ASIDE);
        is_there
    }

    /// Shortens all waits by this, in whole seconds, because the clock that set their times was ahead. The order stays as it is.
    /// O(seconds).
    pub(crate) fn hasten(&mut self, by: Duration) {
        for (at, mut queue) in std::mem::take(&mut self.seconds) {
            let at = if at < ASIDE { at.saturating_sub(by.as_secs()) } else { at };
            match self.seconds.entry(at) {
                Entry::Vacant(free) => drop(free.insert(queue)),
                // Several seconds may have become second 0.
                Entry::Occupied(mut before) => {
                    while let Some(position) = self.back.pop(&mut queue) {
                        self.back.push(before.get_mut(), Queued { position, priority: 0 });
                    }
                }
            }
        }
    }

    /// The time that this URL waits for, if it is in the schedule: `at`, or earlier if it was [hastened](Self::hasten) since. O(URLs of
    /// that second), or of all seconds if it is not there.
    pub(crate) fn find(&self, at: Timestamp, position: Position) -> Option<Timestamp> {
        let is_in = |queue: &Queue| self.positions(queue).any(|other| other == position);
        if self.seconds.get(&second(at)).is_some_and(is_in) {
            return Some(at);
        }
        let seconds = self.seconds.range(..second(at).min(ASIDE));
        let found = seconds.into_iter().find(|(_, queue)| is_in(queue));
        found.map(|(&second, _)| Timestamp::from_micros(second.saturating_mul(SECOND)))
    }

    /// How many URLs wait for a time. [`parked`](Self::parked) and [`aside`](Self::aside) count the others.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Bytes of memory held, about.
    pub(crate) fn memory(&self) -> usize {
        self.back.memory() + self.seconds.len() * size_of::<(u64, Queue)>() * 3 / 2
    }

    /// Appends a piece of it, beginning with second `from`. Returns the second that the next piece begins with; `None` if this is the last.
    ///
    /// ```text
    /// piece:   SCHEDULE, then for each second, to the piece's end:
    ///          its number, as the way from the one before
    ///          the position of its first URL, and for each other the step to it; 0 ends them
    /// ```
    ///
    /// All numbers are [`varint`]s.
    pub(crate) fn save(&self, from: u64, to: &mut Vec<u8>) -> Option<u64> {
        to.push(SCHEDULE);
        let (begin, mut before) = (to.len(), 0);
        for (&second, queue) in self.seconds.range(from..) {
            if to.len() - begin >= PIECE {
                return Some(second);
            }
            put(to, second - before);
            before = second;
            for level in self.back.levels(queue) {
                put(to, level.first);
                self.back.put_steps(level, to);
            }
            put(to, 0);
        }
        None
    }

    /// Loads a piece; returns its last second, or `None` if it is not valid.
    pub(crate) fn load(&mut self, piece: &[u8]) -> Option<u64> {
        read(piece, |second, position| self.put(second, position))
    }

    /// Notes a URL in a second, after its others.
    fn put(&mut self, second: u64, position: Position) {
        // All have one priority here. The queues of their hosts order them later.
        self.back.push(self.seconds.entry(second).or_default(), Queued { position, priority: 0 });
        self.len += u64::from(second < ASIDE);
    }

    /// The URLs of a second, in order.
    fn positions<'a>(&'a self, queue: &'a Queue) -> impl Iterator<Item = Position> {
        self.back.levels(queue).flat_map(|level| self.back.positions(level))
    }
}

/// Calls `each` with every URL of a piece and its second; returns the last second, or `None` if the piece is not valid.
pub(crate) fn read(mut piece: &[u8], mut each: impl FnMut(u64, Position)) -> Option<u64> {
    piece.split_off_first().filter(|mark| **mark == SCHEDULE)?;
    let mut second: u64 = 0;
    while !piece.is_empty() {
        second = second.checked_add(number(&mut piece)?)?;
        let mut at = number(&mut piece)?;
        each(second, Position::from_u64(at));
        loop {
            match number(&mut piece)? {
                0 => break,
                step => at = varint::walk(at, step),
            }
            each(second, Position::from_u64(at));
        }
    }
    Some(second)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_agrees_with_a_sorted_list(
            waits in prop::collection::vec((0..40u64, 0..2u64, prop::option::weighted(0.3, 0..20u64)), 0..300),
        ) {
            let mut schedule = Schedule::default();
            let mut model: Vec<(u64, u64, Position)> = Vec::new();
            for (number, (tenths, far, passed)) in (0..).zip(waits) {
                // Some are so far away that their second's end is beyond the greatest timestamp.
                let at = Timestamp::from_micros(tenths * SECOND / 10 + far * (u64::MAX - 4 * SECOND));
                let position = Position::from_u64(number * 100);
                prop_assert_eq!(schedule.find(at, position), None);
                schedule.push(at, position);
                prop_assert_eq!(schedule.find(at, position), Some(at));
                model.push((at.as_micros().div_ceil(SECOND), number, position));
                model.sort();
                for _ in 0..passed.unwrap_or(0) {
                    let due = model.first().map(|(second, ..)| Timestamp::from_micros(second.saturating_mul(SECOND)));
                    prop_assert_eq!((schedule.due(), schedule.first()), (due, model.first().map(|first| first.2)));
                    prop_assert_eq!(schedule.pop(), (!model.is_empty()).then(|| model.remove(0).2));
                }
                prop_assert_eq!(schedule.len(), model.len() as u64);
            }
            let mut piece = Vec::new();
            prop_assert_eq!(schedule.save(0, &mut piece), None);
            let mut again = Schedule::default();
            prop_assert_eq!(again.load(&piece), Some(model.last().map_or(0, |(second, ..)| *second)));
            for cut in 1..piece.len().min(50) {
                // Cut after the end of a second, it is a shorter piece; anywhere else it is not valid.
                Schedule::default().load(&piece[..piece.len() - cut]);
            }
            for (.., position) in model {
                prop_assert_eq!((schedule.pop(), again.pop()), (Some(position), Some(position)));
            }
            prop_assert_eq!((schedule.pop(), again.len()), (None, 0));
        }
    }

    #[test]
    fn what_is_hastened_keeps_its_order_and_is_found_by_the_time_it_was_given() {
        let mut schedule = Schedule::default();
        let at = |second: u64| Timestamp::from_micros(second * SECOND);
        for second in [3, 7, 10, 10, 50] {
            schedule.push(at(second), Position::from_u64(schedule.len() * 100));
        }
        schedule.push(JournalEntry::NEVER, Position::from_u64(900));
        schedule.set_aside(Aside { round: 1, refusal: Refusal::Robots }, Position::from_u64(800));
        schedule.hasten(Duration::from_secs(7));
        assert_eq!((schedule.len(), schedule.parked(), schedule.aside(2)), (5, 1, 1));
        assert_eq!(schedule.find(JournalEntry::NEVER, Position::from_u64(800)), None, "it waits for no time");
        assert_eq!(schedule.find(at(50), Position::from_u64(400)), Some(at(43)));
        assert_eq!(schedule.find(at(50), Position::from_u64(500)), None);
        let gone = std::iter::from_fn(|| schedule.due().zip(schedule.pop()));
        let order = [(0, 0), (0, 100), (3, 200), (3, 300), (43, 400)];
        assert!(gone.eq(order.map(|(second, position)| (at(second), Position::from_u64(position)))));
    }

    #[test]
    fn its_pieces_are_as_long_as_they_should_be_and_lose_nothing() {
        let mut schedule = Schedule::default();
        let at = |number: u64| Timestamp::from_micros(1 << 50) + std::time::Duration::from_millis(10 * number);
        for number in 0..100_000u64 {
            schedule.push(at(number * 7919 % 100_000), Position::from_u64(number * 150));
        }
        let (mut again, mut from, mut chunks) = (Schedule::default(), Some(0), 0);
        while let Some(begin) = from {
            let mut piece = Vec::new();
            from = schedule.save(begin, &mut piece);
            assert!(piece.len() < PIECE + 1000, "{} bytes", piece.len());
            let last = again.load(&piece).unwrap();
            assert!(from.is_none_or(|next| next == last + 1));
            chunks += 1;
        }
        assert!(chunks > 1 && again.len() == 100_000, "{chunks} chunks");
        while let Some(position) = schedule.pop() {
            assert_eq!(again.pop(), Some(position));
        }
        // A hundred a second, far apart in the journal.
        assert!(schedule.memory() < 100_000 * 6, "{} bytes", schedule.memory());
    }
}
