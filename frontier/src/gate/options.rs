//! The options of a gate, the rules on what a user drops from its scope while it runs, and the errors of both.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use regex::{RegexSet, RegexSetBuilder};

use super::metadata::MOST_METADATA;
use super::{MetadataLimits, TrapLimits};
use crate::address::{CanonicalUrl, FingerprintKey, HostKey, HostPattern, HostTable, KeyRules};
use crate::seen::{SeenError, SeenOptions};

/// The options of a gate: its share of a frontier's options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GateOptions<'a> {
    pub(crate) keys: &'a KeyRules,
    /// Random if it is `None`.
    pub(crate) fingerprint_key: Option<FingerprintKey>,
    pub(crate) seen: &'a SeenOptions,
    pub(crate) scope: &'a ScopeOptions,
    pub(crate) traps: &'a TrapLimits,
    pub(crate) metadata: MetadataLimits,
    /// Whether URLs that were seen are handed over to the frontier, which may move them up.
    pub(crate) move_up: bool,
}

impl GateOptions<'_> {
    /// Checks the options that no part of the gate checks for itself.
    ///
    /// # Errors
    /// If `metadata.bytes` is beyond its range.
    pub(crate) fn check(&self) -> Result<(), OptionError> {
        let MetadataLimits { bytes, .. } = self.metadata;
        if bytes <= MOST_METADATA {
            return Ok(());
        }
        let reason = format!("is at most {MOST_METADATA}");
        Err(OptionError::Option { option: "metadata.bytes", value: bytes.to_string(), reason })
    }
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
/// use crawler_frontier::frontier::{Frontier, FrontierOptions, Timestamp};
/// use crawler_frontier::gate::Refusal;
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
    /// too. The lists are read when the gate is made.
    pub blocklists: Vec<PathBuf>,
    /// Rules on the hosts and URLs that the user has dropped since the crawl began. A job adds those of its `dropped.txt`.
    pub dropped: Vec<DropRule>,
    /// File extensions, as `zip` or `tar.gz`, in either case: a URL whose path ends with one is never requested, not even as a seed.
    /// Sitemaps are.
    pub reject_extensions: Vec<String>,
    /// The most links from a seed; `None` is no limit.
    pub max_depth: Option<u32>,
}

/// Why no frontier can be made with these options. All are checked before anything is made, and the first invalid one is reported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
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
    /// A rule for a host or a group is out of its range or does not parse.
    #[error(transparent)]
    Rule(Box<RuleError>),
    /// The seen set's options are invalid, or the set cannot be made.
    #[error("seen.{0}")]
    Seen(#[from] SeenError),
}

/// An invalid rule for a host or a group.
#[derive(Debug, thiserror::Error)]
#[error("{table}.{name:?}{}{key} = {value}: {reason}", if key.is_empty() { "" } else { "." })]
#[non_exhaustive]
pub struct RuleError {
    /// `hosts` or `groups`.
    pub table: String,
    /// The name of the host or the group.
    pub name: String,
    /// The key within the rule; empty for its name.
    pub key: String,
    /// What was given.
    pub value: String,
    /// What is wrong with it.
    pub reason: String,
}

/// The most bytes that one option's patterns together may compile to. This bounds the memory that a hostile list of patterns can take.
const MAX_COMPILED: usize = 16 << 20;

/// Compiles an option's patterns into one set: a URL is searched once, in time linear in its length, however many they are.
///
/// # Errors
/// If a pattern is no regular expression, or all of them would take more than 16 MiB.
pub fn patterns(option: &'static str, patterns: &[String]) -> Result<RegexSet, OptionError> {
    let compile = |patterns: &[String]| RegexSetBuilder::new(patterns).size_limit(MAX_COMPILED).build();
    compile(patterns).map_err(|error| {
        // The set's error does not name the pattern. The pattern's own error shows it, with a mark below the place.
        let alone =
            patterns.iter().find_map(|pattern| compile(std::slice::from_ref(pattern)).err().map(|e| (pattern, e)));
        let (value, error) =
            alone.map_or_else(|| (patterns.join(" "), error), |(pattern, error)| (pattern.clone(), error));
        OptionError::Option { option, value, reason: error.to_string() }
    })
}

/// A rule on what is dropped: a host, a queue, or the URLs that match a pattern.
///
/// Its text, in a job's `dropped.txt` and wherever it is shown, is `host example.org`, `queue search` or `urls /calendar/`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DropRule {
    /// A host by its name: all its schemes and ports. `*.example.org` is `example.org` and all hosts below it.
    Host(String),
    /// All URLs of the queue of this name.
    Queue(String),
    /// The URLs whose key a regular expression matches, as with `scope.exclude`.
    Urls(String),
}

impl DropRule {
    /// Reads a rule's text.
    ///
    /// # Errors
    /// If the text begins with none of `host`, `queue` and `urls`, the name is no host's or no queue's, or the pattern does not compile.
    pub fn parse(text: &str) -> Result<Self, OptionError> {
        let rule = match text.split_once(' ') {
            Some(("host", name)) => Self::Host(name.trim().to_owned()),
            Some(("queue", name)) => Self::Queue(name.to_owned()),
            Some(("urls", pattern)) => Self::Urls(pattern.to_owned()),
            _ => return Err(refused(text, "expected `host NAME`, `queue NAME` or `urls REGEX`")),
        };
        rule.check().map(|()| rule)
    }

    /// Whether the rule is valid.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn check(&self) -> Result<(), OptionError> {
        Compiled::of(std::slice::from_ref(self)).map(drop)
    }
}

impl fmt::Display for DropRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(name) => write!(f, "host {name}"),
            Self::Queue(name) => write!(f, "queue {name}"),
            Self::Urls(pattern) => write!(f, "urls {pattern}"),
        }
    }
}

/// The rules on what is dropped. They are the only rules that may change while the crawl runs.
///
/// In a crawl that drops nothing, as most do, each question costs one load and no lock.
#[derive(Debug, Default)]
pub(super) struct DropRules {
    is_any: AtomicBool,
    compiled: RwLock<Compiled>,
}

impl DropRules {
    /// Compiles the rules.
    ///
    /// # Errors
    /// If a name is no host's or no queue's, or a pattern does not compile.
    pub(super) fn new(rules: &[DropRule]) -> Result<Self, OptionError> {
        let drops = Self::default();
        drops.set(rules)?;
        Ok(drops)
    }

    /// Replaces the rules.
    ///
    /// # Errors
    /// As [`new`](Self::new); nothing has changed then.
    pub(super) fn set(&self, rules: &[DropRule]) -> Result<(), OptionError> {
        let compiled = Compiled::of(rules)?;
        *self.compiled.write().unwrap_or_else(PoisonError::into_inner) = compiled;
        self.is_any.store(!rules.is_empty(), Ordering::Release);
        Ok(())
    }

    /// Whether anything is dropped.
    pub(super) fn are_any(&self) -> bool {
        self.is_any.load(Ordering::Acquire)
    }

    /// Whether a URL is dropped. `queue` is the queue that its finder named, if it waits in that and not in its host's.
    pub(super) fn have(&self, url: &CanonicalUrl, queue: Option<&HostKey>) -> bool {
        self.are_any() && {
            let compiled = self.compiled.read().unwrap_or_else(PoisonError::into_inner);
            let names = [url.host()].into_iter().chain(queue.map(HostKey::as_str));
            names.into_iter().any(|name| compiled.hosts.get(name).is_some()) || compiled.urls.is_match(url.key())
        }
    }

    /// Whether all URLs of a host or a queue are dropped.
    pub(super) fn have_host(&self, host: &str) -> bool {
        let compiled = self.compiled.read().unwrap_or_else(PoisonError::into_inner);
        compiled.hosts.get(host).is_some()
    }

    /// The rule that drops a URL of this queue, as its text.
    pub(super) fn rule(&self, url: &CanonicalUrl, queue: Option<&HostKey>) -> Option<String> {
        let rules = self.rules();
        let has = |rule: &&DropRule| Self::new(std::slice::from_ref(rule)).is_ok_and(|alone| alone.have(url, queue));
        rules.iter().find(has).map(ToString::to_string)
    }

    /// All rules, in the order in which they were given.
    pub(super) fn rules(&self) -> Vec<DropRule> {
        self.compiled.read().unwrap_or_else(PoisonError::into_inner).rules.clone()
    }
}

/// Rules, compiled.
#[derive(Debug, Default)]
struct Compiled {
    rules: Vec<DropRule>,
    /// Hosts, and queues.
    hosts: HostTable<()>,
    urls: RegexSet,
}

impl Compiled {
    fn of(rules: &[DropRule]) -> Result<Self, OptionError> {
        let mut hosts = std::collections::BTreeMap::new();
        let mut urls = Vec::new();
        for rule in rules {
            match rule {
                DropRule::Host(name) => {
                    let pattern = HostPattern::parse(name);
                    let pattern = pattern.ok_or_else(|| refused(name, "expected a host such as example.org"))?;
                    hosts.insert(pattern, true);
                }
                DropRule::Queue(name) => {
                    let key = HostKey::of_queue(name).map_err(|error| refused(name, &error.to_string()))?;
                    hosts.extend(HostPattern::of_queue(key.as_str()).map(|pattern| (pattern, true)));
                }
                DropRule::Urls(pattern) => urls.push(pattern.clone()),
            }
        }
        let hosts = HostTable::of(&hosts, |_| Ok::<_, OptionError>(()))?;
        Ok(Self { rules: rules.to_vec(), hosts, urls: patterns(OPTION, &urls)? })
    }
}

/// The option that the rules come from.
const OPTION: &str = "scope.dropped";

fn refused(value: &str, reason: &str) -> OptionError {
    OptionError::Option { option: OPTION, value: value.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::{Canonicalizer, KeyRules};

    #[test]
    fn a_rule_is_read_as_it_is_written_and_drops_what_it_names() {
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        let texts = ["host a.example", "host *.b.example", "urls /calendar/[0-9]+", "queue an account"];
        let rules: Vec<DropRule> = texts.iter().map(|text| DropRule::parse(text).unwrap()).collect();
        assert_eq!(rules.iter().map(ToString::to_string).collect::<Vec<_>>(), texts);
        let drops = DropRules::new(&rules).unwrap();
        for (url, rule) in [
            ("http://a.example:8080/x", Some(0)),
            ("https://A.example./", Some(0)),
            ("https://www.a.example/", None),
            ("https://b.example/", Some(1)),
            ("https://c.b.example/", Some(1)),
            ("https://c.example/calendar/12", Some(2)),
            ("https://c.example/calendar/x", None),
        ] {
            let url = canonicalizer.canonicalize(url).unwrap();
            assert_eq!(drops.have(&url, None), rule.is_some(), "{}", url.key());
            assert_eq!(drops.rule(&url, None).as_deref(), rule.map(|at: usize| texts[at]));
            let queue = HostKey::of_queue("an account").unwrap();
            assert!(drops.have(&url, Some(&queue)));
            assert_eq!(drops.rule(&url, Some(&queue)).as_deref(), Some(rule.map_or(texts[3], |at| texts[at])));
        }
        for text in
            ["", "host", "host ", "host a/b", "host @a", "queue ", "queue *", "urls (", "page x", "hosts a.example"]
        {
            assert!(DropRule::parse(text).is_err(), "{text:?}");
        }
        drops.set(&[]).unwrap();
        assert!(!drops.are_any());
    }
}
