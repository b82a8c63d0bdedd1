//! The content codings that can be undone, each by its crate.

use brotli::{BrotliDecompressStream, BrotliResult, BrotliState, HeapAlloc, HuffmanCode};
use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder as Zstd, InBuffer, Operation, OutBuffer};

/// zstd's window is at most 8 MiB on the web (RFC 9659).
const ZSTD_WINDOW_LOG: u32 = 23;
/// The largest window of zlib and gzip, as a power of two.
const ZLIB_WINDOW_BITS: u8 = 15;

/// A content coding, and how far it has come.
pub(super) enum Codec {
    Brotli(Box<BrotliState<HeapAlloc<u8>, HeapAlloc<u32>, HeapAlloc<HuffmanCode>>>),
    Deflate(Decompress),
    Gzip(Decompress),
    Zstd(Zstd<'static>),
}

impl Codec {
    pub(super) fn new(name: &str) -> Option<Self> {
        match name {
            "br" => {
                let codes = HeapAlloc::new(HuffmanCode::default());
                // Strict: without the "large window", which RFC 7932 does not have.
                let state = BrotliState::new_strict(HeapAlloc::new(0), HeapAlloc::new(0), codes);
                Some(Self::Brotli(Box::new(state)))
            }
            "deflate" => Some(Self::Deflate(Decompress::new(true))),
            "gzip" | "x-gzip" => Some(Self::Gzip(Decompress::new_gzip(ZLIB_WINDOW_BITS))),
            "zstd" => {
                let mut decoder = Zstd::new().ok()?;
                decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG)).ok()?;
                Some(Self::Zstd(decoder))
            }
            _ => None,
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Brotli(_) => "br",
            Self::Deflate(_) => "deflate",
            Self::Gzip(_) => "gzip",
            Self::Zstd(_) => "zstd",
        }
    }

    /// Bytes of output that it keeps to look back at.
    pub(super) fn window(&self) -> usize {
        match self {
            Self::Brotli(_) => 16 << 20,
            Self::Deflate(_) | Self::Gzip(_) => 1 << ZLIB_WINDOW_BITS,
            Self::Zstd(_) => 1 << ZSTD_WINDOW_LOG,
        }
    }

    /// Whether a byte behind a whole member begins another one (RFC 1952 section 2.2, RFC 8878 section 3). Otherwise it is litter.
    pub(super) fn may_follow(&self, first: u8) -> bool {
        match self {
            Self::Brotli(_) | Self::Deflate(_) => false,
            Self::Gzip(_) => first == 0x1f,
            Self::Zstd(_) => matches!(first, 0x28 | 0x50..=0x5f),
        }
    }

    /// Prepares for a member that begins with this byte.
    pub(super) fn begin(&mut self, first: u8) {
        match self {
            // RFC 9110 means zlib by "deflate", and some servers mean deflate without a header. A zlib header starts with method
            // 8 and a window of at most 32 KiB. Without a header these bits would be a stored block with nonzero padding.
            Self::Deflate(inflate) => inflate.reset(first & 0x8f == 0x08),
            Self::Gzip(inflate) if inflate.total_in() > 0 => *inflate = Decompress::new_gzip(ZLIB_WINDOW_BITS),
            Self::Brotli(_) | Self::Gzip(_) | Self::Zstd(_) => {}
        }
    }

    /// Decodes. `Some(true)` at a member's end, `None` where the input is not in this coding.
    pub(super) fn run(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        read: &mut usize,
        written: &mut usize,
    ) -> Option<bool> {
        match self {
            Self::Brotli(state) => {
                let (mut input_left, mut output_left) = (input.len(), output.len());
                let mut total = 0;
                match BrotliDecompressStream(
                    &mut input_left,
                    read,
                    input,
                    &mut output_left,
                    written,
                    output,
                    &mut total,
                    state,
                ) {
                    BrotliResult::ResultFailure => None,
                    result => Some(matches!(result, BrotliResult::ResultSuccess)),
                }
            }
            Self::Deflate(inflate) | Self::Gzip(inflate) => {
                let (read_before, written_before) = (inflate.total_in(), inflate.total_out());
                let status = inflate.decompress(input, output, FlushDecompress::None);
                // Bounded by the slices' lengths.
                *read = usize::try_from(inflate.total_in() - read_before).ok()?;
                *written = usize::try_from(inflate.total_out() - written_before).ok()?;
                status.ok().map(|status| status == Status::StreamEnd)
            }
            Self::Zstd(decoder) => {
                let (mut from, mut to) = (InBuffer::around(input), OutBuffer::around(output));
                let left = decoder.run(&mut from, &mut to);
                (*read, *written) = (from.pos(), to.pos());
                left.ok().map(|left| left == 0)
            }
        }
    }
}
