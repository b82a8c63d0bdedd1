//! Times of day in which hosts may be asked.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::frontier::Timestamp;
use crate::gate::OptionError;

/// Times of day in which a host may be asked, in a zone with a fixed offset from UTC. A window may go over midnight.
///
/// ```
/// use crawler::frontier::{Hours, Timestamp};
///
/// let hours: Hours = "22:00-06:00 +02:00".parse()?;
/// // In UTC, these are the times from 20:00 to 04:00; and the epoch began at midnight.
/// assert_eq!(hours.opens(Timestamp::from_micros(0)), Timestamp::from_micros(0));
/// let noon = Timestamp::from_micros(12 * 3_600_000_000);
/// assert_eq!(hours.opens(noon), Timestamp::from_micros(20 * 3_600_000_000));
/// assert!("22:00-22:00".parse::<Hours>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The zone is an offset, not a name: in a zone with daylight saving time, the hours are one hour off for half of the year.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hours {
    /// Minutes of the day, from 0 on.
    from: u16,
    /// Minutes of the day, up to 1,440; less than `from` if midnight is between them.
    to: u16,
    /// Minutes that the zone is ahead of UTC.
    offset: i16,
}

/// Minutes of a day.
const DAY: u16 = 24 * 60;
/// Microseconds of a minute.
const MINUTE: u64 = 60_000_000;

impl Hours {
    /// All day.
    pub const ALWAYS: Self = Self { from: 0, to: DAY, offset: 0 };

    /// The first moment, from `at` on, at which a host may be asked: `at` itself if it may be asked then.
    pub fn opens(&self, at: Timestamp) -> Timestamp {
        let day = u64::from(DAY) * MINUTE;
        let ahead = u64::from((self.offset.rem_euclid(DAY.cast_signed())).unsigned_abs()) * MINUTE;
        let time = (at.as_micros() % day + ahead) % day;
        let [from, to] = [self.from, self.to].map(|minute| u64::from(minute) * MINUTE);
        let is_open = if from < to { (from..to).contains(&time) } else { time >= from || time < to };
        if is_open { at } else { at + Duration::from_micros((from + day - time) % day) }
    }
}

impl FromStr for Hours {
    type Err = OptionError;

    /// Parses `22:00-06:00` (in UTC), `22:00-06:00 +02:00` or `always`. The end may be 24:00.
    fn from_str(text: &str) -> Result<Self, OptionError> {
        let refused =
            |reason: &str| OptionError::Option { option: "hours", value: text.to_owned(), reason: reason.to_owned() };
        if text == "always" {
            return Ok(Self::ALWAYS);
        }
        let expected = "is no time of day such as 22:00-06:00, or 22:00-06:00 +02:00 where it is not UTC; zones have no names here";
        let (window, zone) = text.split_at_checked("22:00-06:00".len()).ok_or_else(|| refused(expected))?;
        let minutes = |text: &str, most: u16| {
            let (hour, minute) = text.split_once(':')?;
            let number = |digits: &str| {
                let is_number = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_digit());
                if is_number { digits.parse::<u16>().ok() } else { None }
            };
            let (hour, minute) = (number(hour)?, number(minute)?);
            (minute < 60).then_some(hour * 60 + minute).filter(|time| *time <= most)
        };
        let ends = || {
            let (from, to) = window.split_once('-')?;
            Some((minutes(from, DAY - 1)?, minutes(to, DAY)?))
        };
        let (from, to) = ends().ok_or_else(|| refused(expected))?;
        let zone = zone.trim_start();
        let offset = match (zone, zone.split_at_checked(1)) {
            ("" | "Z" | "UTC", _) => Some(0),
            (_, Some((sign @ ("+" | "-"), offset))) => {
                let offset = minutes(offset, 14 * 60).map(u16::cast_signed);
                offset.map(|offset| if sign == "-" { -offset } else { offset })
            }
            _ => None,
        };
        let offset = offset.ok_or_else(|| refused(expected))?;
        if from == to {
            return Err(refused("begins and ends at the same time; all day is `always`"));
        }
        Ok(Self { from, to, offset })
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, offset } = *self;
        if (from, to) == (0, DAY) {
            return f.write_str("always");
        }
        write!(f, "{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, to / 60, to % 60)?;
        if offset != 0 {
            let ahead = offset.unsigned_abs();
            write!(f, " {}{:02}:{:02}", if offset < 0 { '-' } else { '+' }, ahead / 60, ahead % 60)?;
        }
        Ok(())
    }
}

/// As it is written.
impl fmt::Debug for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_window_is_refused_with_what_is() {
        for (text, reason) in [
            ("22:00-22:00", "begins and ends at the same time"),
            ("22:00-22:00 +02:00", "begins and ends at the same time"),
            ("22:00-06:00 Europe/Berlin", "zones have no names here"),
            ("22-6", "is no time of day"),
            ("22:00-25:00", "is no time of day"),
            ("24:00-06:00", "is no time of day"),
            ("22:00-06:60", "is no time of day"),
            ("22:00-06:00 +15:00", "is no time of day"),
            ("22:00-06:00 +2:00", "is no time of day"),
            ("+2:00-+6:00", "is no time of day"),
            ("", "is no time of day"),
            ("22:00–06:00", "is no time of day"),
        ] {
            let error = text.parse::<Hours>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        for text in ["22:00-06:00", "00:00-06:30 +05:45", "09:00-24:00 -03:30", "always"] {
            assert_eq!(text.parse::<Hours>().unwrap().to_string(), text);
        }
        assert_eq!("00:00-24:00".parse::<Hours>().unwrap(), Hours::ALWAYS);
        assert_eq!("22:00-06:00+02:00".parse::<Hours>().unwrap().to_string(), "22:00-06:00 +02:00");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        /// The model goes on minute by minute, like a clock on the wall.
        #[test]
        fn it_opens_at_the_first_minute_of_the_window(
            from in 0..DAY, length in 1..DAY, offset in -840..840i16, at in 0..20_000_000u64, micros in 0..MINUTE,
        ) {
            let hours = Hours { from, to: (from + length) % DAY, offset };
            let is_open = |minute: u64| {
                let local = (i64::try_from(minute).unwrap() + i64::from(offset)).rem_euclid(DAY.into());
                (local - i64::from(from)).rem_euclid(DAY.into()) < i64::from(length)
            };
            let now = Timestamp::from_micros(at * MINUTE + micros);
            let opens = hours.opens(now);
            if is_open(at) {
                prop_assert_eq!(opens, now);
            } else {
                let first = (at..at + 1440).find(|minute| is_open(*minute)).unwrap();
                prop_assert_eq!(opens, Timestamp::from_micros(first * MINUTE));
            }
            prop_assert_eq!(hours.opens(opens), opens);
        }
    }
}
