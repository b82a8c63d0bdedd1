//! Named filters, each a seen set with files of its own; independent of the transport.
//!
//! | module | what it has |
//! |---|---|
//! | `log` | the log of a filter: the members that are not in its snapshot yet |
//! | `filter` | one filter: its set, and the log that makes it durable |
//! | `named` | all filters of a server, by name |
//!
//! **Answered is durable.** A new member is written to the filter's log before the answer is sent, under the filter's lock. So a client that
//! is told `seen` can rely on it: that member is in the log, and survives `kill -9`. The logs are synced once a second, so a power cut costs
//! at most the last second.

mod filter;
mod log;
mod named;

pub use filter::{Added, FilterError, FilterKind, NamedFilter};
pub use named::{FilterLimits, Filters, FiltersError};
