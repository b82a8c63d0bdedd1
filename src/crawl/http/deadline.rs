//! A limit on how long a part of a fetch may take.

use std::time::{Duration, Instant};

/// The longest limit, so that any option can be added to any time.
pub(super) const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// A limit on how long something may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    pub(super) name: &'static str,
    pub(super) length: Duration,
    pub(super) from: Instant,
}

impl Deadline {
    /// When it runs out.
    pub(super) fn until(self) -> Instant {
        self.from + self.length.min(LONGEST)
    }

    /// The deadline that runs out first.
    pub(super) fn sooner(self, other: Self) -> Self {
        if other.until() < self.until() { other } else { self }
    }
}
