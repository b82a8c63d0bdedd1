//! A histogram of hosts by their requests.
//!
//! A crawl of the web has a few hosts with very many requests and very many hosts with a few. The buckets double, so both ends fit in one
//! short list, and a host rarely moves to the next bucket.

#[cfg(any(feature = "crawl", test))]
use std::ops::RangeInclusive;

/// A histogram of hosts by their requests, with the buckets 0, 1, 2 to 3, 4 to 7 and so on.
///
/// All that memory keeps of evicted hosts that are not among the top ones. Exact, in 520 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostSpread([u64; BUCKETS]);

/// One for each bit length of a count.
const BUCKETS: usize = u64::BITS as usize + 1;

impl Default for HostSpread {
    fn default() -> Self {
        Self([0; BUCKETS])
    }
}

impl HostSpread {
    /// The buckets that have hosts: the least and most requests of each, and the number of hosts; fewest requests first.
    #[cfg(any(feature = "crawl", test))]
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (RangeInclusive<u64>, u64)> {
        let filled = (0..).zip(self.0).filter(|&(_, hosts)| hosts > 0);
        filled.map(|(bits, hosts)| {
            let most = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
            (most.div_ceil(2)..=most, hosts)
        })
    }

    /// Counts a host with this many requests.
    pub(crate) fn add(&mut self, requests: u64) {
        self.0[bucket(requests)] += 1;
    }

    /// Removes a host that was counted with this many requests.
    pub(crate) fn remove(&mut self, requests: u64) {
        self.0[bucket(requests)] -= 1;
    }
}

/// The bucket of a number of requests: its bit length.
fn bucket(requests: u64) -> usize {
    (u64::BITS - requests.leading_zeros()) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_count_is_in_its_bucket_and_no_other() {
        for (requests, bucket) in [
            (0, 0..=0),
            (1, 1..=1),
            (2, 2..=3),
            (3, 2..=3),
            (4, 4..=7),
            (1 << 40, 1 << 40..=(1 << 41) - 1),
            (u64::MAX, 1 << 63..=u64::MAX),
        ] {
            let mut spread = HostSpread::default();
            spread.add(requests);
            assert_eq!(spread.buckets().collect::<Vec<_>>(), [(bucket, 1)], "{requests}");
            spread.add(requests);
            spread.remove(requests);
            spread.remove(requests);
            assert_eq!(spread, HostSpread::default());
        }
    }
}
