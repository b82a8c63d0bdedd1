//! The numbers of one moment, as received, by their names in a report.

use std::cmp::Reverse;
use std::time::Duration;

use serde_json::Value;

use crate::cli::output::Safe;

/// The numbers of one moment. A missing number is zero: the crawl may be of another version.
#[derive(Debug, Default)]
pub(super) struct Figures(Value);

impl Figures {
    /// Takes the answer to [`Question::Look`](crate::cli::live::Question::Look).
    pub(super) fn of(told: Value) -> Self {
        Self(told)
    }

    fn at(&self, name: &str) -> &Value {
        name.split('.').fold(&self.0, |value, key| &value[key])
    }

    /// A count, by its name: `report.urls.fetched`.
    pub(super) fn count(&self, name: &str) -> u64 {
        self.at(name).as_u64().unwrap_or_default()
    }

    /// A count that may be missing.
    pub(super) fn counted(&self, name: &str) -> Option<u64> {
        self.at(name).as_u64()
    }

    /// A share, a rate or an expectation.
    pub(super) fn number(&self, name: &str) -> f64 {
        self.at(name).as_f64().unwrap_or_default()
    }

    /// The same, but it may be missing.
    pub(super) fn numbered(&self, name: &str) -> Option<f64> {
        self.at(name).as_f64()
    }

    pub(super) fn time(&self, name: &str) -> Duration {
        Duration::from_micros(self.count(name))
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.at(name).as_bool().unwrap_or_default()
    }

    /// A text that cannot command a terminal.
    pub(super) fn text(&self, name: &str) -> String {
        safe(self.at(name))
    }

    /// The same for a list of texts.
    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        self.at(name).as_array().into_iter().flatten().map(safe).collect()
    }

    /// Counts by name, largest first.
    pub(super) fn most(&self, name: &str) -> Vec<(String, u64)> {
        let counts = self.at(name).as_object().into_iter().flatten();
        let mut counts: Vec<_> =
            counts.map(|(name, count)| (Safe(name).to_string(), count.as_u64().unwrap_or_default())).collect();
        counts.retain(|(_, count)| *count > 0);
        counts.sort_by_key(|(_, count)| Reverse(*count));
        counts
    }

    /// The failed requests of each kind, one line each.
    pub(super) fn examples(&self, name: &str) -> Vec<(String, Vec<String>)> {
        let kinds = self.at(name).as_object().into_iter().flatten();
        let line = |one: &Value| match (safe(&one["url"]), safe(&one["message"])) {
            (url, message) if message.is_empty() => url,
            (url, message) => format!("{url}: {message}"),
        };
        let lines = |of: &Value| of.as_array().into_iter().flatten().map(line).collect();
        kinds.map(|(name, of)| (Safe(name).to_string(), lines(of))).collect()
    }
}

/// A text that cannot command a terminal, on one line.
fn safe(text: &Value) -> String {
    Safe(text.as_str().unwrap_or_default()).to_string().replace('\t', " ")
}
