//! The header that each file of a job's `frontier/` begins with.
//!
//! ```text
//! header:   0  magic     8 bytes: what the file is
//!           8  version   u32, of its format
//!          12  job       u64, the job's id
//!          20  number    u64: which of its kind it is
//!          28  checksum  u32, of bytes 0 to 27, seeded with 0
//! ```
//!
//! Every later format keeps a header of this size and with this checksum, so that a file of a later
//! format can be told from a damaged one.

use std::path::Path;

use super::{Fields, FileError, half_checksum};

/// A file's kind, format and job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) magic: [u8; 8],
    /// The format that is written, and the latest that can be read.
    pub(crate) version: u32,
    pub(crate) job: u64,
    pub(crate) number: u64,
}

/// The bytes that the checksum covers.
const CHECKED: usize = 28;

impl Header {
    /// Bytes of a header, in every format.
    pub(crate) const SIZE: usize = 32;

    /// The header as it stands in the file, with its checksum.
    pub(crate) fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..8].copy_from_slice(&self.magic);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.job.to_le_bytes());
        bytes[20..CHECKED].copy_from_slice(&self.number.to_le_bytes());
        let checksum = half_checksum(0, &bytes[..CHECKED]);
        bytes[CHECKED..].copy_from_slice(&checksum);
        bytes
    }

    /// Checks that these bytes, the beginning of the file at `path`, are this header.
    ///
    /// If several things are wrong, the error names the first of these: another kind of file, damage, a later format, another
    /// job.
    pub(crate) fn check(&self, bytes: &[u8], path: &Path) -> Result<(), FileError> {
        let damaged = |reason| FileError::Damaged { path: path.to_owned(), offset: 0, reason };
        let Some(bytes) = bytes.first_chunk::<{ Self::SIZE }>() else {
            return Err(damaged("the header is cut short"));
        };
        let found = Self::read(bytes).map_err(damaged)?;
        if found.magic != self.magic {
            return Err(damaged("the header is another kind of file's"));
        }
        if bytes[CHECKED..] != half_checksum(0, &bytes[..CHECKED]) {
            return Err(damaged("the header's checksum does not match"));
        }
        if found.version > self.version {
            return Err(FileError::Newer { path: path.to_owned(), found: found.version, supported: self.version });
        }
        if found.job != self.job {
            return Err(FileError::Foreign { path: path.to_owned(), found: found.job, expected: self.job });
        }
        if found != *self {
            return Err(damaged("the header is another file's"));
        }
        Ok(())
    }

    /// The fields of a header, whatever its checksum.
    fn read(bytes: &[u8]) -> Result<Self, &'static str> {
        let mut fields = Fields::of(bytes);
        Ok(Self { magic: fields.take()?, version: fields.u32()?, job: fields.u64()?, number: fields.u64()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_told() {
        let header = Header { magic: *b"a thing\n", version: 2, job: 3, number: 4 };
        let check = |bytes: &[u8]| header.check(bytes, Path::new("f")).map_err(|error| error.to_string());
        let bytes = header.to_bytes();
        assert_eq!(check(&[&bytes[..], b"more"].concat()), Ok(()));
        assert_eq!(check(&bytes[..31]).unwrap_err(), "f is damaged at byte 0: the header is cut short");
        for place in 0..Header::SIZE {
            let mut flipped = bytes;
            flipped[place] ^= 1;
            let told = if place < 8 { "header is another kind of file's" } else { "header's checksum does not match" };
            assert_eq!(check(&flipped).unwrap_err(), format!("f is damaged at byte 0: the {told}"));
        }
        for (other, told) in [
            (Header { magic: *b"another\n", ..header }, "f is damaged at byte 0: the header is another kind of file's"),
            (Header { version: 3, ..header }, "f has format 3; this version of crawler knows formats up to 2"),
            (Header { version: 1, ..header }, "f is damaged at byte 0: the header is another file's"),
            (Header { job: 5, ..header }, "f belongs to job 0000000000000005, not to 0000000000000003"),
            (Header { number: 5, ..header }, "f is damaged at byte 0: the header is another file's"),
        ] {
            assert_eq!(check(&other.to_bytes()).unwrap_err(), told);
        }
    }
}
