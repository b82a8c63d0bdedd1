//! What a gate is made from.

use std::fmt;
use std::path::PathBuf;

use super::{DropRule, TrapLimits};
use crate::address::{FingerprintKey, KeyRules};
use crate::seen::SeenOptions;

/// What a gate is made from: its share of a frontier's options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GateOptions<'a> {
    pub(crate) keys: &'a KeyRules,
    /// Random if it is `None`.
    pub(crate) fingerprint_key: Option<FingerprintKey>,
    pub(crate) seen: &'a SeenOptions,
    pub(crate) scope: &'a ScopeOptions,
    pub(crate) traps: &'a TrapLimits,
}

/// How far from the seeds a URL may be. A seed itself always belongs to the crawl, unless it is excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScopeKind {
    /// Everything. Such a crawl never ends by itself, so it needs a limit of another kind.
    Any,
    /// Hosts that share a registrable domain with a seed, by the public suffix list.
    Domain,
    /// Hosts of the seeds; http and https and all ports are one host.
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

impl ScopeKind {
    /// The kind of this name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        [Self::Any, Self::Domain, Self::Host, Self::Page, Self::Prefix].into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for ScopeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The rules on what belongs to this crawl. A URL that a seed redirects to belongs to it as if it were a seed. The [module](super) gives
/// the order of the rules.
///
/// ```
/// use crawler::frontier::{Frontier, FrontierOptions, Timestamp};
/// use crawler::gate::Refusal;
///
/// let mut options = FrontierOptions::default();
/// options.scope.exclude = vec![r"/private/".to_owned()];
/// let mut frontier = Frontier::new(&options)?;
/// let now = Timestamp::from_micros(0);
/// assert_eq!(frontier.seed("https://example.org/", now)?, None);
/// assert_eq!(frontier.seed("https://example.org/private/a", now)?, Some(Refusal::Excluded));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ScopeOptions {
    /// How far from the seeds.
    pub kind: ScopeKind,
    /// Regular expressions on the key. If there are any, one of them must match; a seed need not.
    pub include: Vec<String>,
    /// Regular expressions on the key. None of them may match, not even for a seed.
    pub exclude: Vec<String>,
    /// Lists of hosts and URLs that are never requested, not even as seeds: one a line, or hosts files. A host covers all hosts below it
    /// too. They are read once.
    pub blocklists: Vec<PathBuf>,
    /// What the user has dropped since the crawl began. A job adds the rules of its `dropped.txt`.
    pub dropped: Vec<DropRule>,
    /// File extensions, as `zip` or `tar.gz`, in either case: a URL whose path ends with one is never requested, not even as a seed.
    /// Sitemaps are.
    pub reject_extensions: Vec<String>,
    /// Links from a seed at most; `None` is no limit.
    pub max_depth: Option<u32>,
}
