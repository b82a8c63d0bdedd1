//! What a node notices of its servers: that they are silent, have lost the crawl, or have a different time.

use std::time::{Duration, Instant, SystemTime};

/// How long the servers must say that something is gone, at least: just after they have begun, they may say so of what they have.
const SETTLES: Duration = Duration::from_secs(15);
/// How far this machine's clock may differ from the servers': the shortest rests of hosts are not much shorter.
const TOLERANCE: Duration = Duration::from_secs(2);

/// What a node notices of its servers. Time is an argument.
#[derive(Debug, Default)]
pub(super) struct ServerWatch {
    silent_since: Option<Instant>,
    was_told: bool,
    missing_since: Option<Instant>,
    asked: Option<Instant>,
}

impl ServerWatch {
    /// Notes whether the servers have answered recently. True once, when they have been silent for a lease's life.
    pub(super) fn is_silent(&mut self, has_answered: bool, life: Duration, now: Instant) -> bool {
        if has_answered {
            (self.silent_since, self.was_told) = (None, false);
            return false;
        }
        let since = *self.silent_since.get_or_insert(now);
        now.duration_since(since) >= life && !std::mem::replace(&mut self.was_told, true)
    }

    /// Whether to check what the servers have of the crawl: once in a lease's life, and at each look while something is wrong.
    pub(super) fn is_due(&mut self, life: Duration, now: Instant) -> bool {
        let is_well = self.silent_since.is_none() && self.missing_since.is_none();
        if is_well && self.asked.is_some_and(|asked| now.duration_since(asked) < life) {
            return false;
        }
        self.asked = Some(now);
        true
    }

    /// Notes whether the servers miss a part of the crawl. True once they have missed it for so long that it counts as gone.
    pub(super) fn is_gone(&mut self, is_missing: bool, life: Duration, now: Instant) -> bool {
        if !is_missing {
            self.missing_since = None;
            return false;
        }
        now.duration_since(*self.missing_since.get_or_insert(now)) >= life.max(SETTLES)
    }
}

/// By how many microseconds this machine's clock is ahead of the servers', which kept a message between two moments of ours; negative where
/// it is late, and 0 if it is about right.
pub(super) fn clock_ahead(sent: SystemTime, kept: SystemTime, answered: SystemTime) -> i64 {
    let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    match (sent.duration_since(kept), kept.duration_since(answered)) {
        (Ok(ahead), _) if ahead > TOLERANCE => micros(ahead),
        (_, Ok(late)) if late > TOLERANCE => -micros(late),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Duration = Duration::from_secs(20);

    #[test]
    fn silence_is_told_once_and_again_after_an_answer() {
        let (mut watch, start) = (ServerWatch::default(), Instant::now());
        let mut told = |has_answered, after| watch.is_silent(has_answered, LIFE, start + Duration::from_secs(after));
        assert!(!told(true, 0) && !told(false, 10) && !told(false, 29));
        assert!(told(false, 30) && !told(false, 31) && !told(false, 300));
        assert!(!told(true, 301) && !told(false, 302) && told(false, 322));
    }

    #[test]
    fn what_is_missing_for_a_moment_is_not_gone() {
        let (mut watch, start) = (ServerWatch::default(), Instant::now());
        let at = |after| start + Duration::from_secs(after);
        assert!(watch.is_due(LIFE, at(0)) && !watch.is_due(LIFE, at(19)) && watch.is_due(LIFE, at(20)));
        assert!(!watch.is_gone(true, LIFE, at(20)) && watch.is_due(LIFE, at(21)) && !watch.is_gone(true, LIFE, at(39)));
        assert!(!watch.is_gone(false, LIFE, at(40)) && !watch.is_gone(true, LIFE, at(41)));
        assert!(watch.is_gone(true, LIFE, at(61)));
    }

    #[test]
    fn a_clock_is_compared_with_the_moments_around_an_answer() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(clock_ahead(at(100), at(103), at(110)), 0, "a slow answer");
        assert_eq!(clock_ahead(at(100), at(99), at(101)), 0);
        assert_eq!(clock_ahead(at(4_000), at(400), at(4_001)), 3_600_000_000);
        assert_eq!(clock_ahead(at(100), at(3_701), at(101)), -3_600_000_000);
    }
}
