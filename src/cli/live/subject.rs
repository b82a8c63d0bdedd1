//! A crawl, or a job's files, as whoever watches it may ask it.

use crate::address::AddressError;
use crate::cli::output::Safe;
use crate::cli::progress::Limits;
use crate::crawl::{Progress, Stop};
use crate::frontier::{HostList, HostOrder, Timestamp};
use crate::gate::DropRule;
use crate::report::Report;

/// A crawl, or a job's files, as whoever watches it may ask it. Its methods block, and fail with a sentence for people.
pub(in crate::cli) trait Subject: Send + Sync {
    /// Its name: the job's directory.
    fn name(&self) -> String;

    /// Its numbers now.
    fn look(&self) -> Result<Look, String>;

    /// Its hosts in memory whose names or states have this text in them, and the time that it is there.
    fn hosts(&self, find: &str, order: HostOrder) -> Result<(HostList, Timestamp), String>;

    /// Why this URL was not fetched, or not yet; or that it is none.
    fn explain(&self, url: &str) -> Result<String, String>;

    /// What is dropped.
    fn dropped(&self) -> Result<Vec<DropRule>, String>;

    /// Asks nothing more of what this rule names, or asks for it again; says what is dropped then.
    fn drop_by(&self, rule: DropRule, is_undone: bool) -> Result<Vec<DropRule>, String>;

    /// What pauses and stops it; `None` where another process crawls, or none.
    fn stop(&self) -> Option<&Stop>;
}

/// The numbers of a moment.
#[derive(Debug)]
pub(in crate::cli) struct Look {
    pub(in crate::cli) report: Report,
    pub(in crate::cli) progress: Progress,
    /// When the crawl ends.
    pub(in crate::cli) limits: Limits,
}

/// A text of several lines, so that it commands no terminal and turns no writing.
pub(in crate::cli) fn safe(text: &str) -> String {
    text.lines().flat_map(|line| [Safe(line).to_string(), "\n".to_owned()]).collect()
}

/// The answer to a text that is no URL.
pub(in crate::cli) fn not_a_url(error: &AddressError) -> String {
    format!("not a URL: {error}\n")
}

/// Why nothing can be done to a crawl.
pub(in crate::cli) const ONLY_FILES: &str = "no crawl of this process: only its files are shown";

/// Hosts in a list, at most.
pub(in crate::cli) const HOSTS: usize = 100;
