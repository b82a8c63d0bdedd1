//! Times, durations and sizes, as Python says them and as the heart has them.
//!
//! | Python | here |
//! |---|---|
//! | `1.5`, `timedelta(seconds=1.5)`, `"1.5s"`, `"1h 30m"` | a duration |
//! | `65536`, `"64KiB"` | bytes |
//! | seconds since the Unix epoch, as `time.time()` has them | a point in time |

use std::time::Duration;

use crawler_frontier::frontier::Timestamp;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::bad_option;

/// Units of time, in microseconds.
const TIME: &[(&str, f64)] =
    &[("us", 1.0), ("ms", 1e3), ("s", 1e6), ("sec", 1e6), ("m", 6e7), ("min", 6e7), ("h", 3.6e9), ("d", 8.64e10)];

/// Units of sizes, in bytes.
const SIZE: &[(&str, f64)] = &[
    ("b", 1.0),
    ("kb", 1e3),
    ("mb", 1e6),
    ("gb", 1e9),
    ("tb", 1e12),
    ("kib", 1024.0),
    ("mib", 1_048_576.0),
    ("gib", 1_073_741_824.0),
    ("tib", 1_099_511_627_776.0),
];

/// A duration, given for this option.
pub(crate) fn duration(option: &str, value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let micros = if let Ok(text) = value.cast::<PyString>() {
        sum(text.to_str()?, TIME)
    } else if let Ok(duration) = value.extract::<Duration>() {
        return Ok(duration);
    } else {
        value.extract::<f64>().ok().map(|seconds| seconds * 1e6)
    };
    match micros {
        Some(micros) if (0.0..9e18).contains(&micros) => Ok(Duration::from_micros(rounded(micros))),
        _ => Err(bad_option(option, value.repr()?, "a duration: seconds, a timedelta, or a text such as \"1h 30m\"")),
    }
}

/// A number of bytes, given for this option.
pub(crate) fn bytes(option: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let bytes = match value.cast::<PyString>() {
        Ok(text) => sum(text.to_str()?, SIZE).filter(|bytes| (0.0..9e18).contains(bytes)).map(rounded),
        Err(_) => value.extract::<u64>().ok(),
    };
    match bytes {
        Some(bytes) => Ok(bytes),
        None => Err(bad_option(option, value.repr()?, "a size: bytes, or a text such as \"64KiB\"")),
    }
}

/// A point in time.
pub(crate) fn timestamp(seconds: f64) -> PyResult<Timestamp> {
    if !(0.0..9e12).contains(&seconds) {
        return Err(bad_option("now", seconds, "seconds since 1970, as time.time() has them"));
    }
    Ok(Timestamp::from_micros(rounded(seconds * 1e6)))
}

/// As [`timestamp`], if there is one.
pub(crate) fn moment(seconds: Option<f64>) -> PyResult<Option<Timestamp>> {
    seconds.map(timestamp).transpose()
}

/// Seconds since the Unix epoch. [`timestamp`] gives the same point in time back, as long as the year has four digits.
#[expect(clippy::cast_precision_loss, reason = "a float has all microseconds of the next two centuries")]
pub(crate) fn seconds(at: Timestamp) -> f64 {
    at.as_micros() as f64 / 1e6
}

/// The sum of the pieces of a text such as `1h 30m`, in base units; `None` if it is none.
fn sum(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let mut rest = text.trim();
    let mut sum = None;
    while !rest.is_empty() {
        let number = rest.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(rest.len());
        let (digits, after) = rest.split_at(number);
        let after = after.trim_start();
        let name = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (name, after) = after.split_at(name);
        let (_, unit) = units.iter().find(|(unit, _)| unit.eq_ignore_ascii_case(name))?;
        let number: f64 = digits.replace('_', "").parse().ok()?;
        sum = Some(sum.unwrap_or(0.0) + number * unit);
        rest = after.trim_start();
    }
    sum
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is neither negative nor too large")]
fn rounded(number: f64) -> u64 {
    number.round() as u64
}
