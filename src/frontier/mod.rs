//! What to fetch next, and when. A state machine: no I/O, no clock; `now` comes in, what to do comes out.

mod agenda;
mod arena;
mod back;
mod complete;
mod embed;
mod found;
mod front;
mod gate;
mod host;
mod hosts;
mod journal;
mod lease;
mod machine;
mod options;
mod outcome;
mod pattern;
mod pool;
mod refusal;
pub mod robots;
mod scope;
mod statistics;
mod timestamp;
mod trap;
mod varint;

pub use arena::Arena;
pub use complete::ForeignLease;
pub use found::{Admission, Admitted, Found, Via};
pub use gate::Gate;
pub use journal::{Entry, Journal, Position};
pub use lease::{Lease, LeaseKind};
pub use machine::{Frontier, Next};
pub use options::{FrontierError, FrontierOptions, Politeness, ScopeKind, ScopeOptions, TrapLimits};
pub use outcome::{Completion, Failure, Outcome};
pub use refusal::{Refusal, RefusalCounts};
pub use statistics::{FrontierStatistics, HostStatistics};
pub use timestamp::Timestamp;
