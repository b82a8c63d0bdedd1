//! Rules for single hosts, and for groups of hosts, as a user writes them.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Hours;

/// How some hosts are treated differently from [`Politeness`](super::Politeness), by name.
///
/// A name is a host's, `x.example`, or begins with a star: `*.x.example` is `x.example` and all hosts below it. Scheme and port do not
/// count. If several names fit a host, each setting is taken from the first of these that has it: the rule of the host's own name, the
/// rules of names with a star, longest first, the host's group, the options of all hosts.
///
/// ```
/// use std::time::Duration;
/// use crawler::frontier::{Frontier, FrontierOptions, HostGroup, HostRule};
///
/// let mut options = FrontierOptions::default();
/// let slow = HostRule { host_delay: Some(Duration::from_secs(5)), ..HostRule::default() };
/// options.rules.hosts.insert("*.slow.example".to_owned(), slow);
/// // Asked like one server: one request at a time, and a second between a response and the next request.
/// let hosts = vec!["a.example".to_owned(), "*.b.example".to_owned()];
/// options.rules.groups.insert("cdn".to_owned(), HostGroup { hosts, ..HostGroup::default() });
/// Frontier::new(&options)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostRules {
    /// Rules of hosts, by their names.
    pub hosts: BTreeMap<String, HostRule>,
    /// Groups of hosts, by the groups' names.
    pub groups: BTreeMap<String, HostGroup>,
}

/// How a host is treated. A setting that is left out is taken from another rule or from [`Politeness`](super::Politeness).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostRule {
    /// As [`Politeness::host_delay`](super::Politeness::host_delay).
    pub host_delay: Option<Duration>,
    /// As [`Politeness::connections_per_host`](super::Politeness::connections_per_host).
    pub connections_per_host: Option<u8>,
    /// As [`Politeness::robots`](super::Politeness::robots).
    pub robots: Option<bool>,
    /// Whether the ports of a name are one server, with one clock: all of them, or none. With `None` everywhere, the default ports of http
    /// and https are one, and each other port is a host of its own.
    pub one_server: Option<bool>,
    /// As [`ScopeOptions::max_depth`](crate::gate::ScopeOptions::max_depth), for the host's own pages, whichever page links to them;
    /// `u32::MAX` is no bound.
    pub max_depth: Option<u32>,
    /// As [`Politeness::host_pages`](super::Politeness::host_pages); `u64::MAX` is no bound.
    pub max_pages: Option<u64>,
    /// As [`Politeness::host_bytes`](super::Politeness::host_bytes); `u64::MAX` is no bound.
    pub max_bytes: Option<u64>,
    /// As [`Politeness::hours`](super::Politeness::hours).
    pub hours: Option<Hours>,
}

/// Hosts that share a clock: after one of them was asked, all of them rest. Each also has its own rest and its own connections.
///
/// A host is in one group: the one that names it by its own name, or else by the longest name with a star.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostGroup {
    /// Names of hosts, with or without a star. No name is in two groups.
    pub hosts: Vec<String>,
    /// Rest between a response of one of them and the next request to any of them; with several connections of the group, between the
    /// starts of two requests. `None` takes the `host_delay` of the group's hosts.
    pub delay: Option<Duration>,
    /// Requests of the whole group that may be out at the same time, from 1 to 64. `None` takes the `connections_per_host` of the
    /// group's hosts.
    pub connections: Option<u8>,
    /// Pages of all its hosts together, as [`Politeness::host_pages`](super::Politeness::host_pages) counts them. Each host also has its
    /// own budget. `None` and `u64::MAX` are no bound.
    pub max_pages: Option<u64>,
    /// Bytes of all its hosts together, as [`Politeness::host_bytes`](super::Politeness::host_bytes) counts them.
    pub max_bytes: Option<u64>,
    /// The rule of each of its hosts.
    pub each: HostRule,
}
