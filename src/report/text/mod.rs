//! A report for people, in ASCII: a page that fits a terminal of 80 columns and 40 lines, and each of its parts in full.
//!
//! The [page](fmt::Display) answers a reader's first questions, each in a few lines, and ends with the verdict: how the crawl ended, what
//! it lost, and what is wrong. All other counts are in the [parts](ReportPart).

mod details;
mod page;
mod summary;

use std::fmt;

use self::page::TextPage;
use super::Report;
#[cfg(feature = "cli")]
pub(super) use summary::{how, refuses};

/// A part of a report that can be shown in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReportPart {
    /// The pages that were lost, by cause.
    Losses,
    /// The seen filter, and its shards.
    Filter,
    /// Requests, traffic, time, memory and disk.
    Cost,
    /// The URLs: found, refused, admitted and fetched.
    Urls,
    /// The pages that failed, and responses by status and type.
    Responses,
    /// How long requests took.
    Latency,
    /// The hosts that were asked most.
    Hosts,
}

impl ReportPart {
    /// All parts, in the order of their questions.
    pub const ALL: [Self; 7] =
        [Self::Losses, Self::Filter, Self::Cost, Self::Urls, Self::Responses, Self::Latency, Self::Hosts];
}

impl Report {
    /// These parts in full.
    pub fn in_full(&self, parts: &[ReportPart]) -> String {
        let mut page = TextPage::default();
        for part in parts {
            match part {
                ReportPart::Losses => self.losses(&mut page),
                ReportPart::Filter => {
                    self.filter(&mut page);
                    self.shards(&mut page);
                }
                ReportPart::Cost => self.cost(&mut page),
                ReportPart::Urls => self.urls(&mut page),
                ReportPart::Responses => {
                    self.failed_pages(&mut page);
                    self.responses(&mut page);
                }
                ReportPart::Latency => self.latency(&mut page),
                ReportPart::Hosts => self.hosts(&mut page),
            }
        }
        page.finish()
    }

    /// The verdict, which is the last lines of the page: how the crawl ended, what it lost, and what is wrong.
    pub fn verdict(&self) -> String {
        let mut page = TextPage::default();
        self.conclude(&mut page);
        page.finish()
    }
}

impl Report {
    /// The verdict without its first line: what the crawl lost, and what is wrong.
    #[cfg(feature = "cli")]
    pub(super) fn judgement(&self) -> String {
        let mut page = TextPage::default();
        self.judge(&mut page);
        page.finish()
    }
}

/// The page for a terminal.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut page = TextPage::default();
        self.summarize(&mut page);
        self.conclude(&mut page);
        f.write_str(&page.finish())
    }
}
