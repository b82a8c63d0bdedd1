//! Requests, counted by their results.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::name_counts::NameCounts;
use crate::crawl::records::PageRecord;

/// Requests of one kind, counted by their results: each is counted once, by the status of its complete answer or by its error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct AnswerCounts {
    /// Complete answers, by HTTP status.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests without a complete answer, and unusable answers, by error. Refusals by type or size are not included.
    pub errors: NameCounts,
}

impl AnswerCounts {
    /// Counts a request by its record.
    pub(super) fn record(&mut self, record: &PageRecord) {
        match (&record.error, record.status) {
            (Some(_), _) if record.is_unwanted() => {}
            (Some(error), _) => self.errors.add(error, 1),
            (None, Some(status)) => *self.statuses.entry(status).or_default() += 1,
            (None, None) => self.errors.add("none", 1),
        }
    }

    /// The number of all requests.
    pub fn total(&self) -> u64 {
        self.statuses.values().sum::<u64>() + self.errors.total()
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (&status, count) in &other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.errors.merge(&other.errors);
    }
}
