//! The day of a date in a sitemap or feed.

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The day of a date, counted from 1970-01-01; `None` if the text is not a date. It accepts the W3C's format from a year on (`2009`,
/// `2009-08`, `2009-08-16T…`), and RFC 822's with a year of two or four digits. The time of day and its zone are ignored: a day more or
/// less changes no order that matters.
pub(in crate::crawl) fn day_of(text: &str) -> Option<i64> {
    let text = text.trim();
    let (year, month, day) = w3c(text).or_else(|| rfc_822(text))?;
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day) && (1900..=9999).contains(&year);
    is_date.then(|| days(year, month, day))
}

fn w3c(text: &str) -> Option<(i64, i64, i64)> {
    let date = &text[..text.find(['T', 't', ' ']).unwrap_or(text.len())];
    let mut parts = date.split('-');
    let year = parts.next().filter(|year| year.len() == 4).and_then(number)?;
    let month = parts.next().map_or(Some(1), number)?;
    let day = parts.next().map_or(Some(1), number)?;
    parts.next().is_none().then_some((year, month, day))
}

fn rfc_822(text: &str) -> Option<(i64, i64, i64)> {
    let date = text.split_once(',').map_or(text, |(_, date)| date);
    let mut words = date.split_ascii_whitespace();
    let day = words.next().and_then(number)?;
    let name = words.next()?.get(..3)?.to_ascii_lowercase();
    let month = MONTHS.iter().position(|month| *month == name)? + 1;
    let year = words.next()?;
    let century = match year.len() {
        2 => 2000,
        4 => 0,
        _ => return None,
    };
    Some((century + number(year)?, i64::try_from(month).ok()?, day))
}

fn number(digits: &str) -> Option<i64> {
    let is_number = !digits.is_empty() && digits.len() <= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

/// Days of the Gregorian calendar. The year begins in March, so that its last day is the leap day.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

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
