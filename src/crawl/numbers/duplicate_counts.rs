//! Pages that say what another one said, counted.

use serde::{Deserialize, Serialize};

use crate::crawl::records::{Duplicate, PageRecord};

/// Pages that say what a page before them said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct DuplicateCounts {
    /// With the same body.
    pub same: u64,
    /// With the same words, numbers apart.
    pub near: u64,
}

impl DuplicateCounts {
    /// Counts a page that is done, by its record.
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
