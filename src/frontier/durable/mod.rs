//! What a frontier writes, and what it is rebuilt from.
//!
//! A [`Record`] goes to the [`Journal`] before it changes the state. An *image* is one host as bytes, in a checkpoint; [`Counts`] are the
//! sums of one moment. [`Receipt`]s tie a page that is done to its bytes in each output.
//!
//! There are two kinds of storage: an [`Arena`] in memory, which keeps only entries, and a job's journal on disk. A frontier cannot tell
//! them apart: positions grow, an entry can be read while its URL waits, and an append either takes effect or fails with an error.
//!
//! The bytes of an entry, of a host and of a piece of the schedule are laid out here, for both kinds of storage; frames, checksums and
//! files are the job's. A number is a varint, and a position mostly the step from the previous one, since URLs that wait together were
//! found together.

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
