//! Bytes on disk, and nothing about their meaning. This is the lowest module: the seen set, the frontier and the job write their files with
//! it, and it imports none of them.
//!
//! * [`varint`]: a number in as few bytes as it needs, for the fields of small, frequent records.
//! * [`Fields`]: numbers and texts one after another, in the order that the format's page lists.
//! * [`frames`](FrameWriter): a file cut into pieces, each with its length before it and its
//!   checksum after it. Seen sets and checkpoints are made of these. The journal has its own
//!   frames, four bytes shorter: it has one for each URL, and reads any of them by itself.
//! * [`Header`]: the first 32 bytes of each file in a job's `frontier/`: the kind of file, its
//!   format, and its job.
//! * [`checksum`]: the checksum of all of them. Fingerprints are made by the same hash function, but
//!   [`address`](crate::address) names it on its own: if fingerprints change one day, these files stay
//!   readable.
//! * [`FileError`]: what can be wrong with any file, including its path.
//! * [`nameless`]: a file that only this process can reach.
//! * [runs](RunFile): files of records in order, which are searched and merged.
//!
//! # Damage
//!
//! A file may hold anything: a disk fails, a power cut tears a write, a copy stops halfway.
//! Every reader here answers with an error that says what is wrong and at which byte. None panics,
//! and none trusts a length: memory is allocated only for bytes that are really there.
//!
//! # Which of them to use for a new file
//!
//! A file that is read as a whole takes a [`Header`] and [`frames`](FrameWriter), with [`Fields`]
//! inside each frame. A small, frequent record takes [`varint`]s inside a frame of the journal. A
//! file that only one process ever reads needs none of this; a [`RunFile`] is such a file.

mod file;
pub(crate) mod frames;
mod nameless;
mod run;
pub mod varint;

pub use file::FileError;
pub(crate) use file::Header;
pub(crate) use frames::{
    Fields, FrameError, FrameReader, FrameWriter, HEAD_OF_FRAME, RunningChecksum, checksum, half_checksum, open_frame,
    size_of_frame,
};
pub(crate) use nameless::is_leftover;
pub use nameless::nameless;
pub(crate) use run::{BlockWriter, RunIndex};
pub use run::{Merge, PAGE, RunCursor, RunFile, RunFileWriter, key_of};
