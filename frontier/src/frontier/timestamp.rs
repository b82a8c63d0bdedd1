//! Points in time, as the caller passes them and as they are written to disk.
//!
//! The frontier reads no clock. So a test crawls a year in a second, and a replayed record means what it meant when it was written. Sums
//! saturate: an endless rest ends at the greatest timestamp.

use std::fmt;
use std::ops::{Add, Range};
use std::time::Duration;

/// A point in time: microseconds since the Unix epoch. It is written to disk, so it is not a [`std::time::Instant`]; the caller, which
/// reads the clock, keeps it from running backwards.
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

    /// Parses what [`Display`](fmt::Display) writes; `None` for anything else.
    pub fn read(text: &str) -> Option<Self> {
        let number = |at: Range<usize>| text.get(at)?.parse::<u64>().ok();
        let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
        // The inverse of `fmt`: days from the civil date.
        let (year, month) = if month > 2 { (year, month.checked_sub(3)?) } else { (year.checked_sub(1)?, month + 9) };
        let day = (153 * month + 2) / 5 + day.checked_sub(1)?;
        let days = (365 * year + year / 4 - year / 100 + year / 400 + day).checked_sub(719_468)?;
        let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
        let millis = days * DAY + ((hour * 60 + minute) * 60 + second) * 1000 + number(20..23)?;
        Some(Self(millis * 1000)).filter(|read| read.to_string() == text)
    }

    /// This long before; the epoch if that is later.
    pub(crate) fn before(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(by.as_micros()).unwrap_or(u64::MAX)))
    }

    /// How long after `earlier`; zero if it is not after it.
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

/// RFC 3339, UTC, milliseconds: `2026-11-10T10:00:00.007Z`. Times after the year 9999 are shown as the end of that year.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.min(END) / 1000;
        let (days, millis) = (millis / DAY, millis % DAY);
        let (seconds, millis) = (millis / 1000, millis % 1000);
        // The civil date of a day, by eras of 400 years that begin on March 1 (Hinnant, "chrono-Compatible Low-Level Date
        // Algorithms").
        let (era, day) = ((days + 719_468) / 146_097, (days + 719_468) % 146_097);
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        let year = 400 * era + year + u64::from(month <= 2);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let mut put = |place: Range<usize>, mut number: u64| {
            for digit in text[place].iter_mut().rev() {
                *digit += (number % 10).to_le_bytes()[0];
                number /= 10;
            }
        };
        put(0..4, year);
        put(5..7, month);
        put(8..10, day);
        put(11..13, hour);
        put(14..16, minute);
        put(17..19, second);
        put(20..23, millis);
        f.write_str(str::from_utf8(&text).expect("digits"))
    }
}

/// Milliseconds of a day.
const DAY: u64 = 86_400_000;
/// The last microsecond of the year 9999.
const END: u64 = 253_402_300_799_999_999;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_as_dates() {
        for (seconds, shown) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (4_107_542_399, "2100-02-28T23:59:59.000Z"),
        ] {
            assert_eq!(Timestamp::from_micros(seconds * 1_000_000).to_string(), shown);
        }
        assert_eq!(Timestamp::from_micros(1_794_304_800_007_999).to_string(), "2026-11-10T10:00:00.007Z");
        assert_eq!(Timestamp::from_micros(u64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn dates_are_read_back() {
        for micros in (0..10_000).map(|number| number * 25_340_230_079_000).filter(|micros| *micros <= END) {
            let time = Timestamp::from_micros(micros / 1000 * 1000);
            assert_eq!(Timestamp::read(&time.to_string()), Some(time));
        }
        for wrong in [
            "",
            "2026-11-10",
            "2026-02-30T10:00:00.000Z",
            "2026-11-10T10:00:00.007z",
            "0000-00-00T00:00:00.000Z",
            "é".repeat(24).as_str(),
        ] {
            assert_eq!(Timestamp::read(wrong), None, "{wrong}");
        }
    }
}
