//! What a seen set is made from.

use std::path::PathBuf;

use super::error::SeenError;
use super::layout::{Layout, Shape};
use super::layouts::lines::Geometry;
use super::probes::{LANE_PROBES, MAX_PROBES};
use crate::address::FingerprintKey;

/// What happens when a shard has taken as many URLs as it was sized for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnFull {
    /// The shard gets a further layer, and the rate stays below the target.
    #[default]
    Grow,
    /// The rate rises beyond the target, and [`SeenSet::is_full`](super::SeenSet::is_full) says so.
    /// The caller is expected to stop.
    Stop,
    /// As `Stop`, but the caller is expected to warn once and go on.
    Warn,
}

/// What a seen set is made from. Checked once, in [`SeenSet::new`](super::SeenSet::new).
///
/// ```
/// # use crawler::seen::{Layout, SeenOptions, SeenSet};
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
    /// hundred times costs at most 1.35 times the bits of a set whose capacity was known from the start, at rates of 1e-2 and less. If this
    /// is off and the capacity was given too low, growing to a hundred times costs 2.2 times the bits at 1e-4, and 3 times at 1e-2.
    pub open_ended: bool,
    /// Share of new URLs that may be taken for seen when the set is at capacity; between 0 and 1,
    /// exclusive. In the exact layout it follows from `identity_bits` instead.
    pub false_positive_rate: f64,
    /// The number of shards, each with its own lock: a power of two from 1 to 65,536.
    pub shards: usize,
    /// What happens at capacity.
    pub on_full: OnFull,
    /// The smallest sample over which the filter's true errors are counted: one URL in this many, a power of two. All URLs are in the
    /// sample up to 57,344, in 0.6 MB; then its share is halved again and again, down to this. 0 means no audit. The verified layout has
    /// none, since it makes no errors.
    pub audit: u32,
    /// Bits a URL, or counters in a counting filter, instead of the number that follows from the rate. The rate then follows from it.
    pub bits_per_url: Option<f64>,
    /// Probes a URL, from 1 to 64, in the blocked layout 8 or 16. Allowed only with `bits_per_url`; if it is `None`, the best number is
    /// taken.
    pub probes: Option<u32>,
    /// Bits of a fingerprint that the exact layout keeps beside the number of its line, 16 to 56. With 38 almost nothing is lost, for 6.3
    /// bytes a URL; with 16 the rate is 3e-4, for 3 bytes.
    pub identity_bits: u32,
    /// The key of the fingerprints: of those that the set makes itself, in [`insert_bytes`](super::SeenSet::insert_bytes), and of those
    /// that it is shown. It is kept in snapshots.
    pub key: FingerprintKey,
    /// The verified layout's directory for fingerprints, on a disk of this machine. That layout requires it, and it is created once there
    /// is something to write. Its files belong to this process and go with it; only a snapshot lasts.
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

/// Each shard of the verified layout holds some four files open, and a process may have a thousand.
const MAX_VERIFIED_SHARDS: usize = 64;

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
