use std::path::PathBuf;

use super::SeenError;
use super::maths::growth::Growth;
use super::maths::sizing::MAX_PROBES;
use super::probes::LANE_PROBES;
use crate::address::FingerprintKey;

/// How a shard remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// A Bloom filter in cache lines: one line of 64 bytes touched a URL, 23.6 bits a URL at a rate of 1e-4. The fastest.
    #[default]
    Blocked,
    /// A Bloom filter of 4-bit counters, 76.7 bits a URL at 1e-4: can [`remove`](super::SeenSet::remove).
    Counting,
    /// Every fingerprint kept: nothing lost, 10.7 to 13.4 bytes a URL.
    Exact,
    /// A Bloom filter with an array of its own for each probe; as `Standard` in every other way.
    Partitioned,
    /// A Bloom filter over one array of bits: the fewest, 19.2 a URL at 1e-4, and 13 memory accesses for a new one.
    Standard,
    /// A `Blocked` filter, and behind it every fingerprint on disk: what the filter takes for seen is looked up, so nothing is lost, for a
    /// Bloom filter's memory and 2 bits more, 8 bytes a URL of [`directory`](SeenOptions::directory), and a read or a few where
    /// the URL was not shown lately. The rate is then only how often a new URL is looked up: at 1e-2 the filter takes 10 bits.
    Verified,
}

impl Layout {
    /// The layout of its filters.
    pub(super) fn of_filter(self) -> Self {
        if self == Self::Verified { Self::Blocked } else { self }
    }

    /// Whether it can [`remove`](super::SeenSet::remove).
    pub fn forgets(self) -> bool {
        matches!(self, Self::Counting | Self::Exact)
    }

    /// Whether it takes new URLs for seen.
    pub(super) fn loses(self) -> bool {
        !matches!(self, Self::Exact | Self::Verified)
    }
}

/// What happens when a shard has taken as many URLs as it was sized for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnFull {
    /// The shard gets a further layer, and the rate stays below the target.
    #[default]
    Grow,
    /// The rate rises beyond the target, and [`SeenSet::is_full`](super::SeenSet::is_full) says so: the caller stops the crawl.
    Stop,
    /// As `Stop`, but the caller says so once and goes on.
    Warn,
}

/// What a seen set is made from; checked once, in [`SeenSet::new`](super::SeenSet::new).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SeenOptions {
    /// How a shard remembers.
    pub layout: Layout,
    /// URLs that the set is sized for, over all shards.
    pub capacity: u64,
    /// The capacity is not known, and `capacity` only what to start with: the target rate is shared out among the layers to come, so
    /// that growing to a hundred times costs, at rates of 1e-2 and less, at most 1.35 times the bits of knowing it from the start. Without
    /// it, growing to a hundred times a capacity given too low costs 2.2 times the bits at 1e-4, and 3 times at 1e-2.
    pub open_ended: bool,
    /// Share of new URLs that may be taken for seen when the set is at capacity; between 0 and 1, exclusive.
    pub false_positive_rate: f64,
    /// How many parts, each with its own lock; a power of two from 1 to 65,536.
    pub shards: usize,
    /// What happens at capacity.
    pub on_full: OnFull,
    /// The size of the sample over which the filter's true errors are counted: one URL in so many, a power of two. 0 is no audit. The
    /// exact and verified layouts need none.
    pub audit: u32,
    /// Bits a URL, instead of those that follow from the rate (counters, in a counting filter); the rate then follows from them.
    pub bits_per_url: Option<f64>,
    /// With `bits_per_url`: probes a URL, from 1 to 64, of the blocked layout 8 or 16. Without it the best number.
    pub probes: Option<u32>,
    /// What the set's fingerprints are keyed with: those it makes itself, by [`insert_bytes`](super::SeenSet::insert_bytes), and those
    /// it is shown. Kept in its snapshots.
    pub key: FingerprintKey,
    /// Where the verified layout, which must have it, puts its fingerprints: a disk of this machine. It is made where it is missing, once
    /// there is something to write. The files are this process's alone and go with it; what shall last is in a snapshot.
    pub directory: Option<PathBuf>,
}

impl Default for SeenOptions {
    fn default() -> Self {
        Self {
            layout: Layout::default(),
            capacity: 1_000_000,
            open_ended: false,
            false_positive_rate: 1e-4,
            shards: 16,
            on_full: OnFull::default(),
            audit: 1024,
            bits_per_url: None,
            probes: None,
            key: FingerprintKey::from_u64(0),
            directory: None,
        }
    }
}

/// Beyond any one machine's memory: 16 TiB.
const MAX_BYTES: u128 = 1 << 44;

/// Each shard of the verified layout holds some four files open, of the thousand that a process may have.
const MAX_VERIFIED_SHARDS: usize = 64;

impl SeenOptions {
    /// The name of the first option, the key and the directory apart, that another set's differs in: what a saved set was made from cannot be
    /// changed.
    pub fn changed(&self, other: &Self) -> Option<&'static str> {
        let differs = [
            ("layout", self.layout != other.layout),
            ("capacity", self.capacity != other.capacity),
            ("open_ended", self.open_ended != other.open_ended),
            ("false_positive_rate", self.false_positive_rate.to_bits() != other.false_positive_rate.to_bits()),
            ("shards", self.shards != other.shards),
            ("on_full", self.on_full != other.on_full),
            ("audit", self.audit != other.audit),
            ("bits_per_url", self.bits_per_url != other.bits_per_url),
            ("probes", self.probes != other.probes),
        ];
        differs.into_iter().find_map(|(option, differs)| differs.then_some(option))
    }

    /// Checks all options, and that the memory for the first layer can be had.
    pub(super) fn check(&self) -> Result<Growth, SeenError> {
        let bad = |option, value, reason| Err(SeenError::Option { option, value, reason });
        if self.capacity == 0 {
            return bad("capacity", self.capacity.to_string(), "at least 1 URL");
        }
        if !(self.false_positive_rate > 0.0 && self.false_positive_rate < 1.0) {
            return bad("false_positive_rate", self.false_positive_rate.to_string(), "above 0 and below 1");
        }
        if !(self.shards.is_power_of_two() && self.shards <= 1 << 16) {
            return bad("shards", self.shards.to_string(), "a power of two from 1 to 65536");
        }
        if self.audit > 0 && !self.audit.is_power_of_two() {
            return bad("audit", self.audit.to_string(), "a power of two, or 0 for none");
        }
        match (self.layout, self.bits_per_url, self.probes) {
            (Layout::Exact, Some(bits), _) => {
                return bad("bits_per_url", bits.to_string(), "the exact layout has none to choose");
            }
            (_, Some(bits), _) if !(bits > 0.0 && bits <= 4096.0) => {
                return bad("bits_per_url", bits.to_string(), "above 0 and at most 4096");
            }
            (_, None, Some(probes)) => return bad("probes", probes.to_string(), "only with bits_per_url"),
            (Layout::Blocked | Layout::Verified, _, Some(probes))
                if ![LANE_PROBES, 2 * LANE_PROBES].contains(&probes) =>
            {
                return bad("probes", probes.to_string(), "8 or 16 in the blocked layout");
            }
            (_, _, Some(probes)) if !(1..=MAX_PROBES).contains(&probes) => {
                return bad("probes", probes.to_string(), "from 1 to 64");
            }
            _ => {}
        }
        if self.layout == Layout::Verified {
            if self.directory.is_none() {
                return bad("directory", "none".to_owned(), "the verified layout needs one for its fingerprints");
            }
            if self.shards > MAX_VERIFIED_SHARDS {
                return bad(
                    "shards",
                    self.shards.to_string(),
                    "at most 64 in the verified layout: each holds files open",
                );
            }
        }
        let growth = Growth::new(self);
        let bytes = growth.layer(0).map_or(0, |first| u128::from(first.sizing.bytes()) * self.shards as u128);
        if is_to_be_had(bytes) { Ok(growth) } else { Err(SeenError::Memory { capacity: self.capacity, bytes }) }
    }
}

/// Asked for at once and given back: an allocation that fails later would end the process.
pub(super) fn is_to_be_had(bytes: u128) -> bool {
    bytes <= MAX_BYTES && usize::try_from(bytes).is_ok_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok())
}

impl std::fmt::Display for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Blocked => "blocked",
            Self::Counting => "counting",
            Self::Exact => "exact",
            Self::Partitioned => "partitioned",
            Self::Standard => "standard",
            Self::Verified => "verified",
        })
    }
}
