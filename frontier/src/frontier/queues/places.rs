//! [`Places`]: where each URL waits, by its fingerprint: in which front queue, and at which position of the journal.
//!
//! The back queues know URLs by their positions alone. This table finds them by their fingerprints, without their texts. It is kept only if
//! [URLs move up](crate::frontier::FrontierOptions::move_up).
//!
//! ```text
//!   fingerprint   12 bits, the segment │ 39 bits, kept │ 13 bits, not kept
//!   slot          39 bits │ 1 bit: in a host's queue │ 8 bits, its front queue │ 48 bits, the position
//! ```
//!
//! A slot has 12 bytes. The slots of a segment are ordered by their fingerprints, with free slots between them. If all fingerprints were
//! spread evenly, each would have a *home*; its slot is as close after its home as the order allows. So a lookup ends at the first greater
//! fingerprint, and a walk over sorted fingerprints is a walk over the memory. A segment that is nine tenths full grows by an eighth, alone:
//! at most one segment in 4,096 is copied at a time. It never shrinks.
//!
//! Two URLs with the same 51 bits are taken for one another: a lookup among ten million finds one that was not asked for once in 200
//! million times. So a caller compares the whole fingerprint before it moves a URL.
//!
//! Several entries may have one fingerprint: a URL that was scheduled twice, for instance. The table has the first of them, and a map the
//! others. If the table had all, a lookup would pass each of them.

use std::collections::BTreeMap;
use std::fmt;
use std::hint::black_box;

use crate::address::Fingerprint;
use crate::gate::Position;

/// Where a URL waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WaitingPlace {
    /// Its entry.
    pub(crate) position: Position,
    /// Its front queue; `None` if it is in no host's queue: it waits for a time, is set aside or was given up.
    pub(crate) front: Option<u8>,
}

/// The places of all URLs that wait, by their fingerprints.
pub(crate) struct Places {
    segments: Box<[Segment]>,
    /// The places of URLs whose fingerprint is already in a segment, for another URL.
    more: BTreeMap<(u64, Position), Option<u8>>,
    len: usize,
    /// Slots that all segments have room for.
    slots: usize,
}

/// Bits of a fingerprint that choose the segment, and bits that are kept.
const SEGMENT_BITS: u32 = 12;
const KEPT_BITS: u32 = 39;
/// Bits of a position. A journal of 256 TiB has none that is too large.
const POSITION_BITS: u32 = 48;

/// The slots of fingerprints with the same first bits.
#[derive(Debug, Default)]
struct Segment {
    /// In the order of their fingerprints, with free slots between them.
    slots: Vec<Slot>,
    /// The homes over which fingerprints are spread. There are as many slots, and some more for the last ones.
    homes: u32,
    taken: u32,
}

/// A place with the kept bits of its fingerprint, or free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot([u32; 3]);

impl Slot {
    /// Its position is one that no URL has.
    const FREE: Self = Self([u32::MAX; 3]);

    #[expect(clippy::cast_possible_truncation, reason = "the three words of a number")]
    fn new(kept: u64, place: WaitingPlace) -> Self {
        let front = place.front.map_or(0, |front| 1 << 8 | u64::from(front));
        let number = u128::from(kept) << 57 | u128::from(front) << POSITION_BITS | u128::from(place.position.to_u64());
        Self([(number >> 64) as u32, (number >> 32) as u32, number as u32])
    }

    fn kept(self) -> u64 {
        u64::from(self.0[0]) << 7 | u64::from(self.0[1] >> 25)
    }

    fn position(self) -> Position {
        Position::from_u64(u64::from(self.0[1] & 0xffff) << 32 | u64::from(self.0[2]))
    }

    fn place(self) -> WaitingPlace {
        let [front, flags, ..] = (self.0[1] >> 16).to_le_bytes();
        WaitingPlace { position: self.position(), front: (flags & 1 == 1).then_some(front) }
    }

    fn is_free(self) -> bool {
        self == Self::FREE
    }
}

impl Segment {
    /// The home of a fingerprint: its place if all were spread evenly.
    fn home(&self, kept: u64) -> usize {
        usize::try_from((kept * u64::from(self.homes)) >> KEPT_BITS).expect("one of the homes")
    }

    /// The slot of a fingerprint; if there is none, the slot where it belongs: a free one, that of the next greater fingerprint, or the one
    /// after the last.
    #[inline]
    fn find(&self, kept: u64) -> Result<usize, usize> {
        let mut at = self.home(kept);
        while let Some(slot) = self.slots.get(at).filter(|slot| !slot.is_free()) {
            match slot.kept() {
                other if other == kept => return Ok(at),
                other if other > kept => break,
                _ => at += 1,
            }
        }
        Err(at)
    }

    /// Adds a fingerprint; says whether it was not there.
    fn insert(&mut self, kept: u64, place: WaitingPlace) -> bool {
        let Err(mut at) = self.find(kept) else { return false };
        if u64::from(self.taken) * 10 >= u64::from(self.homes) * 9 {
            self.grow();
            at = self.find(kept).unwrap_or_else(|at| at);
        }
        // Those from here up to the next free slot give way.
        let mut next = Slot::new(kept, place);
        loop {
            let Some(slot) = self.slots.get_mut(at) else {
                self.push(next);
                break;
            };
            std::mem::swap(slot, &mut next);
            if next.is_free() {
                break;
            }
            at += 1;
        }
        self.taken += 1;
        true
    }

    fn remove(&mut self, mut at: usize) {
        self.taken -= 1;
        // Those after it come nearer, up to one that is at home.
        while let Some(next) = self.slots.get(at + 1).copied().filter(|next| !next.is_free()) {
            if self.home(next.kept()) > at {
                break;
            }
            self.slots[at] = next;
            at += 1;
        }
        self.slots[at] = Slot::FREE;
    }

    fn push(&mut self, slot: Slot) {
        if self.slots.len() == self.slots.capacity() {
            self.slots.reserve_exact(8);
        }
        self.slots.push(slot);
    }

    fn grow(&mut self) {
        self.homes += (self.homes / 8).max(8);
        let mut slots = Vec::with_capacity(self.homes as usize + 8);
        std::mem::swap(&mut self.slots, &mut slots);
        for slot in slots.into_iter().filter(|slot| !slot.is_free()) {
            let home = self.home(slot.kept());
            while self.slots.len() < home {
                self.slots.push(Slot::FREE);
            }
            self.push(slot);
        }
        while self.slots.len() < self.homes as usize {
            self.slots.push(Slot::FREE);
        }
    }
}

impl Default for Places {
    fn default() -> Self {
        let segments = (0..1 << SEGMENT_BITS).map(|_| Segment::default()).collect();
        Self { segments, more: BTreeMap::new(), len: 0, slots: 0 }
    }
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Places").field("len", &self.len).finish_non_exhaustive()
    }
}

/// The number of a fingerprint's segment, and its kept bits.
fn split(fingerprint: Fingerprint) -> (usize, u64) {
    let bits = fingerprint.bits();
    let kept = (bits << SEGMENT_BITS) >> (u64::BITS - KEPT_BITS);
    (usize::try_from(bits >> (u64::BITS - SEGMENT_BITS)).expect("12 bits"), kept)
}

impl Places {
    /// Notes a URL that waits. O(1).
    pub(crate) fn insert(&mut self, fingerprint: Fingerprint, place: WaitingPlace) {
        // Beyond 256 TiB of journal, a URL is found no more.
        if place.position.to_u64() >= (1 << POSITION_BITS) - 1 {
            return;
        }
        let (segment, kept) = split(fingerprint);
        let segment = &mut self.segments[segment];
        let before = segment.slots.capacity();
        if !segment.insert(kept, place) {
            self.more.insert((fingerprint.bits(), place.position), place.front);
        }
        self.slots = self.slots + segment.slots.capacity() - before;
        self.len += 1;
    }

    /// A URL is in this front queue now, or in none. O(1).
    pub(crate) fn set_front(&mut self, fingerprint: Fingerprint, place: WaitingPlace) {
        let (segment, kept) = split(fingerprint);
        let segment = &mut self.segments[segment];
        match segment.find(kept) {
            Ok(at) if segment.slots[at].position() == place.position => segment.slots[at] = Slot::new(kept, place),
            _ => _ = self.more.get_mut(&(fingerprint.bits(), place.position)).map(|front| *front = place.front),
        }
    }

    /// A URL waits no more. O(1).
    pub(crate) fn remove(&mut self, fingerprint: Fingerprint, position: Position) {
        let (segment, kept) = split(fingerprint);
        let segment = &mut self.segments[segment];
        let was_there = match segment.find(kept) {
            Ok(at) if segment.slots[at].position() == position => {
                segment.remove(at);
                true
            }
            _ => self.more.remove(&(fingerprint.bits(), position)).is_some(),
        };
        self.len -= usize::from(was_there);
    }

    /// The URLs with this fingerprint that wait. O(1), and O(their number) if there are several.
    #[inline]
    pub(crate) fn find(&self, fingerprint: Fingerprint) -> impl Iterator<Item = WaitingPlace> {
        let (segment, kept) = split(fingerprint);
        let segment = &self.segments[segment];
        let first = segment.find(kept).ok().map(|at| segment.slots[at].place());
        let bits = fingerprint.bits();
        let all = (bits, Position::default())..=(bits, Position::from_u64(u64::MAX));
        let more = (!self.more.is_empty()).then(|| self.more.range(all));
        let more = more.into_iter().flatten();
        first.into_iter().chain(more.map(|((_, position), front)| WaitingPlace { position: *position, front: *front }))
    }

    /// Reads what [`find`](Self::find) will look at, so that the waits for memory overlap. Only a hint.
    pub(crate) fn prefetch(&self, fingerprints: impl Iterator<Item = Fingerprint>) {
        for fingerprint in fingerprints {
            let (segment, kept) = split(fingerprint);
            let segment = &self.segments[segment];
            black_box(segment.slots.get(segment.home(kept)).map(|slot| slot.0[0]));
        }
    }

    /// Calls `change` with all places, several at once, so that it can change their front queues.
    pub(crate) fn change_all(&mut self, mut change: impl FnMut(&mut [WaitingPlace])) {
        /// This many places are looked up at once.
        const AT_ONCE: usize = 64;
        let (mut places, mut slots) = (Vec::with_capacity(AT_ONCE), Vec::with_capacity(AT_ONCE));
        for segment in &mut self.segments {
            let mut rest = 0;
            while rest < segment.slots.len() {
                places.clear();
                slots.clear();
                while places.len() < AT_ONCE && rest < segment.slots.len() {
                    let slot = segment.slots[rest];
                    if !slot.is_free() {
                        places.push(slot.place());
                        slots.push(rest);
                    }
                    rest += 1;
                }
                change(&mut places);
                for (place, at) in places.iter().zip(&slots) {
                    let kept = segment.slots[*at].kept();
                    segment.slots[*at] = Slot::new(kept, *place);
                }
            }
        }
        for ((_, position), front) in &mut self.more {
            let mut place = [WaitingPlace { position: *position, front: *front }];
            change(&mut place);
            *front = place[0].front;
        }
    }

    /// The number of URLs.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of memory held, about.
    pub(crate) fn memory(&self) -> usize {
        // A map's node may be half empty.
        let more = self.more.len() * 2 * size_of::<((u64, Position), Option<u8>)>();
        size_of_val(&*self.segments) + self.slots * size_of::<Slot>() + more
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn all(places: &mut Places) -> BTreeSet<WaitingPlace> {
        let mut all = BTreeSet::new();
        places.change_all(|some| all.extend(some.iter().copied()));
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Against a sorted set, in few segments, with fingerprints that differ only in bits that are not kept.
        #[test]
        fn it_agrees_with_a_set(
            acts in prop::collection::vec((0..4u8, prop_oneof![0..60u64, (0..300u64).prop_map(|bits| bits << 28), any::<u64>()], 0..3u64, any::<Option<u8>>()), 0..800),
        ) {
            let mut places = Places::default();
            let mut model: BTreeSet<(u64, WaitingPlace)> = BTreeSet::new();
            for (number, (act, bits, which, front)) in (0..).zip(acts) {
                let fingerprint = Fingerprint::from_bits(bits);
                let is_same = |other: u64| other >> 13 == bits >> 13;
                let there = model.iter().filter(|(other, _)| *other == bits).nth(usize::try_from(which).unwrap()).copied();
                match (act, there) {
                    (0, Some(there)) => {
                        model.remove(&there);
                        places.remove(fingerprint, there.1.position);
                    }
                    (1, Some(there)) => {
                        model.remove(&there);
                        model.insert((bits, WaitingPlace { front, ..there.1 }));
                        places.set_front(fingerprint, WaitingPlace { front, ..there.1 });
                    }
                    _ => {
                        let place = WaitingPlace { position: Position::from_u64(number << 30), front };
                        model.insert((bits, place));
                        places.insert(fingerprint, place);
                    }
                }
                // All that have it are found, and nothing else but such as have the same bits kept.
                let found: BTreeSet<WaitingPlace> = places.find(fingerprint).collect();
                let exact = model.iter().filter(|(other, _)| *other == bits).map(|(_, place)| *place);
                let similar: BTreeSet<WaitingPlace> = model.iter().filter(|(other, _)| is_same(*other)).map(|(_, place)| *place).collect();
                prop_assert!(exact.into_iter().all(|place| found.contains(&place)));
                prop_assert!(found.is_subset(&similar));
                prop_assert_eq!(places.len(), model.len());
            }
            let expected: BTreeSet<WaitingPlace> = model.iter().map(|(_, place)| *place).collect();
            prop_assert_eq!(all(&mut places), expected);
            places.change_all(|some| some.iter_mut().for_each(|place| place.front = place.front.map(|front| !front)));
            let expected: BTreeSet<WaitingPlace> = model.iter().map(|(_, place)| WaitingPlace { front: place.front.map(|front| !front), ..*place }).collect();
            prop_assert_eq!(all(&mut places), expected);
            for (bits, place) in model {
                places.remove(Fingerprint::from_bits(bits), place.position);
            }
            prop_assert!(places.len() == 0 && all(&mut places).is_empty());
        }
    }

    #[test]
    fn a_url_takes_fourteen_bytes() {
        let mut places = Places::default();
        let mut worst = 0.0_f64;
        for number in 0..2_000_000_u64 {
            let fingerprint = Fingerprint::from_bits(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            places.insert(fingerprint, WaitingPlace { position: Position::from_u64(number * 100), front: Some(3) });
            if number > 1_000_000 && number.is_multiple_of(10_000) {
                worst = worst.max(places.memory() as f64 / places.len() as f64);
            }
        }
        assert!(worst < 15.5, "{worst} bytes");
        for number in (0..2_000_000_u64).step_by(997) {
            let fingerprint = Fingerprint::from_bits(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            assert_eq!(places.find(fingerprint).next().map(|place| place.position.to_u64()), Some(number * 100));
        }
    }
}
