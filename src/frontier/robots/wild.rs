//! Rules with `*`: which of them need to be tried on a path, and how they are matched.
//!
//! Each rule is in a table under one run of four octets that a path must contain to match it: of the runs in its literals, the one that the
//! fewest of the file's rules have. Each run of a path is looked up there, and the rules found are tried. Rules without four literal octets
//! in a row are always tried.

use super::bound::{OutOfSteps, number};

/// Up to this many rules are all tried, without a table. Most files have fewer.
const FEW: usize = 8;

/// The rules with `*` of one group, by the runs of octets that a path must contain.
#[derive(Clone, Debug, Default)]
pub(super) struct Wild {
    /// Rules that are always tried, least first.
    always: Box<[u32]>,
    /// Where each of the table's slots begins in `listed`. Empty, or its length is a power of two plus one.
    starts: Box<[u32]>,
    /// Runs and their rules, by slot, then by run.
    listed: Box<[(u32, u32)]>,
}

impl Wild {
    /// Builds the table from rules with a `*`, least first.
    pub(super) fn new<'a>(rules: Box<[u32]>, pattern: impl Fn(u32) -> &'a str) -> Self {
        if rules.len() <= FEW {
            return Self { always: rules, ..Self::default() };
        }
        let slots = 2 * rules.len().next_power_of_two();
        let runs_of = |rule: u32| pattern(rule).split('*').flat_map(runs);
        let mut common = vec![0_u32; slots];
        rules.iter().flat_map(|&rule| runs_of(rule)).for_each(|run| common[slot(run, slots)] += 1);
        let rarest = |rule: u32| runs_of(rule).min_by_key(|&run| common[slot(run, slots)]);

        let (mut always, mut listed) = (Vec::new(), Vec::with_capacity(rules.len()));
        for &rule in &rules {
            match rarest(rule) {
                Some(run) => listed.push((run, rule)),
                None => always.push(rule),
            }
        }
        listed.sort_unstable_by_key(|&(run, rule)| (slot(run, slots), run, rule));
        let start = |first: usize| listed.partition_point(|&(run, _)| slot(run, slots) < first);
        let starts = (0..=slots).map(|first| number(start(first))).collect();
        Self { always: always.into(), starts, listed: listed.into() }
    }

    /// The least rule below `before` that matches; `rule` returns its pattern, and whether that is anchored. The candidates are tried in
    /// the order of their ranks, so the first that matches decides.
    ///
    /// # Errors
    /// If the steps are used up, which takes a file and a path made for each other. The path then counts as disallowed.
    pub(super) fn first_match<'a>(
        &self,
        path: &str,
        before: u32,
        rule: impl Fn(u32) -> (&'a str, bool),
        steps: &mut usize,
    ) -> Result<Option<u32>, OutOfSteps> {
        let mut candidates = self.listed_for(path, before, steps);
        candidates.extend(self.always.iter().take_while(|rule| **rule < before));
        candidates.sort_unstable();
        *steps += candidates.len();
        for candidate in candidates {
            OutOfSteps::check(*steps)?;
            let (pattern, anchored) = rule(candidate);
            if matches(pattern, anchored, path, steps) {
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    }

    /// Bytes on the heap.
    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.always) + size_of_val(&*self.starts) + size_of_val(&*self.listed)
    }

    /// The rules below `before` whose run the path contains. A path of n octets has at most n - 3 runs, so the time depends on the path and
    /// not on the number of rules.
    fn listed_for(&self, path: &str, before: u32, steps: &mut usize) -> Vec<u32> {
        let Some(slots) = self.starts.len().checked_sub(1) else { return Vec::new() };
        *steps += path.len();
        let listed = |run: u32| {
            let slot = slot(run, slots);
            let listed = &self.listed[self.starts[slot] as usize..self.starts[slot + 1] as usize];
            let first = listed.partition_point(|(other, _)| *other < run);
            listed[first..].iter().take_while(move |(other, _)| *other == run).map(|(_, rule)| *rule)
        };
        // A path that repeats itself contains the same runs again and again.
        let mut held: Vec<u32> = runs(path).filter(|&run| listed(run).next().is_some()).collect();
        held.sort_unstable();
        held.dedup();
        held.into_iter().flat_map(listed).filter(|rule| *rule < before).collect()
    }
}

/// Every four octets in a row, as a number. A text shorter than four has none.
fn runs(text: &str) -> impl Iterator<Item = u32> {
    text.as_bytes().windows(4).map(|run| run.iter().fold(0, |run, &octet| run << 8 | u32::from(octet)))
}

/// Multiplicative hashing: the product's upper bits depend on all four octets.
fn slot(run: u32, slots: usize) -> usize {
    (run.wrapping_mul(0x9E37_79B1) >> (u32::BITS - slots.trailing_zeros())) as usize
}

/// Whether a pattern with `*` matches. Each piece is matched at its first occurrence after the previous piece: if there is a match with a
/// later occurrence, there is one with the first. So no piece is searched for twice, and since the standard library searches in linear
/// time, the steps are at most the length of the pattern plus that of the path.
fn matches(pattern: &str, anchored: bool, path: &str, steps: &mut usize) -> bool {
    *steps += pattern.len();
    let mut pieces = pattern.split('*');
    let Some(mut rest) = path.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let last = if anchored { pieces.next_back() } else { None };
    for piece in pieces {
        let found = rest.find(piece);
        let passed = found.map_or(rest.len(), |at| at + piece.len());
        *steps += passed;
        rest = &rest[passed..];
        if found.is_none() {
            return false;
        }
    }
    last.is_none_or(|last| rest.ends_with(last))
}
