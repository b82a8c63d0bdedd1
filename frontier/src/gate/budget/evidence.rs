//! The evidence: the yield of each shape, section, host and domain so far, in a table of fixed size, and the budgets for which most links
//! are refused.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use ahash::AHashMap;

use crate::address::Fingerprint;

/// Slots, a power of two: half a MiB. They are allocated when the first page is done.
const SLOTS: usize = 1 << 16;
/// Words of the set of hosts and domains that have a spent budget.
const WORDS: usize = 64;
/// Slots that a key may be in: half a cache line.
const WAYS: usize = 4;
/// Bits of a count.
const COUNT: u32 = 20;
/// If a count would exceed this, both counts of its key are halved: their ratio stays.
const MOST: u64 = (1 << COUNT) - 1;

/// How often each key brought something new, and how often it did not. A key is the fingerprint of a shape, a section, a host, a domain, or
/// another part of the web that has a budget.
///
/// Rare keys are forgotten first: a new key takes the one of its four slots with the fewest pages. So a crawl of a million hosts takes half
/// a MiB too, and keys that repeat are kept. Only the journal's records change the table, in their order, so a resume makes the same table
/// again.
///
/// A slot is one number, so readers never wait. It has 24 bits of the key as a tag, 20 for the count of barren pages, and 20 for that of
/// fresh ones. Two keys with the same tag and slots are counted as one. Two keys of the same slots have the same tag with a chance of 1 in
/// 8 million.
#[derive(Debug)]
pub(super) struct Evidence {
    slots: Box<[AtomicU64]>,
    /// Whether any key has used up its budget. Until then no URL is checked.
    is_any_spent: AtomicBool,
    /// Whether any domain has.
    is_any_domain_spent: AtomicBool,
    /// A bit for each host with a spent budget, and for each such domain. Several hosts may share a bit.
    doubted: [AtomicU64; WORDS],
}

impl Default for Evidence {
    fn default() -> Self {
        Self {
            slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            is_any_spent: AtomicBool::new(false),
            is_any_domain_spent: AtomicBool::new(false),
            doubted: [const { AtomicU64::new(0) }; WORDS],
        }
    }
}

/// The yield of one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct YieldCounts {
    /// Pages that were like others, or errors.
    pub(super) barren: u64,
    /// Pages with something new.
    pub(super) fresh: u64,
}

impl YieldCounts {
    /// Whether the barren pages exceed `budget`, plus `growth` for each fresh page.
    pub(super) fn is_beyond(self, budget: u32, growth: u32) -> bool {
        budget > 0 && self.barren > u64::from(budget) + self.fresh * u64::from(growth)
    }

    /// Both counts of a slot, whatever key it has.
    const fn of(word: u64) -> Self {
        Self { barren: word >> COUNT & MOST, fresh: word & MOST }
    }
}

impl Evidence {
    /// The yield of a key so far.
    pub(super) fn of(&self, key: Fingerprint) -> YieldCounts {
        let (ways, tag) = self.ways(key);
        let mut words = ways.iter().map(|slot| slot.load(Ordering::Relaxed));
        words.find(|word| word >> (2 * COUNT) == tag).map_or_else(YieldCounts::default, YieldCounts::of)
    }

    /// Notes one more page of a key, and returns its yield by now. Both counts are halved if one is full.
    pub(super) fn note(&self, key: Fingerprint, is_fresh: bool) -> YieldCounts {
        let (ways, tag) = self.ways(key);
        let words = || ways.iter().map(|slot| slot.load(Ordering::Relaxed));
        let place = words().position(|word| word >> (2 * COUNT) == tag);
        let rarest = || words().enumerate().min_by_key(|(_, word)| (*word >> COUNT & MOST) + (*word & MOST));
        let known = place.map(|place| YieldCounts::of(ways[place].load(Ordering::Relaxed)));
        let place = place.or_else(|| rarest().map(|(place, _)| place)).unwrap_or_default();
        let YieldCounts { mut barren, mut fresh } = known.unwrap_or_default();
        *(if is_fresh { &mut fresh } else { &mut barren }) += 1;
        if barren.max(fresh) > MOST {
            (barren, fresh) = (barren / 2, fresh / 2);
        }
        ways[place].store(tag << (2 * COUNT) | barren << COUNT | fresh, Ordering::Relaxed);
        YieldCounts { barren, fresh }
    }

    /// Whether any key has used up its budget.
    pub(super) fn is_any_spent(&self) -> bool {
        self.is_any_spent.load(Ordering::Relaxed)
    }

    /// Whether the budget of a domain is among them.
    pub(super) fn is_any_domain_spent(&self) -> bool {
        self.is_any_domain_spent.load(Ordering::Relaxed)
    }

    /// Whether a key of this host, or of this domain, may have used up its budget.
    pub(super) fn may_be_spent(&self, host: Fingerprint) -> bool {
        let (word, bit) = Self::bit(host);
        self.doubted[word].load(Ordering::Relaxed) & bit != 0
    }

    /// A key of this host has used up its budget.
    pub(super) fn spend(&self, host: Fingerprint) {
        let (word, bit) = Self::bit(host);
        self.doubted[word].fetch_or(bit, Ordering::Relaxed);
        self.is_any_spent.store(true, Ordering::Relaxed);
    }

    /// This domain has used up its budget.
    pub(super) fn spend_domain(&self, domain: Fingerprint) {
        self.is_any_domain_spent.store(true, Ordering::Relaxed);
        self.spend(domain);
    }

    /// Any key may have used up its budget.
    pub(super) fn doubt_all(&self) {
        self.doubted.iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
        self.is_any_spent.store(true, Ordering::Relaxed);
    }

    fn bit(host: Fingerprint) -> (usize, u64) {
        #[expect(clippy::cast_possible_truncation, reason = "the last bits are wanted")]
        let bit = host.bits() as usize % (WORDS * 64);
        (bit / 64, 1 << (bit % 64))
    }

    /// The slots that are in use, with their numbers, for a checkpoint.
    pub(super) fn slots(&self) -> Vec<(u32, u64)> {
        let words = (0..).zip(self.slots.iter().map(|slot| slot.load(Ordering::Relaxed)));
        words.filter(|(_, word)| *word > 0).collect()
    }

    /// Restores a slot from a checkpoint.
    pub(super) fn set(&mut self, number: u32, word: u64) {
        if let Some(slot) = self.slots.get_mut(number as usize) {
            *slot.get_mut() = word;
        }
    }

    /// The slots that a key may be in, and its tag there, which is never 0.
    fn ways(&self, key: Fingerprint) -> (&[AtomicU64], u64) {
        #[expect(clippy::cast_possible_truncation, reason = "the last bits are wanted")]
        let set = key.bits() as usize % (SLOTS / WAYS);
        (&self.slots[set * WAYS..][..WAYS], key.bits() >> (2 * COUNT) | 1)
    }
}

/// The budgets for which most links are refused, in bounded memory: the space-saving sketch (Metwally, Agrawal, El Abbadi 2005). A count is
/// exact as long as there are at most [`MOST_TEXTS`] texts, and otherwise too high by at most the smallest count.
#[derive(Debug, Default)]
pub(super) struct MostRefused(Mutex<AHashMap<String, u64>>);

/// The most budgets that are counted. Each text is a host, perhaps with a section or a shape of it. So together they take some kilobytes,
/// and half a megabyte if each is as long as a URL may be.
const MOST_TEXTS: usize = 64;

impl MostRefused {
    /// Counts a link that was refused by the budget with this text. O(1), or O(64) if all entries are taken and the text has none.
    pub(super) fn count(&self, of: String) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rarest = if counts.len() < MOST_TEXTS || counts.contains_key(&of) {
            None
        } else {
            counts.iter().min_by_key(|&(_, &count)| count).map(|(of, &count)| (of.clone(), count))
        };
        let least = rarest.map_or(0, |(rarest, count)| {
            counts.remove(&rarest);
            count
        });
        *counts.entry(of).or_insert(least) += 1;
    }

    /// Each text and its count, in no order. A count is never too low.
    pub(super) fn all(&self) -> Vec<(String, u64)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(of, &count)| (of.clone(), count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> Fingerprint {
        Fingerprint::from_bits(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    #[test]
    fn what_repeats_is_kept_among_what_is_rare() {
        let evidence = Evidence::default();
        (0..50).for_each(|_| _ = evidence.note(key(1), false));
        (2..1_000_000).for_each(|number| _ = evidence.note(key(number), number % 2 == 0));
        let brought = evidence.of(key(1));
        assert_eq!(brought, YieldCounts { barren: 50, fresh: 0 });
        assert!(brought.is_beyond(49, 4) && !brought.is_beyond(50, 4) && !brought.is_beyond(0, 4));
        let mut read = Evidence::default();
        evidence.slots().into_iter().for_each(|(number, word)| read.set(number, word));
        assert_eq!(read.slots(), evidence.slots());
    }

    #[test]
    fn a_full_count_keeps_its_share() {
        let evidence = Evidence::default();
        (0..3 << COUNT).for_each(|nth| _ = evidence.note(key(7), nth % 4 == 0));
        let YieldCounts { barren, fresh } = evidence.of(key(7));
        assert!(barren <= MOST && barren / fresh == 3 || barren / fresh == 2, "{barren} {fresh}");
    }

    #[test]
    fn what_is_refused_most_is_known_among_many() {
        let refused = MostRefused::default();
        for number in 0..10_000 {
            refused.count(format!("a.example/{}/#", number % 1000));
            if number % 10 == 0 {
                refused.count("a.example/calendar/#".to_owned());
            }
        }
        let mut all = refused.all();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        assert_eq!(all.len(), MOST_TEXTS);
        assert_eq!(all[0].0, "a.example/calendar/#");
        assert!((1000..1300).contains(&all[0].1), "{}", all[0].1);
        assert_eq!(all.iter().map(|(_, count)| count).sum::<u64>(), 11_000, "each link counts once");
    }
}
