//! What a frontier writes down, and what it is made from again.
//!
//! A [`Record`] goes to the [`Journal`] before the state changes by it. An *image* is one host as bytes, as checkpoints have it;
//! [`Counts`] are the sums of one moment. [`Receipt`]s tie a page that is done to its bytes in each output.
//!
//! Two kinds of storage have these: an [`Arena`] in memory, which keeps entries and passes over all else, and a job's journal on
//! disk. A frontier cannot tell them apart: positions grow, an entry can be read for as long as its URL waits, and what was appended
//! is either there or was refused with an error.
//!
//! The bytes of an entry, of a host and of a piece of the schedule are laid out here, for both kinds of storage; frames, checksums
//! and files are the job's. A number is a varint, and a position mostly the step from the one before it, since URLs that wait together
//! were found together.

mod arena;
mod counts;
mod entry;
mod entry_bytes;
mod host_status;
pub(crate) mod image;
mod journal;
mod receipt;
mod receipts;
mod record;
mod rule_round;

pub use arena::Arena;
pub(crate) use counts::Counts;
pub(crate) use entry::Entry;
pub(crate) use host_status::{Failing, HostStatus};
pub(crate) use image::{BadSlice, IdleHost, idle_hosts, waiting};
pub use journal::Journal;
pub(crate) use journal::read_wire;
pub use receipt::Receipt;
pub(crate) use receipts::{Receipts, ReceiptsBuf};
pub(crate) use record::{AsideRecord, DisallowedRecord, DueRecord, HostRecord, Record, RobotsRecord, Settled};
pub(crate) use rule_round::{Aside, RuleRound};
