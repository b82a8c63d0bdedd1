//! Frames: how a snapshot is cut into pieces that are checked one by one.
//!
//! ```text
//! frame:  length    4 bytes, of the payload, at most 65,536
//!         payload   length bytes
//!         checksum  8 bytes, XXH3-64 of the payload, seeded with the frame's number from 0
//! ```
//!
//! All numbers are little-endian. The seed tells frames apart that changed places.

use std::io::{self, ErrorKind, Read, Write};

use super::SnapshotError;
use crate::address::FingerprintKey;

/// The longest payload.
pub(super) const MAX_PAYLOAD: usize = 1 << 16;

fn checksum(payload: &[u8], number: u64) -> u64 {
    FingerprintKey::from_u64(number).fingerprint_bytes(payload).bits()
}

/// Writes frames, holding one at a time.
pub(super) struct FrameWriter<W> {
    to: W,
    number: u64,
    payload: Vec<u8>,
}

impl<W: Write> FrameWriter<W> {
    pub(super) fn new(to: W) -> Self {
        Self { to, number: 0, payload: Vec::with_capacity(MAX_PAYLOAD) }
    }

    /// Appends to the frame.
    pub(super) fn put<const N: usize>(&mut self, bytes: [u8; N]) -> &mut Self {
        self.payload.extend(bytes);
        self
    }

    /// Ends the frame; the next one begins.
    pub(super) fn end(&mut self) -> io::Result<()> {
        let length = u32::try_from(self.payload.len()).expect("frames are cut at 64 KiB");
        self.to.write_all(&length.to_le_bytes())?;
        self.to.write_all(&self.payload)?;
        self.to.write_all(&checksum(&self.payload, self.number).to_le_bytes())?;
        self.payload.clear();
        self.number += 1;
        Ok(())
    }

    /// Writes words, in as many frames as they take.
    pub(super) fn words(&mut self, words: &[u64]) -> io::Result<()> {
        for piece in words.chunks(MAX_PAYLOAD / 8) {
            self.payload.extend(piece.iter().flat_map(|word| word.to_le_bytes()));
            self.end()?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.end()?;
        self.to.flush()
    }
}

/// Reads frames, holding one at a time.
pub(super) struct FrameReader<R> {
    from: R,
    number: u64,
    /// Where the next frame begins in the file, in bytes.
    offset: u64,
    payload: Vec<u8>,
}

impl<R: Read> FrameReader<R> {
    /// `offset`: bytes that were read from the file before.
    pub(super) fn new(from: R, offset: u64) -> Self {
        Self { from, number: 0, offset, payload: Vec::new() }
    }

    /// The next frame, checked.
    pub(super) fn next(&mut self) -> Result<Fields<'_>, SnapshotError> {
        let mut length = [0; 4];
        read_exact(&mut self.from, &mut length, self.offset)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_PAYLOAD {
            return Err(SnapshotError::Damaged { offset: self.offset, reason: "a frame longer than 64 KiB" });
        }
        self.payload.resize(length, 0);
        read_exact(&mut self.from, &mut self.payload, self.offset)?;
        let mut found = [0; 8];
        read_exact(&mut self.from, &mut found, self.offset)?;
        if u64::from_le_bytes(found) != checksum(&self.payload, self.number) {
            return Err(SnapshotError::Damaged { offset: self.offset, reason: "the checksum does not match" });
        }
        let fields = Fields { rest: &self.payload, offset: self.offset };
        self.offset += 4 + length as u64 + 8;
        self.number += 1;
        Ok(fields)
    }

    /// Where the next frame begins, in bytes.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads so many words, from as many frames as they take; `each` gets them with the place of the first.
    pub(super) fn words(&mut self, count: usize, mut each: impl FnMut(usize, &[u64])) -> Result<(), SnapshotError> {
        let mut words = Vec::with_capacity(count.min(MAX_PAYLOAD / 8));
        let mut at = 0;
        while at < count {
            let fields = self.next()?;
            let (pieces, rest) = fields.rest.as_chunks();
            if pieces.len() != (count - at).min(MAX_PAYLOAD / 8) || !rest.is_empty() {
                return Err(fields.damaged("a frame of another length than expected"));
            }
            words.clear();
            words.extend(pieces.iter().map(|bytes| u64::from_le_bytes(*bytes)));
            each(at, &words);
            at += words.len();
        }
        Ok(())
    }

    /// The last frame is empty, and nothing follows it.
    pub(super) fn finish(mut self) -> Result<(), SnapshotError> {
        self.next()?.end()?;
        let offset = self.offset;
        match self.from.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(SnapshotError::Damaged { offset, reason: "bytes after the end" }),
            Err(source) => Err(SnapshotError::Read { offset, source }),
        }
    }
}

/// A frame's payload, field by field.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    offset: u64,
}

impl Fields<'_> {
    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N], SnapshotError> {
        let Some((bytes, rest)) = self.rest.split_first_chunk() else {
            return Err(self.damaged("a frame shorter than its fields"));
        };
        self.rest = rest;
        Ok(*bytes)
    }

    pub(super) fn u8(&mut self) -> Result<u8, SnapshotError> {
        self.take().map(|[byte]| byte)
    }

    pub(super) fn u32(&mut self) -> Result<u32, SnapshotError> {
        self.take().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, SnapshotError> {
        self.take().map(u64::from_le_bytes)
    }

    pub(super) fn f64(&mut self) -> Result<f64, SnapshotError> {
        self.take().map(f64::from_le_bytes)
    }

    pub(super) fn end(&self) -> Result<(), SnapshotError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.damaged("a frame longer than its fields")) }
    }

    pub(super) fn damaged(&self, reason: &'static str) -> SnapshotError {
        SnapshotError::Damaged { offset: self.offset, reason }
    }
}

/// Fills the buffer; where the file ends before, says where the frame began.
pub(super) fn read_exact(from: &mut impl Read, buffer: &mut [u8], offset: u64) -> Result<(), SnapshotError> {
    from.read_exact(buffer).map_err(|source| match source.kind() {
        ErrorKind::UnexpectedEof => SnapshotError::Short { offset },
        _ => SnapshotError::Read { offset, source },
    })
}
