//! What to fetch next, and when. A state machine: no I/O, no clock; `now` comes in, what to do comes out.

mod found;
mod gate;
mod journal;
mod lease;
mod machine;
mod options;
mod outcome;
mod refusal;
pub mod robots;
mod statistics;
mod timestamp;

pub use found::{Admission, Admitted, Found, Via};
pub use gate::Gate;
pub use journal::{Arena, Entry, Journal, Position};
pub use lease::{Lease, LeaseKind};
pub use machine::{Frontier, Next};
pub use options::{FrontierError, FrontierOptions, Politeness, ScopeKind, ScopeOptions, TrapLimits};
pub use outcome::{Completion, Failure, Outcome};
pub use refusal::{Refusal, RefusalCounts};
pub use statistics::{FrontierStatistics, HostStatistics};
pub use timestamp::Timestamp;
