//! The options of a seen set, its layouts, and the errors of making a set, using it, or reading it from a file. A new layout begins here.

use std::path::PathBuf;
use std::{fmt, io};

use super::layouts::lines::Geometry;
use super::probes::{LANE_PROBES, MAX_PROBES};
use crate::address::FingerprintKey;
use crate::bytes::FrameError;

/// What happens when a shard has taken as many URLs as it was sized for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnFull {
    /// The shard gets a further layer, and the rate stays below the target.
    #[default]
    Grow,
    /// The rate rises beyond the target, and [`SeenSet::is_full`](super::SeenSet::is_full) is true. The caller is expected to stop.
    Stop,
    /// As `Stop`, but the caller is expected to warn once and go on.
    Warn,
}

/// The options of a seen set. They are checked once, in [`SeenSet::new`](super::SeenSet::new).
///
/// ```
/// # use crawler_frontier::seen::{Layout, SeenOptions, SeenSet};
/// let mut options = SeenOptions::default();
/// options.layout = Layout::Exact;
/// options.shards = 3;
/// let error = SeenSet::new(&options).unwrap_err();
/// assert_eq!(error.to_string(), "shards = 3: a power of two from 1 to 65536");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SeenOptions {
    /// How a shard remembers.
    pub layout: Layout,
    /// URLs that the set is sized for, over all shards.
    pub capacity: u64,
    /// The capacity is not known, and `capacity` is only the start. The target rate is then divided among the layers to come: growing to a
    /// hundred times the start costs at most 1.35 times the bits of a set of known capacity, at rates of 1e-2 and less. If this is off and
    /// the capacity was given too low, growing to a hundred times costs 2.2 times the bits at 1e-4, and 3 times at 1e-2.
    pub open_ended: bool,
    /// Share of new URLs that may be taken for seen when the set is at capacity; between 0 and 1,
    /// exclusive. In the exact layout it follows from `identity_bits` instead. In the quotient layout it is at least 1e-12.
    pub false_positive_rate: f64,
    /// The number of shards, each with its own lock: a power of two from 1 to 65,536.
    pub shards: usize,
    /// What happens at capacity.
    pub on_full: OnFull,
    /// The smallest sample over which the filter's true errors are counted: one URL in this many, a power of two. Up to 57,344 URLs, all
    /// are in the sample, in 0.6 MB; then its share is halved again and again, down to this one. 0 means no audit. The verified layout has
    /// none, since it makes no errors.
    pub audit: u32,
    /// Bits a URL, or counters a URL in a counting filter, instead of the number that follows from the rate. The rate then follows from
    /// this number.
    pub bits_per_url: Option<f64>,
    /// Probes a URL, from 1 to 64, in the blocked layout 8 or 16. Allowed only with `bits_per_url`; if it is `None`, the best number is
    /// taken.
    pub probes: Option<u32>,
    /// Bits of a fingerprint that the exact layout keeps beside the number of its line, 16 to 56. With 38 almost nothing is lost, for 6.3
    /// bytes a URL; with 16 the rate is 3e-4, for 3 bytes.
    pub identity_bits: u32,
    /// The key of all fingerprints in the set: of those that the caller makes, and of those that the set makes itself, as in
    /// [`insert_bytes`](super::SeenSet::insert_bytes). It is kept in snapshots.
    pub key: FingerprintKey,
    /// The verified layout's directory for fingerprints, on a disk of this machine. That layout requires it. It is created when there is
    /// something to write. Its files belong to this process and end with it; only a snapshot lasts.
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
            identity_bits: 38,
            key: FingerprintKey::from_u64(0),
            directory: None,
        }
    }
}

/// The most shards of the verified layout. Each holds some four files open, and a process may open a thousand.
const MAX_VERIFIED_SHARDS: usize = 64;

/// The least rate of the quotient layout, whose slots have at most 40 bits.
const LEAST_RATE: f64 = 1e-12;

impl SeenOptions {
    /// The name of the first option in which another set's options differ, except the key and the directory. A saved set cannot change its
    /// options.
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
            ("identity_bits", self.identity_bits != other.identity_bits),
        ];
        differs.into_iter().find_map(|(option, differs)| differs.then_some(option))
    }

    /// The identity bits, in the layout that has them.
    pub(super) fn identity_bits_kept(&self) -> u32 {
        if self.layout.shape() == Shape::Slots { self.identity_bits } else { 0 }
    }

    /// Whether each option is in its range.
    pub(super) fn check(&self) -> Result<(), SeenError> {
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
        if !Geometry::BITS.contains(&self.identity_bits) {
            return bad("identity_bits", self.identity_bits.to_string(), "from 16 to 56");
        }
        match (self.layout.shape(), self.bits_per_url, self.probes) {
            (Shape::Slots, Some(bits), _) => {
                return bad("bits_per_url", bits.to_string(), "the exact layout has identity_bits instead");
            }
            (Shape::Remainders, Some(bits), _) => {
                return bad("bits_per_url", bits.to_string(), "the quotient layout's bits follow from the rate");
            }
            (_, Some(bits), _) if !(bits > 0.0 && bits <= 4096.0) => {
                return bad("bits_per_url", bits.to_string(), "above 0 and at most 4096");
            }
            (_, None, Some(probes)) => return bad("probes", probes.to_string(), "only with bits_per_url"),
            (Shape::Lines, _, Some(probes)) if ![LANE_PROBES, 2 * LANE_PROBES].contains(&probes) => {
                return bad("probes", probes.to_string(), "8 or 16 in the blocked layout");
            }
            (_, _, Some(probes)) if !(1..=MAX_PROBES).contains(&probes) => {
                return bad("probes", probes.to_string(), "from 1 to 64");
            }
            _ => {}
        }
        if self.layout == Layout::Quotient && self.false_positive_rate < LEAST_RATE {
            return bad(
                "false_positive_rate",
                self.false_positive_rate.to_string(),
                "at least 1e-12 in the quotient layout",
            );
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
        Ok(())
    }
}

/// How a shard remembers.
///
/// | layout | bits a URL at 1e-4 | loses URLs | forgets | memory accesses for a new URL |
/// |---|---|---|---|---|
/// | blocked | 23.6 | yes | no | 1 |
/// | standard, partitioned | 19.2 | yes | no | 13 |
/// | counting | 76.7 | yes | yes | 13 |
/// | quotient | 18.6 | yes | no | 1 to 2 |
/// | exact | 51, or 51 to 101 as it grows | 1 in 10^10 | yes | 1 |
/// | verified | 12.1 at 1e-2 | no | no | 1, and now and then a read from disk |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// A Bloom filter in cache lines: all bits of a URL are in one line of 64 bytes. The fastest.
    #[default]
    Blocked = 0,
    /// A Bloom filter of 4-bit counters instead of bits, so that it can
    /// [`remove`](super::SeenSet::remove).
    Counting = 1,
    /// Fingerprints in cache lines: almost nothing is lost, for 6.3 bytes a URL if the number of URLs is known, and up to twice as much
    /// while the table grows.
    Exact = 2,
    /// A Bloom filter with a separate array for each probe. It behaves as `Standard` does.
    Partitioned = 3,
    /// A Bloom filter over one array of bits, as Bloom described it in 1970: the fewest bits, and
    /// the most memory accesses.
    Standard = 4,
    /// A `Blocked` filter in memory, and every fingerprint on disk. A URL that the filter takes for seen is looked up there, so nothing is
    /// lost.
    ///
    /// Besides the filter it takes 2 bits of memory a URL, 8 bytes a URL in the [`directory`](super::SeenOptions::directory), and one or a
    /// few reads for a URL that was not shown lately. The false-positive rate is only how often a new URL is looked up in vain; at 1e-2 the
    /// filter takes 10 bits a URL.
    Verified = 5,
    /// Fingerprints of few bits in cache lines. It loses about as much as `Blocked` on the way to capacity, in 22 % less memory, but each
    /// test takes 1.5 times as long. It cannot be [resharded](super::SeenSet::reshard).
    Quotient = 6,
}

/// The parts that a layout's memory consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Cache lines of 512 bits. A URL has all its bits in one of them.
    Lines,
    /// Cells anywhere in one array, or, if they are `apart`, each in an array of its own. A cell is `width` bits wide.
    Cells { apart: bool, width: usize },
    /// Slots with a fingerprint each, in cache lines.
    Slots,
    /// Slots with the remainder of a fingerprint each, in cache lines of several levels.
    Remainders,
}

impl Layout {
    /// All of them, the most used first.
    pub const ALL: [Self; 7] =
        [Self::Blocked, Self::Quotient, Self::Standard, Self::Partitioned, Self::Counting, Self::Exact, Self::Verified];

    /// The number that stands for it in a snapshot, which never changes.
    pub(super) const fn code(self) -> u8 {
        self as u8
    }

    /// The layout with this [`code`](Self::code).
    pub(super) fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|layout| layout.code() == code)
    }

    /// The name by which settings, reports and messages call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Counting => "counting",
            Self::Exact => "exact",
            Self::Partitioned => "partitioned",
            Self::Quotient => "quotient",
            Self::Standard => "standard",
            Self::Verified => "verified",
        }
    }

    /// Its shape: sizes, options and snapshots depend on the shape, and not on each layout.
    pub(super) const fn shape(self) -> Shape {
        match self {
            Self::Blocked | Self::Verified => Shape::Lines,
            Self::Counting => Shape::Cells { apart: false, width: 4 },
            Self::Exact => Shape::Slots,
            Self::Partitioned => Shape::Cells { apart: true, width: 1 },
            Self::Quotient => Shape::Remainders,
            Self::Standard => Shape::Cells { apart: false, width: 1 },
        }
    }

    /// The layout of its filters alone.
    pub(super) fn of_filter(self) -> Self {
        if self == Self::Verified { Self::Blocked } else { self }
    }

    /// Whether it can [`remove`](super::SeenSet::remove).
    pub fn forgets(self) -> bool {
        matches!(self, Self::Counting | Self::Exact)
    }

    /// Whether it takes new URLs for seen.
    pub(super) fn loses(self) -> bool {
        self != Self::Verified
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a seen set cannot be made, or cannot do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeenError {
    /// The verified layout's directory cannot be written or read.
    #[error("{}: the fingerprints of the verified layout cannot be kept there", directory.display())]
    Disk {
        /// [`SeenOptions::directory`](super::SeenOptions::directory).
        directory: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is not enough memory.
    #[error("capacity = {capacity}: takes {bytes} bytes, more than this machine gives")]
    Memory {
        /// URLs that it was to be made for.
        capacity: u64,
        /// Bytes that these would take.
        bytes: u128,
    },
    /// An option is out of its range.
    #[error("{option} = {value}: {reason}")]
    Option {
        /// The field of [`SeenOptions`](super::SeenOptions).
        option: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        reason: &'static str,
    },
    /// The layout cannot do it.
    #[error("the {layout} layout cannot {act}: {reason}")]
    Unsupported {
        /// How the set remembers.
        layout: Layout,
        /// What was asked for.
        act: &'static str,
        /// Why it cannot be done.
        reason: &'static str,
    },
}

/// Why a snapshot cannot be read or merged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The file has an impossible value, or a checksum is wrong.
    #[error("damaged at byte {offset}: {reason}")]
    Damaged {
        /// Where the frame begins, in bytes.
        offset: u64,
        /// What is wrong.
        reason: &'static str,
    },
    /// Two sets that cannot be merged.
    #[error("cannot be merged: {0}")]
    Geometry(&'static str),
    /// The fingerprints have another key than expected, so none of them would be found.
    #[error("its fingerprint key is not this job's")]
    Key,
    /// The saved set cannot be made here.
    #[error("such a set cannot be made on this machine")]
    Options(#[from] SeenError),
    /// The file cannot be read.
    #[error("cannot be read from byte {offset} on")]
    Read {
        /// Where the frame begins, in bytes.
        offset: u64,
        /// Why.
        source: io::Error,
    },
    /// The file ends too early.
    #[error("ends inside the frame that begins at byte {offset}")]
    Short {
        /// Where the frame begins, in bytes.
        offset: u64,
    },
    /// Fingerprints or probes were made in a way that this version does not know.
    #[error("{what} strategy {found} is unknown to this version, which has {known}")]
    Strategy {
        /// `hash` or `probe`.
        what: &'static str,
        /// The file's.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// Not a snapshot of a seen set.
    #[error("not a snapshot of a seen set")]
    Unknown,
    /// A format that this version does not know.
    #[error("format version {found} is unknown to this version, which has {known}")]
    Version {
        /// The file's.
        found: u32,
        /// Ours.
        known: u32,
    },
}

impl From<FrameError> for SnapshotError {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Damaged { offset, reason } => Self::Damaged { offset, reason },
            FrameError::Read { offset, source } => Self::Read { offset, source },
            FrameError::Short { offset } => Self::Short { offset },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_lead_back_to_their_layouts() {
        for (place, layout) in Layout::ALL.into_iter().enumerate() {
            assert_eq!(Layout::of_code(layout.code()), Some(layout));
            assert_eq!(Layout::ALL.iter().position(|other| other.name() == layout.name()), Some(place));
        }
        let codes: Vec<_> = (0..=u8::MAX).filter_map(Layout::of_code).map(Layout::code).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6], "each has a number of its own, which stands in files");
    }
}
