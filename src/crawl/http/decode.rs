use std::fmt;

use brotli::{BrotliDecompressStream, BrotliResult, BrotliState, HeapAlloc, HuffmanCode};
use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder as Zstd, InBuffer, Operation, OutBuffer};

/// Codings in a row that are undone (RFC 9110 section 8.4 sets no bound).
const MAX_CODINGS: usize = 3;
/// Bytes that one step of a codec may produce before the caps are looked at.
const STEP: usize = 32 * 1024;
/// Output from which on the ratio counts.
const RATIO_FROM: u64 = 1 << 20;
/// Bytes on the wire between two looks at how much room there is.
const PART: usize = 1024;
/// Decoded bytes to one on the wire that only a bomb needs: deflate reaches 1,032.
const MAX_RATIO: u64 = 1_000;
/// Members of a body (gzip's, zstd's frames) that are read: each costs some setting up, however short it is.
const MAX_MEMBERS: u32 = 1_000;
/// zstd's window is at most 8 MiB on the web (RFC 9659).
const ZSTD_WINDOW_LOG: u32 = 23;
/// The largest window of zlib and gzip, as a power of two.
const ZLIB_WINDOW_BITS: u8 = 15;

/// Undoes a body's content codings piece by piece, at any moment within its caps: whatever the input, it holds the output,
/// 32 KiB for each coding, and the codec's window.
#[derive(Debug)]
pub(super) struct Decoder {
    /// In the order they are undone: the last one applied first.
    stages: Vec<Stage>,
    output: Output,
    raw: bool,
}

/// Why no more of a body is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Stop {
    /// The bytes are not what the header calls them.
    #[error("the body is not valid {0}")]
    Corrupt(&'static str),
    /// A cap is reached: more bytes than asked for, or a bomb.
    #[error("the body is longer than what is taken")]
    Full,
}

impl Decoder {
    /// For the values of all Content-Encoding headers in order; takes up to `max_bytes` of output. A coding that is not
    /// known, or one too many, leaves the body as it is.
    pub(super) fn new<'a>(content_encodings: impl Iterator<Item = &'a str>, max_bytes: usize) -> Self {
        let names = content_encodings.flat_map(|value| value.split(',')).map(str::trim);
        let mut stages = Some(Vec::new());
        for name in names.filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("identity")) {
            stages = stages.filter(|stages| stages.len() < MAX_CODINGS).and_then(|mut stages| {
                stages.push(Stage::new(name)?);
                Some(stages)
            });
        }
        let raw = stages.is_none();
        let mut stages = stages.unwrap_or_default();
        stages.reverse();
        Self { stages, output: Output { bytes: Vec::new(), taken: 0, max_bytes, is_kept: true }, raw }
    }

    /// Whether the body stays as it came, in a coding that is not known.
    pub(super) fn is_raw(&self) -> bool {
        self.raw
    }

    /// Decodes a piece; `wire_bytes` have come in all, this piece among them.
    pub(super) fn push(&mut self, piece: &[u8], wire_bytes: u64) -> Result<(), Stop> {
        self.output.push(&mut self.stages, piece, wire_bytes)
    }

    /// Whether every coding has come to its end, or not begun: a response without a body may name a coding.
    pub(super) fn is_whole(&self) -> bool {
        self.stages.iter().all(|stage| stage.state != State::Running)
    }

    /// What is kept of what was decoded so far.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.output.bytes
    }

    /// Bytes that were decoded so far.
    pub(super) fn produced(&self) -> usize {
        self.output.taken
    }

    /// Bytes of memory that it holds, at most: what is kept, and each codec's window.
    pub(super) fn held(&self) -> usize {
        let produced = |stage: &Stage| usize::try_from(stage.produced).unwrap_or(usize::MAX);
        let windows = self.stages.iter().map(|stage| stage.codec.window().min(produced(stage)));
        self.output.bytes.len() + windows.sum::<usize>()
    }

    /// A piece in parts of which each grows to [`growth`](Self::growth) at most.
    pub(super) fn parts<'a>(&self, piece: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let part = if self.stages.is_empty() { piece.len() } else { PART };
        piece.chunks(part.max(1))
    }

    /// Bytes that it may hold more of when it has taken a part.
    pub(super) fn growth(&self, part: &[u8]) -> usize {
        if self.stages.is_empty() {
            return if self.output.is_kept { part.len() } else { 0 };
        }
        let rest = self.output.max_bytes - self.output.taken;
        // What repeats without end is as long as it likes, but for deflate.
        let is_bounded = self.stages.iter().all(|stage| matches!(stage.codec, Codec::Deflate(_) | Codec::Gzip(_)));
        if is_bounded && self.stages.len() == 1 { rest.min(PART * 1_032) } else { rest }
    }

    /// Keeps no more than so many bytes from here on, and counts the others.
    pub(super) fn only_count(&mut self, kept: usize) {
        self.output.is_kept = false;
        self.output.bytes.truncate(kept);
        self.output.bytes.shrink_to_fit();
    }

    /// What was decoded.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.output.bytes
    }
}

#[derive(Debug)]
struct Output {
    bytes: Vec<u8>,
    /// Bytes that came, kept or not.
    taken: usize,
    max_bytes: usize,
    is_kept: bool,
}

impl Output {
    /// Through the stages in turn, a step of output at a time; recursion is as deep as there are stages.
    fn push(&mut self, stages: &mut [Stage], mut piece: &[u8], wire_bytes: u64) -> Result<(), Stop> {
        let Some((stage, rest)) = stages.split_first_mut() else { return self.take(piece) };
        loop {
            let step = stage.step(piece);
            piece = &piece[step.read..];
            stage.produced += step.written as u64;
            self.push(rest, &stage.buffer[..step.written], wire_bytes)?;
            step.result?;
            // Between two codings a bomb costs what it costs behind the last, so each is held to the caps.
            let ratio = wire_bytes.saturating_mul(MAX_RATIO).max(RATIO_FROM);
            if stage.produced > ratio.min(self.max_bytes as u64) {
                return Err(Stop::Full);
            }
            if piece.is_empty() && step.written < stage.buffer.len() {
                return Ok(());
            }
        }
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), Stop> {
        let room = self.max_bytes - self.taken;
        let taken = &piece[..piece.len().min(room)];
        self.taken += taken.len();
        if self.is_kept {
            self.bytes.extend_from_slice(taken);
        }
        if piece.len() > room { Err(Stop::Full) } else { Ok(()) }
    }
}

/// One coding on the way.
struct Stage {
    codec: Codec,
    state: State,
    members: u32,
    buffer: Box<[u8]>,
    /// Bytes it has put out.
    produced: u64,
}

/// Where a stage stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing has come.
    Fresh,
    /// In the middle of a member.
    Running,
    /// Behind a whole member; another may follow.
    Between,
    /// Behind the end: what still comes is dropped.
    Done,
}

/// What one step consumed and produced.
struct Step {
    read: usize,
    written: usize,
    result: Result<(), Stop>,
}

impl Stage {
    /// `None` for a coding that is not known.
    fn new(name: &str) -> Option<Self> {
        let codec = Codec::new(&name.to_ascii_lowercase())?;
        Some(Self { codec, state: State::Fresh, members: 0, buffer: vec![0; STEP].into(), produced: 0 })
    }

    /// Decodes from `input` into the buffer, as far as either reaches.
    fn step(&mut self, input: &[u8]) -> Step {
        let mut step = Step { read: 0, written: 0, result: Ok(()) };
        match (self.state, input.first()) {
            (State::Running, _) => {}
            (State::Fresh | State::Between, None) => return step,
            (State::Fresh, Some(first)) => self.begin(*first),
            (State::Between, Some(first)) if self.codec.may_follow(*first) => self.begin(*first),
            (State::Between | State::Done, _) => {
                self.state = State::Done;
                step.read = input.len();
                return step;
            }
        }
        if self.members > MAX_MEMBERS {
            step.result = Err(Stop::Full);
            return step;
        }
        match self.codec.run(input, &mut self.buffer, &mut step.read, &mut step.written) {
            Some(true) => self.state = State::Between,
            // A codec that neither takes nor gives would be asked for ever.
            Some(false) if step.read > 0 || step.written > 0 || input.is_empty() => {}
            _ => step.result = Err(Stop::Corrupt(self.codec.name())),
        }
        step
    }

    fn begin(&mut self, first: u8) {
        self.codec.begin(first);
        self.state = State::Running;
        self.members += 1;
    }
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}, {} bytes", self.codec.name(), self.state, self.produced)
    }
}

enum Codec {
    Brotli(Box<BrotliState<HeapAlloc<u8>, HeapAlloc<u32>, HeapAlloc<HuffmanCode>>>),
    Deflate(Decompress),
    Gzip(Decompress),
    Zstd(Zstd<'static>),
}

impl Codec {
    fn new(name: &str) -> Option<Self> {
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

    fn name(&self) -> &'static str {
        match self {
            Self::Brotli(_) => "br",
            Self::Deflate(_) => "deflate",
            Self::Gzip(_) => "gzip",
            Self::Zstd(_) => "zstd",
        }
    }

    /// Bytes of output that it may look back at.
    fn window(&self) -> usize {
        match self {
            Self::Brotli(_) => 16 << 20,
            Self::Deflate(_) | Self::Gzip(_) => 1 << ZLIB_WINDOW_BITS,
            Self::Zstd(_) => 1 << ZSTD_WINDOW_LOG,
        }
    }

    /// Whether a byte behind a whole member begins another one (RFC 1952 section 2.2, RFC 8878 section 3); else it is litter.
    fn may_follow(&self, first: u8) -> bool {
        match self {
            Self::Brotli(_) | Self::Deflate(_) => false,
            Self::Gzip(_) => first == 0x1f,
            Self::Zstd(_) => matches!(first, 0x28 | 0x50..=0x5f),
        }
    }

    /// Makes ready for a member that begins with this byte.
    fn begin(&mut self, first: u8) {
        match self {
            // By RFC 9110 "deflate" is zlib, by some servers deflate alone. A zlib header starts with method 8 and a
            // window of at most 32 KiB; alone, the same bits would be a stored block with nonzero padding.
            Self::Deflate(inflate) => inflate.reset(first & 0x8f == 0x08),
            Self::Gzip(inflate) if inflate.total_in() > 0 => *inflate = Decompress::new_gzip(ZLIB_WINDOW_BITS),
            Self::Brotli(_) | Self::Gzip(_) | Self::Zstd(_) => {}
        }
    }

    /// `Some(true)` at a member's end, `None` where the input is not of this coding.
    fn run(&mut self, input: &[u8], output: &mut [u8], read: &mut usize, written: &mut usize) -> Option<bool> {
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;

    use super::*;

    fn encode(coding: &str, bytes: &[u8]) -> Vec<u8> {
        fn write<W: Write>(mut writer: W, bytes: &[u8]) -> W {
            writer.write_all(bytes).unwrap();
            writer
        }
        match coding {
            "br" => {
                let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
                encoder.write_all(bytes).unwrap();
                encoder.into_inner()
            }
            "deflate" => write(ZlibEncoder::new(Vec::new(), Compression::default()), bytes).finish().unwrap(),
            "gzip" => write(GzEncoder::new(Vec::new(), Compression::default()), bytes).finish().unwrap(),
            "raw deflate" => write(DeflateEncoder::new(Vec::new(), Compression::default()), bytes).finish().unwrap(),
            _ => zstd::encode_all(bytes, 3).unwrap(),
        }
    }

    /// Body, whether it is whole, and what stopped it.
    fn decode(header: &str, wire: &[u8], piece: usize, max_bytes: usize) -> (Vec<u8>, bool, Option<Stop>) {
        let mut decoder = Decoder::new(std::iter::once(header), max_bytes);
        let mut wire_bytes = 0;
        let mut stop = None;
        for piece in wire.chunks(piece) {
            wire_bytes += piece.len() as u64;
            stop = decoder.push(piece, wire_bytes).err();
            if stop.is_some() {
                break;
            }
        }
        let whole = decoder.is_whole();
        (decoder.into_bytes(), whole, stop)
    }

    const CODINGS: [&str; 5] = ["br", "deflate", "gzip", "raw deflate", "zstd"];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_encoded_is_decoded(
            bytes in proptest::collection::vec(0_u8..4, 0..100_000),
            codings in proptest::collection::vec(proptest::sample::select(&CODINGS[..]), 0..=3),
            piece in 1_usize..5_000,
        ) {
            let wire = codings.iter().fold(bytes.clone(), |bytes, coding| encode(coding, &bytes));
            let header = codings.join(", ").replace("raw deflate", "Deflate");
            prop_assert_eq!(decode(&header, &wire, piece, 100_000), (bytes, true, None));
        }

        #[test]
        fn a_cut_body_is_a_prefix(coding in proptest::sample::select(&CODINGS[..]), cut in any::<proptest::sample::Index>()) {
            let bytes: Vec<u8> = (0..20_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 27) as u8).collect();
            let wire = encode(coding, &bytes);
            let cut = 1 + cut.index(wire.len() - 1);
            let (got, whole, stop) = decode(&coding.replace("raw ", ""), &wire[..cut], 700, 1 << 20);
            prop_assert!(bytes.starts_with(&got) && !whole && stop.is_none(), "{} {whole} {stop:?}", got.len());
        }

        #[test]
        fn litter_is_no_panic(
            coding in proptest::sample::select(&CODINGS[..]),
            litter in proptest::collection::vec(any::<u8>(), 0..2_000),
        ) {
            decode(&coding.replace("raw ", ""), &litter, 100, 1 << 16);
        }
    }

    #[test]
    fn a_bomb_stops_early() {
        for coding in CODINGS {
            let wire = encode(coding, &vec![0; 64 << 20]);
            let (bytes, _, stop) = decode(&coding.replace("raw ", ""), &wire, 16 * 1024, 10 << 20);
            assert_eq!(stop, Some(Stop::Full), "{coding}");
            assert!(bytes.len() <= 10 << 20);
            let twice = encode("gzip", &wire);
            let (bytes, _, stop) = decode(&format!("{},gzip", coding.replace("raw ", "")), &twice, 1_000, 10 << 20);
            assert_eq!(stop, Some(Stop::Full), "{coding}");
            assert!(
                bytes.len() as u64 <= RATIO_FROM.max(twice.len() as u64 * MAX_RATIO) + STEP as u64,
                "{}",
                bytes.len()
            );
        }
    }

    #[test]
    fn a_bomb_of_nothing_stops_too() {
        // Empty members cost time and give no output, behind another coding as in the open.
        let members = encode("gzip", b"").repeat(10_000);
        assert_eq!(decode("gzip", &members, 4_096, 10 << 20), (vec![], false, Some(Stop::Full)));
        let wire = encode("br", &members.repeat(10));
        assert_eq!(decode("gzip, br", &wire, 4_096, 10 << 20).2, Some(Stop::Full));
    }

    #[test]
    fn exactly_the_cap_is_whole() {
        let wire = encode("gzip", &[7; 1_000]);
        assert_eq!(decode("gzip", &wire, 10, 1_000), (vec![7; 1_000], true, None));
        for (coding, wire) in [("gzip", &wire[..]), ("", &[7; 1_000])] {
            let (bytes, _, stop) = decode(coding, wire, 10, 999);
            assert!(bytes == [7; 999] && stop == Some(Stop::Full), "{coding}: {} {stop:?}", bytes.len());
        }
    }

    #[test]
    fn members_follow_one_another_and_litter_ends_them() {
        for coding in ["gzip", "zstd"] {
            let mut wire = [encode(coding, b"one "), encode(coding, b"two")].concat();
            wire.extend(b"\0\0 litter");
            wire.extend(encode(coding, b"three"));
            assert_eq!(decode(coding, &wire, 1, 1_000), (b"one two".to_vec(), true, None), "{coding}");
        }
        let wire = [encode("br", b"one"), encode("br", b"two")].concat();
        assert_eq!(decode("br", &wire, 1, 1_000), (b"one".to_vec(), true, None));
    }

    #[test]
    fn an_unknown_coding_stays_raw() {
        for header in ["compress", "gzip, snappy", "gzip, gzip, gzip, gzip"] {
            let decoder = Decoder::new(std::iter::once(header), 10);
            assert!(decoder.is_raw(), "{header}");
            assert_eq!(decode(header, b"as it is", 3, 10), (b"as it is".to_vec(), true, None));
        }
        assert!(!Decoder::new(["", "identity, GZIP"].into_iter(), 10).is_raw());
    }

    #[test]
    fn a_lie_is_corrupt_and_an_empty_body_is_whole() {
        for coding in ["gzip", "zstd", "br", "deflate"] {
            assert!(matches!(decode(coding, b"<html>plain text</html>", 5, 100).2, Some(Stop::Corrupt(_))), "{coding}");
            assert_eq!(decode(coding, b"", 5, 100), (vec![], true, None));
        }
    }

    #[test]
    fn a_zstd_window_over_8_mib_is_refused() {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.set_parameter(zstd::zstd_safe::CParameter::WindowLog(27)).unwrap();
        encoder.write_all(&vec![1; 100_000]).unwrap();
        let wire = encoder.finish().unwrap();
        assert_eq!(decode("zstd", &wire, 4_096, 1 << 20).2, Some(Stop::Corrupt("zstd")));
    }
}
