//! The words of a calendar: names of months and weekdays, and numbers of days.

use std::sync::OnceLock;

use super::word_hash::hash_word;

/// English, German, French, Spanish, Italian, Portuguese and Dutch, each name once, in UTF-8. Names that are common words of their language
/// are left out, such as the Portuguese weekdays.
const NAMES: &str = "january february march april may june july august september october november december \
    jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday \
    mon tue tues wed thu thur thurs fri sat sun \
    januar jänner februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag \
    janvier février mars avril juin juillet août septembre octobre novembre décembre lundi mardi mercredi jeudi vendredi samedi dimanche \
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre lunes martes miércoles jueves viernes sábado domingo \
    gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre lunedì martedì mercoledì giovedì venerdì sabato domenica \
    janeiro fevereiro março maio junho julho setembro outubro novembro dezembro \
    januari februari maart mei augustus maandag dinsdag woensdag donderdag vrijdag zaterdag zondag";

/// Whether the word with this hash is the name of a month or weekday.
pub(super) fn is_date(hash: u32) -> bool {
    known().dates.binary_search(&hash).is_ok()
}

/// Whether a word is an empty cell: `&nbsp;`.
pub(super) fn is_blank(hash: u32) -> bool {
    hash == known().blank
}

/// The hashes of all these words.
pub(super) fn names() -> impl Iterator<Item = u32> {
    known().dates.iter().copied().chain([known().blank])
}

struct Known {
    dates: Vec<u32>,
    blank: u32,
}

/// Hashed once.
fn known() -> &'static Known {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let mut dates: Vec<_> = NAMES.split_whitespace().map(|name| hash_word(name.as_bytes())).collect();
        dates.sort_unstable();
        Known { dates, blank: hash_word(b"nbsp") }
    })
}

/// The day of a month that a number stands for, from 1 to 31; 0 if it is not one.
#[inline]
pub(super) fn day(number: &[u8]) -> u8 {
    let digit = |byte: u8| if byte.is_ascii_digit() { Some(byte - b'0') } else { None };
    let day = match *number {
        [one] => digit(one),
        [ten, one] => digit(ten).zip(digit(one)).map(|(ten, one)| ten * 10 + one),
        _ => None,
    };
    day.filter(|day| *day <= 31).unwrap_or_default()
}
