//! A crawl or a job's files, as its watchers see it.

use crate::address::AddressError;
use crate::cli::output::Safe;
use crate::cli::progress::Limits;
use crate::crawl::{Progress, Stop};
use crate::frontier::{HostList, HostOrder, Timestamp};
use crate::gate::DropRule;
use crate::report::Report;

/// A crawl or a job's files, as its watchers see it. Its methods block; their errors are sentences for people.
pub(in crate::cli) trait Subject: Send + Sync {
    /// Its name: the job's directory.
    fn name(&self) -> String;

    /// Its numbers now.
    fn look(&self) -> Result<Look, String>;

    /// Its hosts in memory whose names or states contain this text, and its time now.
    fn hosts(&self, find: &str, order: HostOrder) -> Result<(HostList, Timestamp), String>;

    /// Why this URL was not fetched, or not yet; or that it is not a URL.
    fn explain(&self, url: &str) -> Result<String, String>;

    /// The drop rules.
    fn dropped(&self) -> Result<Vec<DropRule>, String>;

    /// Stops fetching what this rule names, or undoes that; returns the drop rules after it.
    fn drop_by(&self, rule: DropRule, is_undone: bool) -> Result<Vec<DropRule>, String>;

    /// Pauses and stops it; `None` if no crawl runs in this process.
    fn stop(&self) -> Option<&Stop>;
}

/// The numbers of one moment.
#[derive(Debug)]
pub(in crate::cli) struct Look {
    pub(in crate::cli) report: Report,
    pub(in crate::cli) progress: Progress,
    /// When the crawl ends.
    pub(in crate::cli) limits: Limits,
}

/// A text of several lines, escaped so that it cannot command a terminal or change the writing direction.
pub(in crate::cli) fn safe(text: &str) -> String {
    text.lines().flat_map(|line| [Safe(line).to_string(), "\n".to_owned()]).collect()
}

/// The answer for a text that is not a URL.
pub(in crate::cli) fn not_a_url(error: &AddressError) -> String {
    format!("not a URL: {error}\n")
}

/// Why no action on a crawl is possible.
pub(in crate::cli) const ONLY_FILES: &str = "no crawl of this process: only its files are shown";

/// Maximum hosts in a list.
pub(in crate::cli) const HOSTS: usize = 100;
