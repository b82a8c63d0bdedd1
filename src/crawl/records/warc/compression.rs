//! How the records of a web archive are compressed: one gzip member or Zstandard frame per record, made with reusable compressors.

use std::fmt;
use std::sync::Mutex;

use flate2::{Compress, Compression, FlushCompress, Status};
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

/// The gzip level. On 400 pages of documentation of 28.2 kB each, a page takes 0.2 ms and becomes 11.2 kB at level 1, 0.35 ms and 8.2 kB at
/// level 3, 0.6 ms and 7.9 kB at level 6.
const GZIP_LEVEL: u32 = 3;
/// Bits of gzip's window.
const GZIP_WINDOW: u8 = 15;
/// The zstd level. On 313 pages of documentation of 29.7 kB each, a page takes 0.06 ms and becomes 7.9 kB at level 1, 0.08 ms and 7.6 kB at
/// level 3, 0.19 ms and 7.2 kB at level 5; gzip takes 0.16 ms and makes 7.5 kB at its level 3.
const ZSTD_LEVEL: i32 = 3;
/// The zstd level for bodies that are already compressed.
const ZSTD_LEAST: i32 = 1;
/// A member is at most this many bytes longer than its input: a header, a trailer, and a few bytes for each stored block.
const OVERHEAD: usize = 128;

/// Makes one member at a time. The same bytes make the same member.
enum Compressor {
    Gzip(Compress),
    Zstd(Encoder<'static>),
}

impl Compressor {
    /// `is_packed` if its input is already compressed.
    fn new(compression: WarcCompression, is_packed: bool) -> Self {
        match compression {
            WarcCompression::Gzip => {
                let level = if is_packed { 0 } else { GZIP_LEVEL };
                Self::Gzip(Compress::new_gzip(Compression::new(level), GZIP_WINDOW))
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
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        to.reserve(bytes + bytes / 200 + OVERHEAD);
        match self {
            Self::Gzip(compress) => add_member(compress, parts, to),
            Self::Zstd(encoder) => add_frame(encoder, parts, bytes as u64, to),
        }
    }
}

fn add_member(compress: &mut Compress, parts: &[&[u8]], to: &mut Vec<u8>) {
    for part in parts {
        let begun = compress.total_in();
        loop {
            let taken = usize::try_from(compress.total_in() - begun).expect("no more than the part has");
            if taken == part.len() {
                break;
            }
            step(compress, &part[taken..], to, FlushCompress::None);
        }
    }
    while step(compress, &[], to, FlushCompress::Finish) != Status::StreamEnd {}
    compress.reset();
}

fn step(compress: &mut Compress, input: &[u8], to: &mut Vec<u8>, flush: FlushCompress) -> Status {
    make_room(to);
    compress.compress_vec(input, to, flush).expect("the state of a compressor is whole")
}

/// Appends a frame. Its header states the content's length, which also keeps the window from being larger than that.
fn add_frame(encoder: &mut Encoder<'_>, parts: &[&[u8]], bytes: u64, to: &mut Vec<u8>) {
    const WHOLE: &str = "the state of an encoder is whole";
    encoder.set_pledged_src_size(Some(bytes)).expect(WHOLE);
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
