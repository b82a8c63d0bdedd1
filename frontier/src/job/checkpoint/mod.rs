//! Checkpoints: a frontier as it was at one moment, so that a resume replays the journal's last minute and not its last month.
//!
//! A checkpoint is four files, plus runs of evicted hosts that it may share with others. The last file, the summary, is renamed into place
//! when all others are safe on disk: if it is there, all are whole. The last two checkpoints are kept. If the newest is damaged, the
//! previous one serves, with a longer replay. No number is used twice, so files of two attempts never mix.
//!
//! ```text
//! hosts-N         header, then a frame for each chunk: priorities, moved URLs and the schedule, each if there is any, then the hosts;
//!                 then, if any are known, one frame with the IP addresses of these hosts, for commands that look at a job; then an empty frame
//! seen-N          a snapshot of the seen set, as `crawler seen info` reads it; missing while nothing was seen
//! contents-N      a snapshot of the set of page contents, in the same format
//! checkpoint-N    header, then one frame: the summary
//! evicted-N       a run of evicted hosts: header, then frames of about 4 KiB of them, then an empty frame; missing if no host
//!                 was evicted, and kept until no checkpoint lists it
//!
//! header:   0  magic     8 bytes, "hosts\n\0\0", "checkpt\n" or "evicted\n"
//!           8  version   u32, 1
//!          12  job       u64, the job's id
//!          20  number    u64, N
//!          28  checksum  u32, the lower half of the XXH3-64 of bytes 0 to 27, seeded with 0
//!
//! frame:    0  length    u32, of the payload
//!           4  payload   length bytes; for a chunk and the summary the first 8 are a position: where the journal ended
//!              checksum  u64, XXH3-64 of the payload, seeded with N XOR the frame's number, from 0
//!
//! addresses:     for each host of the chunks, in their order, a varint: 0 if unknown, else 1 plus its IPv4 address, or 1 plus the first 64
//!                bits of its IPv6 address
//!
//! summary:  0  flags     u8: bit 0 there is a seen set, bit 1 its shards have positions, bit 2 there are contents,
//!                        bit 3 there are leases
//!           1  from      u64, the position from which the journal is to be replayed
//!           9  chunks    u32
//!          13  admitted, completed, retries, output, leased   u64 each
//!          53  refused   u32 how many; for each a name (u32 length, text) and a u64
//!              round     of rules: u64 their digest, u64 the position from which they judge, u32 how many there were before
//!              scope     u32 length, the name of its kind
//!              roots     u32 how many; for each u32 length, text
//!              originals u32 how many; for each the origin of a seed, as the roots
//!              rules     u32 how many rules on keys are on; for each its name in `crawler.toml`, as the roots
//!              dropped   u32 how many; for each a parameter that keys leave out, as the roots
//!              segments  u32 how many of the journal are needed before `from`; for each its start and end, u64 each
//!              runs      u32 how many; for each its number, u64, the newest last
//!              shards    only if they have positions: u32 how many, and where the journal ended when each was saved, u64
//!              evidence  u32 how many slots of the budgets are in use; for each its number, u32, and what it holds, u64
//!              leases    only if there are any: u32 length, the leases that are out under a token, as `state/leases.rs` lays them out
//!              extra     the rest: bytes of the frontier's owner
//! ```
//!
//! All numbers are little-endian. A rule on keys that a later version adds is off in files that were written before. A chunk is a part of
//! the frontier as bytes. Its frame begins with a position: where the journal ended when the chunk was saved. The summary's frame begins
//! with the position at which the counts were taken. The frontier is locked for one chunk at a time, so no other caller waits long.
//!
//! A seen set that can forget has a position for each shard. The snapshot already has the admissions and removals before that position. A
//! replay skips them: repeating one could make a counting filter forget another URL.
//!
//! The order is priorities, schedule, hosts, seen set, contents, counts. A URL that left the schedule before the schedule was saved is in
//! its host's chunk, which is saved later. The counts are taken while no URL is between the gate and the frontier, and the journal is
//! synced up to them before the last file is written. So every URL in the saved seen set was submitted, and is in the journal. A URL that
//! is only in the seen set would never be fetched.
//!
//! # Evicted hosts
//!
//! A host with nothing queued or leased may be evicted: its image, which is its bytes in its chunk, goes to a run. The hosts of a run are
//! sorted by the XXH3-64 of their keys, seeded with the job's id; hosts of one hash are in one frame. If several runs have a host, the
//! newest image counts. A new run merges the newest runs before it that have at most twice its hosts, so the number of runs grows with the
//! logarithm of the hosts.
//!
//! At every moment, a host is in memory, or its newest image in the runs is up to date. Each checkpoint preserves that:
//!
//! - A host is evicted only after the commit of a checkpoint that has its image, only if it still equals the image, and before the next
//!   checkpoint begins. So a host that is in memory when a checkpoint begins stays there until its chunk is saved.
//! - A host that is evicted when a checkpoint begins is in no chunk, unless it comes back meanwhile and gets a number whose chunk is still
//!   to be saved. If it is in a chunk, the chunk counts. If not, its newest image in the runs that the checkpoint lists was made before the
//!   checkpoint began. The host did not change from then until its return, and the replay reads every record that the host has had since.
//! - A host that is in a chunk and in a run was in memory, and the chunk counts. The run's image is as old as the chunk or older.
//!
//! So a run needs no position of its own, and no record is replayed that an image already reflects. No record is written for a host's
//! return: the host's next record implies it.

mod compaction;
mod draft;
mod evicted;
mod files;
mod job_journal;
mod run;
pub(crate) mod store;
mod summary;

pub use draft::{CheckpointCost, Owner, write};
pub use files::CheckpointError;
pub use job_journal::{JobJournal, OpenOptions, Opening};
pub(in crate::job) use job_journal::{reread, restore};
pub(crate) use store::Checkpoints;
pub(in crate::job) use summary::Summary;
