//! How the records of a web archive are compressed: one gzip member or Zstandard frame per record, made with reusable compressors. Each
//! response is compressed by the task that fetched it, on any core, and a large one on a thread of its own.

use std::fmt;
use std::sync::Mutex;

use libdeflater::{CompressionLvl, Compressor as Deflate};
use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer};

use crate::crawl::lock::lock;

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

/// Makes gzip members or Zstandard frames. The same bytes make the same member.
pub(super) struct Members {
    compression: WarcCompression,
    is_packed: bool,
    /// Compressors not in use. There are never more than members were made at once.
    idle: Mutex<Vec<Compressor>>,
}

impl Members {
    /// For records that are mostly text.
    pub(super) fn new(compression: WarcCompression) -> Self {
        Self { compression, is_packed: false, idle: Mutex::default() }
    }

    /// For records that are already compressed.
    pub(super) fn of_packed(compression: WarcCompression) -> Self {
        Self { is_packed: true, ..Self::new(compression) }
    }

    /// Appends a member that holds these parts together.
    pub(super) fn add(&self, parts: &[&[u8]], to: &mut Vec<u8>) {
        let idle = lock(&self.idle).pop();
        let mut compressor = idle.unwrap_or_else(|| Compressor::new(self.compression, self.is_packed));
        compressor.add(parts, to);
        lock(&self.idle).push(compressor);
    }
}

impl fmt::Debug for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { compression, is_packed, .. } = self;
        f.debug_struct("Members")
            .field("compression", compression)
            .field("is_packed", is_packed)
            .finish_non_exhaustive()
    }
}

/// The gzip level. Of 587 pages of documentation of 21.2 kB each, one takes 0.05 ms and becomes 5.5 kB at libdeflate's level 1, 0.08 ms and
/// 5.4 kB at level 3, 0.12 ms and 5.2 kB at level 6. zlib-rs takes 0.12 ms and makes 7.1 kB at its level 1, 0.16 ms and 5.4 kB at level 3.
const GZIP_LEVEL: i32 = 1;
/// The zstd level. Of the same pages, one takes 0.04 ms and becomes 5.8 kB at level 1, 0.05 ms and 5.5 kB at level 3.
const ZSTD_LEVEL: i32 = 3;
/// The zstd level for bodies that are already compressed.
const ZSTD_LEAST: i32 = 1;
/// A frame is at most this many bytes longer than its input: a header, a checksum, and a few bytes for each stored block.
const OVERHEAD: usize = 128;

/// Makes one member at a time. The same bytes make the same member.
enum Compressor {
    Gzip(Gzip),
    Zstd(Encoder<'static>),
}

/// Makes gzip members, in buffers that it keeps for the next one.
struct Gzip {
    deflate: Deflate,
    /// The parts of the member, one after the other.
    whole: Vec<u8>,
    /// Room for the member.
    packed: Vec<u8>,
}

/// A buffer of more than this many bytes is not kept.
const KEPT: usize = 256 << 10;

impl Compressor {
    /// `is_packed` if its input is already compressed.
    fn new(compression: WarcCompression, is_packed: bool) -> Self {
        match compression {
            WarcCompression::Gzip => {
                let level = if is_packed { 0 } else { GZIP_LEVEL };
                let deflate = Deflate::new(CompressionLvl::new(level).expect("there is this level"));
                Self::Gzip(Gzip { deflate, whole: Vec::new(), packed: Vec::new() })
            }
            WarcCompression::Zstd => {
                let level = if is_packed { ZSTD_LEAST } else { ZSTD_LEVEL };
                let mut encoder = Encoder::new(level).expect("there is memory for it");
                encoder.set_parameter(CParameter::ChecksumFlag(true)).expect("a frame may have a checksum");
                Self::Zstd(encoder)
            }
        }
    }

    /// Appends a member that holds these parts together.
    fn add(&mut self, parts: &[&[u8]], to: &mut Vec<u8>) {
        match self {
            Self::Gzip(gzip) => gzip.add(parts, to),
            Self::Zstd(encoder) => add_frame(encoder, parts, to),
        }
    }
}

impl Gzip {
    fn add(&mut self, parts: &[&[u8]], to: &mut Vec<u8>) {
        let Self { deflate, whole, packed } = self;
        whole.clear();
        for part in parts {
            whole.extend_from_slice(part);
        }
        let most = deflate.gzip_compress_bound(whole.len());
        if packed.len() < most {
            packed.resize(most, 0);
        }
        let written = deflate.gzip_compress(whole, packed).expect("no member is longer than the bound");
        to.extend_from_slice(&packed[..written]);
        for buffer in [whole, packed] {
            if buffer.len() > KEPT {
                *buffer = Vec::new();
            }
        }
    }
}

/// Appends a frame. Its header states the content's length, which also keeps the window from being larger than that.
fn add_frame(encoder: &mut Encoder<'_>, parts: &[&[u8]], to: &mut Vec<u8>) {
    const WHOLE: &str = "the state of an encoder is whole";
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    to.reserve(bytes + bytes / 200 + OVERHEAD);
    encoder.set_pledged_src_size(Some(bytes as u64)).expect(WHOLE);
    for part in parts {
        let mut input = InBuffer::around(part);
        while input.pos() < part.len() {
            make_room(to);
            let end = to.len();
            encoder.run(&mut input, &mut OutBuffer::around_pos(to, end)).expect(WHOLE);
        }
    }
    loop {
        make_room(to);
        let end = to.len();
        if encoder.finish(&mut OutBuffer::around_pos(to, end), true).expect(WHOLE) == 0 {
            break;
        }
    }
}

fn make_room(to: &mut Vec<u8>) {
    if to.len() == to.capacity() {
        to.reserve(OVERHEAD);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::bufread::GzDecoder;
    use zstd::stream::read::Decoder;
    use zstd::zstd_safe::get_frame_content_size;

    use super::*;

    /// A bit of the byte after a frame's magic number (RFC 8878 section 3.1.1.1.1).
    const HAS_CHECKSUM: u8 = 0b100;
    const DICTIONARY: u8 = 0b11;

    /// The contents of a member, and the bytes after it.
    fn unpacked(compression: WarcCompression, member: &[u8]) -> (Vec<u8>, &[u8]) {
        let mut read = Vec::new();
        match compression {
            WarcCompression::Gzip => {
                let mut decoder = GzDecoder::new(member);
                decoder.read_to_end(&mut read).unwrap();
                (read, decoder.into_inner())
            }
            WarcCompression::Zstd => {
                let mut decoder = Decoder::with_buffer(member).unwrap().single_frame();
                decoder.window_log_max(23).unwrap();
                decoder.read_to_end(&mut read).unwrap();
                assert_eq!(get_frame_content_size(member).unwrap(), Some(read.len() as u64));
                assert_eq!(member[4] & (HAS_CHECKSUM | DICTIONARY), HAS_CHECKSUM);
                (read, decoder.finish())
            }
        }
    }

    #[test]
    fn each_member_is_unpacked_alone() {
        let noise: Vec<u8> = (0..300_000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect();
        let text = "<p>the same again</p>\n".repeat(20_000).into_bytes();
        let large = [&noise[..], &text].concat().repeat(20);
        for compression in [WarcCompression::Gzip, WarcCompression::Zstd] {
            for members in [Members::new(compression), Members::of_packed(compression)] {
                for parts in [vec![], vec![&b"a"[..]], vec![&text], vec![&noise, b"", &text, &noise], vec![&large]] {
                    let mut made = [Vec::new(), b"before".to_vec()];
                    for to in &mut made {
                        members.add(&parts, to);
                    }
                    assert_eq!(made[0], made[1][6..], "the same again");
                    let (read, rest) = unpacked(compression, &made[0]);
                    assert!(read == parts.concat() && rest.is_empty());
                }
                assert_eq!(lock(&members.idle).len(), 1);
            }
        }
    }
}
