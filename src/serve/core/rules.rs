//! The settings of a crawl as clients give them, how they are read, and the bounds of the server.
//!
//! A client gives one JSON object. Its section `serve` is read here. All other sections are those of `crawler.toml`, and an implementation
//! of [`ReadRules`] reads them: the command's.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::frontier::FrontierOptions;
use crate::gate::ScopeKind;
use crate::job::OpenOptions;
use crate::job::journal::SyncPolicy;

/// The settings of a crawl, as the frontier takes them.
#[derive(Clone, Debug, Default)]
pub struct CrawlRules {
    /// What to lend next, and when.
    pub frontier: FrontierOptions,
    /// How the job is kept.
    pub open: OpenOptions,
    /// The whole `crawler.toml`, for commands that read the job's directory.
    pub file: Option<String>,
}

/// Settings that cannot be used: all their faults, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct RulesError(pub Vec<String>);

impl RulesError {
    fn of(key: &str, reason: &str) -> Self {
        Self(vec![format!("{key}: {reason}")])
    }
}

/// Reads the sections of a crawl's settings that are those of `crawler.toml`.
pub trait ReadRules: Send + Sync {
    /// The rules of these sections. A key that they leave out has its default.
    ///
    /// # Errors
    /// If a key is unknown, or a value is out of its range.
    fn read(&self, sections: &Map<String, Value>) -> Result<CrawlRules, RulesError>;
}

/// For servers without the command: knows only `politeness.host_delay` and `politeness.robots` of `crawler.toml`.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainRules;

impl ReadRules for PlainRules {
    fn read(&self, sections: &Map<String, Value>) -> Result<CrawlRules, RulesError> {
        #[derive(Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Sections {
            #[serde(default)]
            politeness: Politeness,
        }
        #[derive(Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Politeness {
            host_delay: Option<String>,
            robots: Option<bool>,
        }
        let sections: Sections = serde_json::from_value(Value::Object(sections.clone()))
            .map_err(|error| RulesError(vec![error.to_string()]))?;
        let mut rules = CrawlRules::default();
        rules.frontier.scope.kind = ScopeKind::Any;
        if let Some(delay) = sections.politeness.host_delay {
            rules.frontier.politeness.host_delay =
                duration(&delay).ok_or_else(|| RulesError::of("politeness.host_delay", DURATION))?;
        }
        rules.frontier.politeness.robots = sections.politeness.robots.unwrap_or(true);
        Ok(rules)
    }
}

const DURATION: &str = "expected a number of seconds, or a text such as \"250ms\", \"10s\", \"2m\" or \"1h\"";

/// A duration as `250ms`, `10s`, `2m`, `1h`, or a number of seconds.
pub fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "ms" => 1e-3,
        "s" | "" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * unit).ok()
}

/// The section `serve`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServeSection {
    lease_timeout: Option<Value>,
    counts_expired: Option<bool>,
    sync: Option<Value>,
    keep_journal: Option<bool>,
    hosts_in_memory: Option<u64>,
}

/// The default duration of a lease.
const LEASE: Duration = Duration::from_secs(120);
/// The longest lease: a day.
const LONGEST_LEASE: Duration = Duration::from_secs(86_400);

/// The rules of a crawl with these settings.
///
/// # Errors
/// All faults of the settings.
pub(super) fn rules(given: &Value, reader: &dyn ReadRules) -> Result<CrawlRules, RulesError> {
    let mut sections = match given {
        Value::Null => Map::new(),
        Value::Object(sections) => sections.clone(),
        _ => return Err(RulesError::of("settings", "expected a JSON object with sections as in crawler.toml")),
    };
    let own = match sections.remove("serve") {
        Some(own) => serde_json::from_value(own).map_err(|error| RulesError::of("serve", &error.to_string()))?,
        None => ServeSection::default(),
    };
    let mut rules = reader.read(&sections)?;
    let pause = |key: &str, given: &Value| {
        let text = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
        duration(&text).ok_or_else(|| RulesError::of(key, DURATION))
    };
    let lease = own.lease_timeout.as_ref().map_or(Ok(LEASE), |given| pause("serve.lease_timeout", given))?;
    if lease < Duration::from_millis(1) || lease > LONGEST_LEASE {
        return Err(RulesError::of("serve.lease_timeout", "is from a millisecond to a day"));
    }
    rules.frontier.lease_timeout = Some(lease);
    if let Some(counts) = own.counts_expired {
        rules.frontier.counts_expired = counts;
    }
    if let Some(sync) = &own.sync {
        rules.open.journal.sync = match sync.as_str() {
            Some("always") => SyncPolicy::Always,
            Some("never") => SyncPolicy::Never,
            _ => SyncPolicy::Interval(pause("serve.sync", sync)?),
        };
    }
    if let Some(keep) = own.keep_journal {
        rules.open.keep_journal = keep;
    }
    if let Some(hosts) = own.hosts_in_memory {
        rules.open.hosts_in_memory = hosts;
    }
    Ok(rules)
}

/// The bounds of a server. A request that exceeds a bound is refused with the bound's name, and changes nothing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServeLimits {
    /// Crawls at once. Each has a thread and its frontier's memory.
    pub crawls: usize,
    /// Connections at once; further ones wait to be accepted.
    pub connections: usize,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Bytes of all bodies that are being read or processed.
    pub bodies: usize,
    /// Bytes of a line.
    pub line_bytes: usize,
    /// Calls of one crawl that may be under way at once, besides those that wait for a lease; further ones wait.
    pub calls: usize,
    /// Calls of one crawl that may wait for a lease; further ones are refused.
    pub long_polls: usize,
    /// The longest wait for a lease.
    pub longest_wait: Duration,
    /// The most leases of one call.
    pub leases: usize,
    /// The time to receive a body, and for a client to read its answer.
    pub patience: Duration,
    /// How long a connection may be silent between two requests.
    pub idle: Duration,
    /// The time between two checkpoints of a crawl; longer if they would take more than a thirty-third of it.
    pub checkpoint: Duration,
    /// Bounds what a restart has to replay: a checkpoint begins as soon as this many URLs, and at least a quarter of the URLs that waited at
    /// the last checkpoint, were queued, lent or done since then.
    pub checkpoint_records: u64,
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self {
            crawls: 256,
            connections: 10_000,
            body_bytes: 16 << 20,
            bodies: 256 << 20,
            line_bytes: 1 << 20,
            calls: 64,
            long_polls: 8_192,
            longest_wait: Duration::from_secs(60),
            leases: 1_000,
            patience: Duration::from_secs(30),
            idle: Duration::from_secs(120),
            checkpoint: Duration::from_secs(60),
            checkpoint_records: 1_000_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_are_read_or_refused_by_name() {
        let of = |given: Value| rules(&given, &PlainRules);
        assert_eq!(of(Value::Null).unwrap().frontier.lease_timeout, Some(LEASE));
        let given = json!({ "politeness": { "host_delay": "250ms", "robots": false },
            "serve": { "lease_timeout": 1.5, "sync": "always", "counts_expired": true } });
        let rules = of(given).unwrap();
        assert_eq!(rules.frontier.politeness.host_delay, Duration::from_millis(250));
        assert_eq!(rules.frontier.lease_timeout, Some(Duration::from_millis(1500)));
        assert!(rules.frontier.counts_expired && !rules.frontier.politeness.robots);
        assert_eq!(rules.open.journal.sync, SyncPolicy::Always);
        for (given, word) in [
            (json!([]), "JSON object"),
            (json!({ "serve": { "lease": 3 } }), "unknown field `lease`"),
            (json!({ "serve": { "lease_timeout": "soon" } }), "serve.lease_timeout"),
            (json!({ "serve": { "lease_timeout": 0 } }), "a millisecond"),
            (json!({ "serve": { "sync": "often" } }), "serve.sync"),
            (json!({ "politness": {} }), "politness"),
        ] {
            let error = of(given).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn durations_have_units() {
        let seconds = [("250ms", 0.25), ("10s", 10.0), ("10", 10.0), ("1.5m", 90.0), ("1h", 3600.0)];
        for (text, seconds) in seconds {
            assert_eq!(duration(text), Some(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "s", "10 s", "10d", "-1s", "1e99h", "..", "999999999999999999999h"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }
}
