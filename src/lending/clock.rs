//! The clock of a shared frontier.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::frontier::Timestamp;

/// The only reader of clocks. It takes the wall time once, at the start, and monotonic time from then on, so that a step of the wall
/// clock neither hurries nor stalls a crawl.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
    epoch: Timestamp,
}

impl Clock {
    /// Starts at the wall clock's time.
    pub fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started: Instant::now(), epoch: Timestamp::default() + since_epoch }
    }

    /// This clock, set back by `micros` microseconds (ahead, if negative): for a machine whose clock is known to be wrong.
    #[must_use]
    pub fn set_back(self, micros: i64) -> Self {
        Self {
            epoch: Timestamp::from_micros(self.epoch.as_micros().saturating_add_signed(micros.saturating_neg())),
            ..self
        }
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        self.timestamp(Instant::now())
    }

    /// A moment of the monotonic clock, as a timestamp.
    pub fn timestamp(&self, instant: Instant) -> Timestamp {
        self.epoch + instant.saturating_duration_since(self.started)
    }

    /// A timestamp, as a moment of the monotonic clock; a timestamp before the start becomes the start.
    pub fn instant(&self, timestamp: Timestamp) -> Instant {
        let after = timestamp.since(self.epoch);
        // A timestamp beyond the monotonic clock's range becomes one day from now.
        self.started.checked_add(after).unwrap_or_else(|| Instant::now() + Duration::from_secs(86_400))
    }

    /// The time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// When the clock was started.
    pub fn epoch(&self) -> Timestamp {
        self.epoch
    }
}
