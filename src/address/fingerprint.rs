use xxhash_rust::xxh3::xxh3_64_with_seed;

/// 64 stable, keyed bits that stand for a URL's key, on disk and between machines (D1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// From bits that were a fingerprint before.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The bits, for storage.
    pub const fn bits(self) -> u64 {
        self.0
    }
}

/// The random number that keys a job's fingerprints: kept in the job's manifest, unpredictable to a hostile site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FingerprintKey(u64);

impl FingerprintKey {
    /// From a number that was drawn before.
    pub const fn from_u64(number: u64) -> Self {
        Self(number)
    }

    /// The number, for the manifest.
    pub const fn to_u64(self) -> u64 {
        self.0
    }

    /// The fingerprint of a URL's key.
    pub fn fingerprint(self, key: &str) -> Fingerprint {
        Fingerprint(xxh3_64_with_seed(key.as_bytes(), self.0))
    }
}
