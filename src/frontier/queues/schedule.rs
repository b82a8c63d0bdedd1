//! URLs that wait for a time.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use super::{Back, Queue, Queued};
use crate::bytes::varint::{self, number, put};
use crate::frontier::Timestamp;
use crate::frontier::durable::{Aside, Entry as JournalEntry};
use crate::gate::{Position, Refusal};

/// URLs that are not to be fetched before a time, by the second at whose end that lies; first come, first served within one.
///
/// So none goes early, and none a second late. The URLs of a day are in 86,400 queues at most. These are like those of the hosts:
/// positions in the journal, two to four bytes each where many share a second, and about a hundred where one has it alone.
///
/// URLs that rules refuse which came after their admission are *set aside*: they stand after all seconds, by the round of rules and the
/// reason. Pages that were given up are *parked*: they come last. No time frees either, only other rules, or somebody who asks for them.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    /// One queue a second, by the second's number: seconds are counted by their ends from the Unix epoch. None is empty.
    seconds: BTreeMap<u64, Queue>,
    /// The URLs of all seconds, which are the priorities of no host here.
    back: Back,
    /// URLs that wait for a time, without those that are parked.
    len: u64,
}

/// The thing that a URL waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Its time.
    Due,
    /// Somebody to ask for it.
    Parked,
}

/// Microseconds in a second, the unit in which a schedule is kept. A finer one would give each URL a queue of its own.
const SECOND: u64 = 1_000_000;

/// Bytes after which a piece of it ends. The frontier is locked while one is written, and a second is never split.
const PIECE: usize = 16 << 10;

/// The first byte of a piece of the schedule, by which it is told from hosts: their first number is the length of a key, which is not 0.
pub(crate) const SCHEDULE: u8 = 0;

/// From here on stand URLs that are set aside: behind all time. The round of rules and the reason follow in the lower bits.
const ASIDE: u64 = 1 << 63;

/// The second of parked URLs: behind all else.
const PARKED: u64 = u64::MAX;

/// The first second that is over at this time.
pub(crate) fn second(at: Timestamp) -> u64 {
    if at == JournalEntry::NEVER { PARKED } else { at.as_micros().div_ceil(SECOND) }
}

/// The second of URLs that a round of rules has set aside for a reason.
///
/// # Panics
/// If no URL that waits is refused for that reason.
pub(crate) fn second_of(aside: Aside) -> u64 {
    ASIDE | u64::from(aside.round) << 8 | u64::from(aside.refusal.number().expect("a reason of a rule"))
}

/// What [`second_of`] made a second of; `None` of any other second.
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

    /// Takes away the URL that goes first of those that were set aside together.
    pub(crate) fn take_aside(&mut self, from: Aside) {
        self.pop_of(second_of(from));
    }

    /// The URL that goes first of those that rounds before this one have set aside.
    pub(crate) fn first_aside(&self, before: u32) -> Option<(Position, Aside)> {
        let (second, queue) = self.seconds.range(ASIDE..ASIDE | u64::from(before) << 8).next()?;
        Some((queue.first()?.position, aside_of(*second)?))
    }

    /// How many URLs rounds before this one have set aside. O(rounds and reasons).
    pub(crate) fn aside(&self, before: u32) -> u64 {
        self.seconds.range(ASIDE..ASIDE | u64::from(before) << 8).map(|(_, queue)| u64::from(queue.len())).sum()
    }

    /// Shows each URL that is set aside, the longest ago first.
    pub(crate) fn each_aside(&self) -> impl Iterator<Item = (Position, Refusal)> {
        let seconds = self.seconds.range(ASIDE..PARKED);
        let reasons = seconds.filter_map(|(second, queue)| Some((aside_of(*second)?.refusal, queue)));
        reasons.flat_map(|(refusal, queue)| self.positions(queue).map(move |position| (position, refusal)))
    }

    /// Whether nothing is in it, whatever it would wait for.
    pub(crate) fn is_blank(&self) -> bool {
        self.seconds.is_empty()
    }

    /// When the first of them may go.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        let first = self.seconds.keys().next().filter(|&&second| second < ASIDE);
        first.map(|&second| Timestamp::from_micros(second.saturating_mul(SECOND)))
    }

    /// The URL that goes first.
    pub(crate) fn first(&self) -> Option<Position> {
        self.due()?;
        self.seconds.values().next()?.first().map(|first| first.position)
    }

    /// The URL that was parked first.
    pub(crate) fn first_parked(&self) -> Option<Position> {
        self.seconds.get(&PARKED)?.first().map(|first| first.position)
    }

    /// Takes away this one if it goes first of those that wait for a time, or of those that are parked; says which it was.
    pub(crate) fn take_first(&mut self, position: Position) -> Option<Taken> {
        if self.first() == Some(position) {
            return self.pop().map(|_| Taken::Due);
        }
        (self.first_parked() == Some(position)).then(|| self.pop_of(PARKED)).flatten().map(|_| Taken::Parked)
    }

    /// How many are parked.
    pub(crate) fn parked(&self) -> u64 {
        self.seconds.get(&PARKED).map_or(0, |queue| queue.len().into())
    }

    /// The one that goes first, if it may go now.
    pub(crate) fn first_due(&self, now: Timestamp) -> Option<Position> {
        self.due().filter(|due| *due <= now).and_then(|_| self.first())
    }

    /// Takes away the URL that goes first.
    pub(crate) fn pop(&mut self) -> Option<Position> {
        let first = *self.seconds.keys().next()?;
        if first < ASIDE { self.pop_of(first) } else { None }
    }

    /// Takes away the first URL of a second, and the second with its last: an empty one would be the next that is due, and never be over.
    fn pop_of(&mut self, second: u64) -> Option<Position> {
        let queue = self.seconds.get_mut(&second)?;
        let position = self.back.pop(queue)?;
        if queue.first().is_none() {
            self.seconds.remove(&second);
        }
        self.len -= u64::from(second < ASIDE);
        Some(position)
    }

    /// Takes this one away, and says whether it was there. O(URLs of that second).
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

    /// All that wait for a time wait for so much less, in whole seconds: the clock was ahead that set these times. Which goes before which
    /// stays as it is. O(seconds).
    pub(crate) fn hasten(&mut self, by: Duration) {
        for (at, mut queue) in std::mem::take(&mut self.seconds) {
            let at = if at < ASIDE { at.saturating_sub(by.as_secs()) } else { at };
            match self.seconds.entry(at) {
                Entry::Vacant(free) => drop(free.insert(queue)),
                // Several may be due since the beginning of time.
                Entry::Occupied(mut before) => {
                    while let Some(position) = self.back.pop(&mut queue) {
                        self.back.push(before.get_mut(), Queued { position, priority: 0 });
                    }
                }
            }
        }
    }

    /// The time that this one waits for, where it is in it: it was given `at`, and perhaps [hastened](Self::hasten) since.
    /// O(URLs of that second), or of all where it is not there.
    pub(crate) fn find(&self, at: Timestamp, position: Position) -> Option<Timestamp> {
        let is_in = |queue: &Queue| self.positions(queue).any(|other| other == position);
        if self.seconds.get(&second(at)).is_some_and(is_in) {
            return Some(at);
        }
        let seconds = self.seconds.range(..second(at).min(ASIDE));
        let found = seconds.into_iter().find(|(_, queue)| is_in(queue));
        found.map(|(&second, _)| Timestamp::from_micros(second.saturating_mul(SECOND)))
    }

    /// How many URLs wait for a time. Those that are parked or set aside are counted by [`parked`](Self::parked) and
    /// [`aside`](Self::aside).
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Bytes of memory held, about.
    pub(crate) fn memory(&self) -> usize {
        self.back.memory() + self.seconds.len() * size_of::<(u64, Queue)>() * 3 / 2
    }

    /// Appends a piece of it, from a second on, and says from which the next one goes on; `None` where this is the last.
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

    /// Takes a piece, and says which second is its last; `None` where it is none.
    pub(crate) fn load(&mut self, piece: &[u8]) -> Option<u64> {
        read(piece, |second, position| self.put(second, position))
    }

    /// Notes a URL in a second, behind the others of that.
    fn put(&mut self, second: u64, position: Position) {
        // Which of them goes first is for their hosts' queues to say: all are of one priority here.
        self.back.push(self.seconds.entry(second).or_default(), Queued { position, priority: 0 });
        self.len += u64::from(second < ASIDE);
    }

    /// The URLs of a second, in order.
    fn positions<'a>(&'a self, queue: &'a Queue) -> impl Iterator<Item = Position> {
        self.back.levels(queue).flat_map(|level| self.back.positions(level))
    }
}

/// Shows `each` the URLs of a piece by their seconds, and says which is its last.
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
                // Some so far away that their second's end is beyond all time.
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
                // Cut behind the end of a second, it is a shorter one; anywhere else it is none.
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
        let (mut again, mut from, mut pieces) = (Schedule::default(), Some(0), 0);
        while let Some(begin) = from {
            let mut piece = Vec::new();
            from = schedule.save(begin, &mut piece);
            assert!(piece.len() < PIECE + 1000, "{} bytes", piece.len());
            let last = again.load(&piece).unwrap();
            assert!(from.is_none_or(|next| next == last + 1));
            pieces += 1;
        }
        assert!(pieces > 1 && again.len() == 100_000, "{pieces} pieces");
        while let Some(position) = schedule.pop() {
            assert_eq!(again.pop(), Some(position));
        }
        // A hundred a second, far apart in the journal.
        assert!(schedule.memory() < 100_000 * 6, "{} bytes", schedule.memory());
    }
}
