//! Jobs: the part of a crawl that survives the process. A job is a directory with a manifest and a lock, the [`journal`] of everything that
//! was found and done, and [`checkpoint`]s of the frontier. For files it uses only `std::fs`.
//!
//! # The life of a job
//!
//! First a job is *drafted*: its directory is made and locked, and `manifest.new` is written. Then its seeds and its journal are written.
//! Then it is *begun*: the manifest gets its name. From then on one process at a time may *resume* it, and anybody may *read* it without a
//! lock. If a process dies before the job is begun, the next process drafts it afresh.
//!
//! | caller | call |
//! |---|---|
//! | an embedder | [`Frontier::open`](crate::frontier::Frontier::open): drafts or resumes the job, and restores its frontier |
//! | a crawl | [`Frontier::open_in`](crate::frontier::Frontier::open_in): the same for a job that it already holds |
//! | either, each minute or so | [`checkpoint::write`], with itself as the [`Owner`](checkpoint::Owner) of the frontier |
//! | `crawler stats`, `explain` | [`look`](crate::driver::look()) and [`explain`](crate::job::explain()): the newest checkpoint and the journal after it, read only |
//! | `crawler repair` | [`repair`](crate::driver::repair), if neither checkpoints nor journal can be read |
//!
//! # What is durable when
//!
//! 1. When a call of the frontier returns, its record (an admitted URL, or the outcome of a lease) is in the memory of the [`JobJournal`].
//! 2. A flush hands the records to the operating system. From then on, killing the process cannot lose them. The journal's
//!    [`SyncPolicy`](journal::SyncPolicy) says when they are safe from a power cut. A crawl flushes every 10 ms or 256 KiB. After a kill, a
//!    record that was not flushed counts as never written.
//! 3. Journal and output are written independently, in the same order. If a page's line in the output is missing after a crash, its receipt
//!    in the journal is void, and the page is fetched again. If the receipt is missing, the line is cut off.
//! 4. A checkpoint is written beside the journal: hosts, seen set, contents, then the counts. Before its last file gets its name, journal
//!    and output are safe on disk up to the counts. So a checkpoint never refers to anything that a power cut can lose.
//! 5. Only after that are hosts evicted and parts of the journal removed.
//!
//! The writer of a checkpoint locks the job's checkpoints first, and then the frontier, once for each chunk of it.
//!
//! # Files
//!
//! | file | content |
//! |---|---|
//! | `manifest` | the job's id, and the choices that its other files depend on; see [`Manifest`](crate::driver::Manifest). It is called `manifest.new` until the job is begun |
//! | `lock` | empty; locked by the process that crawls, as is the directory; see [`Lock`](crate::driver::own::Lock) |
//! | `pages.jsonl` | one record per line for each page |
//! | `pages.jsonl.cut` | bytes that were cut off its end because no receipt confirmed them; each cut is appended. Other outputs have such a file too |
//! | `pages-*.warc.*` | the responses, if they are kept |
//! | `links.jsonl` | the links of each page, if they are kept |
//! | `pages.visits` | the visits, if they are kept |
//! | `skipped.jsonl` | the refused links, if they are listed |
//! | `report.json` | the crawl in numbers, written at its end, and removed when it goes on |
//! | `report.html` | the same as an HTML page |
//! | `cookies.txt` | the cookies of the crawl, if it takes any |
//! | `crawler.toml` | the settings of its last run |
//! | `seeds.txt` | every seed of the job, refused or not; the last line is a checksum of the others |
//! | `dropped.txt` | the hosts and URLs that the user has dropped |
//! | `live.sock` | the socket for observers while the crawl runs |
//! | `frontier/` | the [`journal`] and the [`checkpoint`]s |
//!
//! A file is replaced in one step: the new content is written to `NAME.new`, which is renamed into place. Files are
//! opened under their own names, never through a link.

pub mod checkpoint;
pub(crate) mod directory;
mod error;
pub mod journal;
pub(crate) mod manifest;
pub(crate) mod open;
pub(crate) mod own;
pub(crate) mod repair;

pub use crate::bytes::FileError;
pub use checkpoint::{CheckpointCost, JobJournal, OpenOptions, Opening};
pub use directory::Job;
pub(crate) use directory::PAGES;
pub use error::JobError;
pub use open::{Explained, RequestName, explain};

/// The name of the lock file: empty, and locked while a process crawls into the directory.
const LOCK: &str = "lock";

#[cfg(test)]
mod tests {
    mod live_equals_replay;
}
