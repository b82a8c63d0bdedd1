//! What a frontier knows, and how that changes.
//!
//! [`State`] changes by [`State::apply`] alone. A [`Change`] is a record on its way there, with what the state cannot look up for
//! itself. [`Resume`] makes a state again: [`SavedAt`](saved_at::SavedAt) is the one rule on what a checkpoint has already, and
//! [`Lost`](lost::Lost) the one on pages whose records the output lost.
//!
//! # The rule
//!
//! A state follows from its records, and from nothing else. So `apply` reads no clock, draws no random number and asks no option:
//! where one of them matters, the machine has decided by it, and the record says what was decided. Two states that took the same
//! records are equal to the bit, whether the records came from the machine, from a checkpoint and the journal behind it, or from the
//! whole journal; `job`'s tests hold that.
//!
//! # What always holds
//!
//! - A URL that was admitted and is not done is in one place: the queue of its host, or the schedule.
//! - An evicted host has nothing queued, so all queues are in memory.
//! - What a checkpoint saves of a state follows from the records before its position.
//!
//! # What is no state
//!
//! - Seats: in which queue of hosts a host is. They follow from its URLs and its clock, and a resume places all hosts anew.
//! - Leases: what is out stands in its queue still, so a crash needs to know nothing of it.
//! - Parsed rules of robots.txt: the journal has their text.
//! - Which hosts are in memory: an evicted host is brought back before anything happens to it.

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
