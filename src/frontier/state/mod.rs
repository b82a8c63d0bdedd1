//! What a frontier knows, and how it changes.
//!
//! Only [`State::apply`] changes a [`State`]. A [`Change`] is a record with what the state cannot look up for itself. [`Resume`] rebuilds a
//! state: [`SavedAt`](saved_at::SavedAt) has the one rule on which records a checkpoint already has, and [`Lost`](lost::Lost) the one on
//! pages whose records the output lost.
//!
//! # The rule
//!
//! A state follows from its records, and from nothing else. So `apply` reads no clock, draws no random number and reads no option: where
//! one of them matters, the machine has decided by it, and the record has the decision. Two states that applied the same records are equal
//! to the bit, whether the records came from the machine, from a checkpoint and the journal after it, or from the whole journal; `job`'s
//! tests check that.
//!
//! # What always holds
//!
//! - A URL that was admitted and is not done is in one place: the queue of its host, or the schedule.
//! - An evicted host has nothing queued, so all queues are in memory.
//! - What a checkpoint saves of a state follows from the records before its position.
//!
//! # What is not state
//!
//! - Seats: which queue of hosts a host is in. They follow from its URLs and its clock, and a resume places all hosts anew.
//! - Leases: a leased URL is still in its queue, so nothing about leases is needed after a crash.
//! - Parsed rules of robots.txt: the journal has their text.
//! - Which hosts are in memory: an evicted host is brought back before it changes.

mod change;
mod count;
mod lost;
mod resume;
mod save;
mod saved_at;
#[expect(clippy::module_inception, reason = "the room has its name from what stands in it")]
mod state;

pub(crate) use change::{Change, PendingParts};
pub(crate) use count::Count;
pub(crate) use resume::Resume;
pub(crate) use save::StateChunk;
pub(crate) use state::State;
