//! Watching a running crawl or a job's files: what the live page and `crawler top` have in common.
//!
//! | part | what it does |
//! |---|---|
//! | [`Subject`](subject::Subject) | what is watched: a [`RunningCrawl`] or [`JobFiles`] |
//! | `latest` | holds the newest [`Snapshot`], and makes another when it may |
//! | [`LiveAnswers`] | answers the page and the socket |
//! | [`LiveSocket`] | takes [`Question`]s by the socket in the job's directory |
//!
//! # What it may cost
//!
//! It must never slow down the crawl. So numbers are made only while somebody asks, at most once a second, and after
//! each making it rests for fifty times as long as that took. All watchers share one snapshot, and each of its texts is
//! made once. Hosts and explanations are looked up one at a time, for all watchers together.

mod job_files;
mod latest;
mod live_answers;
mod question;
mod running_crawl;
mod snapshot;
#[cfg(unix)]
mod socket;
mod subject;

pub(super) use job_files::JobFiles;
pub(super) use live_answers::LiveAnswers;
pub(super) use question::{Act, Question};
pub(super) use running_crawl::RunningCrawl;
pub(super) use snapshot::Snapshot;
#[cfg(unix)]
pub(super) use socket::LiveSocket;
