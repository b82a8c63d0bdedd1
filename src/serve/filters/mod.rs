//! Named filters, each a seen set with files of its own; no transport.
//!
//! | module | what it has |
//! |---|---|
//! | `log` | the log of a filter: what is not in its snapshot yet |
//! | `filter` | one filter: the set, and what is durable of it |
//! | `named` | all filters of a server, by name |
//!
//! **Answered is durable.** What is new is written to the filter's log before it is answered, under the filter's lock: so whoever is told
//! that a URL was seen is told so after that URL is in the log. This survives `kill -9`. Once a second the logs are synced, so a power cut
//! costs the last second.

mod filter;
mod log;
mod named;

pub use filter::{Added, FilterError, FilterKind, NamedFilter};
pub use named::{FilterLimits, Filters, FiltersError};
