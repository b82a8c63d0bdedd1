//! How many bytes of an embedder's own may travel with a URL.

/// The most bytes that any option lets travel with a URL. They are written to the journal, and read again with each lease of the URL.
pub(super) const MOST_METADATA: usize = 1 << 20;

/// How many bytes of [metadata](crate::frontier::Href::metadata) may travel with URLs: what an embedder keeps with a request, such as its
/// method, headers and body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetadataLimits {
    /// The most bytes of one URL: at most 1 MiB. A frontier that is reopened with a lower limit keeps what waits.
    pub bytes: usize,
    /// The most bytes of all URLs together that wait or are lent out, for a frontier in memory. In a job they wait on disk, and only the
    /// disk bounds them.
    pub memory: u64,
}

impl Default for MetadataLimits {
    /// 4 KiB a URL; in memory, 256 MiB together.
    fn default() -> Self {
        Self { bytes: 4096, memory: 256 << 20 }
    }
}

impl MetadataLimits {
    /// Whether these bytes can travel with a URL, beside those that are held in memory for others.
    ///
    /// # Errors
    /// The option that forbids it.
    pub(super) fn fit(self, bytes: usize, held: u64) -> Result<(), MetadataError> {
        if bytes > self.bytes {
            return Err(MetadataError { bytes, most: self.bytes as u64, option: "metadata.bytes" });
        }
        let sum = held.saturating_add(bytes as u64);
        if sum > self.memory {
            return Err(MetadataError { bytes, most: self.memory.saturating_sub(held), option: "metadata.memory" });
        }
        Ok(())
    }
}

/// More metadata than may travel with a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes of metadata: {option} leaves room for {most}")]
#[non_exhaustive]
pub struct MetadataError {
    /// How many bytes there are.
    pub bytes: usize,
    /// How many are allowed.
    pub most: u64,
    /// The option that sets this limit, by its path in [`FrontierOptions`](crate::frontier::FrontierOptions).
    pub option: &'static str,
}

impl MetadataError {
    /// The bytes, unless they are more than any option allows.
    pub(crate) fn check(bytes: &[u8]) -> Result<&[u8], Self> {
        let most = MOST_METADATA as u64;
        let error = Self { bytes: bytes.len(), most, option: "metadata.bytes" };
        if bytes.len() > MOST_METADATA { Err(error) } else { Ok(bytes) }
    }
}
