//! Compresses one gzip member or Zstandard frame at a time.

use flate2::{Compress, Compression, FlushCompress, Status};
use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer};

use super::compression::WarcCompression;

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
pub(super) enum Compressor {
    Gzip(Compress),
    Zstd(Encoder<'static>),
}

impl Compressor {
    /// `is_packed` if its input is already compressed.
    pub(super) fn new(compression: WarcCompression, is_packed: bool) -> Self {
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
    pub(super) fn add(&mut self, parts: &[&[u8]], to: &mut Vec<u8>) {
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

/// The frame's header gives its length, which also keeps the window from being larger than that.
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
