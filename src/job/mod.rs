//! What survives a crawl: the job directory, its manifest and its lock, the [`journal`] of all that was found and done, and
//! [`checkpoint`]s of it. `std::fs` only.
//!
//! # The life of a job
//!
//! A job is *drafted*: its directory is made and locked, and `manifest.new` written. What it needs to go on (its seeds, a journal)
//! comes next, and then it is *begun*: the manifest gets its name. From then on it is *resumed*, by one process at a time, or
//! *read*, by anybody and without a lock. A draft whose process dies is nobody's, and the next one starts afresh.
//!
//! | who | calls |
//! |---|---|
//! | an embedder | [`Frontier::open`](crate::frontier::Frontier::open): drafts or resumes the job, and restores its frontier |
//! | a crawl | the same door below the directory, once its output and the journal are known to agree |
//! | either, each minute or so | [`checkpoint::write`], with itself as the [`Owner`](checkpoint::Owner) of the frontier |
//! | `crawler stats`, `explain` | [`look`](fn@look) and [`explain`](fn@explain): the newest checkpoint and the journal behind it, read only |
//! | `crawler repair` | [`repair`], where neither can be read any more |
//!
//! # What is durable when
//!
//! 1. A URL, or how a page's lease came back, is in the [`JobJournal`]'s memory when the frontier's call returns.
//! 2. A flush hands it to the operating system: a kill of the process cannot take it from there. When a power cut cannot, the
//!    journal's [`SyncPolicy`](journal::SyncPolicy) says.
//! 3. A page's record is written to the output after its receipt is in the journal. Where the record is missing after a crash, the
//!    receipt is void, and the page is asked for again. Where the receipt is missing, the record is cut off.
//! 4. A checkpoint is written beside the journal: hosts, seen set, then the counts. Before its last file gets its name the journal
//!    is safe on disk up to the counts, and so is the output: a checkpoint never speaks of what a power cut can take.
//! 5. Hosts are evicted, and parts of the journal removed, only after that.
//!
//! Whoever writes a checkpoint locks the job's checkpoints first and the frontier second, for a piece at a time.
//!
//! # Files
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
