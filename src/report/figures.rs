//! Numbers as people read them, in ASCII.

use std::time::Duration;

use crate::seen::ShardStatistics;

/// `1,234,567`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 page`, `1,234 pages`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(number), if number == 1 { one } else { many })
}

/// At most seven characters: exact below a million, then `1.23 M`.
pub(crate) fn short(number: u64) -> String {
    match number {
        0..1_000_000 => thousands(number),
        _ => scaled(number as f64, 1e3, &["", " k", " M", " G", " T", " P", " E"]),
    }
}

/// The names of shards: the shard's number, such as `3`. In a partition, the partition's number comes first: `17/3`.
pub(crate) fn shard_names(shards: &[ShardStatistics]) -> Vec<String> {
    let mut names = Vec::with_capacity(shards.len());
    for of_one in shards.chunk_by(|one, next| one.partition == next.partition) {
        let partition = of_one[0].partition.map(|partition| format!("{partition}/")).unwrap_or_default();
        names.extend((0..of_one.len()).map(|number| format!("{partition}{number}")));
    }
    names
}

/// `1.23 MiB`.
pub(crate) fn bytes(number: u64) -> String {
    scaled(number as f64, 1024.0, &[" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"])
}

/// Three significant digits, in the unit that leaves one to three digits before the point.
fn scaled(mut number: f64, step: f64, units: &[&str]) -> String {
    let mut unit = 0;
    // 999.5 would be rounded to 1000.
    while number >= 999.5 && unit + 1 < units.len() {
        number /= step;
        unit += 1;
    }
    let decimals = if unit == 0 { 0 } else { decimals(number) };
    format!("{number:.decimals$}{}", units[unit])
}

/// How many digits follow the point if there are three in all.
fn decimals(number: f64) -> usize {
    match number {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    }
}

/// An expected number of URLs, with as many digits as mean something: `0`, `4.1e-5`, `0.31`, `12.4`, `1,240`.
pub(crate) fn expected(number: f64) -> String {
    match number {
        0.0 => "0".to_owned(),
        ..0.01 => format!("{number:.1e}"),
        ..999.5 => format!("{number:.*}", decimals(number)),
        _ => thousands(whole(number)),
    }
}

/// The loss that an audit measured, with its interval: `12 measured (8 to 18)`. If all URLs were audited, there is no interval. If the
/// interval is wider than the loss itself, only its upper end is shown: `at most 380 measured`.
pub(crate) fn measured(lost: f64, low: f64, high: f64) -> String {
    match high - low {
        0.0 => format!("{} measured", about(lost)),
        width if width <= lost => format!("{} measured ({} to {})", about(lost), about(low), about(high)),
        _ => format!("at most {} measured", about(high)),
    }
}

/// Like [`expected`], but a positive number below 0.001 is `under 0.001`.
pub(crate) fn about(number: f64) -> String {
    if number > 0.0 && number < 0.001 { "under 0.001".to_owned() } else { expected(number) }
}

/// A chance as one in N: `1 in 10,000`.
pub(crate) fn one_in(share: f64) -> String {
    match share {
        ..=0.0 => "none of the".to_owned(),
        ..1e-9 => "under 1 in a billion".to_owned(),
        _ => format!("1 in {}", short(whole(1.0 / share))),
    }
}

/// A chance: `0`, `1.0e-4`.
pub(crate) fn chance(share: f64) -> String {
    if share == 0.0 { "0".to_owned() } else { format!("{share:.1e}") }
}

/// `12.3 %` of a whole; `-` if the whole is 0. A share that would be rounded to 0 is `under 0.1 %`.
pub(crate) fn percent(part: f64, whole: f64) -> String {
    match part / whole * 100.0 {
        _ if whole <= 0.0 => "-".to_owned(),
        small if small > 0.0 && small < 0.05 => "under 0.1 %".to_owned(),
        share => format!("{share:.1} %"),
    }
}

/// Two units: `3 d 4 h`, `2 min 14 s`. Below a minute, three digits of one unit: `1.20 s`, `340 us`.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => scaled(duration.as_secs_f64() * 1e6, 1e3, &[" us", " ms", " s"]),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", thousands(seconds / 86_400), seconds % 86_400 / 3600),
    }
}

/// The nearest count; 0 for a number below 0, and for `NaN`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, which is the nearest count"
)]
pub(crate) fn whole(number: f64) -> u64 {
    number.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        let shown = [0, 999, 1_000, 1_234_567, u64::MAX].map(thousands);
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567", "18,446,744,073,709,551,615"]);
        let shown = [0, 999_999, 1_000_000, 1_234_567, 99_960_000, 999_600_000, u64::MAX].map(short);
        assert_eq!(shown, ["0", "999,999", "1.00 M", "1.23 M", "100 M", "1.00 G", "18.4 E"]);
        assert!(shown.iter().all(|text| text.len() <= 7));
    }

    #[test]
    fn sizes() {
        let shown = [0, 999, 1_000, 1_024, 1_023 * 1_024, 1 << 20, 250 << 20, 3 << 40, u64::MAX].map(bytes);
        assert_eq!(
            shown,
            ["0 B", "999 B", "0.98 KiB", "1.00 KiB", "1.00 MiB", "1.00 MiB", "250 MiB", "3.00 TiB", "16.0 EiB"]
        );
    }

    #[test]
    fn times() {
        let shown = [0, 7, 999, 1_204, 999_600, 59_960_000].map(|us| duration(Duration::from_micros(us)));
        assert_eq!(shown, ["0 us", "7 us", "999 us", "1.20 ms", "1.00 s", "60.0 s"]);
        let shown = [60, 134, 3_599, 3_600, 90_061, 86_400_000].map(|seconds| duration(Duration::from_secs(seconds)));
        assert_eq!(shown, ["1 min 0 s", "2 min 14 s", "59 min 59 s", "1 h 0 min", "1 d 1 h", "1,000 d 0 h"]);
    }

    #[test]
    fn shares() {
        assert_eq!(
            [0.0, 4.1e-5, 0.314, 12.44, 250.0, 1_240.4].map(expected),
            ["0", "4.1e-5", "0.31", "12.4", "250", "1,240"]
        );
        assert_eq!([0.0, 4.1e-5, 0.314].map(about), ["0", "under 0.001", "0.31"]);
        assert_eq!(
            [0.0, 1e-15, 3.3e-9, 1e-4, 1.0].map(one_in),
            ["none of the", "under 1 in a billion", "1 in 303 M", "1 in 10,000", "1 in 1"]
        );
        assert_eq!([1, 1234].map(|count| counted(count, "page", "pages")), ["1 page", "1,234 pages"]);
        assert_eq!([0.0, 1e-4, 0.5].map(chance), ["0", "1.0e-4", "5.0e-1"]);
        assert_eq!((percent(1.0, 8.0), percent(1.0, 0.0)), ("12.5 %".to_owned(), "-".to_owned()));
        assert_eq!([-1.0, f64::NAN, 2.5, f64::INFINITY].map(whole), [0, 0, 3, u64::MAX]);
    }
}
