//! What other sets of the same URLs would take in memory.

use serde::{Deserialize, Serialize};

use crate::crawl::Tally;
use crate::seen::SeenSet;

/// What other sets of the same URLs would take in memory. None of them could lose one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct OtherSets {
    /// The URLs themselves, as long as those of the records are on the average, in a hash set of the standard library.
    pub urls_bytes: u64,
    /// Their MD5 digests, in the same.
    pub md5_bytes: u64,
    /// Their SHA-1 digests, in the same.
    pub sha1_bytes: u64,
}

impl OtherSets {
    pub(super) fn of(seen: &SeenSet, tally: &Tally) -> Self {
        let urls = seen.statistics().merged.inserted;
        let records = tally.records();
        // Allocators give sixteen bytes, or a multiple of them.
        let text = tally.key_bytes.checked_div(records).unwrap_or_default().next_multiple_of(16);
        Self {
            urls_bytes: table_bytes(urls, size_of::<String>() as u64) + urls * text,
            md5_bytes: table_bytes(urls, 16),
            sha1_bytes: table_bytes(urls, 20),
        }
    }
}

/// Bytes of a hash table of the standard library: a power of two of slots, of which seven in eight may be taken, and one byte for each slot
/// besides its entry.
fn table_bytes(entries: u64, bytes: u64) -> u64 {
    if entries == 0 { 0 } else { (entries * 8).div_ceil(7).next_power_of_two().max(4) * (bytes + 1) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_table_has_as_many_places_as_the_standard_library_gives_it() {
        for entries in [1, 3, 7, 28, 448, 449, 14_336, 14_337, 100_000] {
            let set: HashSet<u64> = (0..entries).collect();
            let places = (set.capacity() as u64 * 8).div_ceil(7).next_power_of_two();
            assert_eq!(table_bytes(entries, 8), places * 9, "{entries}");
        }
        assert_eq!(table_bytes(0, 8), 0);
    }
}
