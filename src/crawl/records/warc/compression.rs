//! How the records of a web archive are compressed.

/// How the records of an [`Archive`](super::Archive) are compressed, each on its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WarcCompression {
    /// Each is a gzip member (WARC 1.1 annex D), in `pages-*.warc.gz`: all tools read them.
    #[default]
    Gzip,
    /// Each is a Zstandard frame with its size and a checksum, in `pages-*.warc.zst`, as the IIPC's draft of 2021 specifies (Zstandard
    /// Compression for WARC Files 1.0). There is no dictionary, and no window over 8 MiB, which every reader must support.
    Zstd,
}

impl WarcCompression {
    /// The name of the output with such records.
    pub(super) const fn output(self) -> &'static str {
        match self {
            Self::Gzip => "pages.warc.gz",
            Self::Zstd => "pages.warc.zst",
        }
    }
}
