//! The journal on disk: what was admitted, in the order in which it was, behind checksums.
//!
//! It is cut into *segments*, files named by the position at which they begin, 12 hexadecimal digits. A *position* is a byte's
//! place in all segments laid end to end, headers and all; it fits 48 bits. All numbers are little-endian.
//!
//! ```text
//! journal-000000000000              journal-000004000017
//! ┌────────┬───────┬───────┬──┐     ┌────────┬───────┬──
//! │ header │ frame │ frame │..│     │ header │ frame │ ..
//! └────────┴───────┴───────┴──┘     └────────┴───────┴──
//! 0        32                       0x4000017
//!
//! header:   0  magic     8 bytes, "journal\n"
//!           8  version   u32, 1
//!          12  job       u64, the job's id
//!          20  start     u64, the position of the header's first byte
//!          28  checksum  u32, of bytes 0 to 27, seeded with 0
//!
//! frame:    0  checksum  u32, of what follows, seeded with the job's id XOR the frame's position
//!           4  length    u24, of the payload
//!           7  kind      u8
//!           8  payload   length bytes
//!
//! kind 1, admitted:
//!           0  flags     u8: bits 0 and 1 how it was found (0 seed, 1 link, 2 redirect), bit 2 there is a referrer
//!           1  priority  u8
//!           2  redirects u8
//!           3  depth     u32
//!           7  referrer  u64, a position; only where there is one
//!              wire URL  the rest, UTF-8
//! ```
//!
//! A checksum is the lower half of XXH3-64. Its seed tells a frame from one that stood elsewhere, or in another job, and was left
//! behind in a reused block of the disk. Kinds 2 (outcome) and 3 (host event) are kept free for what is to come; a kind that
//! is not known is refused.
//!
//! A segment is whole on disk before the next one is begun, and its header before its first frame. So a crash can only tear the
//! end of the last segment, and [`open`](FileJournal::open) cuts that off; damage anywhere else is an error that says where. Of
//! the last segment nobody can tell a torn end from damage: what is cut off is reported, and the first bad frame ends it. What is
//! left of it is written anew, beside, as `NAME.new`, and renamed into place.
//!
//! Where a checkpoint holds what the oldest segments tell, they can be [removed](FileJournal::remove_before): the first one need
//! not begin at 0.

mod error;
mod file;
mod frame;
mod record;
mod recovery;
mod segment;
mod storage;
mod window;

pub use error::JournalError;
pub use file::{FileJournal, JournalOptions, SyncPolicy};
pub use record::Record;
pub use recovery::{Cut, Recovery};
pub use storage::{Disk, Storage};
