//! Seen sets, and what is shown to them.

use crawler_frontier::address::Fingerprint;
use crawler_frontier::seen::{Layout, SeenOptions, SeenSet};

pub(crate) const LAYOUTS: [Layout; 7] = [
    Layout::Blocked,
    Layout::Counting,
    Layout::Exact,
    Layout::Partitioned,
    Layout::Quotient,
    Layout::Standard,
    Layout::Verified,
];

/// Distinct fingerprints, even over their space, as a keyed hash would give them (`SplitMix64`, a bijection of the count).
pub(crate) fn fingerprints(stream: u64) -> impl Iterator<Item = Fingerprint> {
    (stream << 40..).map(|count: u64| {
        let bits = count.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bits = (bits ^ bits >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let bits = (bits ^ bits >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        Fingerprint::from_bits(bits ^ bits >> 32)
    })
}

pub(crate) fn options(layout: Layout, capacity: u64, rate: f64, shards: usize) -> SeenOptions {
    let mut options = SeenOptions::default();
    (options.layout, options.capacity, options.false_positive_rate, options.shards) = (layout, capacity, rate, shards);
    // Files without a name: nothing stays there.
    options.directory = Some(std::env::temp_dir());
    options
}

pub(crate) fn set(layout: Layout, capacity: u64, rate: f64, shards: usize) -> SeenSet {
    SeenSet::new(&options(layout, capacity, rate, shards)).unwrap()
}
