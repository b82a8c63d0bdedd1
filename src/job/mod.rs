//! What survives a crawl: the job directory, its manifest and its lock, the [`journal`] of all that was found and done, and
//! [`checkpoint`]s of it. `std::fs` only.
//!
//! A job directory holds these files of ours:
//!
//! | file | what |
//! |---|---|
//! | `manifest` | what the job's other files depend on; see [`Manifest`]. Until a new job has all that it needs, `manifest.new` |
//! | `lock` | empty; locked by the process that crawls, as is the directory; see [`Lock`] |
//! | `pages.jsonl` | a record a line for each page |
//! | `pages.jsonl.cut` | what was cut off its end because nothing confirmed it, one after another |
//! | `report.json` | the crawl in numbers, written at its end |
//! | `crawler.toml` | the settings that it was crawled with last |
//! | `seeds.txt` | every seed that it was given, refused or not |
//! | `frontier/` | the [`journal`] and the [`checkpoint`]s |
//!
//! Files that are replaced are written beside, as `NAME.new`, and renamed into place. All are opened under their own names, and
//! none through a link.

pub mod checkpoint;
mod directory;
mod error;
mod explain;
pub mod journal;
#[cfg(test)]
mod live_equals_replay;
mod lock;
mod look;
mod manifest;
mod open;
mod options;
pub(crate) mod own;
pub mod repair;
mod replace;
mod trail;

pub use crate::bytes::FileError;
pub use checkpoint::{CheckpointCost, JobJournal, Opening};
pub use directory::Job;
pub use error::JobError;
pub use explain::{Explained, explain};
pub use lock::Lock;
pub use look::{look, newest_extra, newest_keys, newest_seen};
pub use manifest::Manifest;
pub use open::OpenError;
pub use options::OpenOptions;
pub use replace::{replace, replace_with};

/// Empty, and locked while a process crawls into the directory.
const LOCK: &str = "lock";
