//! What a frontier knows, and how that changes.

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
pub use resume::Resume;
pub use save::Slice;
pub(crate) use state::{RULES_HOLD, State};
