//! The rules on what belongs to this crawl.

use std::net::Ipv4Addr;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use ahash::AHashSet;
use regex::RegexSet;

use super::{Found, OptionError, Refusal, ScopeKind, ScopeOptions, Via, patterns};
use crate::address::CanonicalUrl;

/// The rules on what belongs to a crawl: the seeds' surroundings, patterns, and depth.
#[derive(Debug)]
pub(crate) struct Scope {
    kind: ScopeKind,
    /// What the seeds opened: hosts, domains, or directories on a host, by the kind.
    roots: RwLock<Roots>,
    /// Where it is empty, everything is included.
    include: RegexSet,
    exclude: RegexSet,
    max_depth: Option<u32>,
}

/// Texts that the seeds opened.
pub(crate) type Roots = AHashSet<Box<str>>;

impl Scope {
    pub(crate) fn new(options: &ScopeOptions) -> Result<Self, OptionError> {
        Ok(Self {
            kind: options.kind,
            roots: RwLock::default(),
            include: patterns("scope.include", &options.include)?,
            exclude: patterns("scope.exclude", &options.exclude)?,
            max_depth: options.max_depth,
        })
    }

    /// What the seeds opened so far, held still for a batch.
    pub(crate) fn roots(&self) -> RwLockReadGuard<'_, Roots> {
        // A set of texts is whole after a panic, too.
        self.roots.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the seeds among these, and where seeds redirect to, open their surroundings. An excluded one opens nothing.
    pub(crate) fn widen(&self, found: &[Found]) {
        let opened = |found: &Found| self.opens(&found.url).map(Box::from);
        let seeds = found.iter().filter(|found| found.via.widens_scope(found.depth));
        let mut new: Vec<Box<str>> =
            seeds.filter(|found| !self.exclude.is_match(found.url.key())).filter_map(opened).collect();
        if !new.is_empty() {
            let roots = self.roots();
            new.retain(|root| !roots.contains(root));
        }
        // Of a million seeds on a thousand hosts, a thousand wait here.
        if !new.is_empty() {
            self.roots.write().unwrap_or_else(PoisonError::into_inner).extend(new);
        }
    }

    /// Lets a seed that was admitted before open its surroundings.
    pub(crate) fn widen_by(&self, seed: &CanonicalUrl) {
        if let Some(root) = self.opens(seed).filter(|root| !self.roots().contains(*root)) {
            self.roots.write().unwrap_or_else(PoisonError::into_inner).insert(root.into());
        }
    }

    /// Opens what seeds opened before.
    pub(crate) fn open(&mut self, roots: &[String]) {
        let opened = self.roots.get_mut().unwrap_or_else(PoisonError::into_inner);
        opened.extend(roots.iter().map(|root| Box::from(root.as_str())));
    }

    /// Whether this URL belongs to the crawl; if not, why. Seeds do, wherever they are and whatever is included; what is
    /// excluded never does: lists of seeds are made by programs, exclusions by people.
    pub(crate) fn judge(&self, roots: &Roots, found: &Found) -> Result<(), Refusal> {
        let is_asked_for = found.via.widens_scope(found.depth);
        if !is_asked_for && !self.is_inside(roots, &found.url) {
            return Err(Refusal::OutOfScope);
        }
        if self.exclude.is_match(found.url.key()) {
            return Err(Refusal::Excluded);
        }
        if found.via != Via::Seed && !self.include.is_empty() && !self.include.is_match(found.url.key()) {
            return Err(Refusal::NotIncluded);
        }
        if self.max_depth.is_some_and(|most| found.depth > most) {
            return Err(Refusal::TooDeep);
        }
        Ok(())
    }

    /// The rule behind a verdict of [`judge`](Self::judge), by the option that it comes from.
    pub(crate) fn rule(&self, found: &Found, verdict: Result<(), Refusal>) -> String {
        let key = found.url.key();
        match verdict {
            Ok(()) if found.via.widens_scope(found.depth) => "a seed, or where one redirects to".to_owned(),
            Ok(()) => format!("scope.kind = {}: a seed opened it", self.kind),
            Err(Refusal::Excluded) => {
                let matching = self.exclude.matches(key).iter().next();
                let pattern = matching.map_or("", |at| self.exclude.patterns()[at].as_str());
                format!("scope.exclude = {pattern}")
            }
            Err(Refusal::NotIncluded) => {
                format!("scope.include = {}", self.include.patterns().join(" or "))
            }
            Err(Refusal::TooDeep) => format!("scope.max_depth = {}", self.max_depth.unwrap_or_default()),
            Err(_) => format!("scope.kind = {}", self.kind),
        }
    }

    /// Links from a seed at most.
    pub(crate) fn max_depth(&self) -> Option<u32> {
        self.max_depth
    }

    /// What a seed opens.
    fn opens<'a>(&self, seed: &'a CanonicalUrl) -> Option<&'a str> {
        match self.kind {
            ScopeKind::Any | ScopeKind::Page => None,
            ScopeKind::Domain => Some(domain(seed.host())),
            ScopeKind::Host => Some(seed.host()),
            ScopeKind::Prefix => directories(seed).last(),
        }
    }

    fn is_inside(&self, roots: &Roots, url: &CanonicalUrl) -> bool {
        match self.kind {
            ScopeKind::Any => true,
            ScopeKind::Domain => roots.contains(domain(url.host())),
            ScopeKind::Host => roots.contains(url.host()),
            ScopeKind::Page => false,
            ScopeKind::Prefix => directories(url).any(|directory| roots.contains(directory)),
        }
    }
}

/// The registrable domain (public suffix and one label); of an address or a bare name, itself.
fn domain(host: &str) -> &str {
    let is_address = host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok();
    if is_address { host } else { psl::domain_str(host).unwrap_or(host) }
}

/// `host:port/`, `host:port/a/`, `host:port/a/b/` of the key `https://host:port/a/b/c?d`.
fn directories(url: &CanonicalUrl) -> impl Iterator<Item = &str> {
    let key = url.key();
    let start = key.find("://").map_or(0, |at| at + 3);
    let end = key.find('?').unwrap_or(key.len());
    let text = &key[start..end];
    text.match_indices('/').map(|(at, _)| &text[..=at])
}
