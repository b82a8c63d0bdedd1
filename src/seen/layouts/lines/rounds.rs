//! A window, inserted in two rounds.
//!
//! Whether a fingerprint is new cannot be predicted, and after a misprediction a processor throws away the work that it has begun on the
//! next ones. So the first round finds most of the fingerprints that were shown, without a branch on any of them, and the second takes the
//! others one by one.

#![expect(
    clippy::inline_always,
    reason = "code is made of the instructions that its caller may use only where it becomes part of it"
)]

use fearless_simd::{Level, Simd, dispatch};

use super::geometry::Geometry;
use super::growing::{Lines, Search, slot};
use super::line;
use super::table::LineTable;
use crate::seen::layouts::cache_lines::CacheLine;
use crate::seen::layouts::window::{ProbeWindow, Subset, prefetch};
use crate::seen::probes::Probes;

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

/// The fingerprints of a window that are at first sight in their home lines, while the lines of the next window are prefetched. `place`
/// gives the lines that each is in, its line among them, and its slot.
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
