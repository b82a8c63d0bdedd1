//! What a frontier knows, and how it is made again.

mod count;
mod done;
mod lost;
mod replay;
mod save;
mod standing;

pub(crate) use count::Count;
pub(crate) use done::{Again, Done};
pub use replay::Replay;
pub use save::Slice;
