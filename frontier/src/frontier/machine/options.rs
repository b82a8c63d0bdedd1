//! What a frontier's caller fills in and reads: its options, its numbers, and why its calls fail.
//!
//! # Options
//!
//! Options are plain data that an embedder fills in, starting from [`Default`]. They are read once, when a frontier is made. A resume may
//! use other options than the run before: they then hold for all hosts, and queued URLs are judged again by them.
//!
//! # Errors
//!
//! A call that fails has changed nothing unless its documentation says so, and may be tried again. All errors but one are the caller's to
//! fix. If the storage fails, a crawl ends: its state must not go on without its journal.

use std::time::Duration;
use std::{fmt, io};

use super::rate::RateLimits;
use crate::address::{AddressError, FingerprintKey, KeyRules};
use crate::frontier::hosts::{HostRules, Politeness, QueueOrder};
use crate::frontier::{LeaseToken, Timestamp};
use crate::gate::{GateOptions, MetadataError, MetadataLimits, OptionError, ScopeOptions, TrapLimits};
use crate::seen::{SeenError, SeenOptions};

/// The options of a frontier; plain data, checked once in [`Frontier::new`](super::Frontier::new).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FrontierOptions {
    /// Which spellings are one URL.
    pub keys: KeyRules,
    /// The key of the fingerprints; drawn at random if `None`.
    pub fingerprint_key: Option<FingerprintKey>,
    /// The URL-seen test.
    pub seen: SeenOptions,
    /// The URLs that belong to this crawl.
    pub scope: ScopeOptions,
    /// The limits at which a site counts as endless.
    pub traps: TrapLimits,
    /// How many bytes may travel with URLs.
    pub metadata: MetadataLimits,
    /// How hosts are treated.
    pub politeness: Politeness,
    /// How some hosts are treated differently, and which hosts share a clock.
    pub rules: HostRules,
    /// The order of a host's URLs that have one priority, unless [a rule](crate::frontier::HostRule::order) says otherwise.
    pub order: QueueOrder,
    /// Whether a URL in its host's queue that is found again with a better priority gets that priority. Off by default: a URL keeps the
    /// priority with which it was found first, or which [`reprioritize`](super::Frontier::reprioritize) gave it.
    ///
    /// It moves as with `reprioritize`: a URL that is lent out, was tried or waits for a time keeps its priority. The option takes some 14
    /// bytes more for each waiting URL, and a lookup for each link that was seen. A page whose links move URLs costs a walk over the queue
    /// of each host concerned, some 20 ns for each URL there. When a job is opened again, the entry of each waiting URL is read, in about a
    /// microsecond. `reprioritize` then finds URLs by their fingerprints without reading their entries.
    pub move_up: bool,
    /// Requests a second of the whole crawl, over all hosts: more than 0, and may be below 1. Requests for robots.txt and sitemaps count.
    pub request_rate: Option<f64>,
    /// Bytes of responses a second of the whole crawl, at least 1, as the fetcher [reports](crate::frontier::Lease::answered) them. It is
    /// kept on average: one response comes as quickly as its host sends it, and the requests after it wait until the average holds again.
    pub byte_rate: Option<u64>,
    /// How long a lease lasts. After that it is [taken back](super::Frontier::expire), and its URL is lent again after its host's rest.
    /// With `None`, the default, a lease lasts until it is completed. With a timeout each lease has a
    /// [token](crate::frontier::Lease::token) and is journaled, so that it is still out after a restart. At least a millisecond; deadlines
    /// are rounded up to whole milliseconds.
    pub lease_timeout: Option<Duration>,
    /// When this many pages are [in hand](super::Frontier::answered), nothing more is lent until one of them is completed or taken back. At
    /// least 1. Requests that are already out may still be answered.
    pub pages_in_hand: usize,
    /// Whether a page loses one of its [`attempts`](Politeness::attempts) when its lease is taken back. A page that has none left is
    /// [given up](crate::frontier::Next::GiveUp). Off by default: it is lent again until it is completed.
    pub counts_expired: bool,
}

impl Default for FrontierOptions {
    fn default() -> Self {
        Self {
            keys: KeyRules::default(),
            fingerprint_key: None,
            seen: SeenOptions::default(),
            scope: ScopeOptions::default(),
            traps: TrapLimits::default(),
            politeness: Politeness::default(),
            rules: HostRules::default(),
            request_rate: None,
            byte_rate: None,
            order: QueueOrder::default(),
            move_up: false,
            lease_timeout: None,
            pages_in_hand: 1024,
            counts_expired: false,
            metadata: MetadataLimits::default(),
        }
    }
}

impl FrontierOptions {
    /// The options of its gate.
    pub(crate) fn gate(&self) -> GateOptions<'_> {
        let Self { keys, fingerprint_key, seen, scope, traps, metadata, move_up, .. } = self;
        let (fingerprint_key, metadata, move_up) = (*fingerprint_key, *metadata, *move_up);
        GateOptions { keys, fingerprint_key, seen, scope, traps, metadata, move_up }
    }

    /// How much the whole crawl may ask for.
    pub(crate) fn rate_limits(&self) -> RateLimits {
        RateLimits { requests: self.request_rate, bytes: self.byte_rate }
    }

    /// Checks the options that no other part checks for itself. Reports the first one that is out of its range, by its path in the
    /// settings.
    ///
    /// The agent must be a product token, since it selects the groups of a robots.txt. A number whose 0 would silently stop the crawl is
    /// refused here, and so is one too large for a lease or a queue.
    pub(crate) fn check(&self) -> Result<(), OptionError> {
        let Politeness { agent, attempts, connections_per_address, connections_per_host, .. } = &self.politeness;
        let Politeness {
            first_contacts_per_host,
            adaptive_share,
            host_failures,
            host_pages,
            host_bytes,
            robots_ttl,
            ..
        } = &self.politeness;
        let share = adaptive_share.unwrap_or(1.0);
        let is_token = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        let TrapLimits { url_bytes, path_segments, segment_repeats, .. } = &self.traps;
        let checks: [(bool, &'static str, &dyn fmt::Display, &str); 16] = [
            (!agent.is_empty(), "politeness.agent", agent, "is empty; robots.txt could not name it"),
            (
                is_token(agent),
                "politeness.agent",
                agent,
                "may hold letters, digits, - and _ only (RFC 9309 section 2.2.1)",
            ),
            (*attempts > 0, "politeness.attempts", attempts, "is at least 1"),
            (
                (1..=Politeness::MOST_CONNECTIONS).contains(connections_per_host),
                "politeness.connections_per_host",
                connections_per_host,
                "is from 1 to 64",
            ),
            (
                (1..=Politeness::MOST_CONNECTIONS).contains(first_contacts_per_host),
                "politeness.first_contacts_per_host",
                first_contacts_per_host,
                "is from 1 to 64",
            ),
            (
                (1..=Politeness::MOST_CONNECTIONS).contains(connections_per_address),
                "politeness.connections_per_address",
                connections_per_address,
                "is from 1 to 64",
            ),
            (share > 0.0 && share <= 1.0, "politeness.adaptive_share", &share, "is more than 0 and at most 1"),
            (*host_failures > 0, "politeness.host_failures", host_failures, "is at least 1"),
            (
                *host_pages != Some(0),
                "politeness.host_pages",
                &0,
                "is at least 1; leave it out where there is no bound",
            ),
            (
                *host_bytes != Some(0),
                "politeness.host_bytes",
                &0,
                "is at least 1; leave it out where there is no bound",
            ),
            (!robots_ttl.is_zero(), "politeness.robots_ttl", &0, "is more than 0"),
            (*url_bytes > 0, "traps.url_bytes", url_bytes, "is at least 1"),
            (*path_segments <= 1000, "traps.path_segments", path_segments, "is at most 1000"),
            (*segment_repeats > 0, "traps.segment_repeats", segment_repeats, "is at least 1"),
            (self.pages_in_hand > 0, "pages_in_hand", &0, "is at least 1"),
            (
                self.lease_timeout.is_none_or(|timeout| timeout.as_millis() > 0),
                "lease_timeout",
                &0,
                "is at least a millisecond; leave it out where leases do not end",
            ),
        ];
        match checks.into_iter().find(|(holds, ..)| !holds) {
            Some((_, option, value, reason)) => {
                Err(OptionError::Option { option, value: value.to_string(), reason: reason.to_owned() })
            }
            None => self.rate_limits().check(),
        }
    }
}

/// The frontier in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrontierStatistics {
    /// URLs waiting.
    pub queued: u64,
    /// URLs whose [time](super::Frontier::schedule) has not come, and URLs that earlier rules refused and that today's rules have not judged yet.
    pub scheduled: u64,
    /// URLs lent out.
    pub leased: u64,
    /// Of these, the robots.txt.
    pub leased_robots: u64,
    /// Of these, pages whose hosts have [answered](super::Frontier::answered).
    pub in_hand: u64,
    /// Page leases completed for good.
    pub completed: u64,
    /// Leases that will be tried again.
    pub retries: u64,
    /// Hosts known.
    pub hosts: u64,
    /// Hosts in memory: idle ones may be evicted.
    pub hosts_in_memory: u64,
    /// Hosts with URLs queued, resting or due.
    pub active_hosts: u64,
    /// Active hosts whose rest is not over.
    pub resting_hosts: u64,
    /// Of these, hosts that may not be asked at this time of day.
    pub sleeping_hosts: u64,
    /// When the first resting host may be asked again.
    pub next_due: Option<Timestamp>,
    /// Hosts that wait for their group, server or IP address, which rests or has as many requests out as it may.
    pub hosts_in_line: u64,
    /// Hosts that may be asked, but wait because their registrable domain has had more turns than others.
    pub hosts_giving_way: u64,
    /// Hosts that may be asked, but wait for the [rate](FrontierOptions::request_rate) of the whole crawl.
    pub held_by_rate: u64,
    /// IP addresses that count as one server.
    pub addresses: u64,
    /// Active hosts that fail and are tried again.
    pub failing_hosts: u64,
    /// Hosts that are not asked again in this run.
    pub retired_hosts: u64,
    /// Leases that were taken back in this run, because their [deadlines](FrontierOptions::lease_timeout) had passed.
    pub expired: u64,
    /// URLs that were queued in this run with others of the closest priority, because 256 other priorities were in use.
    pub shared_priorities: u64,
    /// URLs that [moved up](FrontierOptions::move_up) in this run, since they were found again with a better priority.
    pub moved_up: u64,
    /// URLs that were found again in this run and not looked at, because 65,536 others waited for that: the gate had been asked for long, and
    /// the frontier for nothing. They keep their priorities.
    pub not_looked_at: u64,
    /// URLs that were [given up](crate::frontier::Next::GiveUp), and wait to be [asked for again](super::Frontier::ask_again).
    pub unreachable: u64,
    /// Bytes of memory in all: queues, hosts with their robots rules, and journal.
    pub memory: u64,
    /// Of it, the back queues and the schedule: what the URLs waiting cost besides the journal.
    pub queue_memory: u64,
    /// Of it, the journal.
    pub journal_memory: u64,
    /// Of it, what is known of the hosts' robots.txt.
    pub robots_memory: u64,
}

impl FrontierStatistics {
    /// No URL waits for its turn or for a time, and none is lent out.
    pub fn is_drained(&self) -> bool {
        self.queued == 0 && self.scheduled == 0 && self.leased == 0
    }
}

/// Why a call of a frontier fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrontierError {
    /// The text is not an absolute http(s) URL. Nothing has changed.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The lease is over: it was taken back after its deadline or given back, or it was completed long ago. Nothing has changed.
    #[error("the lease {0} is over: it was taken back, or completed before")]
    LeaseOver(LeaseToken),
    /// Another frontier lent the lease. Nothing has changed.
    #[error("the lease was lent by another frontier")]
    ForeignLease,
    /// More bytes were to travel with a URL than can be kept. None of the URLs of the call was queued, and the seen set was not told of them.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// A drop rule is not valid. Nothing has changed.
    #[error(transparent)]
    Rule(#[from] OptionError),
    /// The journal's storage failed.
    #[error(transparent)]
    Storage(#[from] io::Error),
    /// The seen set does not support it. Nothing has changed.
    #[error(transparent)]
    Unsupported(#[from] SeenError),
}

/// For callers that return `io::Error`.
impl From<FrontierError> for io::Error {
    fn from(error: FrontierError) -> Self {
        match error {
            FrontierError::Storage(error) => error,
            FrontierError::Address(_)
            | FrontierError::ForeignLease
            | FrontierError::LeaseOver(_)
            | FrontierError::Metadata(_)
            | FrontierError::Rule(_) => Self::new(io::ErrorKind::InvalidInput, error),
            FrontierError::Unsupported(_) => Self::new(io::ErrorKind::Unsupported, error),
        }
    }
}
