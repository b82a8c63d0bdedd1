//! The options of a frontier, as keyword arguments.
//!
//! Each has the name of its field in the heart's options, without the group that it stands in: `host_delay` is `politeness.host_delay`. Two
//! groups have a prefix, since their names say too little alone: `metadata_bytes`, `metadata_memory`. The heart checks the values.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crawler_frontier::address::FingerprintKey;
use crawler_frontier::frontier::{FrontierOptions, HostGroup, HostRule, Hours, QueueOrder};
use crawler_frontier::gate::{DropRule, ScopeKind};
use crawler_frontier::job::OpenOptions;
use crawler_frontier::job::journal::SyncPolicy;
use crawler_frontier::seen::{Layout, OnFull};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::quantities::{bytes, duration};
use crate::errors::{bad_option, option};

/// All options of a frontier, as they were given.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) frontier: FrontierOptions,
    /// For a frontier in a directory.
    pub(crate) open: OpenOptions,
    /// Whether each change ends with a flush.
    pub(crate) flushes: bool,
}

impl Options {
    pub(crate) fn of(given: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut options = Self { frontier: FrontierOptions::default(), open: OpenOptions::default(), flushes: true };
        for (name, value) in given.into_iter().flatten() {
            let name: String = name.extract()?;
            let is_known = options.set(&name, &value)?
                || options.set_politeness(&name, &value)?
                || options.set_seen(&name, &value)?
                || options.set_scope(&name, &value)?
                || options.set_trap(&name, &value)?;
            if !is_known {
                return Err(PyTypeError::new_err(format!("{name:?} is no option of a frontier")));
            }
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Self { frontier, open, .. } = self;
        match name {
            "autoflush" => self.flushes = value.extract()?,
            "byte_rate" => frontier.byte_rate = maybe(value, |value| bytes(name, value))?,
            "counts_expired" => frontier.counts_expired = value.extract()?,
            "fingerprint_key" => {
                frontier.fingerprint_key = value.extract::<Option<u64>>()?.map(FingerprintKey::from_u64);
            }
            "groups" => frontier.rules.groups = table(name, value, group)?,
            "hosts" => {
                frontier.rules.hosts = table(name, value, |at, rule| host_rule(at, rule, &mut |_, _| Ok(false)))?;
            }
            "hosts_in_memory" => open.hosts_in_memory = value.extract()?,
            "keep_journal" => open.keep_journal = value.extract()?,
            "lease_timeout" => frontier.lease_timeout = maybe(value, |value| duration(name, value))?,
            "metadata_bytes" => frontier.metadata.bytes = usize::try_from(bytes(name, value)?)?,
            "metadata_memory" => frontier.metadata.memory = bytes(name, value)?,
            "move_up" => frontier.move_up = value.extract()?,
            "order" => frontier.order = order(name, value)?,
            "pages_in_hand" => frontier.pages_in_hand = value.extract()?,
            "request_rate" => frontier.request_rate = value.extract()?,
            "segment_bytes" => open.journal.segment_bytes = bytes(name, value)?,
            "sync" => open.journal.sync = sync(name, value)?,
            // The rules on keys.
            "normalize_escapes" => frontier.keys.normalize_escapes = value.extract()?,
            "unescape_brackets" => frontier.keys.unescape_brackets = value.extract()?,
            "collapse_slashes" => frontier.keys.collapse_slashes = value.extract()?,
            "sort_query" => frontier.keys.sort_query = value.extract()?,
            "drop_empty_query" => frontier.keys.drop_empty_query = value.extract()?,
            "drop_tracking" => frontier.keys.drop_tracking = value.extract()?,
            "drop_sessions" => frontier.keys.drop_sessions = value.extract()?,
            "drop_parameters" => frontier.keys.drop_parameters = texts(name, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_politeness(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let politeness = &mut self.frontier.politeness;
        match name {
            "agent" => politeness.agent = value.extract()?,
            "robots" => politeness.robots = value.extract()?,
            "host_delay" => politeness.host_delay = duration(name, value)?,
            "connections_per_host" => politeness.connections_per_host = value.extract()?,
            "first_contacts_per_host" => politeness.first_contacts_per_host = value.extract()?,
            "address_delay" => politeness.address_delay = maybe(value, |value| duration(name, value))?,
            "connections_per_address" => politeness.connections_per_address = value.extract()?,
            "host_pages" => politeness.host_pages = value.extract()?,
            "host_bytes" => politeness.host_bytes = maybe(value, |value| bytes(name, value))?,
            "hours" => politeness.hours = maybe(value, |value| hours(name, value))?,
            "adaptive_share" => politeness.adaptive_share = value.extract()?,
            "max_adaptive_delay" => politeness.max_adaptive_delay = duration(name, value)?,
            "max_crawl_delay" => politeness.max_crawl_delay = duration(name, value)?,
            "max_retry_after" => politeness.max_retry_after = duration(name, value)?,
            "attempts" => politeness.attempts = value.extract()?,
            "backoff" => politeness.backoff = duration(name, value)?,
            "max_backoff" => politeness.max_backoff = duration(name, value)?,
            "host_failures" => politeness.host_failures = value.extract()?,
            "patience" => politeness.patience = duration(name, value)?,
            "robots_ttl" => politeness.robots_ttl = duration(name, value)?,
            "robots_memory" => politeness.robots_memory = usize::try_from(bytes(name, value)?)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_seen(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let seen = &mut self.frontier.seen;
        match name {
            "layout" => seen.layout = named(name, value, &LAYOUTS)?,
            "capacity" => seen.capacity = value.extract()?,
            "open_ended" => seen.open_ended = value.extract()?,
            "false_positive_rate" => seen.false_positive_rate = value.extract()?,
            "shards" => seen.shards = value.extract()?,
            "on_full" => {
                let known = [("grow", OnFull::Grow), ("stop", OnFull::Stop), ("warn", OnFull::Warn)];
                seen.on_full = named(name, value, &known)?;
            }
            "audit" => seen.audit = value.extract()?,
            "bits_per_url" => seen.bits_per_url = value.extract()?,
            "probes" => seen.probes = value.extract()?,
            "identity_bits" => seen.identity_bits = value.extract()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_scope(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let scope = &mut self.frontier.scope;
        match name {
            "scope" => {
                let kinds = [ScopeKind::Any, ScopeKind::Domain, ScopeKind::Host, ScopeKind::Page, ScopeKind::Prefix];
                scope.kind = named(name, value, &kinds.map(|kind| (kind.name(), kind)))?;
            }
            "include" => scope.include = texts(name, value)?,
            "exclude" => scope.exclude = texts(name, value)?,
            "blocklists" => scope.blocklists = value.extract::<Vec<PathBuf>>()?,
            "dropped" => {
                let rules = texts(name, value)?;
                let rules: Result<_, _> = rules.iter().map(|rule| DropRule::parse(rule)).collect();
                scope.dropped = rules.map_err(|error| option(&error))?;
            }
            "reject_extensions" => scope.reject_extensions = texts(name, value)?,
            "max_depth" => scope.max_depth = value.extract()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_trap(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let traps = &mut self.frontier.traps;
        match name {
            "url_bytes" => traps.url_bytes = usize::try_from(bytes(name, value)?)?,
            "path_segments" => traps.path_segments = value.extract()?,
            "segment_repeats" => traps.segment_repeats = value.extract()?,
            "redirects" => traps.redirects = value.extract()?,
            "parameters" => traps.parameters = value.extract()?,
            "parameter_sets" => traps.parameter_sets = value.extract()?,
            "shape_budget" => traps.shape_budget = value.extract()?,
            "section_budget" => traps.section_budget = value.extract()?,
            "host_budget" => traps.host_budget = value.extract()?,
            "domain_budget" => traps.domain_budget = value.extract()?,
            "domain_lead" => traps.domain_lead = value.extract()?,
            "session_budget" => traps.session_budget = value.extract()?,
            "mirror_budget" => traps.mirror_budget = value.extract()?,
            "copies" => traps.copies = value.extract()?,
            "budget_growth" => traps.budget_growth = value.extract()?,
            "budget_identities" => traps.budget_identities = value.extract()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The layouts of a seen set, by name. The verified one has its files in the job's directory.
const LAYOUTS: [(&str, Layout); 7] = [
    ("blocked", Layout::Blocked),
    ("counting", Layout::Counting),
    ("exact", Layout::Exact),
    ("partitioned", Layout::Partitioned),
    ("quotient", Layout::Quotient),
    ("standard", Layout::Standard),
    ("verified", Layout::Verified),
];

/// One of several, by its name.
fn named<T: Copy>(option: &str, value: &Bound<'_, PyAny>, known: &[(&str, T)]) -> PyResult<T> {
    let name: String = value.extract()?;
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let found = known.iter().find(|(known, _)| *known == name).map(|(_, found)| *found);
    found.ok_or_else(|| bad_option(option, format!("{name:?}"), &format!("is one of {}", names.join(", "))))
}

fn order(option: &str, value: &Bound<'_, PyAny>) -> PyResult<QueueOrder> {
    named(option, value, &[QueueOrder::Fifo, QueueOrder::Lifo].map(|order| (order.name(), order)))
}

fn hours(option: &str, value: &Bound<'_, PyAny>) -> PyResult<Hours> {
    let text: String = value.extract()?;
    text.parse().map_err(|error| bad_option(option, format!("{text:?}"), &format!("{error}")))
}

/// `"always"`, `"never"`, or the time between two syncs.
fn sync(option: &str, value: &Bound<'_, PyAny>) -> PyResult<SyncPolicy> {
    match value.extract::<String>().as_deref() {
        Ok("always") => Ok(SyncPolicy::Always),
        Ok("never") => Ok(SyncPolicy::Never),
        _ => Ok(SyncPolicy::Interval(duration(option, value)?)),
    }
}

/// A value, or `None` for no bound.
fn maybe<T>(value: &Bound<'_, PyAny>, read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> PyResult<Option<T>> {
    if value.is_none() { Ok(None) } else { read(value).map(Some) }
}

fn texts(option: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if value.is_instance_of::<PyString>() {
        // It would be a text for each of its letters.
        return Err(bad_option(option, value.repr()?, "is a list of texts"));
    }
    value.try_iter()?.map(|text| text?.extract()).collect()
}

/// A table of rules, by the names of hosts or of groups.
fn table<T>(
    option: &str,
    value: &Bound<'_, PyAny>,
    mut read: impl FnMut(&str, &Bound<'_, PyDict>) -> PyResult<T>,
) -> PyResult<BTreeMap<String, T>> {
    let rows = value.cast::<PyDict>().map_err(PyErr::from)?;
    let row = |(name, rule): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let name: String = name.extract()?;
        let rule = read(&format!("{option}[{name:?}]"), rule.cast::<PyDict>().map_err(PyErr::from)?)?;
        Ok((name, rule))
    };
    rows.iter().map(row).collect()
}

/// A rule of a host. What it does not know, `other` may.
fn host_rule(
    at: &str,
    given: &Bound<'_, PyDict>,
    other: &mut dyn FnMut(&str, &Bound<'_, PyAny>) -> PyResult<bool>,
) -> PyResult<HostRule> {
    let mut rule = HostRule::default();
    for (name, value) in given {
        let name: String = name.extract()?;
        let option = format!("{at}[{name:?}]");
        let pause = |value: &Bound<'_, PyAny>| -> PyResult<Duration> { duration(&option, value) };
        if other(&name, &value)? {
            continue;
        }
        match name.as_str() {
            "host_delay" => rule.host_delay = Some(pause(&value)?),
            "connections_per_host" => rule.connections_per_host = value.extract()?,
            "robots" => rule.robots = value.extract()?,
            "one_server" => rule.one_server = value.extract()?,
            "max_depth" => rule.max_depth = value.extract()?,
            "max_pages" => rule.max_pages = value.extract()?,
            "max_bytes" => rule.max_bytes = Some(bytes(&option, &value)?),
            "hours" => rule.hours = Some(hours(&option, &value)?),
            "order" => rule.order = Some(order(&option, &value)?),
            _ => return Err(bad_option(at, format!("{name:?}"), "is no setting of a host")),
        }
    }
    Ok(rule)
}

/// A group of hosts. Its own settings are `hosts`, `delay`, `connections`, `max_pages` and `max_bytes`; all others are those of each host.
fn group(at: &str, given: &Bound<'_, PyDict>) -> PyResult<HostGroup> {
    let mut group = HostGroup::default();
    let each = host_rule(at, given, &mut |name, value| {
        let option = format!("{at}[{name:?}]");
        match name {
            "hosts" => group.hosts = texts(&option, value)?,
            "delay" => group.delay = Some(duration(&option, value)?),
            "connections" => group.connections = value.extract()?,
            "max_pages" => group.max_pages = value.extract()?,
            "max_bytes" => group.max_bytes = Some(bytes(&option, value)?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    group.each = each;
    Ok(group)
}
