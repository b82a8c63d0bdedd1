//! Merges reports: of the parts of one crawl on many machines, or of several jobs.

use super::format::Report;
#[cfg(feature = "cluster")]
use crate::crawl::Carried;
use crate::crawl::{Counter, FinishReason, micros};
use crate::frontier::Timestamp;
use crate::seen::SeenStatistics;

impl Report {
    /// Adds the report of another part of the crawl, from another machine, partition or job. The parts should have no host in common: a
    /// host of both counts twice, but has one row among the hosts with the most requests.
    ///
    /// Counts and memory are summed. Percentiles are computed from the times of both. The crawl begins with the first part, and lasts until
    /// the end of the last one. Where a sum makes no sense, the worse value counts: the reason for the end, the fairness, the longest wait.
    /// The seen set has the shards of both, and its other numbers are computed anew from them. Settings are those of this part, with three
    /// exceptions: robots.txt was honored if both honored it, private addresses were allowed if either allowed them, and workers are
    /// summed.
    ///
    /// The order of merging does not matter, except for the settings and the three examples of each error, which come from the first parts.
    /// The sums of names are always exact; beyond [`NameCounts::MOST`](crate::crawl::NameCounts::MOST) names of one kind, the rare names
    /// are counted together.
    pub fn merge(&mut self, other: &Self) {
        let (began, others_began) = (began(&self.started), began(&other.started));
        let first = began.min(others_began);
        let [late, others_late] = [began, others_began].map(|began| micros(began.since(first)));
        self.timeline.merge(late, &other.timeline, others_late);
        let ends = [self.elapsed_us.saturating_add(late), other.elapsed_us.saturating_add(others_late)];
        self.elapsed_us = ends[0].max(ends[1]);
        if others_began < began {
            self.started.clone_from(&other.started);
        }
        self.finished = std::mem::take(&mut self.finished).max(other.finished.clone());
        self.crawler = std::mem::take(&mut self.crawler).max(other.crawler.clone());
        if gravity(other.finish) > gravity(self.finish) {
            self.finish = other.finish;
        }
        self.resumes.merge_with(&other.resumes);
        self.settings.robots &= other.settings.robots;
        self.settings.private_addresses |= other.settings.private_addresses;
        self.settings.workers.merge_with(&other.settings.workers);
        self.seeds.merge_with(&other.seeds);
        self.urls.merge_with(&other.urls);
        self.pages.merge_with(&other.pages);
        self.asked_again.merge_with(&other.asked_again);
        self.guesses.merge_with(&other.guesses);
        self.robots.merge_with(&other.robots);
        self.breakdown.merge_with(&other.breakdown);
        self.connections.merge_with(&other.connections);
        self.waits.merge_with(&other.waits);
        self.sitemaps.merge_with(&other.sitemaps);
        self.duplicates.merge_with(&other.duplicates);
        self.challenges.merge_with(&other.challenges);
        self.preferences.merge_with(&other.preferences);
        self.signed.merge_with(&other.signed);
        self.recrawl.merge_with(&other.recrawl);
        self.hosts.merge_with(&other.hosts);
        self.politeness.merge_with(&other.politeness);
        let shards = self.seen.shards.drain(..).chain(other.seen.shards.iter().cloned()).collect();
        self.seen = SeenStatistics::new(shards, self.seen.recent_hits + other.seen.recent_hits);
        self.other_sets.merge_with(&other.other_sets);
        self.outputs.merge_with(&other.outputs);
        self.checkpoints.merge_with(&other.checkpoints);
        self.cost.merge_with(&other.cost);
        self.simulated.merge_with(&other.simulated);
    }

    /// Removes the long parts, which the crawl also carries to its next owner in [`Carried`].
    #[cfg(feature = "cluster")]
    pub(crate) fn shorten(&mut self) {
        self.complete(Carried::default());
    }

    /// Puts the long parts back, as the crawl has carried them.
    #[cfg(feature = "cluster")]
    pub(crate) fn complete(&mut self, Carried { timeline, tally, .. }: Carried) {
        self.timeline = timeline;
        (self.pages, self.robots) = (tally.pages, tally.robots);
        (self.connections, self.waits) = (tally.connections, tally.waits);
    }
}

/// How bad the end of a crawl is.
fn gravity(reason: FinishReason) -> u8 {
    match reason {
        FinishReason::Drained => 0,
        FinishReason::MaxPages => 1,
        FinishReason::MaxDuration => 2,
        FinishReason::ReaderLeft => 3,
        FinishReason::Stopped => 4,
        FinishReason::Unfinished => 5,
        FinishReason::SeenFull => 6,
        FinishReason::ProxyFailed => 7,
        FinishReason::DiskLow => 8,
        FinishReason::SinkFailed => 9,
        FinishReason::StorageFailed => 10,
    }
}

fn began(started: &str) -> Timestamp {
    Timestamp::read(started).unwrap_or_default()
}
