//! Decodes a body's content codings piece by piece, within bounds.

use bytes::Bytes;

use super::codec::{Codec, DecodeError, Stage};
use super::fetch_error::FetchError;
use super::response::Response;
use crate::crawl::html::{SNIFFED, is_html};
use crate::driver::RunningChecksum;
use crate::frontier::Failure;

/// The first byte of a gzip member (RFC 1952 section 2.3.1). No text begins with it.
const GZIP: u8 = 0x1f;
/// At most this many codings in a row are decoded (RFC 9110 section 8.4 sets no bound).
const MAX_CODINGS: usize = 3;
/// [`MAX_RATIO`] applies from this many bytes of output on.
const RATIO_FROM: u64 = 1 << 20;
/// At most this many bytes are allocated because a Content-Length announces them.
const MAX_EXPECTED: usize = 64 * 1024;
/// Most coded pages have at least this many decoded bytes per byte on the wire.
const USUAL_RATIO: usize = 4;
/// At most this many bytes on the wire are gathered, to be decoded at once.
const MAX_GATHERED: usize = 64 * 1024;
/// Bytes on the wire between two requests for memory.
const PART: usize = 1024;
/// At most this many decoded bytes per byte on the wire. Only a bomb has more; the most that deflate reaches is 1,032.
const MAX_RATIO: u64 = 1_000;

/// Decodes a body's content codings piece by piece. Whatever the input, it holds at most the output up to its limit, and for each coding 32
/// KiB, the codec's window and its tables. [`held`](Self::held) returns how many bytes these are.
#[derive(Debug)]
pub(super) struct Decoder {
    /// In decoding order: the coding applied last comes first.
    stages: Vec<Stage>,
    /// What has come of a body that is decoded at its end, since that takes half the time. `None` for one that is decoded as it comes.
    gathered: Option<Vec<u8>>,
    output: Output,
    /// The first coding that is unknown, or one more than [`MAX_CODINGS`]. If it is set, nothing is decoded.
    refused: Option<String>,
}

impl Decoder {
    /// Takes the values of all Content-Encoding headers, in order, and up to `max_bytes` of output. An unknown coding, or one too many,
    /// leaves the body as it is. A coding has no parameters; any that are given are ignored.
    pub(super) fn new<'a>(content_encodings: impl Iterator<Item = &'a str>, max_bytes: usize) -> Self {
        let names = content_encodings.flat_map(|value| value.split(','));
        let names = names.map(|name| name.split(';').next().unwrap_or_default().trim());
        let (mut stages, mut refused) = (Vec::new(), None);
        for name in names.filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("identity")) {
            // A head may name thousands of codings, and each takes a window.
            let stage = if stages.len() < MAX_CODINGS { Stage::new(name) } else { None };
            let Some(stage) = stage else {
                stages.clear();
                refused = Some(name.to_owned());
                break;
            };
            stages.push(stage);
        }
        stages.reverse();
        let is_gzip = matches!(&stages[..], [stage] if matches!(stage.codec, Codec::Gzip(_)));
        Self {
            stages,
            gathered: is_gzip.then(Vec::new),
            output: Output { bytes: Vec::new(), expected: 0, taken: 0, max_bytes, is_kept: true, digest: None },
            refused,
        }
    }

    /// Whether the head names gzip, but the first byte of the body is not gzip's.
    pub(super) fn is_gzip_in_name_alone(&self, piece: &[u8]) -> bool {
        let is_gzip = |stage: &Stage| matches!(stage.codec, Codec::Gzip(_));
        self.stages.first().is_some_and(is_gzip) && piece.first().is_some_and(|first| *first != GZIP)
    }

    /// Announces that `bytes` bytes are to come on the wire. Memory for what they probably decode to is allocated at once, up to a bound.
    pub(super) fn expect(&mut self, bytes: u64) {
        let times = if self.stages.is_empty() { 1 } else { USUAL_RATIO };
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.gathered.take_if(|_| bytes > MAX_GATHERED);
        let bytes = bytes.saturating_mul(times);
        self.output.expected = bytes.min(MAX_EXPECTED).min(self.output.max_bytes);
    }

    /// If a digest is wanted, also computes one of the decoded bytes, kept or not.
    pub(super) fn with_digest(mut self, is_wanted: bool) -> Self {
        self.output.digest = is_wanted.then(RunningChecksum::default);
        self
    }

    /// The digest, if one was wanted.
    pub(super) fn digest(&self) -> Option<u64> {
        self.output.digest.as_ref().map(RunningChecksum::finish)
    }

    /// The unknown or surplus coding, if there is one. Nothing is decoded then.
    pub(super) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Whether the body is not decoded and is not text: its beginning has a byte that no text has (WHATWG MIME Sniffing, section 3).
    pub(super) fn is_raw(&self) -> bool {
        let is_binary = |byte: &u8| matches!(byte, 0..=0x08 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
        self.refused.is_some() && self.output.bytes.iter().take(SNIFFED).any(is_binary)
    }

    /// Fails if this is the body of a page but is not text: no link can be read from it.
    pub(super) fn check_page(&self, response: &Response) -> Result<(), FetchError> {
        let is_page = response.is_success() && is_html(response.content_type.as_deref(), &[]);
        let Some(coding) = self.refused().filter(|_| is_page && self.is_raw()) else { return Ok(()) };
        Err(FetchError::new(Failure::BadResponse, format!("the content coding {coding:?} cannot be decoded")))
    }

    /// Bytes on the wire that are gathered, and not yet decoded.
    pub(super) fn gathered(&self) -> usize {
        self.gathered.as_ref().map_or(0, Vec::len)
    }

    /// Gathers a piece of a short body, and returns all that is gathered with the last one, or with one too many. Returns any other piece as
    /// it is.
    pub(super) fn gather(&mut self, piece: Bytes, is_last: bool) -> Option<Bytes> {
        let Some(gathered) = &mut self.gathered else { return Some(piece) };
        let is_over = is_last || gathered.len() + piece.len() > MAX_GATHERED;
        if is_over && gathered.is_empty() {
            self.gathered = None;
            return Some(piece);
        }
        gathered.extend_from_slice(&piece);
        if is_over { self.gathered.take().map(Bytes::from) } else { None }
    }

    /// How many bytes [`push_whole`](Self::push_whole) adds, if this may be a whole body that it decodes, within the limits.
    pub(super) fn whole_size(&self, body: &[u8]) -> Option<usize> {
        let [stage] = &self.stages[..] else { return None };
        let most = (body.len() as u64).saturating_mul(MAX_RATIO).max(RATIO_FROM).min(self.output.max_bytes as u64);
        stage.member_size(body).filter(|size| *size as u64 <= most)
    }

    /// Decodes a whole body at once, which has [`whole_size`](Self::whole_size). Returns whether it could; otherwise nothing has changed.
    pub(super) fn push_whole(&mut self, body: &[u8], size: usize) -> bool {
        let Some(decoded) = self.stages.first_mut().and_then(|stage| stage.inflate(body, size)) else { return false };
        self.output.take_whole(decoded);
        true
    }

    /// Decodes a piece. `wire_bytes` have come so far, this piece included.
    pub(super) fn push(&mut self, piece: &[u8], wire_bytes: u64) -> Result<(), DecodeError> {
        self.output.push(&mut self.stages, piece, wire_bytes)
    }

    /// Whether every coding is at its end, or has not begun.
    pub(super) fn is_whole(&self) -> bool {
        self.stages.iter().all(Stage::is_whole)
    }

    /// The part of the decoded bytes that is kept so far.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.output.bytes
    }

    /// The number of bytes decoded so far.
    pub(super) fn produced(&self) -> usize {
        self.output.taken
    }

    /// The most bytes of memory that it holds: the output that is kept, and each stage.
    pub(super) fn held(&self) -> usize {
        self.gathered() + self.output.bytes.len() + self.stages.iter().map(Stage::held).sum::<usize>()
    }

    /// Divides a piece into parts. Each adds at most [`growth`](Self::growth).
    pub(super) fn parts<'a>(&self, piece: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let part = if self.stages.is_empty() { piece.len() } else { PART };
        piece.chunks(part.max(1))
    }

    /// How many more bytes it may hold after a part is pushed.
    pub(super) fn growth(&self, part: &[u8]) -> usize {
        if self.stages.is_empty() {
            return if self.output.is_kept { part.len() } else { 0 };
        }
        let rest = self.output.max_bytes - self.output.taken;
        // Codings other than deflate have no bound on how much they repeat.
        let is_bounded = self.stages.iter().all(|stage| matches!(stage.codec, Codec::Deflate(_) | Codec::Gzip(_)));
        let output = if is_bounded && self.stages.len() == 1 { rest.min(PART * 1_032) } else { rest };
        output + self.stages.iter().map(|stage| stage.codec.growth()).sum::<usize>()
    }

    /// From now on keeps only the first `kept` bytes, and counts the others.
    pub(super) fn only_count(&mut self, kept: usize) {
        self.output.is_kept = false;
        self.output.bytes.truncate(kept);
        self.output.bytes.shrink_to_fit();
    }

    /// The decoded bytes that were kept.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.output.bytes
    }
}

#[derive(Debug)]
struct Output {
    bytes: Vec<u8>,
    /// Bytes to allocate when the first byte comes.
    expected: usize,
    /// Decoded bytes, kept or not.
    taken: usize,
    max_bytes: usize,
    is_kept: bool,
    digest: Option<RunningChecksum>,
}

impl Output {
    /// Sends a piece through the stages in turn, one step of output at a time. The recursion is as deep as the number of stages.
    fn push(&mut self, stages: &mut [Stage], mut piece: &[u8], wire_bytes: u64) -> Result<(), DecodeError> {
        let Some((stage, rest)) = stages.split_first_mut() else { return self.take(piece) };
        loop {
            let step = stage.step(piece);
            piece = &piece[step.read..];
            stage.produced += step.written as u64;
            self.push(rest, &stage.buffer[..step.written], wire_bytes)?;
            step.result?;
            // A bomb between two codings costs as much as one after the last, so each stage is held to the limits.
            let ratio = wire_bytes.saturating_mul(MAX_RATIO).max(RATIO_FROM);
            // A bomb that only makes tables costs as much, too.
            if stage.produced > ratio.min(self.max_bytes as u64) || stage.codec.tables() as u64 > ratio {
                return Err(DecodeError::TooLong);
            }
            if piece.is_empty() && step.written < stage.buffer.len() {
                return Ok(());
            }
        }
    }

    /// Takes the whole output, which is within the limit.
    fn take_whole(&mut self, bytes: Vec<u8>) {
        self.taken = bytes.len();
        if let Some(digest) = &mut self.digest {
            digest.update(&bytes);
        }
        self.bytes = bytes;
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), DecodeError> {
        let room = self.max_bytes - self.taken;
        let taken = &piece[..piece.len().min(room)];
        self.taken += taken.len();
        if let Some(digest) = &mut self.digest {
            digest.update(taken);
        }
        if self.is_kept {
            if self.bytes.capacity() == 0 {
                self.bytes.reserve_exact(self.expected.max(taken.len()));
            }
            self.bytes.extend_from_slice(taken);
        }
        if piece.len() > room { Err(DecodeError::TooLong) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;

    use super::*;
    use crate::crawl::http::codec::STEP;

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

    /// The body, whether it is complete, and the error that stopped it.
    fn decode(header: &str, wire: &[u8], piece: usize, max_bytes: usize) -> (Vec<u8>, bool, Option<DecodeError>) {
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

    /// As [`decode`], of a body whose pieces are gathered; also whether it was decoded as a whole.
    fn decode_gathered(wire: &[u8], piece: usize, max_bytes: usize) -> ((Vec<u8>, bool, Option<DecodeError>), bool) {
        let mut decoder = Decoder::new(std::iter::once("gzip"), max_bytes);
        let pieces = wire.chunks(piece).map(|piece| (piece, false)).chain([(&[][..], true)]);
        let (mut wire_bytes, mut stop, mut is_at_once) = (0, None, false);
        for (piece, is_last) in pieces {
            let Some(piece) = decoder.gather(Bytes::copy_from_slice(piece), is_last) else { continue };
            let size = decoder.whole_size(&piece);
            if size.is_some_and(|size| decoder.push_whole(&piece, size)) {
                is_at_once = true;
                continue;
            }
            wire_bytes += piece.len() as u64;
            stop = decoder.push(&piece, wire_bytes).err();
            if stop.is_some() {
                break;
            }
        }
        let whole = decoder.is_whole();
        ((decoder.into_bytes(), whole, stop), is_at_once)
    }

    /// What may follow a member.
    const ENDS: [&[u8]; 4] = [b"", b"\0\0", b"\x1f", b"\x1f\x8b\x08 and more"];

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
        fn no_part_takes_more_than_was_asked_for(
            bytes in proptest::collection::vec(0_u8..4, 0..100_000),
            coding in proptest::sample::select(&CODINGS[..]),
        ) {
            let wire = encode(coding, &bytes);
            let header = coding.replace("raw ", "");
            let mut decoder = Decoder::new(std::iter::once(&*header), 200_000);
            let mut wire_bytes = 0;
            for part in wire.chunks(PART) {
                wire_bytes += part.len() as u64;
                let most = decoder.held() + decoder.growth(part);
                decoder.push(part, wire_bytes).unwrap();
                prop_assert!(decoder.held() <= most, "{} of {most}", decoder.held());
            }
            prop_assert_eq!(decoder.into_bytes(), bytes);
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
        fn a_gathered_body_is_what_its_pieces_are(
            texts in proptest::collection::vec(proptest::collection::vec(0_u8..4, 0..50_000), 1..3),
            end in proptest::sample::select(&ENDS[..]),
            harm in proptest::option::of((any::<proptest::sample::Index>(), any::<u8>())),
            cut in proptest::option::of(any::<proptest::sample::Index>()),
            piece in 1_usize..70_000,
            max_bytes in proptest::sample::select(&[1_000, 40_000, 1 << 20][..]),
        ) {
            let members: Vec<_> = texts.iter().map(|text| encode("gzip", text)).collect();
            let mut wire = members.concat();
            wire.extend_from_slice(end);
            if let Some((at, byte)) = &harm {
                let at = at.index(wire.len());
                wire[at] = *byte;
            }
            if let Some(cut) = &cut {
                wire.truncate(cut.index(wire.len()));
            }
            let ((bytes, is_whole, stop), is_at_once) = decode_gathered(&wire, piece, max_bytes);
            let pieces = decode("gzip", &wire, 1_000, max_bytes);
            prop_assert!(bytes == pieces.0, "{} and {}", bytes.len(), pieces.0.len());
            prop_assert!(stop == pieces.2 && (stop.is_some() || is_whole == pieces.1), "{:?}", stop);
            let is_plain = texts.len() == 1 && end.is_empty() && harm.is_none() && cut.is_none();
            let is_within = (1..=max_bytes).contains(&texts[0].len()) && wire.len() <= MAX_GATHERED;
            prop_assert!(is_at_once == is_within || !is_plain, "{}", texts[0].len());
        }

        #[test]
        fn garbage_does_not_panic(
            coding in proptest::sample::select(&CODINGS[..]),
            garbage in proptest::collection::vec(any::<u8>(), 0..2_000),
        ) {
            decode(&coding.replace("raw ", ""), &garbage, 100, 1 << 16);
        }
    }

    #[test]
    fn a_bomb_stops_early() {
        for coding in CODINGS {
            let wire = encode(coding, &vec![0; 64 << 20]);
            let (bytes, _, stop) = decode(&coding.replace("raw ", ""), &wire, 16 * 1024, 10 << 20);
            assert_eq!(stop, Some(DecodeError::TooLong), "{coding}");
            assert!(bytes.len() <= 10 << 20);
            let twice = encode("gzip", &wire);
            let (bytes, _, stop) = decode(&format!("{},gzip", coding.replace("raw ", "")), &twice, 1_000, 10 << 20);
            assert_eq!(stop, Some(DecodeError::TooLong), "{coding}");
            assert!(
                bytes.len() as u64 <= RATIO_FROM.max(twice.len() as u64 * MAX_RATIO) + STEP as u64,
                "{}",
                bytes.len()
            );
        }
    }

    #[test]
    fn a_bomb_of_nothing_stops_too() {
        // Empty members cost time and give no output, also inside another coding.
        let members = encode("gzip", b"").repeat(10_000);
        assert_eq!(decode("gzip", &members, 4_096, 10 << 20), (vec![], false, Some(DecodeError::TooLong)));
        let wire = encode("br", &members.repeat(10));
        assert_eq!(decode("gzip, br", &wire, 4_096, 10 << 20).2, Some(DecodeError::TooLong));
    }

    #[test]
    fn exactly_the_cap_is_whole() {
        let wire = encode("gzip", &[7; 1_000]);
        assert_eq!(decode("gzip", &wire, 10, 1_000), (vec![7; 1_000], true, None));
        for (coding, wire) in [("gzip", &wire[..]), ("", &[7; 1_000])] {
            let (bytes, _, stop) = decode(coding, wire, 10, 999);
            assert!(bytes == [7; 999] && stop == Some(DecodeError::TooLong), "{coding}: {} {stop:?}", bytes.len());
        }
    }

    #[test]
    fn members_follow_one_another_and_garbage_ends_them() {
        for coding in ["gzip", "zstd"] {
            let mut wire = [encode(coding, b"one "), encode(coding, b"two")].concat();
            wire.extend(b"\0\0 garbage");
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
            assert!(decoder.refused().is_some(), "{header}");
            assert_eq!(decode(header, b"as it is", 3, 10), (b"as it is".to_vec(), true, None));
        }
        assert!(Decoder::new(["", "identity, GZIP;q=1"].into_iter(), 10).refused().is_none());
        for (body, is_raw) in [(&b"<p>\x1b[1m text \xff\n"[..], false), (b"\x1f\x8b", true), (b"", false)] {
            let mut decoder = Decoder::new(std::iter::once("utf-8"), 100);
            decoder.push(body, 100).unwrap();
            assert_eq!(decoder.is_raw(), is_raw, "{body:?}");
        }
    }

    #[test]
    fn a_wrong_coding_is_corrupt_and_an_empty_body_is_whole() {
        for coding in ["gzip", "zstd", "br", "deflate"] {
            assert!(
                matches!(decode(coding, b"<html>plain text</html>", 5, 100).2, Some(DecodeError::Corrupt(_))),
                "{coding}"
            );
            assert_eq!(decode(coding, b"", 5, 100), (vec![], true, None));
        }
    }

    /// A brotli stream that makes 3 MB of tables before any output, after `metadata` bytes of ignored metadata.
    fn tables_of_brotli(metadata: usize) -> Vec<u8> {
        let mut bits: Vec<bool> = Vec::new();
        let mut put = |value: usize, count: u32| bits.extend((0..count).map(|bit| value >> bit & 1 == 1));
        // A window of 64 KiB. Then a block of metadata with a length of two bytes; its content begins at a byte boundary.
        put(0, 1);
        put(0, 1);
        put(0b11, 2);
        put(0, 1);
        put(2, 2);
        put(metadata - 1, 16);
        put(0, 1);
        for _ in 0..metadata {
            put(0, 8);
        }
        // A block of 65,536 bytes with 256 types of each kind; each kind's codes have one symbol.
        put(0, 1);
        put(0, 2);
        put(0xffff, 16);
        put(0, 1);
        let many = |put: &mut dyn FnMut(usize, u32)| {
            put(0b1111, 4);
            put(127, 7);
        };
        for _ in 0..3 {
            many(&mut put);
            put(0b0001, 4);
            put(0, 9);
            put(0b0001, 4);
            put(0, 5);
            put(0, 2);
        }
        put(0, 6);
        for _ in 0..256 {
            put(0, 2);
        }
        // Two maps to 256 codes, without runs.
        for _ in 0..2 {
            many(&mut put);
            put(0, 1);
            put(0b0001, 4);
            put(0, 8);
            put(0, 1);
        }
        put(0, 32);
        bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit))).collect()
    }

    #[test]
    fn tables_count() {
        let wire = tables_of_brotli(4_000);
        let mut decoder = Decoder::new(std::iter::once("br"), 1 << 20);
        let may_hold = decoder.held() + decoder.growth(&wire);
        decoder.push(&wire, wire.len() as u64).unwrap();
        assert!(decoder.held() > 3 << 20 && decoder.produced() == 0, "{}", decoder.held());
        assert!(decoder.held() <= may_hold, "{} of {may_hold}", decoder.held());
        let wire = tables_of_brotli(300);
        assert!(wire.len() < 500);
        assert_eq!(decode("br", &wire, 4_096, 1 << 20), (vec![], false, Some(DecodeError::TooLong)), "a bomb");
    }

    #[test]
    fn a_zstd_window_over_8_mib_is_refused() {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.set_parameter(zstd::zstd_safe::CParameter::WindowLog(27)).unwrap();
        encoder.write_all(&vec![1; 100_000]).unwrap();
        let wire = encoder.finish().unwrap();
        assert_eq!(decode("zstd", &wire, 4_096, 1 << 20).2, Some(DecodeError::Corrupt("zstd")));
    }
}
