//! The crawl in numbers, for people and for programs.
//!
//! A [`Report`] is made once, at the end of a crawl, from the counters of all floors. [`Display`](std::fmt::Display)
//! renders it for people; [`Report::write_json`] for programs, and so it stands in the job directory as `report.json`,
//! from where [`read`] brings it back.
//!
//! # The format of `report.json`
//!
//! One JSON object, UTF-8. Its keys are the fields of [`Report`], documented there with their units: a key ends in `_ms`
//! or `_us` where it is a time, in `_bytes` where it is a size, and is a count where it says nothing; in `seen` they are
//! those of [`ShardStatistics`](crate::seen::ShardStatistics). `version` is [`Report::VERSION`]; whatever a reader of this
//! version could not read, or would misread, makes the next one.

mod cost;
pub(crate) mod figures;
mod file;
mod finished;
mod format;
mod page;
mod text;

pub use cost::Cost;
pub use file::{ReportError, read, write_json};
pub use format::{
    CheckpointFigures, HostBucket, HostFigures, HostRow, Percentiles, PolitenessFigures, Report, Requests, Settings,
    Simulated, TooEarly, Urls,
};
