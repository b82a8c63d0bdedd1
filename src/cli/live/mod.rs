//! Watching a running crawl or a job's files: the parts that the live page and `crawler top` have in common.
//!
//! | part | what it does |
//! |---|---|
//! | [`Subject`](subject::Subject) | the watched subject: a [`RunningCrawl`] or [`JobFiles`] |
//! | [`Latest`](subject::Latest) | holds the newest [`Snapshot`], and replaces it when it is too old |
//! | [`LiveAnswers`] | answers the page and the socket |
//! | [`LiveSocket`] | takes [`Question`]s through the socket in the job's directory |
//! | [`Peer`] | asks through that socket |
//!
//! # What it may cost
//!
//! Watching must not slow down the crawl. So a snapshot of the numbers is made only on request, at most once a second, and is kept for fifty
//! times as long as it took to make, but for at most ten seconds. All watchers share one snapshot, and each of its texts is made at most once.
//! Lookups of hosts and explanations run one at a time, for all watchers together.

mod answers;
mod peer;
#[cfg(unix)]
mod socket;
mod subject;

pub(super) use answers::{Act, LiveAnswers, Question};
pub(super) use peer::Peer;
#[cfg(unix)]
pub(super) use socket::LiveSocket;
pub(super) use subject::{JobFiles, RunningCrawl, Snapshot};
