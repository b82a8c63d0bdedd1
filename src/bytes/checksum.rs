//! Checksums of everything written to disk.

#[cfg(feature = "crawl")]
use xxhash_rust::xxh3::Xxh3;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The XXH3 hash, 64 bits. The `seed` depends on where the bytes are, so bytes that were moved to another place fail the check.
///
/// It finds accidental damage, not forgery: anybody who can write the file can write the checksum too.
pub(crate) fn checksum(seed: u64, bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, seed)
}

/// The lower half of a [`checksum`], for headers, receipts, and records that there are billions of. It misses one damaged place in
/// four billion.
pub(crate) fn half_checksum(seed: u64, bytes: &[u8]) -> [u8; 4] {
    *checksum(seed, bytes).to_le_bytes().first_chunk().expect("four of eight bytes")
}

/// A [`checksum`] with the seed 0, of bytes that come in pieces.
#[cfg(feature = "crawl")]
#[derive(Clone, Default)]
pub(crate) struct RunningChecksum(Box<Xxh3>);

#[cfg(feature = "crawl")]
impl RunningChecksum {
    /// Takes the next piece.
    pub(crate) fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The checksum of all pieces.
    pub(crate) fn finish(&self) -> u64 {
        self.0.digest()
    }
}

#[cfg(feature = "crawl")]
impl std::fmt::Debug for RunningChecksum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RunningChecksum").field(&self.finish()).finish()
    }
}
