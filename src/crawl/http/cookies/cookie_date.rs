//! Dates as written in cookies.

/// Reads a date by RFC 6265 section 5.1.1, as seconds since 1970.
pub(super) fn cookie_date(text: &str) -> Option<i64> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(is_delimiter).filter(|token| !token.is_empty()) {
        if time.is_none() && hours(token).is_some() {
            time = hours(token);
        } else if day.is_none() && digits(token, 1, 2).is_some() {
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
    let is_real = (1601..).contains(&year) && (1..=days_in(month, year)).contains(&day);
    if !is_real || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second)
}

fn is_delimiter(c: char) -> bool {
    matches!(c, '\t' | ' '..='/' | ';'..='@' | '['..='`' | '{'..='~')
}

/// A token that begins with `least` to `most` digits and no more. The rest of the token is ignored.
fn digits(token: &str, least: usize, most: usize) -> Option<i64> {
    let count = token.bytes().take_while(u8::is_ascii_digit).count();
    (least..=most).contains(&count).then(|| token[..count].parse().ok())?
}

fn hours(token: &str) -> Option<(i64, i64, i64)> {
    let mut parts = token.splitn(3, ':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    let whole = |part: &str| digits(part, 1, 2).filter(|_| part.bytes().all(|byte| byte.is_ascii_digit()));
    Some((whole(hour)?, whole(minute)?, digits(second, 1, 2)?))
}

fn month_of(token: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let name = token.get(..3)?;
    (1..).zip(MONTHS).find_map(|(number, month)| month.eq_ignore_ascii_case(name).then_some(number))
}

fn days_in(month: i64, year: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970. Years begin in March here, so that a leap day is the last of its year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
