//! What may enter the frontier: scope, then traps, then the URL-seen test.

mod admission;
mod found;
#[expect(clippy::module_inception, reason = "the floor has its name from what stands in it")]
mod gate;
mod options;
mod pattern;
mod position;
mod refusal;
mod ruled;
mod scope;
mod trap;

pub use admission::{Admission, Admitted};
pub use found::{Found, Via};
pub use gate::Gate;
pub(crate) use options::GateOptions;
pub use options::{OptionError, ScopeKind, ScopeOptions, TrapLimits};
pub(crate) use pattern::patterns;
pub use position::Position;
pub use refusal::{Refusal, RefusalCounts};
pub use ruled::Ruled;
pub(crate) use scope::Scope;
