//! Checkpoints: a frontier as it was, so that a resume replays the journal's last minute and not its last month.
//!
//! A checkpoint is three files. The third is written last, and renamed into place when the first two are safe on disk: where it
//! is, they are whole. The last two checkpoints are kept; where the newest is damaged, the one before serves, with a longer
//! replay. No number is given twice: files of two tries never meet.
//!
//! ```text
//! hosts-N         header, then a frame for each slice, of the schedule where there is one, then of the hosts; then an empty one
//! seen-N          a snapshot of the seen set, as `crawler seen info` reads it; none while nothing was seen
//! checkpoint-N    header, then one frame: the summary
//!
//! header:   0  magic     8 bytes, "hosts\n\0\0" or "checkpt\n"
//!           8  version   u32, 1
//!          12  job       u64, the job's id
//!          20  number    u64, N
//!          28  checksum  u32, of bytes 0 to 27, seeded with 0
//!
//! frame:    0  length    u32, of the payload
//!           4  position  u64, where the journal ended
//!          12  payload   length bytes
//!              checksum  u64, XXH3-64 of the payload, seeded with XXH3-64 of the position, seeded with N XOR the
//!                        frame's number, from 0
//!
//! summary:  0  flags     u8: bit 0 there is a seen set; bits 1 to 6 the rules on keys, in their order in `crawler.toml`
//!           1  from      u64, the position from which the journal is to be replayed
//!           9  slices    u32
//!          13  admitted, completed, retries, output, leased   u64 each
//!          53  refused   u32 how many; for each a name (u32 length, text) and a u64
//!              roots     u32 how many; for each u32 length, text
//!              dropped   u32 how many; for each a parameter that keys leave out, as the roots
//!              segments  u32 how many of the journal are needed before `from`; for each its start and end, u64 each
//!              extra     the rest: what the owner of the frontier keeps
//! ```
//!
//! All numbers are little-endian. A slice is what [`Frontier::save`](crate::frontier::Frontier::save) wrote, with the position at which it
//! did; the summary's position is that of the counts. The frontier is locked for one slice at a time, and so nobody waits long.
//!
//! The order is schedule, hosts, seen set, counts. What left the schedule before that was saved is in its host's slice, which is
//! saved later. While the counts are taken nobody is at the gate, and the journal is safe on disk up to there before the third
//! file is written. So every URL that the seen set holds was submitted, and is in the journal: one that were in the set alone
//! would never be found again.

mod error;
mod frames;
mod restore;
mod store;
mod stream;
mod summary;

pub use error::CheckpointError;
pub(in crate::job) use restore::{Reread, reread};
pub use restore::{Restored, restore};
pub use store::{Checkpoints, Draft};
