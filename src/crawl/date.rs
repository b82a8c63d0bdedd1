//! Dates as servers and sites write them: in headers, in cookies, in sitemaps and feeds.

use std::str::FromStr;
use std::time::Duration;

use jiff::civil::Date;
use jiff::fmt::strtime;
use jiff::{SignedDuration, Timestamp};

/// The forms of an HTTP-date (RFC 9110 section 5.6.7): the current one and the obsolete ones. The weekday is cut off first, since it may be
/// wrong and adds nothing. The time zone is a number.
const DATE_FORMATS: [&str; 4] =
    ["%d %b %Y %H:%M:%S %z", "%d-%b-%y %H:%M:%S %z", "%d-%b-%Y %H:%M:%S %z", "%b %e %H:%M:%S %Y %z"];

/// Retry-After (RFC 9110 section 10.2.3), which is seconds or a date, as a delay from now; `None` if it is neither.
pub(super) fn retry_after(value: &str) -> Option<Duration> {
    delay(value, Timestamp::now())
}

fn delay(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // All are digits, so parsing can fail only by overflow.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let rest = http_date(value)?.duration_since(now);
    Some(rest.max(SignedDuration::ZERO).unsigned_abs())
}

fn http_date(value: &str) -> Option<Timestamp> {
    let weekday = value.find(|c: char| !c.is_alphabetic()).unwrap_or_default();
    let date = value[weekday..].trim_start_matches([',', ' ']);
    let (date, zone) = match date.rsplit_once(' ') {
        Some((date, zone)) if ["GMT", "UTC"].iter().any(|known| zone.eq_ignore_ascii_case(known)) => (date, "+0000"),
        Some((date, zone)) if zone.starts_with(['+', '-']) => (date, zone),
        _ => (date, "+0000"),
    };
    let text = format!("{date} {zone}");
    DATE_FORMATS.iter().find_map(|format| strtime::parse(format, &text).ok()?.to_timestamp().ok())
}

/// Reads a date by RFC 6265 section 5.1.1, as seconds since 1970.
pub(super) fn cookie_date(text: &str) -> Option<i64> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(is_delimiter).filter(|token| !token.is_empty()) {
        if time.is_none() && hours(token).is_some() {
            time = hours(token);
        } else if day.is_none() && digits::<i8>(token, 1, 2).is_some() {
            day = digits(token, 1, 2);
        } else if month.is_none() && month_of(token).is_some() {
            month = month_of(token);
        } else if year.is_none() {
            year = digits(token, 2, 4);
        }
    }
    let year = match year? {
        year @ 70..=99 => year + 1900,
        year @ 0..=69 => year + 2000,
        year => year,
    };
    let (day, month, (hour, minute, second)) = (day?, month?, time?);
    let day = Date::new(year, month, day).ok().filter(|_| year >= 1601).map(day_number)?;
    (hour <= 23 && minute <= 59 && second <= 59).then(|| ((day * 24 + hour) * 60 + minute) * 60 + second)
}

fn is_delimiter(c: char) -> bool {
    matches!(c, '\t' | ' '..='/' | ';'..='@' | '['..='`' | '{'..='~')
}

/// A token that begins with `least` to `most` digits and no more. The rest of the token is ignored.
fn digits<T: FromStr>(token: &str, least: usize, most: usize) -> Option<T> {
    let count = token.bytes().take_while(u8::is_ascii_digit).count();
    (least..=most).contains(&count).then(|| token[..count].parse().ok())?
}

fn hours(token: &str) -> Option<(i64, i64, i64)> {
    let mut parts = token.splitn(3, ':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    let whole = |part: &str| digits(part, 1, 2).filter(|_| part.bytes().all(|byte| byte.is_ascii_digit()));
    Some((whole(hour)?, whole(minute)?, digits(second, 1, 2)?))
}

/// The day of a date, counted from 1970-01-01; `None` if the text is not a date. It accepts the W3C's format from a year on (`2009`,
/// `2009-08`, `2009-08-16T…`), and RFC 822's with a year of two or four digits. The time of day and its zone are ignored: a day more or
/// less changes no order that matters.
pub(super) fn day_of(text: &str) -> Option<i64> {
    let text = text.trim();
    let (year, month, day) = w3c(text).or_else(|| rfc_822(text))?;
    let is_date = (1..=31).contains(&day) && (1900..=9999).contains(&year);
    // Sites write the 31st of any month.
    Date::new(year, month, 1).ok().filter(|_| is_date).map(|first| day_number(first) + day - 1)
}

fn w3c(text: &str) -> Option<(i16, i8, i64)> {
    let date = &text[..text.find(['T', 't', ' ']).unwrap_or(text.len())];
    let mut parts = date.split('-');
    let year = parts.next().filter(|year| year.len() == 4).and_then(number)?;
    let month = parts.next().map_or(Some(1), number)?;
    let day = parts.next().map_or(Some(1), number)?;
    parts.next().is_none().then_some((year, month, day))
}

fn rfc_822(text: &str) -> Option<(i16, i8, i64)> {
    let date = text.split_once(',').map_or(text, |(_, date)| date);
    let mut words = date.split_ascii_whitespace();
    let day = words.next().and_then(number)?;
    let month = month_of(words.next()?)?;
    let year = words.next()?;
    let century = match year.len() {
        2 => 2000,
        4 => 0,
        _ => return None,
    };
    Some((century + number::<i16>(year)?, month, day))
}

fn number<T: FromStr>(digits: &str) -> Option<T> {
    let is_number = !digits.is_empty() && digits.len() <= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

/// The month that a word begins with.
fn month_of(token: &str) -> Option<i8> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let name = token.get(..3)?;
    (1..).zip(MONTHS).find_map(|(number, month)| month.eq_ignore_ascii_case(name).then_some(number))
}

/// Days since 1970.
fn day_number(date: Date) -> i64 {
    date.duration_since(Date::constant(1970, 1, 1)).as_hours() / 24
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = "1994-11-06T08:49:07Z".parse().unwrap();
        let cases = [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(30)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(30)),
            ("Sun Nov  6 08:49:37 1994", Some(30)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("Sat, 06 Nov 2004 08:49:07 GMT", Some(315_619_200)),
            // The weekday adds nothing to the date.
            ("Mon, 06 Nov 1994 08:49:37 GMT", Some(30)),
            ("Friday, 06-Nov-94 08:49:37 GMT", Some(30)),
            ("Tue Nov  6 08:49:37 1994", Some(30)),
            ("Sonntag, 06 Nov 1994 08:49:37 GMT", Some(30)),
            ("06 Nov 1994 08:49:37 GMT", Some(30)),
            ("Sun, 6 Nov 1994 08:49:37 UTC", Some(30)),
            ("sun, 06 nov 1994 08:49:37 gmt", Some(30)),
            ("Sun, 06 Nov 1994 08:49:37 +0000", Some(30)),
            ("Sun, 06 Nov 1994 09:49:37 +0100", Some(30)),
            ("Sun, 31 Feb 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994", None),
            ("-5", None),
            ("1.5", None),
            ("soon", None),
            ("", None),
        ];
        for (value, seconds) in cases {
            assert_eq!(delay(value, now), seconds.map(Duration::from_secs), "{value}");
        }
    }

    #[test]
    fn dates_are_read_as_leniently_as_browsers_do() {
        for (text, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777)),
            ("Sun Nov  6 08:49:37 1994", Some(784_111_777)),
            ("06 nov 94 8:49:37", Some(784_111_777)),
            ("8:49:37 1994 6 November", Some(784_111_777)),
            ("Tue, 29 Feb 2000 23:59:59 GMT", Some(951_868_799)),
            ("Fri, 31-Dec-69 23:59:59 GMT", Some(3_155_759_999)),
            ("Wed, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799)),
            ("Thu, 29 Feb 2001 00:00:00 GMT", None),
            ("Sun, 06 Nov 1600 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 24:00:00 GMT", None),
            ("Sun, 06 Nov 1994", None),
            ("06 Nov 19945 08:49:37", None),
            ("0", None),
            ("", None),
        ] {
            assert_eq!(cookie_date(text), seconds, "{text}");
        }
    }

    #[test]
    fn a_date_is_a_day() {
        for (text, day) in [
            ("1970-01-01", Some(0)),
            ("2000-02-29", Some(11_016)),
            ("2017-01-05T12:34:50+01:00", Some(17_171)),
            ("2017-01", Some(17_167)),
            ("2017", Some(17_167)),
            (" 2017-01-05 12:34 ", Some(17_171)),
            ("Thu, 05 Jan 2017 12:34:50 GMT", Some(17_171)),
            ("Thu, 05 Jan 17 12:34:50 GMT", Some(17_171)),
            ("5 January 2017", Some(17_171)),
            ("", None),
            ("yesterday", None),
            ("2017-13-01", None),
            ("2017-1-5-1", None),
            ("20170105", None),
            ("0000-00-00", None),
            ("05 Jänner 2017", None),
            ("05 J", None),
        ] {
            assert_eq!(day_of(text), day, "{text}");
        }
    }
}
