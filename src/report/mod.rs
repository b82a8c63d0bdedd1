//! The report: a crawl in numbers, for people and for programs.
//!
//! A [`Report`] is made from the counters of all modules, at the end of a crawl or while it runs. [`Display`](std::fmt::Display) shows one
//! page of it to people, and [`Report::in_full`] all of it. [`Report::write_json`] writes it for programs: that is `report.json` in the
//! job's directory. [`read`] reads it back.
//!
//! # The format of `report.json`
//!
//! It is one JSON object, in UTF-8. Its keys are the fields of [`Report`]. A key that ends in `_us` is a time in microseconds, one that
//! ends in `_bytes` is a size, and any other number is a count or a share. The keys in `seen` are those of
//! [`ShardStatistics`](crate::seen::ShardStatistics). `version` is [`Report::VERSION`]. It grows with each change of the format that a
//! reader of this version could not read, or would misread.

pub(crate) mod figures;
mod file;
mod finished;
mod format;
mod hosts;
#[cfg(feature = "cli")]
mod html;
mod merge;
#[cfg(feature = "cli")]
mod metrics;
#[cfg(feature = "cli")]
mod schema;
mod text;

pub use file::{ReportError, read, write_json};
pub use format::{
    DuplicateFigures, OtherSets, PolitenessFigures, RecrawlFigures, Report, Settings, Simulated, TooEarly, Urls,
};
pub use hosts::{HostBucket, HostFigures, HostRow};
#[cfg(feature = "cli")]
pub(crate) use metrics::metrics;
#[cfg(feature = "cli")]
pub(crate) use schema::{Number, SchemaOf, numbers};
pub use text::ReportPart;
