//! What a frontier is made from.

use std::fmt;
use std::time::Duration;

use crate::address::{FingerprintKey, KeyRules};
use crate::seen::{SeenError, SeenOptions};

/// What a frontier is made from; plain data, checked once in [`Frontier::new`](super::Frontier::new).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FrontierOptions {
    /// Which spellings are one URL.
    pub keys: KeyRules,
    /// Keys the fingerprints; drawn at random where it is `None`.
    pub fingerprint_key: Option<FingerprintKey>,
    /// The URL-seen test.
    pub seen: SeenOptions,
    /// What belongs to this crawl.
    pub scope: ScopeOptions,
    /// Where a site goes on for ever.
    pub traps: TrapLimits,
    /// How hosts are treated.
    pub politeness: Politeness,
}

impl FrontierOptions {
    /// Checks what no other part does for itself.
    pub(super) fn check(&self) -> Result<(), FrontierError> {
        let Politeness { agent, attempts, host_failures, robots_ttl, .. } = &self.politeness;
        let is_token = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        let TrapLimits { url_bytes, path_segments, segment_repeats, .. } = &self.traps;
        let checks: [(bool, &'static str, &dyn fmt::Display, &str); 8] = [
            (!agent.is_empty(), "politeness.agent", agent, "is empty; robots.txt could not name it"),
            (
                is_token(agent),
                "politeness.agent",
                agent,
                "may hold letters, digits, - and _ only (RFC 9309 section 2.2.1)",
            ),
            (*attempts > 0, "politeness.attempts", attempts, "is at least 1"),
            (*host_failures > 0, "politeness.host_failures", host_failures, "is at least 1"),
            (!robots_ttl.is_zero(), "politeness.robots_ttl", &0, "is more than 0"),
            (*url_bytes > 0, "traps.url_bytes", url_bytes, "is at least 1"),
            (*path_segments <= 1000, "traps.path_segments", path_segments, "is at most 1000"),
            (*segment_repeats > 0, "traps.segment_repeats", segment_repeats, "is at least 1"),
        ];
        match checks.into_iter().find(|(holds, ..)| !holds) {
            Some((_, option, value, reason)) => {
                Err(FrontierError::Option { option, value: value.to_string(), reason: reason.to_owned() })
            }
            None => Ok(()),
        }
    }
}

/// How far from the seeds a URL may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScopeKind {
    /// Everything; wants a limit of another kind.
    Any,
    /// Hosts that share a registrable domain with a seed.
    Domain,
    /// Hosts of the seeds; http and https, any port, are one.
    #[default]
    Host,
    /// The seeds alone.
    Page,
    /// URLs below a seed's directory, on its host.
    Prefix,
}

impl ScopeKind {
    /// Its name in settings and reports: `host`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Domain => "domain",
            Self::Host => "host",
            Self::Page => "page",
            Self::Prefix => "prefix",
        }
    }
}

impl fmt::Display for ScopeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The rules on what belongs to this crawl. Where a seed redirects to belongs to it as if it were a seed.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ScopeOptions {
    /// How far from the seeds.
    pub kind: ScopeKind,
    /// Regular expressions on the key; where there are any, one must match. Seeds are exempt.
    pub include: Vec<String>,
    /// Regular expressions on the key; none may match, of seeds neither.
    pub exclude: Vec<String>,
    /// Links from a seed at most; `None` is no limit.
    pub max_depth: Option<u32>,
}

/// Bounds that only a site without end reaches.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TrapLimits {
    /// Bytes in a URL.
    pub url_bytes: usize,
    /// Segments in a path.
    pub path_segments: usize,
    /// Times that one segment may stand in a path.
    pub segment_repeats: usize,
    /// Redirects in a row.
    pub redirects: u8,
}

impl Default for TrapLimits {
    fn default() -> Self {
        Self { url_bytes: 8192, path_segments: 20, segment_repeats: 3, redirects: 10 }
    }
}

/// How hosts are treated.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Politeness {
    /// The product token that robots groups are matched with: `crawler`, without version.
    pub agent: String,
    /// Honor robots.txt.
    pub robots: bool,
    /// Rest between a response of a host and the next request to it.
    pub host_delay: Duration,
    /// Longest rest that a robots `Crawl-delay` can ask for.
    pub max_crawl_delay: Duration,
    /// Longest rest that a `Retry-After` can ask for.
    pub max_retry_after: Duration,
    /// Tries of one URL in all.
    pub attempts: u8,
    /// First rest of a page or a host after a failure; doubles with each in a row.
    pub backoff: Duration,
    /// Longest rest that failures lead to.
    pub max_backoff: Duration,
    /// Failures in a row after which a host is not asked again in this run.
    pub host_failures: u32,
    /// How long to wait for hosts that fail once no others are left; a host whose name does not exist is not waited for.
    pub patience: Duration,
    /// How long a robots.txt is good for.
    pub robots_ttl: Duration,
    /// Bytes of parsed robots rules that stay in memory; beyond, those not used for longest are dropped, and read from the
    /// journal when their host is next asked. Up to one host's more, and without bound over a journal that keeps no rules, as the
    /// [`Arena`](super::Arena).
    pub robots_memory: usize,
}

impl Default for Politeness {
    fn default() -> Self {
        Self {
            agent: "crawler".to_owned(),
            robots: true,
            host_delay: Duration::from_secs(1),
            max_crawl_delay: Duration::from_secs(300),
            max_retry_after: Duration::from_secs(24 * 3600),
            attempts: 3,
            backoff: Duration::from_secs(10),
            max_backoff: Duration::from_secs(3600),
            host_failures: 8,
            patience: Duration::from_secs(60),
            robots_ttl: Duration::from_secs(24 * 3600),
            robots_memory: 64 << 20,
        }
    }
}

/// Why a frontier cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrontierError {
    /// An option is out of its range or does not parse.
    #[error("{option} = {value}: {reason}")]
    Option {
        /// The option, by its path: `scope.include`.
        option: &'static str,
        /// What was given.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The seen set's options.
    #[error("seen.{0}")]
    Seen(#[from] SeenError),
}
