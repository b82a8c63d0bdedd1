//! The contenders: the seen set's own layouts, the standard library's sets, arrays of bits, and the filter of an introductory text with its
//! errors. The one door to MD5.

use std::collections::HashSet;

use md5::Md5;
use sha1::{Digest, Sha1};

use crate::address::{Fingerprint, FingerprintKey};
use crate::seen::{Layout, OnFull, SeenOptions, SeenSet, Sighting, Sizing};

/// One way to remember keys, which are URLs or vectors.
pub(super) trait Contender<K: ?Sized> {
    /// Inserts a key; returns whether it was new.
    fn insert(&mut self, key: &K) -> bool;

    /// Whether a key was inserted, or is a false positive.
    fn contains(&self, key: &K) -> bool;

    /// Memory in use, in bytes: the keys, and everything that is kept besides them.
    fn bytes(&self) -> u64;

    /// By theory, the share of new keys taken for seen after `keys` distinct ones; 0 if keys are kept whole.
    fn rate(&self, _keys: f64) -> f64 {
        0.0
    }

    /// By theory, how many of `keys` distinct keys are taken for seen when they are inserted one after the other. If
    /// the rate grows evenly, the mean rate is half of the last one.
    fn expected_lost(&self, keys: f64) -> f64 {
        keys * self.rate(keys) / 2.0
    }

    /// Inserts all keys, in order; returns how many were new.
    fn insert_all<'k>(&mut self, keys: impl Iterator<Item = &'k K>) -> u64
    where
        K: 'k,
    {
        keys.fold(0, |new, key| new + u64::from(self.insert(key)))
    }

    /// How many of the keys it contains or falsely takes for seen.
    fn count<'k>(&self, keys: impl Iterator<Item = &'k K>) -> u64
    where
        K: 'k,
    {
        keys.fold(0, |held, key| held + u64::from(self.contains(key)))
    }
}

/// The memory of a standard hash set with this capacity. The number of slots is a power of two, at most 7/8 of them are
/// used, each has a control byte, and there are 16 more control bytes at the end.
fn table_bytes(capacity: usize, slot: usize) -> u64 {
    let slots = match capacity {
        0 => return 0,
        1..=3 => 4,
        4..=7 => 8,
        _ => (capacity * 8 / 7).next_power_of_two(),
    };
    (slots * (slot + 1) + 16) as u64
}

/// Whole URLs in the standard library's set.
#[derive(Default)]
pub(super) struct Strings {
    set: HashSet<Box<str>>,
    /// Bytes of the strings' own allocations.
    heap: u64,
}

impl Contender<str> for Strings {
    fn insert(&mut self, key: &str) -> bool {
        // A repeated URL needs no allocation.
        if self.set.contains(key) {
            return false;
        }
        self.heap += allocated(key.len());
        self.set.insert(key.into())
    }

    fn contains(&self, key: &str) -> bool {
        self.set.contains(key)
    }

    fn bytes(&self) -> u64 {
        table_bytes(self.set.capacity(), size_of::<Box<str>>()) + self.heap
    }
}

/// Bytes that an allocator takes for an allocation of `bytes`: 8 more, in steps of 16, and at least 32 (as glibc does).
fn allocated(bytes: usize) -> u64 {
    ((bytes + 8).next_multiple_of(16)).max(32) as u64
}

/// A set of digests instead of URLs: two URLs with the same digest count as one.
pub(super) struct Digests<D> {
    set: HashSet<D>,
    digest: fn(&str) -> D,
}

impl<D> Digests<D> {
    fn of(digest: fn(&str) -> D) -> Self {
        Self { set: HashSet::new(), digest }
    }
}

/// Fingerprints of 8 bytes.
pub(super) fn fingerprints() -> Digests<[u8; 8]> {
    Digests::of(|url| FingerprintKey::from_u64(0).fingerprint(url).bits().to_le_bytes())
}

/// Digests of 16 bytes.
pub(super) fn md5() -> Digests<[u8; 16]> {
    Digests::of(|url| Md5::digest(url).into())
}

/// Digests of 20 bytes.
pub(super) fn sha1() -> Digests<[u8; 20]> {
    Digests::of(|url| Sha1::digest(url).into())
}

impl<const BYTES: usize> Contender<str> for Digests<[u8; BYTES]> {
    fn insert(&mut self, key: &str) -> bool {
        self.set.insert((self.digest)(key))
    }

    fn contains(&self, key: &str) -> bool {
        self.set.contains(&(self.digest)(key))
    }

    fn bytes(&self) -> u64 {
        table_bytes(self.set.capacity(), BYTES)
    }

    fn rate(&self, keys: f64) -> f64 {
        keys / 256_f64.powf(BYTES as f64)
    }
}

/// An array of bits; each URL sets `PROBES` of them, at the places that `P` computes.
pub(super) struct Bits<const PROBES: usize, P> {
    words: Vec<u64>,
    /// The theory of a filter with evenly spread probes.
    sizing: Sizing,
    places: P,
}

impl<const PROBES: usize, P: Fn(&str) -> [usize; PROBES]> Bits<PROBES, P> {
    /// An array of this many words, all bits 0. Probes reach only `reached` of the bits.
    pub(super) fn new(words: usize, reached: u64, places: P) -> Self {
        let sizing = Sizing {
            layout: Layout::Standard,
            bits: reached,
            probes: u32::try_from(PROBES).expect("a few"),
            identity_bits: 0,
        };
        Self { words: vec![0; words], sizing, places }
    }
}

/// A bitmap larger than this is not worth the wait.
const MAX_BITMAP_BYTES: f64 = (1_u64 << 30) as f64;

/// A Bloom filter with one probe, large enough for this rate after this many URLs.
pub(super) fn bitmap(urls: usize, rate: f64) -> Result<Bits<1, impl Fn(&str) -> [usize; 1]>, String> {
    // The fill is the rate: `1 - (1 - 1/m)^n = p`, solved for m.
    let bits = -1.0 / ((-rate).ln_1p() / urls as f64).exp_m1();
    if bits / 8.0 > MAX_BITMAP_BYTES {
        return Err(format!("a bitmap of {:.0} MiB, above the bound of 1 GiB", bits / 8.0 / 1_048_576.0));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded above, and not negative")]
    let words = (bits / 64.0).ceil().max(1.0) as usize;
    let bits = words as u64 * 64;
    let places = move |url: &str| {
        let place = (u128::from(FingerprintKey::from_u64(0).fingerprint(url).bits()) * u128::from(bits)) >> 64;
        [usize::try_from(place).expect("below the number of bits, which are in memory")]
    };
    Ok(Bits::new(words, bits, places))
}

impl<const PROBES: usize, P: Fn(&str) -> [usize; PROBES]> Contender<str> for Bits<PROBES, P> {
    fn insert(&mut self, key: &str) -> bool {
        let mut new = false;
        for place in (self.places)(key) {
            let (word, mask) = (&mut self.words[place / 64], 1 << (place % 64));
            new |= *word & mask == 0;
            *word |= mask;
        }
        new
    }

    fn contains(&self, key: &str) -> bool {
        (self.places)(key).iter().all(|place| self.words[place / 64] & 1 << (place % 64) != 0)
    }

    fn bytes(&self) -> u64 {
        size_of_val(&*self.words) as u64
    }

    fn rate(&self, keys: f64) -> f64 {
        self.sizing.rate(keys)
    }

    fn expected_lost(&self, keys: f64) -> f64 {
        self.sizing.expected_lost(keys)
    }
}

/// A multiplier for each probe.
const SEVEN_SEEDS: [i32; 7] = [5, 7, 11, 13, 31, 37, 61];
/// The size does not depend on the number of URLs: the first error.
const SEVEN_BITS: i32 = 5_000_000;

/// How a hash becomes a bit number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reduction {
    /// `hash & (size - 1)`, which is right only for powers of two: the second error. 4,999,999 has thirteen bits set,
    /// so only 8,192 places can be reached.
    Mask,
    /// The remainder, never negative: the text meant this.
    Modulo,
}

/// Seven bits per URL.
pub(super) fn seven_seeds(reduction: Reduction) -> Bits<7, impl Fn(&str) -> [usize; 7]> {
    let reached = match reduction {
        Reduction::Mask => 1 << (SEVEN_BITS - 1).count_ones(),
        Reduction::Modulo => u64::from(SEVEN_BITS.unsigned_abs()),
    };
    let words = SEVEN_BITS.unsigned_abs().div_ceil(64) as usize;
    Bits::new(words, reached, move |url| SEVEN_SEEDS.map(|seed| place(url, seed, reduction)))
}

/// `hash = seed * hash + char` over the text's UTF-16 units, in wrapping 32-bit arithmetic, reduced to the table's
/// size.
fn place(key: &str, seed: i32, reduction: Reduction) -> usize {
    let hash = key.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(seed).wrapping_add(i32::from(unit)));
    let place = match reduction {
        Reduction::Mask => hash & (SEVEN_BITS - 1),
        Reduction::Modulo => hash.rem_euclid(SEVEN_BITS),
    };
    // Neither reduction leaves a negative number.
    place.unsigned_abs() as usize
}

/// A seen set, and how a key becomes a fingerprint.
pub(super) struct Seen<F> {
    set: SeenSet,
    key: FingerprintKey,
    sizing: Sizing,
    fingerprint: F,
    /// Keys in a batch: [`BATCH`], or one.
    batch: usize,
}

/// The links of a page: the lock is taken once, and memory fetched once, for all of them.
const BATCH: usize = 64;

impl<F> Seen<F> {
    /// One shard, since there is one thread; no audit and no growth, so that the memory is that of the plan.
    pub(super) fn new(layout: Layout, keys: usize, rate: f64, fingerprint: F) -> Result<Self, String> {
        let mut options = SeenOptions::default();
        (options.layout, options.capacity, options.false_positive_rate) = (layout, keys as u64, rate);
        (options.shards, options.on_full, options.audit) = (1, OnFull::Warn, 0);
        options.directory = Some(std::env::temp_dir());
        let set = SeenSet::new(&options).map_err(|error| error.to_string())?;
        Ok(Self { set, key: options.key, sizing: Sizing::new(layout, keys as u64, rate), fingerprint, batch: 1 })
    }

    /// The same set, which gets its keys in batches.
    pub(super) fn batched(self) -> Self {
        Self { batch: BATCH, ..self }
    }
}

impl<K: ?Sized, F: Fn(FingerprintKey, &K) -> Fingerprint> Contender<K> for Seen<F> {
    fn insert(&mut self, key: &K) -> bool {
        self.set.insert((self.fingerprint)(self.key, key)) == Sighting::New
    }

    fn contains(&self, key: &K) -> bool {
        self.set.contains((self.fingerprint)(self.key, key))
    }

    fn bytes(&self) -> u64 {
        self.set.bytes()
    }

    fn rate(&self, keys: f64) -> f64 {
        self.sizing.rate(keys)
    }

    fn expected_lost(&self, keys: f64) -> f64 {
        self.sizing.expected_lost(keys)
    }

    fn insert_all<'k>(&mut self, mut keys: impl Iterator<Item = &'k K>) -> u64
    where
        K: 'k,
    {
        if self.batch == 1 {
            return keys.fold(0, |new, key| new + u64::from(self.insert(key)));
        }
        let (mut batch, mut sightings) = (Vec::with_capacity(self.batch), Vec::new());
        let mut new = 0;
        loop {
            batch.clear();
            batch.extend(keys.by_ref().take(self.batch).map(|key| (self.fingerprint)(self.key, key)));
            if batch.is_empty() {
                return new;
            }
            self.set.insert_batch(&batch, &mut sightings);
            new += sightings.iter().filter(|&&sighting| sighting == Sighting::New).count() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Contender, *};

    #[test]
    fn a_table_is_as_large_as_the_standard_library_makes_it() {
        for keys in [1_u64, 5, 14, 28, 29, 1000, 7168, 7169, 100_000] {
            let capacity = (0..keys).collect::<HashSet<_>>().capacity();
            let slots = (table_bytes(capacity, 8) - 16) / 9;
            assert!(slots.is_power_of_two(), "{keys} keys, {slots} slots");
            assert!(slots as f64 * 0.875 >= keys as f64 || slots <= 8);
            assert_eq!(capacity as u64, if slots <= 8 { slots - 1 } else { slots / 8 * 7 });
        }
    }

    #[test]
    fn small_allocations_are_rounded_up() {
        assert_eq!([1, 24, 25, 56, 57].map(allocated), [32, 32, 48, 64, 80]);
    }

    /// RFC 1321 section A.5 and FIPS 180-1 appendix A.
    #[test]
    fn digests_are_those_of_the_standards() {
        let md5: [u8; 16] = Md5::digest("abc").into();
        assert_eq!(u128::from_be_bytes(md5), 0x9001_5098_3cd2_4fb0_d696_3f7d_28e1_7f72);
        let sha1: [u8; 20] = Sha1::digest("abc").into();
        assert_eq!(sha1[..4], [0xa9, 0x99, 0x3e, 0x36]);
    }

    #[test]
    fn the_bitmap_is_as_large_as_its_rate_takes() {
        let map = bitmap(20_000, 0.01).unwrap();
        assert!((map.rate(20_000.0) - 0.01).abs() < 1e-5);
        // n / -ln(1 - p) bits.
        assert_eq!(map.bytes(), 248_752);
        assert!(bitmap(1_000_000, 1e-6).is_err_and(|reason| reason.contains("1 GiB")));
    }

    #[test]
    fn the_hash_is_the_one_worked_out_by_hand() {
        // 'a' = 97, 'b' = 98, 'c' = 99: (97 s + 98) s + 99.
        assert_eq!(place("abc", 5, Reduction::Modulo), 3014);
        assert_eq!(place("abc", 31, Reduction::Modulo), 96_354);
        assert_eq!(place("abc", 61, Reduction::Modulo), 367_014);
        assert_eq!(place("", 31, Reduction::Modulo), 0);
        // "polygenelubricants" is the classic text whose hash by 31 is -2^31. Its absolute value does not fit 32 bits.
        // -2,147,483,648 = -430 * 5,000,000 + 2,516,352.
        assert_eq!(place("polygenelubricants", 31, Reduction::Modulo), 2_516_352);
        // 3014 = 0b1011_1100_0110, the mask's low bits 0b1011_0011_1111.
        assert_eq!(place("abc", 5, Reduction::Mask), 0b1011_0000_0110);
        // U+1F980 is two units: 55358 * 31 + 56704.
        assert_eq!(place("\u{1f980}", 31, Reduction::Modulo), 1_772_802);
    }

    #[test]
    fn the_mask_reaches_8192_places() {
        assert_eq!((SEVEN_BITS - 1).count_ones(), 13);
        let masked = seven_seeds(Reduction::Mask);
        assert!(masked.rate(20_000.0) > 0.999, "full long before a real site is crawled");
        assert_eq!(masked.bytes(), 625_000);
        let charitable = seven_seeds(Reduction::Modulo);
        assert!((charitable.rate(1e6) - 0.138).abs() < 5e-4, "13.8 % wrong at 1 M URLs");
    }

    #[test]
    fn batches_hear_what_single_ones_hear() {
        let urls: Vec<String> = (0..1000).map(|url| format!("http://a.org/{}", url * 2 / 3)).collect();
        for layout in [Layout::Blocked, Layout::Exact, Layout::Quotient, Layout::Standard, Layout::Verified] {
            let make = || Seen::new(layout, 1000, 0.01, FingerprintKey::fingerprint).unwrap();
            let one_by_one = make().insert_all(urls.iter().map(String::as_str));
            assert_eq!(make().batched().insert_all(urls.iter().map(String::as_str)), one_by_one);
        }
    }
}
