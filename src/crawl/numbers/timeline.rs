//! A crawl's numbers over time ([`Timeline`]), and its current ones for a progress bar ([`Progress`]).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::tally::Tally;
use crate::crawl::counters::{Counter, counters, greatest};
use crate::frontier::{FrontierStatistics, Timestamp};
use crate::seen::ShardStatistics;

counters! {
    /// A crawl's counts at one moment, each from the first run's begin on. Of the filters of two crawls, the worse one counts.
    #[derive(Copy)]
    #[non_exhaustive]
    pub struct Moment {
        /// When it was: microseconds since the crawl began, of all runs together.
        pub elapsed_us: u64 => greatest,
        /// URLs found.
        pub found: u64,
        /// URLs admitted.
        pub admitted: u64,
        /// URLs whose page came.
        pub fetched: u64,
        /// URLs tried without getting a whole response.
        pub failed: u64,
        /// URLs waiting, for their turn or for a time.
        pub queued: u64,
        /// Bytes of bodies on the wire.
        pub wire_bytes: u64,
        /// Share of the seen filter's bits that are set, 0 to 1.
        pub fill_ratio: f64 => greatest,
        /// Share of new URLs that the filter takes for seen, 0 to 1, estimated from the fill.
        pub false_positive_rate_estimated: f64 => greatest,
        /// The same rate as the audit has measured it, as the mean so far; `None` if nothing is audited.
        pub false_positive_rate_measured: Option<f64> => greatest,
    }
}

impl Moment {
    /// A moment of a run, starting with the counts of earlier runs.
    pub(in crate::crawl) fn of(elapsed_us: u64, before: &Tally) -> Self {
        let mut moment = Self { elapsed_us, ..Self::default() };
        moment.count(before);
        moment
    }

    /// Adds counts.
    pub(in crate::crawl) fn count(&mut self, tally: &Tally) {
        self.fetched += tally.urls.fetched;
        self.failed += tally.urls.failed;
        self.wire_bytes += tally.pages.wire_bytes + tally.robots.wire_bytes;
    }

    /// Takes the filter's fill and error rates.
    pub(in crate::crawl) fn measure(&mut self, filter: &ShardStatistics) {
        self.fill_ratio = filter.fill_ratio;
        self.false_positive_rate_estimated = filter.false_positive_rate_estimated;
        self.false_positive_rate_measured = filter.audit.as_ref().map(|audit| audit.rate);
    }
}

/// A crawl's numbers over time, at a resolution that halves as the crawl gets longer: a few hundred moments, whether it takes a minute or
/// a month. 60 KiB at most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Timeline {
    /// Microseconds between two moments, at least.
    step_us: u64,
    moments: Vec<Moment>,
}

/// At most this many moments are kept. Even, so that every second one can be dropped.
const MOST: usize = 512;
const FIRST_STEP_US: u64 = 1_000_000;

impl Default for Timeline {
    fn default() -> Self {
        Self { step_us: FIRST_STEP_US, moments: Vec::new() }
    }
}

impl Timeline {
    /// The moments, earliest first.
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }

    /// Whether a moment is due. Counts need to be gathered only then.
    pub(in crate::crawl) fn is_due(&self, elapsed_us: u64) -> bool {
        self.moments.last().is_none_or(|last| elapsed_us >= last.elapsed_us.saturating_add(self.step_us))
    }

    /// Adds the moments of another crawl. Each crawl began this many microseconds after the earliest of the merged crawls.
    pub(crate) fn merge(&mut self, begin_us: u64, other: &Self, other_begin_us: u64) {
        let at = |moments: &[Moment], begin_us: u64| -> Vec<Moment> {
            let later = |moment: &Moment| Moment { elapsed_us: moment.elapsed_us.saturating_add(begin_us), ..*moment };
            moments.iter().map(later).collect()
        };
        let [ours, theirs] = [at(&self.moments, begin_us), at(&other.moments, other_begin_us)];
        let mut times: Vec<_> = ours.iter().chain(&theirs).map(|moment| moment.elapsed_us).collect();
        times.sort_unstable();
        times.dedup();
        let (mut ours, mut theirs) = (Latest::of(&ours), Latest::of(&theirs));
        let both = |time| {
            let mut both = ours.at(time);
            both.merge_with(&theirs.at(time));
            Moment { elapsed_us: time, ..both }
        };
        self.moments = times.into_iter().map(both).collect();
        self.step_us = self.step_us.max(other.step_us);
        // The last moment stays: it has the totals.
        while self.moments.len() > MOST {
            let last = self.moments.len() - 1;
            let mut place = 0..;
            self.moments.retain(|_| place.next().is_some_and(|place: usize| (last - place).is_multiple_of(2)));
            self.step_us = self.step_us.saturating_mul(2);
        }
    }

    /// Keeps a moment. Counts only grow, so a dropped moment lies between two that stay, and every second one may be dropped.
    pub(in crate::crawl) fn keep(&mut self, moment: Moment) {
        if self.moments.len() >= MOST {
            let mut is_kept = false;
            self.moments.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            self.step_us = self.step_us.saturating_mul(2);
        }
        self.moments.push(moment);
    }
}

/// Steps through moments, and has the latest one up to a time.
struct Latest<'a> {
    left: &'a [Moment],
    now: Moment,
}

impl<'a> Latest<'a> {
    fn of(moments: &'a [Moment]) -> Self {
        Self { left: moments, now: Moment::default() }
    }

    /// The latest moment up to a time. Call it with times in ascending order.
    fn at(&mut self, time: u64) -> Moment {
        while let Some((next, left)) = self.left.split_first().filter(|(next, _)| next.elapsed_us <= time) {
            (self.now, self.left) = (*next, left);
        }
        self.now
    }
}

/// A crawl's numbers while it runs, for a progress bar.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Page records so far.
    pub pages: u64,
    /// Records without a whole response.
    pub errors: u64,
    /// Bytes of bodies on the wire.
    pub wire_bytes: u64,
    /// Links that were seen before.
    pub duplicates: u64,
    /// The number of `pages` that earlier runs wrote.
    pub earlier_pages: u64,
    /// The number of `wire_bytes` that earlier runs received.
    pub earlier_wire_bytes: u64,
    /// Time since the crawl was made, in this run only.
    pub elapsed: Duration,
    /// The crawl's time.
    pub now: Timestamp,
    /// Share of the seen filter's capacity that is used, 0 to 1; 0 if it grows.
    pub filter_used: f64,
    /// The seen filter is beyond its capacity: it loses more pages than its target rate promises.
    pub is_filter_full: bool,
    /// The crawl is paused.
    pub is_paused: bool,
    /// It is a distributed crawl, and its servers do not answer.
    pub is_cut_off: bool,
    /// Waiting and leased URLs.
    pub frontier: FrontierStatistics,
}

#[cfg(feature = "cluster")]
impl Progress {
    /// Adds the progress of another part of the crawl.
    pub(crate) fn merge(&mut self, mut other: Self) {
        for (sum, count) in self.counts().into_iter().zip(other.counts()) {
            *sum += *count;
        }
        self.elapsed = self.elapsed.max(other.elapsed);
        self.now = self.now.max(other.now);
        self.filter_used = self.filter_used.max(other.filter_used);
        self.is_filter_full |= other.is_filter_full;
        self.is_paused |= other.is_paused;
        self.is_cut_off |= other.is_cut_off;
        let next_due = [self.frontier.next_due, other.frontier.next_due];
        self.frontier.next_due = next_due.into_iter().flatten().min();
    }

    fn counts(&mut self) -> [&mut u64; 22] {
        let all = &mut self.frontier;
        [
            &mut self.pages,
            &mut self.errors,
            &mut self.wire_bytes,
            &mut self.duplicates,
            &mut self.earlier_pages,
            &mut self.earlier_wire_bytes,
            &mut all.queued,
            &mut all.scheduled,
            &mut all.leased,
            &mut all.leased_robots,
            &mut all.completed,
            &mut all.retries,
            &mut all.hosts,
            &mut all.active_hosts,
            &mut all.resting_hosts,
            &mut all.sleeping_hosts,
            &mut all.failing_hosts,
            &mut all.retired_hosts,
            &mut all.hosts_in_line,
            &mut all.hosts_giving_way,
            &mut all.held_by_rate,
            &mut all.unreachable,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_crawl_has_as_many_moments_as_a_short_one() {
        let mut timeline = Timeline::default();
        let month = 30 * 24 * 3600;
        for second in 0..=month {
            if timeline.is_due(second * 1_000_000) {
                timeline.keep(Moment { elapsed_us: second * 1_000_000, fetched: second * 7, ..Moment::default() });
            }
            assert!(timeline.moments().len() <= MOST);
        }
        let moments = timeline.moments();
        assert!(moments.len() >= MOST / 2, "{}", moments.len());
        assert_eq!(moments[0].elapsed_us, 0, "its begin stays");
        let steps: Vec<_> = moments.windows(2).map(|two| two[1].elapsed_us - two[0].elapsed_us).collect();
        let (shortest, longest) = (steps.iter().min().unwrap(), steps.iter().max().unwrap());
        assert!(*longest <= 2 * shortest, "{shortest} to {longest}");
        assert!(month * 1_000_000 - moments.last().unwrap().elapsed_us <= 2 * longest, "its end is not far");
        assert!(moments.iter().all(|moment| moment.fetched == moment.elapsed_us / 1_000_000 * 7));
    }

    #[cfg(feature = "cluster")]
    #[test]
    fn the_progress_of_parts_is_summed_for_all_that_is_shown() {
        let mut part = Progress { filter_used: 0.9, ..Progress::default() };
        (part.frontier.sleeping_hosts, part.frontier.resting_hosts, part.frontier.leased_robots) = (2, 3, 1);
        part.frontier.next_due = Some(Timestamp::from_micros(7));
        let mut sum = Progress::default();
        sum.merge(part);
        sum.merge(Progress::default());
        assert_eq!(sum, part);
        sum.merge(part);
        assert_eq!((sum.frontier.sleeping_hosts, sum.frontier.leased_robots), (4, 2));
    }
}
