//! What the live page is about.

use crate::address::AddressError;
use crate::cli::output::Safe;
use crate::crawl::{Progress, Stop};
use crate::frontier::{HostList, Timestamp};
use crate::report::Report;

/// What the live page is about. Its methods block, and fail with a sentence for people.
pub(super) trait Subject: Send + Sync {
    /// Its name: the job's directory.
    fn name(&self) -> String;

    /// Its numbers now.
    fn look(&self) -> Result<Look, String>;

    /// Its hosts in memory whose names or states have this text in them, and the time that it is there.
    fn hosts(&self, find: &str) -> Result<(HostList, Timestamp), String>;

    /// Why this URL was not fetched, or not yet; or that it is none.
    fn explain(&self, url: &str) -> Result<String, String>;

    /// What pauses and stops it; `None` where another process crawls, or none.
    fn stop(&self) -> Option<&Stop>;
}

/// The numbers of a moment.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) report: Report,
    pub(super) progress: Progress,
    /// The number of pages after which the crawl ends.
    pub(super) limit: Option<u64>,
}

/// A text of several lines, so that it commands no terminal and turns no writing.
pub(super) fn safe(text: &str) -> String {
    text.lines().flat_map(|line| [Safe(line).to_string(), "\n".to_owned()]).collect()
}

/// The answer to a text that is no URL.
pub(super) fn not_a_url(error: &AddressError) -> String {
    format!("not a URL: {error}\n")
}

/// Hosts in a list, at most.
pub(super) const HOSTS: usize = 100;
