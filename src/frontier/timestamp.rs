use std::ops::Add;
use std::time::Duration;

/// A point in time: microseconds since the Unix epoch. It is written to disk, so it is no [`std::time::Instant`];
/// whoever reads the clock keeps it from running backwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// From microseconds since the Unix epoch.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since the Unix epoch.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// How long after `earlier`; zero where it is not after.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, rest: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(rest.as_micros()).unwrap_or(u64::MAX)))
    }
}
