use super::Sizing;

/// How a shard remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// A Bloom filter in cache lines: one line of 64 bytes touched a URL, 23.6 bits a URL at a rate of 1e-4.
    #[default]
    Blocked,
    /// Every fingerprint kept: no false positives, 10.7 to 13.4 bytes a URL.
    Exact,
}

/// What a seen set is made from; checked once, in [`SeenSet::new`](super::SeenSet::new).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SeenOptions {
    /// How a shard remembers.
    pub layout: Layout,
    /// URLs that the set is sized for, over all shards.
    pub capacity: u64,
    /// Share of new URLs that may be taken for seen when the set is at capacity; between 0 and 1, exclusive.
    pub false_positive_rate: f64,
    /// How many parts, each with its own lock; a power of two from 1 to 65,536.
    pub shards: usize,
}

impl Default for SeenOptions {
    fn default() -> Self {
        Self { layout: Layout::default(), capacity: 1_000_000, false_positive_rate: 1e-4, shards: 16 }
    }
}

/// Beyond any one machine's memory: 16 TiB.
const MAX_BYTES: u128 = 1 << 44;

impl SeenOptions {
    /// Checks all, and that the memory can be had; returns the size of one shard.
    pub(super) fn sizing(&self) -> Result<Sizing, SeenError> {
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
        let sizing = Sizing::new(self.layout, self.shard_room(), self.false_positive_rate);
        let bytes = u128::from(sizing.bytes()) * self.shards as u128;
        // Asked for once and given back: an allocation that fails later would end the process.
        let had = bytes <= MAX_BYTES
            && usize::try_from(bytes).is_ok_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok());
        if had { Ok(sizing) } else { Err(SeenError::Memory { capacity: self.capacity, bytes }) }
    }

    /// A shard's part of the capacity.
    pub(super) fn shard_capacity(&self) -> u64 {
        self.capacity.div_ceil(self.shards as u64)
    }

    /// What a shard has room for: fingerprints fall into shards at random, so beyond its part of the capacity it gets four
    /// standard deviations. At 100 M URLs in 16 shards these are 0.2 % more bits.
    pub(super) fn shard_room(&self) -> u64 {
        let part = self.shard_capacity();
        if self.shards == 1 { part } else { part.saturating_add(4 * part.isqrt()) }
    }
}

/// Why a seen set cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeenError {
    /// The memory is not there.
    #[error("a capacity of {capacity} URLs takes {bytes} bytes, more than this machine gives")]
    Memory {
        /// URLs asked for.
        capacity: u64,
        /// Bytes that they would take.
        bytes: u128,
    },
    /// An option is out of its range.
    #[error("{option} = {value}: {reason}")]
    Option {
        /// The field of [`SeenOptions`].
        option: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        reason: &'static str,
    },
}
