//! Frames: a file is cut into pieces that are checked one by one. A reader holds one frame at a time, so a file of any size takes little
//! memory, and damage is reported by frame. Also here: the checksum of everything that is written to disk, and the fields inside a frame.
//!
//! ```text
//! frame:  length    4 bytes, of the payload
//!         payload   length bytes
//!         checksum  8 bytes, of the payload, seeded with the file's seed XOR the frame's number from 0
//! ```
//!
//! All numbers are little-endian. Because of the seed, a frame that was moved to another place, in the same file or in another, is invalid.

use std::io::{self, ErrorKind, Read, Write};

use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

use super::varint;

/// Bytes of a frame before its payload.
pub(crate) const HEAD_OF_FRAME: usize = 4;
/// Bytes of a frame after its payload.
const TAIL: usize = 8;

/// Words of 8 bytes in a full frame: 64 KiB.
const WORDS: usize = 8192;

/// The length of a frame with this many bytes of payload.
pub(crate) const fn size_of_frame(payload: usize) -> u64 {
    (HEAD_OF_FRAME + payload + TAIL) as u64
}

/// Checks a frame that was read by itself, and returns its payload. It is frame `number` of a file with
/// this seed.
pub(crate) fn open_frame(frame: &[u8], seed: u64, number: u64) -> Result<&[u8], &'static str> {
    let parts = frame.split_last_chunk().and_then(|(rest, found)| Some((rest.split_first_chunk()?, found)));
    let ((length, payload), found) = parts.ok_or("the file is cut short")?;
    if u32::from_le_bytes(*length) as usize != payload.len() {
        return Err("a frame whose length does not match");
    }
    if u64::from_le_bytes(*found) != checksum(seed ^ number, payload) {
        return Err(MISMATCH);
    }
    Ok(payload)
}

/// The error if the payload has changed, or was written to another place.
const MISMATCH: &str = "the checksum does not match";

/// Writes frames. Holds one at a time.
pub(crate) struct FrameWriter<W> {
    to: W,
    seed: u64,
    number: u64,
    payload: Vec<u8>,
}

impl<W: Write> FrameWriter<W> {
    /// Frames with this seed. Bytes before the first frame, such as a header, are already written.
    pub(crate) fn new(to: W, seed: u64) -> Self {
        Self { to, seed, number: 0, payload: Vec::new() }
    }

    /// Appends to the current frame.
    pub(crate) fn put(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.payload.extend_from_slice(bytes.as_ref());
        self
    }

    /// Ends the current frame and begins the next.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        let length = u32::try_from(self.payload.len()).map_err(|_| io::Error::other("a frame of 4 GiB"))?;
        self.to.write_all(&length.to_le_bytes())?;
        self.to.write_all(&self.payload)?;
        self.to.write_all(&checksum(self.seed ^ self.number, &self.payload).to_le_bytes())?;
        self.payload.clear();
        self.number += 1;
        Ok(())
    }

    /// Writes words in frames of 64 KiB; the last frame may be shorter.
    pub(crate) fn words(&mut self, words: &[u64]) -> io::Result<()> {
        for piece in words.chunks(WORDS) {
            let begin = self.payload.len();
            self.payload.resize(begin + size_of_val(piece), 0);
            // The speed of a copy byte by byte depended on the rest of the crate.
            let (places, _) = self.payload[begin..].as_chunks_mut();
            places.iter_mut().zip(piece).for_each(|(place, word)| *place = word.to_le_bytes());
            self.end()?;
        }
        Ok(())
    }

    /// Writes one word, for a caller that does not hold all of them. The frames are the same as those of
    /// [`words`](Self::words); call [`end_words`](Self::end_words) after the last word.
    pub(crate) fn word(&mut self, word: u64) -> io::Result<()> {
        self.put(word.to_le_bytes());
        if self.payload.len() < WORDS * size_of::<u64>() { Ok(()) } else { self.end() }
    }

    /// Ends the frame that holds the last words.
    pub(crate) fn end_words(&mut self) -> io::Result<()> {
        if self.payload.is_empty() { Ok(()) } else { self.end() }
    }

    /// Writes the empty frame that ends a file.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.end()?;
        self.to.flush()?;
        Ok(self.to)
    }

    /// The writer that the frames go to.
    pub(crate) fn to(&mut self) -> &mut W {
        &mut self.to
    }
}

/// Reads frames. Holds one at a time.
pub(crate) struct FrameReader<R> {
    from: R,
    seed: u64,
    /// The longest payload that is allowed, in bytes.
    most: u32,
    number: u64,
    /// Where in the file the last frame that was read begins.
    offset: u64,
    /// Where in the file the next frame begins.
    next: u64,
    payload: Vec<u8>,
}

impl<R: Read> FrameReader<R> {
    /// The frames of a reader that is at the beginning of its file. A payload longer than `most` bytes
    /// counts as damage.
    pub(crate) fn new(from: R, seed: u64, most: u32) -> Self {
        Self { from, seed, most, number: 0, offset: 0, next: 0, payload: Vec::new() }
    }

    /// The next `N` bytes, such as a header before the first frame.
    pub(crate) fn raw<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        self.offset = self.next;
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        self.next += N as u64;
        Ok(bytes)
    }

    /// The payload of the next frame, checked.
    pub(crate) fn next(&mut self) -> Result<&[u8], FrameError> {
        self.offset = self.next;
        let (mut length, mut found) = ([0; HEAD_OF_FRAME], [0; TAIL]);
        self.fill(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length > self.most {
            return Err(self.damaged("a frame longer than its format allows"));
        }
        self.payload.clear();
        let read = self.from.by_ref().take(length.into()).read_to_end(&mut self.payload);
        match read {
            Ok(read) if read < length as usize => return Err(FrameError::Short { offset: self.offset }),
            Ok(_) => {}
            Err(source) => return Err(FrameError::Read { offset: self.offset, source }),
        }
        self.fill(&mut found)?;
        if u64::from_le_bytes(found) != checksum(self.seed ^ self.number, &self.payload) {
            return Err(self.damaged(MISMATCH));
        }
        self.next += size_of_frame(length as usize);
        self.number += 1;
        Ok(&self.payload)
    }

    /// Reads all of the next frame, field by field.
    pub(crate) fn fields<T>(
        &mut self,
        read: impl FnOnce(&mut Fields<'_>) -> Result<T, &'static str>,
    ) -> Result<T, FrameError> {
        let mut fields = Fields::of(self.next()?);
        let read = read(&mut fields).and_then(|read| fields.end().map(|()| read));
        read.map_err(|reason| self.damaged(reason))
    }

    /// Reads `count` words, from as many frames as they take. `each` gets the words of one frame at a
    /// time, with the index of the first one.
    pub(crate) fn words(
        &mut self,
        count: usize,
        mut each: impl FnMut(usize, &[u64]) -> Result<(), &'static str>,
    ) -> Result<(), FrameError> {
        let mut words = Vec::with_capacity(count.min(WORDS));
        let mut at = 0;
        while at < count {
            let (pieces, rest) = self.next()?.as_chunks();
            let is_whole = pieces.len() == (count - at).min(WORDS) && rest.is_empty();
            words.clear();
            words.extend(pieces.iter().map(|bytes| u64::from_le_bytes(*bytes)));
            let read = if is_whole { each(at, &words) } else { Err("a frame of an unexpected length") };
            read.map_err(|reason| self.damaged(reason))?;
            at += words.len();
        }
        Ok(())
    }

    /// Where in the file the last frame that was read begins, in bytes.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Where in the file the next frame begins, in bytes.
    pub(crate) fn next_offset(&self) -> u64 {
        self.next
    }

    /// The error if the content of the last frame that was read is wrong.
    pub(crate) fn damaged(&self, reason: &'static str) -> FrameError {
        FrameError::Damaged { offset: self.offset, reason }
    }

    /// Checks that the file ends here, with the empty frame.
    pub(crate) fn finish(&mut self) -> Result<(), FrameError> {
        self.fields(|_| Ok(()))?;
        self.end()
    }

    /// Checks that nothing follows the last frame that was read.
    pub(crate) fn end(&mut self) -> Result<(), FrameError> {
        self.offset = self.next;
        match self.from.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(self.damaged("bytes after the end")),
            Err(source) => Err(FrameError::Read { offset: self.offset, source }),
        }
    }

    /// Fills the buffer; a file that ends before the buffer is full is cut short.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), FrameError> {
        let offset = self.offset;
        self.from.read_exact(buffer).map_err(|source| match source.kind() {
            ErrorKind::UnexpectedEof => FrameError::Short { offset },
            _ => FrameError::Read { offset, source },
        })
    }
}

/// Why a frame cannot be read. `offset` is where the frame begins in the file, in bytes.
#[derive(Debug)]
pub(crate) enum FrameError {
    Damaged { offset: u64, reason: &'static str },
    Read { offset: u64, source: io::Error },
    Short { offset: u64 },
}

/// The XXH3 hash, 64 bits. The `seed` depends on where the bytes are, so bytes that were moved to another place fail the check.
///
/// It finds accidental damage, not forgery: anybody who can write the file can write the checksum too.
pub fn checksum(seed: u64, bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, seed)
}

/// The lower half of a [`checksum`], for headers, receipts and the journal's records. It saves four bytes a record, and misses one damaged
/// place in four billion.
pub fn half_checksum(seed: u64, bytes: &[u8]) -> [u8; 4] {
    let [a, b, c, d, ..] = checksum(seed, bytes).to_le_bytes();
    [a, b, c, d]
}

/// A [`checksum`] with the seed 0, of bytes that come in pieces.
#[derive(Clone, Default)]
pub struct RunningChecksum(Box<Xxh3>);

impl RunningChecksum {
    /// Takes the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The checksum of all pieces.
    pub fn finish(&self) -> u64 {
        self.0.digest()
    }
}

impl std::fmt::Debug for RunningChecksum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RunningChecksum").field(&self.finish()).finish()
    }
}

/// Takes bytes off the front, field by field. Numbers are little-endian.
///
/// A text or a part borrows from the bytes, so a damaged length allocates nothing. An error is a few
/// words on what is wrong. The caller knows the file and the place, and adds them.
pub struct Fields<'a>(&'a [u8]);

#[expect(clippy::missing_errors_doc, reason = "each fails where too few bytes are left, or where they mean nothing")]
impl<'a> Fields<'a> {
    /// The fields in these bytes.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next `N` bytes.
    pub fn take<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        let (&bytes, rest) = self.0.split_first_chunk().ok_or(SHORT)?;
        self.0 = rest;
        Ok(bytes)
    }

    /// The next byte.
    pub fn u8(&mut self) -> Result<u8, &'static str> {
        self.take().map(|[byte]| byte)
    }

    /// One of these variants: the next byte is its index in the list.
    pub(crate) fn variant<T: Copy>(&mut self, variants: &[T]) -> Result<T, &'static str> {
        let code = usize::from(self.u8()?);
        variants.get(code).copied().ok_or("an unknown code")
    }

    /// The next two bytes, as a number.
    pub fn u16(&mut self) -> Result<u16, &'static str> {
        self.take().map(u16::from_le_bytes)
    }

    /// The next four bytes, as a number.
    pub fn u32(&mut self) -> Result<u32, &'static str> {
        self.take().map(u32::from_le_bytes)
    }

    /// The next eight bytes, as a number.
    pub fn u64(&mut self) -> Result<u64, &'static str> {
        self.take().map(u64::from_le_bytes)
    }

    /// A number of variable length: a [`varint`].
    pub fn varint(&mut self) -> Result<u64, &'static str> {
        varint::number(&mut self.0).ok_or(SHORT)
    }

    /// The next eight bytes, as an IEEE 754 number; it may be NaN or infinite.
    pub(crate) fn f64(&mut self) -> Result<f64, &'static str> {
        self.take().map(f64::from_le_bytes)
    }

    /// The next `length` bytes, as fields to be read on their own.
    pub fn part(&mut self, length: usize) -> Result<Self, &'static str> {
        let (part, rest) = self.0.split_at_checked(length).ok_or(SHORT)?;
        self.0 = rest;
        Ok(Self(part))
    }

    /// The next `length` bytes, as text.
    pub fn text(&mut self, length: usize) -> Result<&'a str, &'static str> {
        self.part(length)?.rest()
    }

    /// All that is left.
    pub fn bytes(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// All that is left, as text.
    pub fn rest(&mut self) -> Result<&'a str, &'static str> {
        str::from_utf8(self.bytes()).map_err(|_| "a text that is not UTF-8")
    }

    /// Checks that nothing is left.
    pub fn end(&self) -> Result<(), &'static str> {
        if self.0.is_empty() { Ok(()) } else { Err("a frame longer than its fields") }
    }
}

/// The error if the bytes end within a field.
const SHORT: &str = "a frame shorter than its fields";

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: u64 = 7;

    fn file() -> Vec<u8> {
        let mut frames = FrameWriter::new(b"magic".to_vec(), SEED);
        frames.put(*b"one").put([1; 30]).end().unwrap();
        let words: Vec<u64> = (0..20_000).collect();
        frames.words(&words).unwrap();
        let mut one_by_one = FrameWriter { to: Vec::new(), seed: SEED, number: 1, payload: Vec::new() };
        (0..20_000).try_for_each(|word| one_by_one.word(word)).and_then(|()| one_by_one.end_words()).unwrap();
        assert!(frames.to.ends_with(&one_by_one.to));
        frames.finish().unwrap()
    }

    fn read(file: &[u8]) -> Result<(), FrameError> {
        let mut frames = FrameReader::new(file, SEED, 1 << 16);
        assert_eq!(&frames.raw::<5>()?, b"magic");
        frames.fields(|fields| {
            assert_eq!((fields.take()?, fields.bytes()), (*b"one", &[1; 30][..]));
            Ok(())
        })?;
        frames.words(20_000, |at, words| {
            assert!(words.iter().copied().eq((at..at + words.len()).map(|word| word as u64)));
            Ok(())
        })?;
        frames.finish()
    }

    #[test]
    fn what_was_written_is_read() {
        read(&file()).unwrap();
        assert_eq!(file().len(), 5 + (12 + 33) + 3 * 12 + 20_000 * 8 + 12);
    }

    #[test]
    fn damage_is_reported_where_its_frame_begins() {
        let file = file();
        let begins = [5, 5 + 12 + 33, 62 + (1 << 16), 74 + (2 << 16), 5 + (12 + 33) + 3 * 12 + 20_000 * 8, file.len()];
        for place in (5..file.len()).filter(|place| place % 97 == 0 || place % (1 << 16) < 90) {
            let begin = begins.into_iter().rfind(|begin| *begin <= place).unwrap() as u64;
            let mut flipped = file.clone();
            flipped[place] ^= 1 << (place % 8);
            match read(&flipped) {
                Err(FrameError::Damaged { offset, .. } | FrameError::Short { offset }) => assert_eq!(offset, begin),
                other => panic!("byte {place}: {other:?}"),
            }
            match read(&file[..place]) {
                Err(FrameError::Short { offset }) => assert_eq!(offset, begin),
                other => panic!("{place} bytes: {other:?}"),
            }
        }
        match read(&[&file[..], b"x"].concat()) {
            Err(FrameError::Damaged { offset, .. }) => assert_eq!(offset, file.len() as u64),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_frame_passes_only_in_its_place() {
        let mut frames = FrameWriter::new(Vec::new(), SEED);
        for payload in [b"a", b"b"] {
            frames.put(payload).end().unwrap();
        }
        let file = frames.to().clone();
        let size = 4 + 1 + 8;
        assert_eq!(open_frame(&file[size..], SEED, 1), Ok(&b"b"[..]));
        assert_eq!(open_frame(&file[size..], SEED, 0), Err(MISMATCH));
        assert_eq!(open_frame(&file[size..], SEED + 4, 1), Err(MISMATCH));
        assert_eq!(open_frame(&file[size + 1..], SEED, 1), Err("a frame whose length does not match"));
        assert_eq!(open_frame(&file[..5], SEED, 0), Err("the file is cut short"));
    }

    /// A length is not trusted: the claimed bytes are not allocated.
    #[test]
    fn a_length_beyond_the_file_takes_no_memory() {
        let mut frames = FrameReader::new(&[0xff, 0xff, 0xff, 0xff, 1, 2, 3][..], 0, u32::MAX);
        assert!(matches!(frames.next(), Err(FrameError::Short { offset: 0 })));
        assert!(frames.payload.capacity() < 1 << 20);
    }
}
