//! How long URLs and hosts waited.

use serde::{Deserialize, Serialize};

use crate::crawl::latencies::Latencies;
use crate::frontier::lease::Waited;

/// How long URLs and hosts waited before they were asked: a sample, if there are many. Waits across a restart are not included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct WaitTimes {
    /// URLs in the queue, from their admission.
    pub queued: Latencies,
    /// Hosts with URLs, until the end of their rest.
    pub rested: Latencies,
    /// Hosts whose rest was over, until their turn.
    pub due: Latencies,
}

impl WaitTimes {
    pub(in crate::crawl) fn record(&mut self, waited: Waited) {
        let Waited { queued, rested, due } = waited;
        for (times, time) in [(&mut self.queued, queued), (&mut self.rested, rested), (&mut self.due, due)] {
            if let Some(time) = time {
                times.record(time);
            }
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.queued.merge(&other.queued);
        self.rested.merge(&other.rested);
        self.due.merge(&other.due);
    }
}
