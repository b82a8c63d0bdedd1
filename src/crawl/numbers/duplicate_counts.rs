//! Counts of pages that repeat another page.

use serde::{Deserialize, Serialize};

use crate::crawl::records::{Duplicate, PageRecord};

/// Pages that repeat an earlier page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct DuplicateCounts {
    /// With the same body.
    pub same: u64,
    /// With the same words, not counting numbers.
    pub near: u64,
}

impl DuplicateCounts {
    /// Counts a completed page by its record.
    pub(super) fn record(&mut self, record: &PageRecord) {
        match record.duplicate {
            Some(Duplicate::Same) => self.same += 1,
            Some(Duplicate::Near) => self.near += 1,
            None => {}
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.same += other.same;
        self.near += other.near;
    }
}
