//! Checksums of what is written to disk.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The XXH3 hash, 64 bits. The `seed` depends on the place of the bytes, so bytes that were moved to
/// another place do not pass for what belongs there.
///
/// It finds damage by chance and no forgery: whoever can write the file can write the checksum too.
pub(crate) fn checksum(seed: u64, bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, seed)
}

/// The lower half of a [`checksum`], for headers, receipts, and records of which there are billions. One damaged place in four billion
/// goes unnoticed by it.
pub(crate) fn half_checksum(seed: u64, bytes: &[u8]) -> [u8; 4] {
    *checksum(seed, bytes).to_le_bytes().first_chunk().expect("four of eight bytes")
}
