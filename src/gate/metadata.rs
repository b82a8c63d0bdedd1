//! The bound on the bytes that travel with a URL.

/// Bytes that may travel with a URL. They are written to the journal, and read again with each lease of it.
pub(super) const MOST: usize = 4096;

/// More metadata than may travel with a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes of metadata: at most {} travel with a URL", MOST)]
pub struct MetadataError {
    bytes: usize,
}

impl MetadataError {
    /// The bytes, if they are few enough.
    pub(crate) fn check(bytes: &[u8]) -> Result<&[u8], Self> {
        if bytes.len() > MOST { Err(Self { bytes: bytes.len() }) } else { Ok(bytes) }
    }
}
