//! How many fetches may be under way at once: fewer for a while after the machine runs short of something.

use std::time::{Duration, Instant};

/// The first pause after a shortage. It doubles with each shortage in a row.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(5);

/// Limits the fetches under way. After a shortage of open files, ports or buffers, or a proxy's failure, the limit is a quarter less than
/// were under way, and no fetch begins for a while. Each round of fetches that end well restores an eighth.
#[derive(Debug)]
pub(in crate::crawl) struct ConcurrencyLimit {
    most: usize,
    size: usize,
    /// Fetches that ended well since the size last changed.
    well: usize,
    pause: Duration,
    until: Option<Instant>,
}

impl ConcurrencyLimit {
    pub(in crate::crawl) fn new(most: usize) -> Self {
        let most = most.max(1);
        Self { most, size: most, well: 0, pause: PAUSE, until: None }
    }

    /// The current limit.
    pub(in crate::crawl) fn size(&self) -> usize {
        self.size
    }

    /// Whether the limit is lower than at first.
    pub(in crate::crawl) fn is_short(&self) -> bool {
        self.size < self.most
    }

    /// Until when no fetch may begin, if that is in the future.
    pub(in crate::crawl) fn paused(&self, now: Instant) -> Option<Instant> {
        self.until.filter(|until| *until > now)
    }

    /// Notes that a fetch ended because the machine ran short or a proxy failed, with `in_flight` others under way. All failures within one
    /// pause count once.
    pub(in crate::crawl) fn ran_short(&mut self, in_flight: usize, now: Instant) {
        if self.paused(now).is_some() {
            return;
        }
        self.size = (in_flight - in_flight / 4).clamp(1, self.size);
        self.well = 0;
        self.until = Some(now + self.pause);
        tracing::warn!(
            at_once = self.size,
            "short of open files, ports, buffers or a proxy: fetching less at once for a while"
        );
        self.pause = (self.pause * 2).min(LONGEST);
    }

    /// Notes that a fetch ended without a shortage, whatever its result.
    pub(in crate::crawl) fn ended_well(&mut self) {
        if !self.is_short() {
            return;
        }
        self.well += 1;
        if self.well >= self.size {
            self.size = (self.size + self.size.div_ceil(8)).min(self.most);
            self.well = 0;
            self.pause = PAUSE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_takes_a_quarter_once_and_time_gives_it_back() {
        let start = Instant::now();
        let mut room = ConcurrencyLimit::new(100);
        for _ in 0..100 {
            room.ran_short(80, start);
        }
        assert_eq!((room.size(), room.paused(start)), (60, Some(start + PAUSE)));
        let later = start + PAUSE;
        assert_eq!(room.paused(later), None);
        room.ran_short(0, later);
        assert_eq!((room.size(), room.paused(later)), (1, Some(later + 2 * PAUSE)), "and never none at all");
        let sizes: Vec<_> = (0..1000)
            .map(|_| {
                room.ended_well();
                room.size()
            })
            .collect();
        assert!(sizes.is_sorted() && sizes[0] == 2 && sizes[999] == 100, "{sizes:?}");
    }

    #[test]
    fn pauses_grow_and_are_bounded() {
        let mut room = ConcurrencyLimit::new(8);
        let mut now = Instant::now();
        for _ in 0..20 {
            room.ran_short(4, now);
            now = room.paused(now).unwrap();
        }
        room.ran_short(4, now);
        assert_eq!(room.paused(now), Some(now + LONGEST));
    }
}
