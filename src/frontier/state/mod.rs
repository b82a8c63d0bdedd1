//! What a frontier knows, and how that changes.
//!
//! [`State`] changes by [`State::apply`] alone. A [`Change`] is a record on its way there, with what the state cannot look up for
//! itself. [`Resume`] makes a state again: [`Pieces`](pieces::Pieces) is the one rule on what a checkpoint has already, and
//! [`Lost`](lost::Lost) the one on pages whose records the output lost.

mod change;
mod count;
mod lost;
mod pieces;
mod resume;
mod save;
#[expect(clippy::module_inception, reason = "the room has its name from what stands in it")]
mod state;

pub(crate) use change::{Change, Fresh};
pub(crate) use count::Count;
pub(crate) use resume::Resume;
pub(crate) use save::Slice;
pub(crate) use state::{RULES_HOLD, State};
