//! The scope: the rules on what belongs to this crawl, which are the surroundings of the seeds, patterns, file extensions and depths.

use std::net::Ipv4Addr;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use ahash::AHashSet;
use regex::RegexSet;

use super::options::DropRules;
use super::{Blocklist, Found, OptionError, Refusal, ScopeKind, ScopeOptions, Via, patterns};
use crate::address::{CanonicalUrl, HostTable};

/// The rules on what belongs to a crawl. While it runs, two of them change: what the seeds have opened, and what the user has dropped.
#[derive(Debug)]
pub(crate) struct Scope {
    kind: ScopeKind,
    /// What the seeds opened: hosts, domains, or directories on a host, by the kind. It only grows. With `Any` and `Page` it stays empty.
    roots: RwLock<Roots>,
    /// If it is empty, everything is included.
    include: RegexSet,
    /// Matched against the key, as `include` is.
    exclude: RegexSet,
    blocklist: Option<Blocklist>,
    /// What the user has dropped since the crawl began.
    drops: DropRules,
    /// Endings of paths that are never requested.
    rejected: Extensions,
    /// The most links from a seed. A redirect is no link: its target has the depth of the page that redirects.
    depths: Depths,
}

/// The surroundings that seeds opened, as texts: hosts, registrable domains, or `host:port/directory/`.
pub(crate) type Roots = AHashSet<Box<str>>;

impl Scope {
    /// Compiles the patterns once. `blocklist` has the lists that the options name, already read; `depths` are the bounds of hosts with
    /// rules.
    ///
    /// # Errors
    /// If a pattern does not compile, or an extension is none. The option is named.
    pub(crate) fn new(
        options: &ScopeOptions,
        blocklist: Option<Blocklist>,
        depths: HostTable<u32>,
    ) -> Result<Self, OptionError> {
        Ok(Self {
            kind: options.kind,
            roots: RwLock::default(),
            include: patterns("scope.include", &options.include)?,
            exclude: patterns("scope.exclude", &options.exclude)?,
            blocklist,
            drops: DropRules::new(&options.dropped)?,
            rejected: Extensions::new("scope.reject_extensions", &options.reject_extensions)?,
            depths: Depths::new(options.max_depth, depths),
        })
    }

    /// What the seeds opened so far. The lock is held for a batch of links, so that all of them are judged by the same rules; a seed that
    /// comes meanwhile waits.
    pub(crate) fn roots(&self) -> RwLockReadGuard<'_, Roots> {
        // A panic cannot leave a set of texts half changed.
        self.roots.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the surroundings of each seed among these, and of each URL that a seed redirects to. An excluded one opens nothing.
    ///
    /// The write lock is taken only if something new is opened. Links on pages never do that, so workers only read under this lock.
    ///
    /// Returns whether the scope is wider now: then cached answers of "out of scope" must be forgotten.
    pub(crate) fn widen(&self, found: &[Found]) -> bool {
        let opened = |found: &Found| self.opens(&found.url).map(Box::from);
        let seeds = found.iter().filter(|found| found.via.widens_scope(found.depth));
        let mut new: Vec<Box<str>> = seeds.filter(|found| self.may_open(found)).filter_map(opened).collect();
        if !new.is_empty() {
            let roots = self.roots();
            new.retain(|root| !roots.contains(root));
        }
        // A million seeds on a thousand hosts take the write lock a thousand times.
        let is_wider = !new.is_empty();
        if is_wider {
            self.roots.write().unwrap_or_else(PoisonError::into_inner).extend(new);
        }
        is_wider
    }

    /// Whether a seed opens its surroundings. A seed that would be refused in any scope does not.
    pub(super) fn may_open(&self, seed: &Found) -> bool {
        self.check(seed).is_ok() && self.rejected.find(&seed.url).is_none()
    }

    /// Opens the surroundings of a seed that was admitted before, as a journal is read again. A seed that is excluded now was not then.
    ///
    /// Returns whether the scope is wider now.
    pub(crate) fn widen_by(&self, seed: &CanonicalUrl) -> bool {
        if let Some(root) = self.opens(seed).filter(|root| !self.roots().contains(*root)) {
            self.roots.write().unwrap_or_else(PoisonError::into_inner).insert(root.into());
            return true;
        }
        false
    }

    /// Opens the surroundings that seeds had opened when a checkpoint was written, in a scope of that kind. A scope of another kind opens
    /// what follows from them, as a domain from a host. For everything else, the seeds must be shown again.
    pub(crate) fn open(&mut self, kind: ScopeKind, roots: &[String]) {
        let now = self.kind;
        let follows = |root: &String| match (kind, now) {
            _ if kind == now => Some(Box::from(root.as_str())),
            (ScopeKind::Prefix, ScopeKind::Host) => Some(host_of_directory(root).into()),
            (ScopeKind::Prefix, ScopeKind::Domain) => Some(domain(host_of_directory(root)).into()),
            (ScopeKind::Host, ScopeKind::Domain) => Some(domain(root).into()),
            _ => None,
        };
        let opened = self.roots.get_mut().unwrap_or_else(PoisonError::into_inner);
        opened.extend(roots.iter().filter_map(follows));
    }

    /// Whether this URL belongs to the crawl, and if not, why. The first rule that refuses gives the reason.
    ///
    /// A seed belongs to the crawl wherever it is, and whatever is included. An excluded URL never does, even as a seed: lists of seeds are
    /// made by programs, exclusions by people. The patterns are matched against the key, so one pattern covers all spellings.
    pub(crate) fn judge(&self, roots: &Roots, found: &Found) -> Result<(), Refusal> {
        let is_sitemap = found.via == Via::Sitemap;
        let is_asked_for = found.via.widens_scope(found.depth) || is_sitemap && found.redirects == 0;
        if !is_asked_for && !self.is_inside(roots, &found.url) {
            return Err(Refusal::OutOfScope);
        }
        self.check(found)?;
        if !is_sitemap && self.rejected.find(&found.url).is_some() {
            return Err(Refusal::RejectedExtension);
        }
        if found.via != Via::Seed && !is_sitemap && !self.include.is_empty() && !self.include.is_match(found.url.key())
        {
            return Err(Refusal::NotIncluded);
        }
        let is_too_deep = || {
            let of_host = || self.depths.of(found.url.host()).is_some_and(|most| found.depth > most);
            self.depths.are_too_deep(found.depth).unwrap_or_else(of_host)
        };
        if !is_sitemap && is_too_deep() {
            return Err(Refusal::TooDeep);
        }
        Ok(())
    }

    /// The verdict of [`judge`](Self::judge), to be explained. If a URL is outside the opened surroundings, and a rule would refuse it even
    /// as a seed, that rule is named instead: it may be the reason why the seed opened nothing.
    pub(crate) fn judge_to_explain(&self, found: &Found) -> Result<(), Refusal> {
        match self.judge(&self.roots(), found) {
            Err(Refusal::OutOfScope) => self.check(found).and(Err(Refusal::OutOfScope)),
            verdict => verdict,
        }
    }

    /// Whether a URL may belong to the crawl at all, even as a seed. The patterns come before the lists: they are in memory, and the user
    /// wrote them for this crawl.
    fn check(&self, Found { url, queue, .. }: &Found) -> Result<(), Refusal> {
        match &self.blocklist {
            _ if self.drops.have(url, queue.as_ref()) => Err(Refusal::Dropped),
            _ if self.exclude.is_match(url.key()) => Err(Refusal::Excluded),
            Some(list) if list.blocks(url) => Err(Refusal::Blocked),
            _ => Ok(()),
        }
    }

    /// The lists of hosts and URLs that are never requested; `None` if the options name none.
    pub(crate) fn blocklist(&self) -> Option<&Blocklist> {
        self.blocklist.as_ref()
    }

    /// What the user has dropped.
    pub(super) fn drops(&self) -> &DropRules {
        &self.drops
    }

    /// All rules, except the opened surroundings and the drops, as a text that is the same for the same rules.
    pub(super) fn text(&self) -> String {
        let Self { kind, include, exclude, blocklist, rejected, depths, .. } = self;
        let listed = blocklist.as_ref().map(Blocklist::digest);
        let depths = depths.text();
        format!("{kind} {:?} {:?} {listed:?} {rejected:?} {depths}", include.patterns(), exclude.patterns())
    }

    /// The rule that decided a verdict of [`judge`](Self::judge), as its option and value. For
    /// [`explain`](crate::frontier::Frontier::explain): it matches the patterns once more, to name the first one that matches.
    pub(crate) fn rule(&self, found: &Found, verdict: Result<(), Refusal>) -> String {
        let key = found.url.key();
        match verdict {
            Ok(()) if found.via == Via::Sitemap => "a sitemap of a host in scope".to_owned(),
            Ok(()) if found.via.widens_scope(found.depth) => "a seed, or the target of its redirect".to_owned(),
            Ok(()) => format!("scope.kind = {}: a seed opened it", self.kind),
            Err(Refusal::Excluded) => {
                let matching = self.exclude.matches(key).iter().next();
                let pattern = matching.map_or("", |at| self.exclude.patterns()[at].as_str());
                format!("scope.exclude = {pattern}")
            }
            Err(Refusal::Dropped) => {
                let rule = self.drops.rule(&found.url, found.queue.as_ref());
                format!("dropped: {}", rule.as_deref().unwrap_or("a rule that no longer exists"))
            }
            Err(Refusal::Blocked) => {
                let line = self.blocklist().and_then(|list| list.line(&found.url));
                format!("scope.blocklists: {}", line.as_deref().unwrap_or("a line that no longer exists"))
            }
            Err(Refusal::RejectedExtension) => {
                format!("scope.reject_extensions = {}", self.rejected.find(&found.url).unwrap_or_default())
            }
            Err(Refusal::NotIncluded) => {
                format!("scope.include = {}", self.include.patterns().join(" or "))
            }
            Err(Refusal::TooDeep) => {
                let (host, most) = (found.url.host(), self.depths.of(found.url.host()).unwrap_or_default());
                if self.depths.is_ruled(host) {
                    return format!("max_depth = {most}, by a rule of its host");
                }
                format!("scope.max_depth = {most}")
            }
            Err(_) => format!("scope.kind = {}", self.kind),
        }
    }

    /// The kind of the surroundings.
    pub(crate) fn kind(&self) -> ScopeKind {
        self.kind
    }

    /// Whether pages of this URL's host may belong to the crawl, as far as the host tells: always for a `Prefix`, where the path decides.
    /// So sitemaps of hosts that are out of scope are not requested.
    pub(crate) fn may_have(&self, roots: &Roots, url: &CanonicalUrl) -> bool {
        self.kind == ScopeKind::Prefix || self.is_inside(roots, url)
    }

    /// How many links from a seed a page may be.
    pub(crate) fn depths(&self) -> &Depths {
        &self.depths
    }

    /// The text that a seed adds to the roots; `None` for the kinds that need none. With `Prefix` it is the innermost directory of the
    /// seed: `/a/b/` of `/a/b/c.html`, as with `wget --no-parent`.
    fn opens<'a>(&self, seed: &'a CanonicalUrl) -> Option<&'a str> {
        match self.kind {
            ScopeKind::Any | ScopeKind::Page => None,
            ScopeKind::Domain => Some(domain(seed.host())),
            ScopeKind::Host => Some(seed.host()),
            ScopeKind::Prefix => directories(seed).last(),
        }
    }

    /// Whether the seeds opened the surroundings of a URL. This takes a lookup in a hash table, or for directories one for each part of the
    /// path.
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

/// The registrable domain (public suffix and one label); for an address or a bare name, itself. The list of public suffixes is compiled in:
/// a crawl of weeks sees one list.
pub fn domain(host: &str) -> &str {
    let is_address = host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok();
    if is_address { host } else { psl::domain_str(host).unwrap_or(host) }
}

/// Whether names directly below this one can be registered.
pub fn is_public_suffix(domain: &str) -> bool {
    psl::suffix_str(domain).is_some_and(|suffix| suffix == domain)
}

/// The host of a directory: `a.example` of `a.example:8080/b/`.
fn host_of_directory(directory: &str) -> &str {
    let host = directory.split('/').next().unwrap_or_default();
    host.rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(host, |(host, _)| host)
}

/// The directories of a URL, the outermost first: `host:port/`, `host:port/a/`, `host:port/a/b/` of the key
/// `https://host:port/a/b/c?d`. The scheme is left out: a site that moves to https stays one.
fn directories(url: &CanonicalUrl) -> impl Iterator<Item = &str> {
    let key = url.key();
    let start = key.find("://").map_or(0, |at| at + 3);
    let end = key.find('?').unwrap_or(key.len());
    let text = &key[start..end];
    text.match_indices('/').map(|(at, _)| &text[..=at])
}

/// No bound.
const ANY: u32 = u32::MAX;

/// How many links from a seed a page may be, by its host.
#[derive(Debug)]
pub(crate) struct Depths {
    /// The most for hosts whose rules set no limit.
    others: u32,
    by_host: HostTable<u32>,
    /// The lowest and the highest of all these limits.
    least: u32,
    most: u32,
}

impl Depths {
    /// `others` is for hosts without a rule; `None` means no limit, and so does a host's `u32::MAX`.
    pub(crate) fn new(others: Option<u32>, by_host: HostTable<u32>) -> Self {
        let others = others.unwrap_or(ANY);
        let all = || by_host.values().copied().chain([others]);
        let (least, most) = (all().min().unwrap_or(others), all().max().unwrap_or(others));
        Self { others, by_host, least, most }
    }

    /// All bounds, as a text that is the same for the same bounds.
    pub(crate) fn text(&self) -> String {
        format!("{} {:?}", self.others, self.by_host.listed())
    }

    /// How many links from a seed a page of a host may be; `None` if there is no limit.
    pub(crate) fn of(&self, host: &str) -> Option<u32> {
        Some(self.by_host.get(host).copied().unwrap_or(self.others)).filter(|depth| *depth != ANY)
    }

    /// Whether a rule of the host sets the limit.
    pub(crate) fn is_ruled(&self, host: &str) -> bool {
        self.by_host.get(host).is_some()
    }

    /// Whether pages at this depth are too deep; `None` if that depends on their hosts.
    pub(crate) fn are_too_deep(&self, depth: u32) -> Option<bool> {
        if depth <= self.least {
            return Some(false);
        }
        (depth > self.most).then_some(true)
    }

    /// Whether any links are followed.
    pub(crate) fn follows_links(&self) -> bool {
        self.most > 0
    }
}

/// File extensions of URLs that are never requested, in lower case, each with its dot.
#[derive(Debug)]
pub(crate) struct Extensions(Vec<String>);

impl Extensions {
    /// The extensions of an option, several in a text with commas between them: `zip, .tar.gz`. The leading dot may be left out.
    ///
    /// # Errors
    /// If a word has a slash, a `?` or a `#`, which no ending of a path has.
    pub(crate) fn new(option: &'static str, named: &[String]) -> Result<Self, OptionError> {
        let words = named.iter().flat_map(|words| words.split(',')).map(|word| word.trim().trim_start_matches('.'));
        let endings = words.filter(|word| !word.is_empty()).map(|word| {
            if word.contains(['/', '?', '#']) {
                let reason = format!("{word}: expected a file extension such as zip");
                return Err(OptionError::Option { option, value: word.to_owned(), reason });
            }
            Ok(format!(".{}", word.to_ascii_lowercase()))
        });
        Ok(Self(endings.collect::<Result<_, _>>()?))
    }

    /// The extension that the path of a URL ends with, without its dot; if two match, the first that the option names. O(extensions), on
    /// the key, so that escapes in the name hide nothing. A name that is only an extension, such as `.zip`, has none. The end of a query
    /// does not count: `/get?file=a.zip` may be a page.
    pub(crate) fn find(&self, url: &CanonicalUrl) -> Option<&str> {
        if self.0.is_empty() {
            return None;
        }
        let path = url.key().split('?').next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default().as_bytes();
        let ends = |ending: &&String| {
            let start = name.len().checked_sub(ending.len()).filter(|start| *start > 0);
            start.is_some_and(|start| name[start..].eq_ignore_ascii_case(ending.as_bytes()))
        };
        self.0.iter().find(ends).map(|ending| &ending[1..])
    }
}
