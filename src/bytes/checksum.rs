//! Checksums of what is written to disk.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// XXH3, 64 bits. Bytes that are read back in another place than they were written to have another
/// `seed` there, so they do not pass for what belongs there.
///
/// It tells damage by chance from none, not a forgery: whoever can write the file can write the
/// checksum too.
pub(crate) fn checksum(seed: u64, bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, seed)
}
