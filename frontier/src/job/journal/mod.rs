//! The journal on disk: each admitted URL and its outcomes, in the order in which they happened, with checksums.
//!
//! The journal is cut into *segments*: files named after the position at which they begin, in 12 hexadecimal digits. A *position* is
//! the offset of a byte in all segments laid end to end, headers included; it fits 48 bits. All numbers are little-endian.
//!
//! ```text
//! journal-000000000000              journal-000004000017
//! ┌────────┬───────┬───────┬──┐     ┌────────┬───────┬──
//! │ header │ frame │ frame │..│     │ header │ frame │ ..
//! └────────┴───────┴───────┴──┘     └────────┴───────┴──
//! 0        32                       0x4000017
//!
//! header:   0  magic     8 bytes, "journal\n"
//!           8  version   u32, 3
//!          12  job       u64, the job's id
//!          20  start     u64, the position of the header's first byte
//!          28  checksum  u32, of bytes 0 to 27, seeded with 0
//!
//! frame:    0  checksum  u32, of what follows, seeded with the job's id XOR the frame's position
//!           4  length    u24, of the payload
//!           7  kind      u8; bit 7: the next frame belongs to the same group
//!           8  payload   length bytes
//!
//! kind 1, admitted; its numbers are varints (LEB128):
//!           0  flags     u8: bits 0 to 2 how it was found (as `durable/entry.rs` has it), bit 3 there is a referrer,
//!                        bit 4 it replaces an entry, bit 5 it was scheduled, bit 6 it was tried before, bit 7 there are more flags
//!           1  priority  u8, the front queue
//!           2  redirects u8
//!              more      u8, only if bit 7 is set: bit 0 there is metadata, bit 1 an identity, bit 2 a queue of its own; bits 3 and 4
//!                        the seen test, 0 asked, 1 only told, 2 neither; bit 5 its place in the queue is given, bit 6 its priority is
//!                        not the number of its front queue
//!              depth
//!              referrer  the step from the frame's position to it, back or forth; only if there is one
//!              replaced  likewise
//!              time      until which it waits, in microseconds since the Unix epoch; only if it was scheduled
//!              attempts  used up before; only if it was tried
//!              length    of the metadata; only if there is any
//!              length    of the identity, 1 to 64; only if there is one
//!              length    of the queue's key, 2 to 65; only if it has a queue of its own
//!              after     how many URLs of its priority it was queued after; only if its place is given
//!              score     the step from the number of its front queue to its priority; only if it is another
//!              length    of the wire URL
//!              metadata  its bytes
//!              identity  its bytes
//!              queue     its key, `@name`, UTF-8
//!              wire URL  the rest, UTF-8
//!
//! kind 2, a page's lease came back:
//!           0  flags     u8: bit 0 the host has answered, bit 1 there is a failure state, bit 2 the page is done, bit 3 there are
//!                        receipts, bit 4 there is a yield, bit 5 it counts as a page for its host's budget, bit 6 the response had
//!                        bytes, bit 7 it was taken back after its deadline
//!           1  priority  u8
//!           2  attempts  u8
//!           3  page      u64, the position of its admission
//!          11  due       u64, when the host may be asked again: microseconds since the Unix epoch
//!          19  failures  u16, of the host in a row
//!          21  state     of failure, only if bit 1 is set: u8, bit 0 it is retired, bit 1 it said when to ask again; u8, the last
//!                        failure's code; u16, pages in a row that broke; u8, length of the failure's words; the words
//!              bytes     only if there are any: varint, of the response, for its host's budget
//!              receipts  only if there are any: u16, bytes of them all; for each output, the length of its name, u8; the name; the
//!                        end of the page's bytes in it, u64; their length, u32; their checksum, u32
//!              yield     only if bit 4 is set: at least 18 bytes, as `record_parts` draws them
//!              host      the rest, UTF-8: scheme, name, port; of a queue that an embedder named, `@` and its name
//!
//! kind 3, something was learned about a host:
//!           0  flags     u8, bits 0 and 1 as above, bit 2 it was asked, bit 3 it is asked for robots.txt again
//!           1  robots    u8: 0 nothing new, 1 robots.txt is elsewhere, 2 there is none, 3 there are rules, 4 it is as it was,
//!                        5 it cannot be had, and what was known has expired
//!           2  hops      u8, redirects of robots.txt so far
//!           3  due       u64, as above
//!          11  failures  u16, as above
//!          13  state     as above
//!              stale at  u64, when robots.txt should be fetched again
//!              second    u64: for code 4, until when it holds if it cannot be had; for code 3, the delay that the rules ask for,
//!                        in milliseconds; else 0
//!              length    u16, of the host
//!              host      as above
//!              rest      where robots.txt is, or its rules
//!
//! kind 4, the journal was opened again:
//!           0  output    u64, bytes that were left of the first output
//!
//! kind 5, a URL was queued, since its time had come or changed rules let it pass:
//!           0  priority  u8
//!           1  page      u64, the position of its admission
//!           9  set aside u8, the reason as kind 8 has it, or 255 if it was not set aside; then the round's number, u32
//!              host      the rest, UTF-8, as above
//!
//! kind 6, a URL was taken from the seen set:
//!           0  fingerprint, u64
//!
//! kind 7, a page's lease came back, and a new entry replaces the page's: its next try or visit, or another
//! spelling of its URL; an entry that waits until the last time of all says that the page was given up:
//!           0  length    u16, of the next field
//!           2  settled   as kind 2
//!              entry     as kind 1
//!
//! kind 8, URLs of a host were dropped when their turn came:
//!           0  priority  u8, of all of them
//!           1  first     u64, the position of the admission of the first of them
//!           9  urls      u32, how many: the first, and the next ones in its queue
//!          13  reason    u8, as `Refusal::number` has it: 0 robots.txt disallows them, 1 to 7, 22 and 23 a budget is spent, others
//!                        a rule refuses them
//!          14  host      the rest, UTF-8, as above
//!
//! kind 9, the rules of the gate change here:
//!           0  digest    u64, of the new rules
//!
//! kind 10, a waiting URL was set aside, since today's rules refuse it:
//!           0  priority  u8
//!           1  page      u64, the position of its admission
//!           9  to        u8, the reason; u32, how many rounds of rules there were before
//!          14  from      as kind 5 has it: where it was set aside before
//!              host      the rest, UTF-8, as above; empty if it was set aside before, so that no queue had it, unless its host's
//!                        budget is one of the two reasons
//!
//! kind 11, a page was lent out under a token; its last three numbers are varints:
//!           0  number    7 bytes, of the lease
//!           7  slot      of the lease
//!              deadline  the step from the time in the number, which is all but its last 10 bits, to it, in milliseconds
//!              page      the step from the frame's position to its admission
//!
//! kind 12, a robots.txt was lent out under a token:
//!           0  lease     number, slot and deadline, as kind 11
//!              attempt   u8: how often its host was asked for one in a row, this time included
//!              host      its length, a varint; UTF-8: scheme, name, port
//!              other     likewise, of the host that waits for it; empty if it is the host's own
//!              URL       the rest, UTF-8
//!
//! kind 13, a lease has another deadline:
//!           0  lease     number, slot and deadline, as kind 11
//!
//! kind 14, a lease is back, and nothing else changed:
//!           0  lease     number and slot, as kind 11
//!              how       u8: 0 it was given back, 1 it was taken back after its deadline
//!
//! kind 15, a URL was queued at a place:
//!           0  queued    as kind 5, up to where it was set aside
//!              after     varint, how many URLs of its priority it was queued after
//!              host      the rest, UTF-8, as above
//!
//! kind 16, a front queue without URLs stands for another priority from now on:
//!           0  front     u8, its number, which other records call the priority
//!           1  priority  i64
//!
//! kind 17, the host of a page that is out under a token has answered, and the page is in hand:
//!           0  flags     u8, bits 0 and 1 as kind 2, bit 2 the answer takes no try from the page
//!           1  lease     number and slot, as kind 11
//!              due       u64; failures, u16; the state of failure, as kind 2
//!              bytes     a varint, of the response
//!              host      the rest, UTF-8, as above
//!
//! kind 18, URLs in a host's queue got other priorities:
//!           0  host      its length, a varint; UTF-8, as above
//!              moves     the rest, as `durable/moves.rs` draws them
//!
//! kind 19, URLs that are in no host's queue got other priorities:
//!           0  scores    as `durable/moves.rs` draws them
//! ```
//!
//! A checksum is the lower half of XXH3-64. Because of its seed, it fails for a frame from another place or another job that was left in a
//! reused block of the disk. An unknown kind is refused.
//!
//! # Groups
//!
//! The requests of a [batch](crate::frontier::Frontier::admit_batch) are a group of frames: each says that the next one belongs to it, but
//! for the last. This takes no bytes, and each record can be read alone. A group lies in one segment, and ends with the record that brings it to
//! 1 MiB: a longer batch is several groups. After a crash a group is there as a whole or not at all.
//!
//! # What a crash can do
//!
//! A segment is whole on disk before the next one is begun, and its header is on disk before its first frame. So a crash can only tear the
//! end of the last segment, and the next opening cuts that end off. Damage anywhere else is an error that names its place. In the last
//! segment, a torn end cannot be told from damage: the first bad frame ends the segment, and the cut is reported. If the bad frame is in a
//! group, the segment ends before the group. Each opening rewrites the
//! good part of the last segment to `NAME.new`, and renames that into place. For if an earlier sync failed, the operating system may show
//! bytes that are not on the disk.
//!
//! # What may be missing
//!
//! A segment can be removed when a checkpoint was begun after it and none of its URLs waits. So segments may be missing before the position
//! from which the journal is opened. No part that a checkpoint needs may be missing.
//!
//! If only a few of its URLs wait, and at least a third of it is no longer needed, it is compacted: a file of the same name, with another
//! layout, keeps the needed records, each at its position.
//!
//! # Readers
//!
//! | reader | damage | writes |
//! |---|---|---|
//! | a frontier that is opened | an error, except a torn end | cuts the torn end off |
//! | `stats` and `explain` | the same | nothing: another process may hold the job |
//! | [`repair`](crate::driver::repair) | reported, and reading goes on after it; of a torn group, the whole records are kept | a new journal, beside the old one |

pub(in crate::job) mod compacted;
pub(crate) mod file;
mod frame;
mod group;
mod record;
mod record_parts;
pub(crate) mod recovery;
mod segment;
mod storage;
#[cfg(test)]
mod tests;

pub(crate) use file::JournalObserver;
pub(crate) use file::{FileJournal, Needs};
pub use file::{JournalOptions, SyncPolicy};
pub use recovery::{Cut, Recovery};
pub(in crate::job) use recovery::{Piece, salvage};
pub(in crate::job) use segment::is_begun;
pub use storage::{Disk, JournalError, Storage};

/// The name of the segment that starts at this position.
pub fn segment_name(start: u64) -> String {
    segment::Segment::new(start, 0).name
}

/// The position at which a segment of this name starts; `None` for the name of another file.
pub fn segment_start(name: &str) -> Option<u64> {
    segment::Segment::start_of(name)
}
