//! The table of the exact layout. It doubles its lines step by step, a few with each new URL.
//!
//! # Windows
//!
//! A window is inserted in two rounds. Whether a fingerprint is new cannot be predicted, and after a misprediction a processor throws away
//! the work that it has begun on the next ones. So the first round finds most of the fingerprints that were shown, without a branch on any
//! of them, and the second takes the others one by one.
//!
//! # Ranges
//!
//! A slot moves to a table of another size, or to another shard, as a range of fingerprints. A slot with home `h` and `b`
//! known bits stands for all fingerprints of its shard between two numbers. That range means the same in every table. It goes into the new
//! table as the slot with the most bits that covers all of it. So no seen URL becomes new, and the false positives grow by the bits that
//! are lost.

#![expect(
    clippy::inline_always,
    reason = "code is made of the instructions that its caller may use only where it becomes part of it"
)]

use fearless_simd::{Level, Simd, dispatch};

use super::line::{self, Geometry};
use super::table::{LineTable, Spot};
use crate::seen::layouts::cache_lines::CacheLine;
use crate::seen::layouts::window::{ProbeWindow, Removal, Sighting, Subset, prefetch};
use crate::seen::probes::Probes;
use crate::seen::statistics::GenerationStatistics;

/// The fingerprints of a shard: one table, or two while it is being split.
///
/// Every fingerprint is in one of the two, and its home tells which: homes from [`Splitting::from`] on are in the larger table. So a search
/// never reads both. The shard's lock is held over each call.
///
/// A test mostly costs one cache line. A new insertion costs the same line, and, while the table is split, the lines of [`STEPS`] homes and
/// of those that they are split into. Three kinds of calls take longer:
/// - the call that begins a split asks the operating system for the larger table, which is zeroed as it is filled. It is in small pages:
///   zeroing a huge one takes 180 microseconds, and no insertion should wait that long. So a table that has grown is slower than a large
///   one that was made at once;
/// - the call that ends the first split gives the old table's huge pages back together, in up to 135 microseconds for 10 MiB;
/// - one call in [`PIECE`] lines of a later split gives 64 KiB of the old table back, in 10 to 30 microseconds with glibc's allocator;
///   jemalloc does it less often, and takes up to half a millisecond.
#[derive(Debug)]
pub(in crate::seen) struct Lines {
    geometry: Geometry,
    /// The table; while it is being split, the old one. A search starts from its number of homes.
    pub(in crate::seen) table: LineTable,
    /// The table of twice as many lines, while there is one.
    pub(in crate::seen) next: Option<Splitting>,
    /// Slots that may be taken before the table is split.
    room: u64,
    /// Slots that are taken. A slot without identity bits is in both halves, and counts twice.
    len: u64,
    /// How many shards there are, as a power of two.
    shard_bits: u32,
}

/// The larger table, and how far it has come. It has exactly twice as many homes as the old one: home `h` is split into `2h` and `2h + 1`.
#[derive(Debug)]
pub(in crate::seen) struct Splitting {
    pub(in crate::seen) table: LineTable,
    /// Homes of the old table from this one on are split.
    pub(in crate::seen) from: usize,
}

/// Lines that are split for each new URL. Meanwhile the old table's load rises from 86 to 88 %.
const STEPS: usize = 4;
/// Lines of the old table whose memory is given back together: 64 KiB.
const PIECE: usize = 1024;

/// What to look for, and in which line of which table.
#[derive(Clone, Copy)]
pub(super) struct Search {
    /// The line is in the larger table.
    pub(super) is_split: bool,
    /// A line of that table.
    pub(super) home: usize,
    /// A slot with all identity bits.
    pub(super) slot: u64,
}

impl Lines {
    /// An empty table of `lines`. `shard_bits`: how many shards there are, as a power of two.
    pub(in crate::seen) fn new(geometry: Geometry, lines: u64, shard_bits: u32) -> Self {
        let homes = usize::try_from(lines).expect("sizes are checked against the memory before");
        Self::of(LineTable::new(geometry, homes), None, shard_bits)
    }

    /// From tables that already hold slots: a snapshot's, or those of a union. `next` has twice the homes of `table`.
    pub(in crate::seen) fn of(table: LineTable, next: Option<Splitting>, shard_bits: u32) -> Self {
        let geometry = table.geometry;
        let len = table.generations.total() + next.as_ref().map_or(0, |next| next.table.generations.total());
        Self { geometry, room: geometry.room(table.homes as u64), table, next, len, shard_bits }
    }

    /// The number of fingerprints. It is a little too high if slots have lost all their bits.
    pub(in crate::seen) fn len(&self) -> u64 {
        self.len
    }

    pub(in crate::seen) fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The number of lines, now or once all are split.
    pub(in crate::seen) fn lines(&self) -> usize {
        self.next.as_ref().map_or(self.table.homes, |next| next.table.homes)
    }

    /// The lines that may be a fingerprint's home; `None` while they are being split.
    #[inline]
    pub(in crate::seen) fn homes(&self) -> Option<&[CacheLine]> {
        if self.next.is_some() { None } else { Some(&self.table.lines()[..self.table.homes]) }
    }

    pub(in crate::seen) fn shard_bits(&self) -> u32 {
        self.shard_bits
    }

    /// Every generation, the oldest first. While the table is being split, the slots of both tables count with the bits that they will
    /// have.
    pub(in crate::seen) fn generations(&self) -> Vec<GenerationStatistics> {
        let all = match &self.next {
            None => self.table.generations.clone(),
            Some(next) => next.table.generations.clone().with_old(&self.table.generations),
        };
        all.statistics(self.geometry, self.lines(), self.shard_bits)
    }

    /// Bytes of memory that are held. Only the filled part of the larger table counts, two lines for each split one: the operating system
    /// has not given the rest yet.
    pub(in crate::seen) fn bytes(&self) -> usize {
        let of_next = |next: &Splitting| next.table.bytes().saturating_sub(2 * next.from * size_of::<CacheLine>());
        size_of::<Self>() + self.table.bytes() + self.next.as_ref().map_or(0, of_next)
    }

    /// Prefetches the line that a test reads.
    #[inline]
    pub(in crate::seen) fn prefetch(&self, probes: Probes) {
        let search = self.search(probes);
        self.side(search).prefetch(search.home);
    }

    /// Whether a fingerprint, or another with the same home and identity, was inserted.
    pub(in crate::seen) fn contains(&self, probes: Probes) -> bool {
        dispatch!(Level::baseline(), simd => self.find(simd, self.search(probes)).is_some())
    }

    /// Inserts one fingerprint. It is searched with the baseline instructions: choosing wider ones pays only for a window.
    pub(in crate::seen) fn insert(&mut self, probes: Probes) -> Sighting {
        let is_new = dispatch!(Level::baseline(), simd => self.insert_one(simd, probes));
        if is_new { Sighting::New } else { Sighting::Seen }
    }

    /// Takes a fingerprint out. After a union there may be more than one slot for it.
    ///
    /// Any fingerprint with the same home and identity is forgotten with it, and is new again. In a full table this is one in 25 billion.
    pub(in crate::seen) fn remove(&mut self, probes: Probes) -> Removal {
        let mut removal = Removal::Absent;
        let search = self.search(probes);
        while let Some(place) = dispatch!(Level::baseline(), simd => self.find(simd, search)) {
            self.side_mut(search).take(search.home, place);
            self.len -= 1;
            removal = Removal::Removed;
        }
        removal
    }

    /// Inserts it unless it is there. Returns whether it was new.
    #[inline(always)]
    pub(super) fn insert_one<S: Simd>(&mut self, simd: S, probes: Probes) -> bool {
        let search = self.search(probes);
        let is_new = self.find(simd, search).is_none();
        if is_new {
            self.side_mut(search).put(search.home, search.slot);
            self.note_new();
        }
        is_new
    }

    #[inline(always)]
    fn find<S: Simd>(&self, simd: S, search: Search) -> Option<Spot> {
        self.side(search).find(simd, search.home, search.slot)
    }

    /// Where to look for a fingerprint.
    #[inline(always)]
    pub(super) fn search(&self, probes: Probes) -> Search {
        let (home, rest) = probes.slot_and_rest(self.table.homes);
        self.at(home, rest)
    }

    /// The same, from the home in the old table and the bits that follow it. If the line is split, the first of these bits tells which half
    /// is home, and is no part of the identity there.
    #[inline(always)]
    fn at(&self, home: usize, rest: u64) -> Search {
        // Without a branch: which of the two it is cannot be predicted.
        let is_split = self.next.as_ref().is_some_and(|next| home >= next.from);
        let half = usize::from(is_split) & usize::from(rest >> (u64::BITS - 1) == 1);
        let slot = slot(self.geometry, rest << u32::from(is_split));
        Search { is_split, home: home << u32::from(is_split) | half, slot }
    }

    #[inline(always)]
    pub(super) fn side(&self, search: Search) -> &LineTable {
        match &self.next {
            Some(next) if search.is_split => &next.table,
            _ => &self.table,
        }
    }

    #[inline(always)]
    fn side_mut(&mut self, search: Search) -> &mut LineTable {
        match &mut self.next {
            Some(next) if search.is_split => &mut next.table,
            _ => &mut self.table,
        }
    }

    /// Inserts a slot with only the first `known` bits of `rest`, unless a slot that covers it is there. This is for slots that come from
    /// another table, in a union or from other shards, with the bits that they have left.
    ///
    /// A slot that stands for fewer fingerprints stays beside it, and is counted too.
    pub(super) fn insert_part(&mut self, home: usize, rest: u64, known: u32) {
        let search = self.at(home, rest);
        if search.is_split && known == 0 {
            // The bit that tells its half is not known.
            let spent = self.geometry.spent();
            let side = self.side_mut(search);
            side.put(2 * home, spent);
            side.put(2 * home + 1, spent);
            self.len += 2;
            return;
        }
        let known = (known - u32::from(search.is_split)).min(self.geometry.identity_bits);
        let age = self.geometry.identity_bits - known;
        let side = self.side(search);
        // A slot with the same or fewer bits covers it.
        let is_there = |place| side.slot(search.home, place).trailing_zeros() >= age;
        if !dispatch!(Level::baseline(), simd => side.find(simd, search.home, search.slot)).is_some_and(is_there) {
            let slot = (search.slot >> 1 >> age << age << 1) | 1 << age;
            self.side_mut(search).put(search.home, slot);
            self.note_new();
        }
    }

    /// Counts a new one. If the table is full, this begins the split or continues it.
    #[inline(always)]
    fn note_new(&mut self) {
        self.len += 1;
        if self.len > self.room {
            self.split();
        }
    }

    /// Splits some lines, the last ones first, and gives the old table's end back piece by piece. When none is left, the larger table
    /// replaces it.
    #[cold]
    #[inline(never)]
    fn split(&mut self) {
        let (homes, geometry) = (self.table.homes, self.geometry);
        let begun = || Splitting { table: LineTable::to_split_into(geometry, 2 * homes), from: homes };
        let next = self.next.get_or_insert_with(begun);
        for _ in 0..STEPS.min(next.from) {
            next.from -= 1;
            let (home, spent) = (next.from, geometry.spent());
            self.table.take_all(home, |slot| {
                if slot == spent {
                    // The bit that tells its half is not known.
                    next.table.put(2 * home, slot);
                    next.table.put(2 * home + 1, slot);
                    self.len += 1;
                } else {
                    let half = usize::from(slot & spent != 0);
                    next.table.put(2 * home + half, (slot & !spent) << 1);
                }
            });
            if home.is_multiple_of(PIECE) {
                self.table.truncate(home);
            }
        }
        if next.from == 0
            && let Some(next) = self.next.take()
        {
            self.room = geometry.room(next.table.homes as u64);
            self.table = next.table;
        }
    }
}

/// A new slot from the bits after a home: as many as a slot keeps, and the mark.
#[inline(always)]
pub(super) fn slot(geometry: Geometry, rest: u64) -> u64 {
    rest >> (u64::BITS - 1 - geometry.identity_bits) | 1
}

impl Lines {
    /// Inserts the fingerprints of a window that an older layer has not `seen`. Returns the new ones. Meanwhile it prefetches the next
    /// window's lines, one for each lookup.
    pub(in crate::seen) fn insert_window(&mut self, window: ProbeWindow<'_>, seen: Subset) -> Subset {
        dispatch!(Level::new(), simd => self.insert_each(simd, window, seen))
    }

    #[inline(always)]
    fn insert_each<S: Simd>(&mut self, simd: S, window: ProbeWindow<'_>, seen: Subset) -> Subset {
        // If the shape of a line is known at compile time, its shifts are constants.
        let at_home = match self.geometry() {
            Geometry::USUAL => self.find_at_home(simd, Geometry::USUAL, window),
            other => self.find_at_home(simd, other, window),
        };
        let left = window.all_but(seen.or(at_home));
        for place in left.places() {
            let search = self.search(window.probes(place));
            self.side(search).prefetch_beyond(search.home);
        }
        left.places().filter(|&place| self.insert_one(simd, window.probes(place))).collect()
    }

    /// The fingerprints that are in their home lines, except a few that are [not found at first sight](line::is_first).
    #[inline(always)]
    fn find_at_home<S: Simd>(&self, simd: S, geometry: Geometry, window: ProbeWindow<'_>) -> Subset {
        let tables = [Some(&self.table), self.next.as_ref().map(|next| &next.table)];
        if let [Some(table), None] = tables {
            let (lines, homes) = (table.lines(), table.homes);
            return find_first(
                simd,
                geometry,
                window,
                #[inline(always)]
                |probes| {
                    let (home, rest) = probes.slot_and_rest(homes);
                    (lines, home, slot(geometry, rest))
                },
            );
        }
        let lines = tables.map(|table| table.map_or(&[][..], LineTable::lines));
        find_first(
            simd,
            geometry,
            window,
            #[inline(always)]
            |probes| {
                let Search { is_split, home, slot } = self.search(probes);
                (lines[usize::from(is_split)], home, slot)
            },
        )
    }
}

/// The fingerprints of a window that are found at first sight in their home lines, while the lines of the next window are prefetched. For
/// each, `place` gives the lines of its table, the index of its line among them, and its slot.
#[inline(always)]
fn find_first<'a, S: Simd>(
    simd: S,
    geometry: Geometry,
    window: ProbeWindow<'_>,
    place: impl Fn(Probes) -> (&'a [CacheLine], usize, u64),
) -> Subset {
    let mut ahead = window.ahead();
    window.choose(
        #[inline(always)]
        |probes, _| {
            if let Some(ahead) = ahead.next() {
                let (lines, home, _) = place(ahead);
                prefetch(lines, home);
            }
            let (lines, home, slot) = place(probes);
            line::is_first(simd, &lines[home], geometry, slot)
        },
    )
}

/// All fingerprints that a slot stands for, in order, including the last. It is never empty, and lies in one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::seen) struct Range {
    pub(in crate::seen) first: u64,
    pub(in crate::seen) last: u64,
}

/// The most identity bits that a slot may lose if its range crosses a border inside a line of the new table. If it would lose more, it
/// becomes two slots, one on each side.
const MOST_LOST: u32 = 8;

impl Lines {
    /// The slots, for the shard of this number, as ranges of whole fingerprints: the shard's bits come first.
    pub(in crate::seen) fn ranges(&self, shard: usize) -> impl Iterator<Item = Range> {
        let tables = [Some(&self.table), self.next.as_ref().map(|next| &next.table)];
        let in_shard = tables.into_iter().flatten().flat_map(LineTable::ranges);
        let shard_bits = self.shard_bits();
        // In two steps, since a shift by 64 bits is not defined.
        let leading = (shard as u64) << 1 << (63 - shard_bits);
        in_shard.filter_map(move |Range { first, last }| {
            let first = leading | first.div_ceil(1 << shard_bits);
            let last = leading | last >> shard_bits;
            (first <= last).then_some(Range { first, last })
        })
    }

    /// Inserts a range that lies in this shard. If it crosses a border between lines, it is split into two ranges, and these again if need
    /// be. That makes few slots, since a range is hardly longer than that of a line.
    pub(in crate::seen) fn insert_range(&mut self, range: Range) {
        let Range { first, last } = range;
        let homes = self.table.homes as u128;
        let at = |bits: u64| u128::from(bits << self.shard_bits()) * homes;
        let (from, to) = (at(first), at(last));
        // How many bits after the home all fingerprints of the range have in common.
        let common = (from ^ to).leading_zeros().saturating_sub(u64::BITS);
        let is_one_home = from >> u64::BITS == to >> u64::BITS;
        // How many they would have in common if the range began at a multiple of its length.
        let most = (to - from).leading_zeros().saturating_sub(u64::BITS);
        let lost = most.saturating_sub(common);
        if first < last && (!is_one_home || common < self.geometry().identity_bits && lost > MOST_LOST) {
            // The border is where the first bit differs.
            let differs = (from ^ to).ilog2();
            let border = to >> differs << differs;
            let bits = u64::try_from(border.div_ceil(homes)).unwrap_or(u64::MAX).div_ceil(1 << self.shard_bits());
            let second = (first & !(u64::MAX >> self.shard_bits())) | bits;
            if first < second && second <= last {
                self.insert_range(Range { first, last: second - 1 });
                self.insert_range(Range { first: second, last });
                return;
            }
        }
        let home = usize::try_from(from >> u64::BITS).expect("below the number of homes");
        #[expect(clippy::cast_possible_truncation, reason = "what follows the home")]
        self.insert_part(home, from as u64, common);
    }
}

impl LineTable {
    /// The ranges of all slots, as numbers of 64 bits that begin after the shard's bits.
    fn ranges(&self) -> impl Iterator<Item = Range> {
        self.slots().filter_map(|(home, slot)| {
            let known = self.geometry.identity_bits - slot.trailing_zeros();
            let identity = u128::from(slot >> 1 >> slot.trailing_zeros());
            let homes = self.homes as u128;
            let from = (home as u128) << u64::BITS | identity << (u64::BITS - known);
            let to = from + (1 << (u64::BITS - known));
            let (first, last) = (from.div_ceil(homes), to.div_ceil(homes) - 1);
            let [first, last] = [first, last].map(|bits| u64::try_from(bits).unwrap_or(u64::MAX));
            (first <= last).then_some(Range { first, last })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Fingerprint;

    fn probes(count: u64) -> Probes {
        let bits = count.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Probes::new(Fingerprint::from_bits(bits ^ bits >> 27), 0)
    }

    /// The work of an insert is bounded, in lines, and so is the memory: the system never gives more than the larger table takes, and at
    /// most 1.6 times as much is requested.
    #[test]
    fn a_doubling_is_done_in_steps_and_within_its_memory() {
        assert_eq!(doublings(1000, 1_000_000, 1.0), 7);
        // In huge pages, which are given back at the end.
        assert_eq!(doublings(33_000, 380_000, 1.5), 1);
    }

    /// How often this many lines double for this many fingerprints. They never hold more than `most` times the memory of the larger table.
    fn doublings(lines: u64, urls: u64, most: f64) -> u32 {
        const LINE: usize = size_of::<CacheLine>();
        let mut lines = Lines::new(Geometry::of(38), lines, 0);
        let mut doublings = 0;
        for count in 0..urls {
            let (left, homes) = (lines.next.as_ref().map(|next| next.from), lines.table.homes);
            lines.insert(probes(count));
            let split = match (left, &lines.next) {
                (Some(left), Some(next)) => left - next.from,
                // The last lines were split: the larger table is the only one now.
                (Some(left), None) => left,
                (None, Some(next)) => {
                    doublings += 1;
                    homes - next.from
                }
                (None, None) => 0,
            };
            assert!(split <= STEPS, "{split} lines at {count}");
            // Tables have some lines after the last home, and memory is given back in pieces.
            let slack = 64 * LINE + PIECE * LINE + size_of::<Lines>();
            let beside = [Some(&lines.table), lines.next.as_ref().map(|next| &next.table)];
            let overflows: usize = beside.iter().flatten().map(|table| table.overflow().len()).sum();
            let whole = lines.lines() * LINE + slack + overflows * 24;
            assert!(lines.bytes() as f64 <= most * whole as f64, "{} of {whole} bytes at {count}", lines.bytes());
            let asked: usize = beside.iter().flatten().map(|table| table.bytes()).sum();
            assert!(asked as f64 <= 1.6 * whole as f64, "{asked} asked for of {whole} bytes at {count}");
            // Splitting ends long before the larger table is itself full.
            assert!(lines.next.is_none() || lines.len() as f64 <= 0.9 * (homes * 12) as f64, "{count}");
        }
        doublings
    }
}
