//! What a user has dropped from a running crawl: hosts and URLs that are not requested any more.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use regex::RegexSet;

use super::{OptionError, patterns};
use crate::address::{CanonicalUrl, HostPattern, HostTable};

/// One thing that is dropped.
///
/// Its text, in a job's `dropped.txt` and wherever it is shown: `host example.org`, or `urls /calendar/`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DropRule {
    /// A host by its name: all its schemes and ports. `*.example.org` is `example.org` and all hosts below it.
    Host(String),
    /// The URLs whose key a regular expression matches, as with `scope.exclude`.
    Urls(String),
}

impl DropRule {
    /// Reads its text.
    ///
    /// # Errors
    /// If the text begins otherwise, the name is no host name, or the pattern does not compile.
    pub fn parse(text: &str) -> Result<Self, OptionError> {
        let rule = match text.split_once(' ') {
            Some(("host", name)) => Self::Host(name.trim().to_owned()),
            Some(("urls", pattern)) => Self::Urls(pattern.to_owned()),
            _ => return Err(refused(text, "expected `host NAME` or `urls REGEX`")),
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
            Self::Urls(pattern) => write!(f, "urls {pattern}"),
        }
    }
}

/// The rules on what is dropped. Of all rules, only they may change while the crawl runs.
///
/// Nearly every crawl drops nothing: one load says so, and no lock is taken.
#[derive(Debug, Default)]
pub(super) struct DropRules {
    is_any: AtomicBool,
    compiled: RwLock<Compiled>,
}

impl DropRules {
    /// Compiles the rules.
    ///
    /// # Errors
    /// If a name is no host name, or a pattern does not compile.
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

    /// Whether a URL is dropped.
    pub(super) fn have(&self, url: &CanonicalUrl) -> bool {
        self.are_any() && {
            let compiled = self.compiled.read().unwrap_or_else(PoisonError::into_inner);
            compiled.hosts.get(url.host()).is_some() || compiled.urls.is_match(url.key())
        }
    }

    /// Whether all URLs of a host are dropped.
    pub(super) fn have_host(&self, host: &str) -> bool {
        let compiled = self.compiled.read().unwrap_or_else(PoisonError::into_inner);
        compiled.hosts.get(host).is_some()
    }

    /// The rule that drops a URL, as its text.
    pub(super) fn rule(&self, url: &CanonicalUrl) -> Option<String> {
        let rules = self.rules();
        let has = |rule: &&DropRule| Self::new(std::slice::from_ref(rule)).is_ok_and(|alone| alone.have(url));
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
        let texts = ["host a.example", "host *.b.example", "urls /calendar/[0-9]+"];
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
            assert_eq!(drops.have(&url), rule.is_some(), "{}", url.key());
            assert_eq!(drops.rule(&url).as_deref(), rule.map(|at: usize| texts[at]));
        }
        for text in ["", "host", "host ", "host a/b", "urls (", "page x", "hosts a.example"] {
            assert!(DropRule::parse(text).is_err(), "{text:?}");
        }
        drops.set(&[]).unwrap();
        assert!(!drops.are_any());
    }
}
