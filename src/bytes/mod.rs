//! Bytes on disk, and nothing about what they mean. The lowest floor: the seen set, the frontier
//! and the job write their files with it, and it knows none of them.
//!
//! * [`varint`]: a number in as few bytes as it takes, for what there are billions of.
//! * [`Fields`]: numbers and texts one behind the other, in places that a page of the format lists.
//! * [`frames`](FrameWriter): how a file is cut into pieces, each behind its length and before its
//!   checksum. Seen sets and checkpoints are made of these. The journal has frames of its own, four
//!   bytes shorter: it has one for each URL, and reads one by itself from anywhere.
//! * [`Header`]: the first 32 bytes of each file in a job's `frontier/`: what it is, in which
//!   format, and whose.
//! * [`checksum`]: the one that all of them are checked by. [`address`](crate::address) names the
//!   same hash function for its fingerprints; if these are made in another way one day, files stay
//!   readable.
//! * [`FileError`]: what can be wrong with any file, said with its path.
//!
//! A reader never believes a length: what a damaged one claims is allocated only as far as the
//! bytes are there.

mod checksum;
mod fields;
mod file_error;
mod frames;
mod header;
pub(crate) mod varint;

pub(crate) use checksum::checksum;
pub(crate) use fields::Fields;
pub use file_error::FileError;
pub(crate) use frames::{FrameError, FrameReader, FrameWriter, HEAD_OF_FRAME, open_frame, size_of_frame};
pub(crate) use header::Header;
