//! What to fetch next, and when. A state machine: no I/O, no clock; `now` comes in, what to do comes out.

mod complete;
mod dropped;
mod drops;
pub(crate) mod durable;
mod embed;
mod error;
mod evict;
mod explain;
mod hosts;
mod href;
mod lease;
mod lend;
mod machine;
mod next;
mod options;
mod outcome;
mod patience;
mod queues;
mod recrawl;
pub(crate) mod reply;
pub mod robots;
mod robots_file;
mod setback;
pub(crate) mod state;
mod statistics;
mod timestamp;
mod trouble;
mod validators;

pub use drops::Dropped;
pub use durable::{
    Arena, BadSlice, Counts, DisallowedRecord, DueRecord, Entry, HostRecord, IdleHost, Ill, Journal, Limit, Receipt,
    Record, RobotsRecord, Settled, Standing, idle_hosts, waiting,
};
pub use error::FrontierError;
pub use explain::{Explanation, Fetched, History, HostAccount, Place, Remembered, RobotsAnswer, Verdict};
pub use hosts::{HostSpread, HostStatistics, Politeness};
pub use href::Href;
pub use lease::{Lease, LeaseKind};
pub use machine::Frontier;
pub use next::Next;
pub use options::FrontierOptions;
pub use outcome::{Completion, Outcome};
pub use reply::Reply;
pub use state::{Resume, Slice};
pub use statistics::FrontierStatistics;
pub use timestamp::Timestamp;
pub use trouble::{Failure, Trouble};
pub use validators::Validators;
