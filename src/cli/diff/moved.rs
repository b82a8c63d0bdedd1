//! The numbers that differ between two reports.

use std::io::{self, Write};
use std::time::Duration;

use serde_json::Value;

use crate::report::Report;
use crate::report::figures::{bytes, duration, thousands, whole};

/// A number that has changed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Moved {
    /// Its name, as in `crawler numbers`.
    pub(super) name: String,
    /// Its old value, if it had one.
    pub(super) old: Option<f64>,
    /// Its new value, if it has one.
    pub(super) new: Option<f64>,
}

/// The numbers that people are shown; the others are in the JSON.
const SHOWN: [&str; 17] = [
    "elapsed_us",
    "urls.",
    "pages.requests",
    "pages.retries",
    "pages.wire_bytes",
    "pages.statuses.",
    "pages.errors.",
    "pages.first_byte.p50_us",
    "pages.first_byte.p99_us",
    "robots.requests",
    "duplicates.",
    "hosts.known",
    "hosts.unreachable",
    "politeness.violations",
    "seen.merged.inserted",
    "seen.merged.expected_lost",
    "cost.",
];

/// Parts whose numbers are not compared: a series for charts, the settings, the judgment of a simulated web, and
/// examples.
const LISTS: [&str; 5] = ["timeline", "settings", "simulated", "pages.examples", "robots.examples"];

/// The numbers that differ, by name, without those in [`LISTS`].
pub(super) fn moved(old: &Report, new: &Report) -> Vec<Moved> {
    let mut all: std::collections::BTreeMap<String, (Option<f64>, Option<f64>)> = std::collections::BTreeMap::new();
    flatten(&value(old), String::new(), &mut |name, number| all.entry(name).or_default().0 = Some(number));
    flatten(&value(new), String::new(), &mut |name, number| all.entry(name).or_default().1 = Some(number));
    let differs = |(old, new): &(Option<f64>, Option<f64>)| old != new;
    let moved = all.into_iter().filter(|(_, two)| differs(two));
    moved.map(|(name, (old, new))| Moved { name, old, new }).collect()
}

impl Moved {
    /// Whether people are shown it.
    pub(super) fn is_shown(&self) -> bool {
        SHOWN.iter().any(|shown| self.name.starts_with(shown))
    }
}

/// A line for people.
pub(super) fn tell(Moved { name, old, new }: &Moved, to: &mut dyn Write) -> io::Result<()> {
    let show = |number: &Option<f64>| number.map_or_else(|| "-".to_owned(), |number| figure(name, number));
    let change = match (old, new) {
        (Some(old), Some(new)) if *old > 0.0 => format!("{:+.1} %", (new / old - 1.0) * 100.0),
        _ => String::new(),
    };
    writeln!(to, "{name:<38} {:>13} {:>13} {change:>12}", show(old), show(new))
}

/// A number as people read it, in the unit that its name tells.
fn figure(name: &str, number: f64) -> String {
    if name.ends_with("_us") {
        duration(Duration::from_secs_f64(number / 1e6))
    } else if name.ends_with("bytes") {
        bytes(whole(number))
    } else if number.fract() == 0.0 {
        thousands(whole(number))
    } else {
        format!("{number:.3}")
    }
}

fn value(report: &Report) -> Value {
    serde_json::to_value(report).expect("a report has keys that are texts")
}

fn flatten(value: &Value, name: String, take: &mut dyn FnMut(String, f64)) {
    if LISTS.contains(&&*name) {
        return;
    }
    match value {
        Value::Number(number) => take(name, number.as_f64().unwrap_or_default()),
        Value::Object(fields) => {
            for (key, value) in fields {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten(value, name, take);
            }
        }
        _ => {}
    }
}
