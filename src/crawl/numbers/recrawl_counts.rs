//! Counts of how pages have changed since their last visit.

use serde::{Deserialize, Serialize};

use crate::crawl::records::{PageChange, PageRecord};

/// What has become of pages since their last visit. All but `not_modified` are of pages that are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct RecrawlCounts {
    /// Pages that were not known.
    pub new: u64,
    /// Pages with another body.
    pub changed: u64,
    /// Pages with the same body, 304s among them.
    pub unchanged: u64,
    /// Pages that are a 404 or 410 now.
    pub gone: u64,
    /// Pages that were known, and of which nobody can tell.
    pub failed: u64,
    /// Answers with a 304, which have no body.
    pub not_modified: u64,
}

impl RecrawlCounts {
    /// Counts a completed record.
    pub(super) fn record(&mut self, record: &PageRecord) {
        let Some(recrawled) = &record.recrawl else { return };
        self.not_modified += u64::from(record.status == Some(304) && record.error.is_none());
        *match recrawled.change {
            PageChange::Changed => &mut self.changed,
            PageChange::Failed => &mut self.failed,
            PageChange::Gone => &mut self.gone,
            PageChange::New => &mut self.new,
            PageChange::Unchanged => &mut self.unchanged,
        } += 1;
    }

    /// Adds the counts of another.
    pub(crate) fn merge(&mut self, other: Self) {
        self.new += other.new;
        self.changed += other.changed;
        self.unchanged += other.unchanged;
        self.gone += other.gone;
        self.failed += other.failed;
        self.not_modified += other.not_modified;
    }

    /// Visits of known pages.
    pub fn met(&self) -> u64 {
        self.changed + self.unchanged + self.gone + self.failed
    }
}
