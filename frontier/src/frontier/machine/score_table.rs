//! New priorities by name ([`ScoreTable`]), and which front queues they go to.
//!
//! Names are numbers: positions or fingerprints. They are sorted once, and the place of a name among them is guessed from its size: both
//! kinds are spread evenly enough that a lookup touches two cache lines. So a walk over ten million URLs is not slowed by ten million
//! names.

use std::hint::black_box;

use crate::frontier::queues::Back;

/// New priorities by name.
#[derive(Debug)]
pub(super) struct ScoreTable {
    /// By name, ascending; each once.
    named: Vec<(u64, i64)>,
    /// For each part of the range of names, where its first one is; and the end.
    starts: Vec<u32>,
    /// A name's distance from the least, shifted by this, is its part.
    shift: u32,
}

/// Orders priorities by their names. If a name is there twice, the last one counts.
pub(super) fn sorted(mut named: Vec<(u64, i64)>) -> Vec<(u64, i64)> {
    if !named.is_sorted_by_key(|(name, _)| *name) {
        named = in_order(named);
    }
    named.dedup_by(|later, kept| {
        let is_twice = later.0 == kept.0;
        kept.1 = if is_twice { later.1 } else { kept.1 };
        is_twice
    });
    named
}

/// Sorts by name; entries with one name keep their order. Many names are first distributed to parts by size: sorting one part stays in the
/// cache, which halves the time.
fn in_order(mut named: Vec<(u64, i64)>) -> Vec<(u64, i64)> {
    const PARTS: usize = 1 << 11;
    const MANY: usize = 1 << 15;
    let each = || named.iter().map(|(name, _)| *name);
    let (Some(least), Some(most)) = (each().min(), each().max()) else { return named };
    if named.len() < MANY {
        named.sort_by_key(|(name, _)| *name);
        return named;
    }
    let shift = (u64::BITS - (most - least).leading_zeros()).saturating_sub(PARTS.ilog2());
    let part = |name: u64| usize::try_from((name - least) >> shift).expect("one of the parts");
    let mut places = vec![0; PARTS + 1];
    for (name, _) in &named {
        places[part(*name) + 1] += 1;
    }
    for at in 1..=PARTS {
        places[at] += places[at - 1];
    }
    let starts = places.clone();
    let mut all = vec![(0, 0); named.len()];
    for entry in named {
        let place = &mut places[part(entry.0)];
        all[*place] = entry;
        *place += 1;
    }
    for part in starts.windows(2) {
        all[part[0]..part[1]].sort_by_key(|(name, _)| *name);
    }
    all
}

impl ScoreTable {
    /// The table of these names. If a name is there twice, the last one counts.
    ///
    /// # Panics
    /// With 2³² names or more.
    pub(super) fn new(named: Vec<(u64, i64)>) -> Self {
        let named = sorted(named);
        let span = named.last().map_or(0, |last| last.0 - named[0].0);
        let most = named.len().max(1) as u64;
        let shift = (0..u64::BITS).find(|shift| span >> shift < most).unwrap_or_default();
        let parts = usize::try_from(span >> shift).expect("fewer parts than names") + 1;
        let (mut starts, mut at) = (Vec::with_capacity(parts + 1), 0);
        for part in 0..=parts as u64 {
            while named.get(at).is_some_and(|(name, _)| (name - named[0].0) >> shift < part) {
                at += 1;
            }
            starts.push(u32::try_from(at).expect("fewer than 2^32 names"));
        }
        Self { named, starts, shift }
    }

    /// The number of names.
    pub(super) fn len(&self) -> usize {
        self.named.len()
    }

    /// The place of a name among all, if it is there.
    #[inline]
    pub(super) fn find(&self, name: u64) -> Option<usize> {
        let least = self.named.first()?.0;
        let part = usize::try_from(name.checked_sub(least)? >> self.shift).ok()?;
        let [from, to] = [*self.starts.get(part)? as usize, *self.starts.get(part + 1)? as usize];
        self.named[from..to].binary_search_by_key(&name, |(name, _)| *name).ok().map(|at| from + at)
    }

    /// Reads what [`find`](Self::find) will look at, so that the waits for memory overlap. Only a hint.
    #[inline]
    pub(super) fn prefetch(&self, names: impl Iterator<Item = u64> + Clone) {
        let Some((least, _)) = self.named.first() else { return };
        let part = |name: u64| usize::try_from(name.wrapping_sub(*least) >> self.shift).unwrap_or(usize::MAX);
        let parts = names.map(part).filter(|part| *part < self.starts.len());
        parts.clone().for_each(|part| _ = black_box(self.starts[part]));
        parts.for_each(|part| _ = black_box(self.named.get(self.starts[part] as usize).copied()));
    }

    /// The priority of a name, if it is there.
    #[inline]
    pub(super) fn get(&self, name: u64) -> Option<i64> {
        self.find(name).map(|at| self.named[at].1)
    }

    /// The priority at a place.
    pub(super) fn at(&self, place: usize) -> i64 {
        self.named[place].1
    }

    /// The priorities, by name.
    pub(super) fn scores(&self) -> impl Iterator<Item = i64> {
        self.named.iter().map(|(_, score)| *score)
    }

    /// The names.
    pub(super) fn names(&self) -> impl Iterator<Item = u64> {
        self.named.iter().map(|(name, _)| *name)
    }
}

/// Which front queues without URLs are to stand for these priorities, which URLs are to get. If there are too few, it chooses priorities
/// that split the URLs evenly, so that each of the others has a close one.
pub(super) fn new_fronts(back: &Back, mut scores: Vec<i64>) -> Vec<(i64, u8)> {
    scores.sort_unstable();
    let mut is_wanted = [false; 256];
    // Priorities without a front queue, each with the number of its URLs.
    let mut wanted: Vec<(i64, usize)> = Vec::new();
    for equal in scores.chunk_by(|one, other| one == other) {
        match back.priorities().exact(equal[0]) {
            Some(front) => is_wanted[usize::from(front)] = true,
            None => wanted.push((equal[0], equal.len())),
        }
    }
    let is_free = |front: &u8| !is_wanted[usize::from(*front)] && back.is_unused(*front);
    // As for single URLs: those with the greatest numbers first, since the others may be needed for depths.
    let free: Vec<u8> = (0..=u8::MAX).rev().filter(is_free).collect();
    spread(wanted, free.len()).into_iter().zip(free).collect()
}

/// At most `most` of these ascending priorities: all of them, or a choice with about equally many URLs between two.
fn spread(wanted: Vec<(i64, usize)>, most: usize) -> Vec<i64> {
    if wanted.len() <= most {
        return wanted.into_iter().map(|(priority, _)| priority).collect();
    }
    let all: usize = wanted.iter().map(|(_, urls)| urls).sum();
    let (mut chosen, mut before) = (Vec::new(), 0);
    for (priority, urls) in wanted {
        before += urls;
        // The middle of the next share has been reached.
        if chosen.len() < most && before * 2 * most > (2 * chosen.len() + 1) * all {
            chosen.push(priority);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_agrees_with_a_map(
            named in prop::collection::vec((prop_oneof![0..300u64, any::<u64>()], any::<i64>()), 0..300),
            others in prop::collection::vec(prop_oneof![0..300u64, any::<u64>()], 0..50),
        ) {
            let model: BTreeMap<u64, i64> = named.iter().copied().collect();
            let table = ScoreTable::new(named);
            prop_assert_eq!(table.len(), model.len());
            for name in table.names().chain(others) {
                prop_assert_eq!(table.get(name), model.get(&name).copied());
            }
        }
    }

    /// Enough names to be put into parts, spread over all numbers or over few, many of them there more than once.
    #[test]
    fn many_names_are_sorted_as_few_are() {
        for (shift, least) in [(0, 0), (40, 7), (50, 7), (63, u64::MAX - 1)] {
            let name = |number: u64| least + (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift);
            let named: Vec<(u64, i64)> = (0..100_000).map(|number| (name(number), number.cast_signed())).collect();
            let mut expected = named.clone();
            expected.sort_by_key(|(name, _)| *name);
            assert_eq!(in_order(named), expected);
        }
    }

    #[test]
    fn priorities_are_spread_over_the_urls() {
        let wanted = |urls: &[usize]| (0..).map(|priority| priority * 10).zip(urls.iter().copied()).collect::<Vec<_>>();
        assert_eq!(spread(wanted(&[1, 1, 1]), 3), [0, 10, 20]);
        assert_eq!(spread(wanted(&[1; 100]), 4), [120, 370, 620, 870]);
        assert_eq!(spread(wanted(&[1000, 1, 1, 1000]), 2), [0, 30]);
        assert!(spread(wanted(&[5; 7]), 0).is_empty());
        assert_eq!(spread(wanted(&[3, usize::MAX >> 20]), 1), [10]);
    }
}
