//! The budgets, and the second seen set, which tells them whether a page is fresh.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::copies::Originals;
use super::copies::place;
use super::evidence::MostRefused;
use super::evidence::{Evidence, YieldCounts};
use super::shape::{Combination, combination, ids, section, shape, without_ids};
use super::{Combined, Content, Copied, Mirrored, PageEvidence, PageNovelty, PageYield, Session, SessionText};
use crate::address::{CanonicalUrl, Fingerprint, FingerprintKey, host_of};
use crate::gate::{Refusal, TrapLimits, domain};
use crate::seen::{Firsts, SeenError, SeenOptions, SeenSet, Sighting};

/// The kinds of keys that budgets have. The number keeps equal texts of two kinds apart: it goes into the top byte of the key, so that the
/// host `a.example` and the domain `a.example` have their own slots. Evidence is saved by these keys, so a number never changes.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Shape = 1,
    Section,
    Host,
    Domain,
    /// All URLs of a host that have an id in them.
    Sessions,
    /// One URL without its ids.
    Session,
    /// A body or words, together with the first page that had them.
    First,
    /// All pages of a host whose path a seed's host has too.
    Mirror,
    /// A path of a seed's host.
    Path,
    /// A path of any other host.
    Copied,
    /// All URLs of a path that combine parameters.
    Combined,
    /// A path with the names of three parameters or more.
    Set,
    /// All sets of names of a path, to count them.
    Sets,
    /// A directory or a host that has pages of another directory or host.
    CopySet,
    /// All such places that are siblings.
    Siblings,
    /// The host of a seed.
    Seed,
    /// One URL without its ids, with what it says under its title.
    Said,
    /// What a host says again at a URL with another id.
    SaidAgain,
}

/// Pages of one place that must be copies before the place is taken for a copy of a set.
const SET: u8 = 3;
/// A text of at most this many bytes is hashed without an allocation.
const SHORT: usize = 256;
/// Bytes for the URLs of first pages. Each takes two entries: for its body and for its words.
const FIRSTS: usize = 16 << 20;

/// The budgets of a crawl. `Sync`, and shared by all workers with their gate.
///
/// Judging takes no lock of the evidence. A page's content is learned under the lock of `firsts`, which is held for one insertion. The
/// memory is half a MiB of evidence from the first page on, at most 16 MiB of URLs, and about 3 bytes for each entry of the contents.
///
/// A false positive of the contents makes one fresh page barren. Each budget is far above that rate, so no part of a site is given up by
/// it.
pub struct Budgets {
    /// The crawl's own key, so that nobody can write URLs whose keys fall into one slot. It is saved with the seen set, since all evidence
    /// would be lost with another key.
    key: FingerprintKey,
    limits: TrapLimits,
    /// Made with the first page that is done.
    evidence: OnceLock<Evidence>,
    /// The second seen set: bodies, words, opened hosts, URLs without their ids, and the other kinds of keys that are only known or not.
    contents: SeenSet,
    /// The URLs of the first pages with a body or with words, in this run.
    firsts: Mutex<Firsts<u64>>,
    most_refused: MostRefused,
    /// The hosts of the seeds.
    originals: Originals,
}

impl fmt::Debug for Budgets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budgets").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// The earlier page with the content of another page.
struct Original {
    url: Box<str>,
    /// Whether it was the first page with this content. If the first page's URL is not known, the next page with the content stands in.
    is_first: bool,
}

/// The budget that a refusal was decided by.
struct Spent {
    refusal: Refusal,
    /// The spent key, as people read it: `a.example/month/#`.
    of: String,
    brought: YieldCounts,
    /// The option in `traps`, and its value.
    budget: (&'static str, u32),
}

impl Budgets {
    /// Budgets of which nothing is spent. The contents begin small, and grow with what is found. They have no audit: it would only measure
    /// their losses, and every checkpoint would hold its sample.
    ///
    /// # Errors
    /// If there is no memory for the contents.
    pub(crate) fn new(limits: &TrapLimits, key: FingerprintKey) -> Result<Self, SeenError> {
        let options =
            SeenOptions { capacity: 1 << 16, open_ended: true, shards: 4, audit: 0, key, ..SeenOptions::default() };
        Ok(Self {
            key,
            limits: limits.clone(),
            evidence: OnceLock::new(),
            contents: SeenSet::new(&options)?,
            most_refused: MostRefused::default(),
            firsts: Mutex::new(Firsts::within(FIRSTS)),
            originals: Originals::default(),
        })
    }

    /// The second seen set.
    pub(crate) fn contents(&self) -> &SeenSet {
        &self.contents
    }

    /// Restores a checkpoint: the slots of the evidence, and the contents if there were any. The records of the journal after the
    /// checkpoint are [noted](Self::note) later.
    pub(crate) fn restore(&mut self, slots: &[(u32, u64)], contents: Option<SeenSet>) {
        if let Some(contents) = contents {
            self.contents = contents;
        }
        if !slots.is_empty() {
            let mut evidence = Evidence::default();
            for &(number, word) in slots {
                evidence.set(number, word);
            }
            // Which keys are spent is found out when they are judged.
            evidence.doubt_all();
            self.evidence = evidence.into();
        }
    }

    /// The slots of the evidence that are in use, for a checkpoint. The caller holds the frontier's lock; nothing is noted without it.
    pub(crate) fn slots(&self) -> Vec<(u32, u64)> {
        self.evidence.get().map(Evidence::slots).unwrap_or_default()
    }

    /// Whether the budgets let a URL be requested. This is asked for each link, and again when the URL's turn comes. It costs one load
    /// until the first budget is spent, and then a hash. A host with a spent budget costs five hashes more, and as many reads of half a
    /// cache line. A refusal is counted, for the report's list of what is refused most: that takes a lock for each refused URL, and none for
    /// a URL that passes.
    ///
    /// # Errors
    /// The reason of the first budget that is spent, in the order of [`spent`](Self::spent).
    pub(crate) fn judge(&self, host: &str, path_and_query: &str) -> Result<(), Refusal> {
        if self.doubted(host).is_none() {
            return Ok(());
        }
        let Some(Spent { refusal, of, .. }) = self.spent(host, path_and_query) else { return Ok(()) };
        self.most_refused.count(of);
        Err(refusal)
    }

    /// Notes that a seed is at this origin, or redirects there.
    pub(in crate::gate) fn add_original(&self, origin: &str) {
        self.originals.add(origin);
        self.contents.insert(self.key_of(Kind::Seed, host_of(origin), ""));
    }

    /// The origins of the seeds, for a checkpoint.
    pub(crate) fn originals(&self) -> Vec<String> {
        self.originals.all()
    }

    /// Whether a URL's host is a mirror of a seed's host that has this URL's page too. One load, until a budget is spent; then a hash, and
    /// for a mirror one more for each host of a seed. `is_found` says whether a key was found so far.
    pub(in crate::gate) fn is_known_mirror(&self, url: &CanonicalUrl, is_found: impl Fn(&str) -> bool) -> bool {
        self.is_mirror(url.host()) && self.originals.has_page(url, is_found)
    }

    /// Whether a host says what a seed's host says.
    pub(in crate::gate) fn is_mirror(&self, host: &str) -> bool {
        self.mirror(host).is_some()
    }

    /// Counts a URL that was refused because its host is a mirror.
    pub(in crate::gate) fn count_mirror(&self, host: &str) {
        self.most_refused.count(host.to_owned());
    }

    /// Why a host is a mirror, in the words of the options; `None` if it is none.
    pub(in crate::gate) fn mirror_rule(&self, host: &str) -> Option<String> {
        let YieldCounts { barren, fresh } = self.mirror(host)?;
        let budget = self.limits.mirror_budget;
        Some(format!(
            "traps.mirror_budget = {budget}: {host} said what a seed's host says at the same path {barren} times, something else {fresh} times"
        ))
    }

    /// The counts of a mirror, over the paths that a seed's host has too; `None` for other hosts.
    fn mirror(&self, host: &str) -> Option<YieldCounts> {
        let evidence = self.doubted(host)?;
        let brought = evidence.of(self.key_of(Kind::Mirror, host, ""));
        brought.is_beyond(self.limits.mirror_budget, self.limits.budget_growth).then_some(brought)
    }

    /// The budgets for which most links were refused in this run, and how many.
    pub fn most_refused(&self) -> Vec<(String, u64)> {
        self.most_refused.all()
    }

    /// Whether any budget was ever spent, or the evidence is a checkpoint's. It never turns false again. If later fresh pages raise the
    /// budget, the checks are in vain.
    pub(crate) fn is_any_spent(&self) -> bool {
        self.evidence.get().is_some_and(Evidence::is_any_spent)
    }

    /// The evidence, if a budget of this host or of its domain may be spent.
    fn doubted(&self, host: &str) -> Option<&Evidence> {
        let evidence = self.evidence.get().filter(|evidence| evidence.is_any_spent())?;
        let is_domains = || evidence.may_be_spent(self.key_of(Kind::Domain, domain(host), ""));
        let is_in_doubt =
            evidence.may_be_spent(self.key_of(Kind::Host, host, "")) || evidence.is_any_domain_spent() && is_domains();
        is_in_doubt.then_some(evidence)
    }

    /// Why a URL is refused, in the words of the options. For `explain`: nothing is counted.
    pub(crate) fn rule(&self, host: &str, path_and_query: &str) -> Option<(Refusal, String)> {
        let Spent { refusal, of, brought, budget: (option, budget) } = self.spent(host, path_and_query)?;
        let YieldCounts { barren, fresh } = brought;
        Some((
            refusal,
            format!("traps.{option} = {budget}: {of} brought nothing new {barren} times, something {fresh} times"),
        ))
    }

    /// The first spent budget of a URL. The widest comes first, since a user would raise that one: host, section, shape, combination. Then come
    /// two that need more than the evidence. For sessions, this URL's page must be known under another
    /// id. For the domain, no page of its host may have been fetched yet.
    fn spent(&self, host: &str, path_and_query: &str) -> Option<Spent> {
        let evidence = self.evidence.get()?;
        let TrapLimits { shape_budget, section_budget, host_budget, domain_budget, session_budget, .. } = self.limits;
        let ask = |refusal, kind, text: &str, option, budget: u32| {
            if budget == 0 {
                return None;
            }
            let place = if matches!(kind, Kind::Domain) { domain(host) } else { host };
            let brought = evidence.of(self.key_of(kind, place, text));
            let is_spent = brought.is_beyond(budget, self.limits.budget_growth);
            is_spent.then(|| Spent { refusal, of: format!("{place}{text}"), brought, budget: (option, budget) })
        };
        let shape = shape(path_and_query);
        ask(Refusal::BarrenHost, Kind::Host, "", "host_budget", host_budget)
            .or_else(|| ask(Refusal::BarrenSection, Kind::Section, section(&shape), "section_budget", section_budget))
            .or_else(|| ask(Refusal::BarrenShape, Kind::Shape, &shape, "shape_budget", shape_budget))
            .or_else(|| self.spent_combination(evidence, host, path_and_query))
            .or_else(|| {
                let ask = |kind| ask(Refusal::KnownSession, kind, "", "session_budget", session_budget);
                let spent = ask(Kind::Sessions).or_else(|| ask(Kind::SaidAgain))?;
                let session = self.key_of(Kind::Session, host, &without_ids(path_and_query)?);
                self.contents.contains(session).then_some(spent)
            })
            .or_else(|| {
                let spent = ask(Refusal::BarrenDomain, Kind::Domain, "", "domain_budget", domain_budget)?;
                (!self.contents.contains(self.key_of(Kind::Host, host, "")) && !self.is_seeds(host)).then_some(spent)
            })
    }

    /// What a page yielded by its content, and the URL of the first page with the same content, if that was in this run and is not
    /// forgotten; an error has no content. All of it is remembered from here on, so the page must be settled.
    pub fn recognize(
        &self,
        (host, path_and_query): (&str, &str),
        url: &str,
        brings: PageEvidence,
    ) -> (PageYield, Option<Box<str>>) {
        let is_new = |fingerprint| self.contents.insert(fingerprint) == Sighting::New;
        let content = if let PageEvidence::Page(content) = brings { Some(content) } else { None };
        // This comes before the page is learned, or the page would be a copy of itself.
        let mirrored =
            content.and_then(|content| Some(self.mirrored(self.originals.has_host(host)?, path_and_query, content)));
        let (novelty, original) = match brings {
            PageEvidence::Page(content) => self.learn(content, url),
            PageEvidence::NewRedirect => (PageNovelty::Fresh, None),
            PageEvidence::Nothing => (PageNovelty::Nothing, None),
        };
        let shape = shape(path_and_query);
        let yielded = PageYield {
            novelty,
            // A redirect opens no host, since a domain may have each of its names redirect to another one, or to https.
            opened_host: brings != PageEvidence::NewRedirect && is_new(self.key_of(Kind::Host, host, "")),
            shape: self.key_of(Kind::Shape, host, &shape),
            section: self.key_of(Kind::Section, host, section(&shape)),
            session: without_ids(path_and_query).filter(|_| brings != PageEvidence::NewRedirect).map(|without| {
                let key = self.key_of(Kind::Session, host, &without);
                let said = content.and_then(|content| Some(self.said(host, key, content.page, content.text?)));
                Session { key, is_known: !is_new(key), said }
            }),
            mirrored,
            copied: original.as_ref().and_then(|original| self.copied(host, url, &original.url)),
            content: content.map(|content| Content { text: None, ..content }),
            combined: self.combined(host, path_and_query),
            relays: false,
        };
        (yielded, original.filter(|original| original.is_first).map(|original| original.url))
    }

    /// How often the page at a URL without its ids said this under its title.
    fn said(&self, host: &str, key: Fingerprint, page: Fingerprint, text: Fingerprint) -> SessionText {
        let is_new = |fingerprint| self.contents.insert(fingerprint) == Sighting::New;
        let said = self.said_at(key, text);
        let nth = if is_new(said) {
            self.contents.insert(self.first(said, page));
            1
        } else if self.contents.contains(self.first(said, page)) {
            // The page itself, once more.
            1
        } else if is_new(self.said_again(host, text)) {
            2
        } else {
            3
        };
        SessionText { text, nth, renews_id: false }
    }

    /// The entry for a text that is said at a URL without its ids.
    fn said_at(&self, key: Fingerprint, text: Fingerprint) -> Fingerprint {
        self.salted(Kind::Said).fingerprint_bytes([key, text].map(|print| print.bits().to_le_bytes()).as_flattened())
    }

    /// The entry for a text that a host says again.
    fn said_again(&self, host: &str, text: Fingerprint) -> Fingerprint {
        let host = self.key_of(Kind::SaidAgain, host, "");
        self.salted(Kind::SaidAgain)
            .fingerprint_bytes([host, text].map(|print| print.bits().to_le_bytes()).as_flattened())
    }

    /// Whether a URL has an id in it, so that its page is compared with those of other ids.
    pub fn has_ids(&self, path_and_query: &str) -> bool {
        self.limits.session_budget > 0 && ids(path_and_query).next().is_some()
    }

    /// Whether a page belongs to a set that is at another place too: it has the file name of the first page with its text, and is in other
    /// directories, or on another host that is a seed's. The first two pages of a place are counted as barren; from the third on they are
    /// excused, at `copies` sibling places.
    fn copied(&self, host: &str, url: &str, first: &str) -> Option<Copied> {
        let place = place(url, first).filter(|place| !place.is_other_host || self.is_seeds(host))?;
        let set = self.key_of(Kind::CopySet, host, place.directory);
        let siblings = self.key_of(Kind::Siblings, host, place.above);
        let copied = |nth| Some(Copied { set, siblings, nth });
        let is_new = |nth| self.contents.insert(self.copy(set, nth)) == Sighting::New;
        if let Some(nth) = (1..SET).find(|nth| is_new(*nth)) {
            return copied(nth);
        }
        if self.contents.contains(self.copy(set, SET)) {
            return copied(SET + 1);
        }
        let known = self.evidence.get().map_or(0, |evidence| evidence.of(siblings).fresh);
        if known >= self.limits.copies.into() {
            return None;
        }
        copied(if is_new(SET) { SET } else { SET + 1 })
    }

    /// The entry for the nth copy of a place.
    fn copy(&self, set: Fingerprint, nth: u8) -> Fingerprint {
        self.salted(Kind::CopySet).fingerprint_bytes([set.bits(), nth.into()].map(u64::to_le_bytes).as_flattened())
    }

    /// Whether a seed is on this host, or redirects there.
    pub(in crate::gate) fn is_seeds(&self, host: &str) -> bool {
        self.contents.contains(self.key_of(Kind::Seed, host, ""))
    }

    /// Whether a host of the other kind, a seed's or any other, has had a page at this page's path. `is_original` says that the page's host
    /// is a seed's. The path is remembered. A page that was the first with its body and is fetched again does not count.
    fn mirrored(&self, is_original: bool, path_and_query: &str, content: Content) -> Mirrored {
        let of = |kind| self.key_of(kind, "", path_and_query);
        let (own, other) = if is_original { (Kind::Path, Kind::Copied) } else { (Kind::Copied, Kind::Path) };
        let path = of(own);
        self.contents.insert(path);
        let is_again = self.contents.contains(self.first(content.body, content.page));
        Mirrored { path, is_original, is_known: !is_again && self.contents.contains(of(other)) }
    }

    /// Remembers a page's content, and which page had it first. If it is called again for the same page, the answer is fresh again: after a
    /// kill between this call and the journal the page is fetched again, and must not be its own duplicate.
    ///
    /// The body is checked first. A page with a known body has known words too, so its words are not checked.
    fn learn(&self, Content { page, body, words, .. }: Content, url: &str) -> (PageNovelty, Option<Original>) {
        let url = Arc::<str>::from(url);
        let say = |said: Fingerprint| {
            let first = self.first(said, page);
            // The lock is held over the verdict, so that the page that is told to be the first is also noted as the first.
            let mut firsts = self.firsts.lock().unwrap_or_else(PoisonError::into_inner);
            if self.contents.insert(said) == Sighting::New {
                firsts.note(said.bits(), Arc::clone(&url));
                self.contents.insert(first);
                return Ok(());
            }
            if self.contents.contains(first) {
                return Ok(());
            }
            if let Some(first) = firsts.of(&said.bits()) {
                return Err(Some(Original { url: first.into(), is_first: true }));
            }
            // The first page came in an earlier run, or is forgotten. The next one, perhaps this page, stands in for it.
            let stand_in = !said.bits();
            let original = firsts.of(&stand_in).map(|url| Original { url: url.into(), is_first: false });
            if original.is_none() {
                firsts.note(stand_in, Arc::clone(&url));
            }
            Err(original)
        };
        if let Err(original) = say(body) {
            return (PageNovelty::Same, original);
        }
        match words.map_or(Ok(()), say) {
            Ok(()) => (PageNovelty::Fresh, None),
            Err(original) => (PageNovelty::Near, original),
        }
    }

    /// Remembers a finished page by its record, as a journal is replayed. It adds to the contents what [`recognize`](Self::recognize) added
    /// then, and nothing else.
    pub(crate) fn remember(&self, host: &str, yielded: &PageYield) {
        if let Some(Combined::First { set, .. }) = yielded.combined {
            self.contents.insert(set);
        }
        if yielded.is_new_redirect() {
            return;
        }
        self.contents.insert(self.key_of(Kind::Host, host, ""));
        if let Some(session) = yielded.session {
            self.contents.insert(session.key);
            if let Some(SessionText { text, nth, .. }) = session.said {
                let said = self.said_at(session.key, text);
                self.contents.insert(said);
                self.contents.insert(match yielded.content.filter(|_| nth == 1) {
                    Some(content) => self.first(said, content.page),
                    None => self.said_again(host, text),
                });
            }
        }
        if let Some(mirrored) = yielded.mirrored {
            self.contents.insert(mirrored.path);
        }
        let Some(Content { page, body, words, .. }) = yielded.content else { return };
        if let Some(copied) = yielded.copied.filter(|copied| copied.nth <= SET) {
            self.contents.insert(self.copy(copied.set, copied.nth));
        }
        let words = words.filter(|_| yielded.novelty.is_fresh());
        for said in Some(body).filter(|_| yielded.novelty != PageNovelty::Same).into_iter().chain(words) {
            self.contents.insert(said);
            self.contents.insert(self.first(said, page));
        }
    }

    /// Notes what a finished page yielded, by its record, live and on resume. One thread calls it in the journal's order, so that the
    /// evidence is the same in both.
    pub(crate) fn note(&self, host: &str, yielded: &PageYield) {
        let evidence = self.evidence.get_or_init(Evidence::default);
        let TrapLimits { shape_budget, section_budget, host_budget, domain_budget, session_budget, .. } = self.limits;
        let is_fresh = yielded.novelty.is_fresh();
        let spends = |key, is_fresh, budget| evidence.note(key, is_fresh).is_beyond(budget, self.limits.budget_growth);
        let own = self.key_of(Kind::Host, host, "");
        let note_as = |key, is_fresh, budget| {
            if spends(key, is_fresh, budget) {
                evidence.spend(own);
            }
        };
        let note = |key, budget| note_as(key, is_fresh, budget);
        // A seed's page whose copy came first does not count as barren, and neither does a page of a set that is at several places, since
        // such a set is finite.
        let was_copied = yielded.mirrored.is_some_and(Mirrored::was_copied);
        let is_of_set = yielded.copied.is_some_and(|copied| copied.nth >= SET);
        if let Some(copied) = yielded.copied.filter(|copied| copied.nth == SET) {
            evidence.note(copied.siblings, true);
        }
        if is_fresh || !was_copied && !is_of_set {
            note(yielded.shape, shape_budget);
            note(yielded.section, section_budget);
            note(own, host_budget);
            self.of_combined(yielded).into_iter().for_each(|(key, is_fresh)| note_as(key, is_fresh, shape_budget));
        }
        // A redirect to a new URL counts for its domain only if it leads to one more host of the domain.
        if (yielded.opened_host || yielded.relays) && !self.is_seeds(host) {
            let domain = self.key_of(Kind::Domain, domain(host), "");
            if spends(domain, is_fresh && !yielded.relays, domain_budget) {
                evidence.spend_domain(domain);
            }
        }
        if let Some(session) = yielded.session.filter(|session| session.is_known) {
            note(self.key_of(Kind::Sessions, host, ""), session_budget);
            // Each text counts once: an application may say one for all its ids.
            let is_fresh = match session.said.filter(|_| is_fresh) {
                Some(SessionText { nth: 2, renews_id: true, .. }) => Some(false),
                Some(SessionText { nth: 3, renews_id: true, .. }) | None => None,
                Some(_) => Some(true),
            };
            if let Some(is_fresh) = is_fresh {
                note_as(self.key_of(Kind::SaidAgain, host, ""), is_fresh, session_budget);
            }
        }
        if yielded.mirrored.is_some_and(Mirrored::is_copy) {
            note(self.key_of(Kind::Mirror, host, ""), self.limits.mirror_budget);
        }
    }

    /// The fingerprint of a text on a host. The kind is part of it, so that equal texts of two kinds share no slot and no entry.
    fn key_of(&self, kind: Kind, host: &str, text: &str) -> Fingerprint {
        let key = self.salted(kind);
        let mut short = [0; SHORT];
        let Some(whole) = short.get_mut(..host.len() + text.len()) else {
            return key.fingerprint(&[host, text].concat());
        };
        let (front, back) = whole.split_at_mut(host.len());
        front.copy_from_slice(host.as_bytes());
        back.copy_from_slice(text.as_bytes());
        key.fingerprint_bytes(whole)
    }

    /// The entry for a body or words and the first page that had them. With it in the contents, a page that is fetched again is told from
    /// another page with the same text, and no URL need be kept.
    fn first(&self, said: Fingerprint, page: Fingerprint) -> Fingerprint {
        let pair = [said, page].map(|print| print.bits().to_le_bytes());
        self.salted(Kind::First).fingerprint_bytes(pair.as_flattened())
    }

    /// The key of a kind.
    fn salted(&self, kind: Kind) -> FingerprintKey {
        FingerprintKey::from_u64(self.key.to_u64() ^ (kind as u64) << 56)
    }
}

impl Budgets {
    /// How a page's query combines parameters. Its set of names is remembered.
    fn combined(&self, host: &str, path_and_query: &str) -> Option<Combined> {
        let (path, set) = self.combination(host, path_and_query)?;
        match set.filter(|_| !self.evidence.get().is_some_and(|evidence| self.has_many_sets(evidence, path))) {
            None => Some(Combined::Further { path, leads: false }),
            Some(set) => (self.contents.insert(set) == Sighting::New).then_some(Combined::First { path, set }),
        }
    }

    /// Whether the budget of a path's combinations is spent.
    fn spent_combination(&self, evidence: &Evidence, host: &str, path_and_query: &str) -> Option<Spent> {
        let (path, set) = self.combination(host, path_and_query)?;
        let brought = evidence.of(path);
        if !brought.is_beyond(self.limits.shape_budget, self.limits.budget_growth)
            || set.is_some() && !self.has_many_sets(evidence, path)
        {
            return None;
        }
        let path = path_and_query.split('?').next().unwrap_or_default();
        Some(Spent {
            refusal: Refusal::BarrenCombination,
            of: format!("{host}{path}?..."),
            brought,
            budget: ("parameter_sets", self.limits.parameter_sets),
        })
    }

    /// What a combination adds to the evidence: one more set of names of its path, or whether the page led to something new.
    fn of_combined(&self, yielded: &PageYield) -> Option<(Fingerprint, bool)> {
        Some(match yielded.combined? {
            Combined::First { path, .. } => (self.sets(path), true),
            Combined::Further { path, leads } => (path, leads && yielded.novelty.is_fresh()),
        })
    }

    /// The key that the sets of names of a path are counted under.
    fn sets(&self, path: Fingerprint) -> Fingerprint {
        self.salted(Kind::Sets).fingerprint_bytes(&path.bits().to_le_bytes())
    }

    /// The path of a combination and its set of names; `None` if the sets have no bound, and for other URLs.
    fn combination(&self, host: &str, path_and_query: &str) -> Option<(Fingerprint, Option<Fingerprint>)> {
        let Combination { path, set } = combination(path_and_query).filter(|_| self.limits.parameter_sets > 0)?;
        Some((self.key_of(Kind::Combined, host, &path), set.map(|set| self.key_of(Kind::Set, host, &set))))
    }

    fn has_many_sets(&self, evidence: &Evidence, path: Fingerprint) -> bool {
        evidence.of(self.sets(path)).fresh >= u64::from(self.limits.parameter_sets)
    }
}
