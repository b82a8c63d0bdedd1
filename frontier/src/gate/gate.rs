//! The gate: it asks the rules and the seen set about each URL that is found, and counts the verdicts.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::answers::Answers;
use super::budget::Budgets;
use super::scope::Depths;
use super::scope::Roots;
use super::{
    Admission, Admitted, Blocklist, DropRule, Found, GateOptions, MetadataError, MetadataLimits, OptionError, Refusal,
    RefusalCounts, Ruled, Scope, ScopeKind, SeenTest, TrapLimits, Via, fingerprint,
};
use crate::address::{
    AddressError, BaseUrl, CanonicalUrl, Canonicalizer, Fingerprint, FingerprintKey, HostKey, HostTable, Identity,
    path_and_query,
};
use crate::seen::{SeenError, SeenOptions, SeenSet, Sighting};

/// Gives the verdict on one URL, by scope, traps, budgets and the seen set, in this order, and the proof that the URL passed. It is `Sync`,
/// and shared by all workers.
///
/// Every URL found is counted once, as admitted or as refused for one reason: while no thread is in the gate, [`found`](Self::found) is
/// [`admitted`](Self::admitted) plus all [`refusals`](Self::refusals).
pub struct Gate {
    /// It refuses texts beyond `traps.url_bytes` before they are parsed.
    canonicalizer: Canonicalizer,
    /// The seen set's key. All fingerprints of a crawl are made with it.
    key: FingerprintKey,
    pub(super) scope: Scope,
    traps: TrapLimits,
    pub(super) budgets: Budgets,
    seen: SeenSet,
    /// Recent answers to links. They take no lock: each answer is one number.
    pub(super) answers: Answers,
    pub(super) admitted: AtomicU64,
    pub(super) refused: [AtomicU64; Refusal::ALL.len()],
    metadata: MetadataLimits,
    /// Bytes of metadata that the frontier holds in memory.
    held: AtomicU64,
    /// URLs that were found again; `None` unless they move up.
    pub(super) found_again: Option<FoundAgain>,
}

/// URLs that were found again, until the frontier takes them.
#[derive(Debug, Default)]
pub(super) struct FoundAgain {
    /// Each with its priority.
    urls: Mutex<Vec<(Fingerprint, i64)>>,
    /// Whether there are any.
    is_any: AtomicBool,
    /// URLs that came when there were [`MOST`](Self::MOST).
    missed: AtomicU64,
}

impl FoundAgain {
    /// The most URLs that wait for the frontier: a megabyte.
    const MOST: usize = 1 << 16;
}

/// How a URL that the gate does not test goes into the seen set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Insertion {
    /// Not at all.
    None,
    /// As a URL that is shown to it; the answer does not matter.
    Shown,
    /// As a URL that was new when it was shown.
    Admitted,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (admitted, refused) = (self.admitted(), self.refusals().total());
        f.debug_struct("Gate").field("admitted", &admitted).field("refused", &refused).finish_non_exhaustive()
    }
}

impl Gate {
    /// Checks the options. If there is a seen set from a checkpoint, its fingerprint key is used and not that of the options: with another
    /// key every URL would be new. `depths` are the bounds of hosts that have rules.
    ///
    /// # Errors
    /// If a pattern does not compile, a blocklist cannot be read, or the seen set cannot be made. The option is named.
    pub(crate) fn new(
        options: GateOptions<'_>,
        seen: Option<SeenSet>,
        depths: HostTable<u32>,
    ) -> Result<Self, OptionError> {
        options.check()?;
        let key = options.fingerprint_key.unwrap_or_else(FingerprintKey::random);
        let seen = match seen {
            Some(seen) => seen,
            None => SeenSet::new(&SeenOptions { key, ..options.seen.clone() })?,
        };
        let canonicalizer = Canonicalizer::new(options.keys).with_max_bytes(options.traps.url_bytes);
        let directory = options.seen.directory.as_deref();
        let blocklist = Blocklist::read(&options.scope.blocklists, &canonicalizer, directory)?;
        Ok(Self {
            canonicalizer,
            key: seen.options().key,
            scope: Scope::new(options.scope, blocklist, depths)?,
            traps: options.traps.clone(),
            budgets: Budgets::new(options.traps, seen.options().key)?,
            seen,
            answers: Answers::default(),
            admitted: AtomicU64::default(),
            refused: Default::default(),
            metadata: options.metadata,
            held: AtomicU64::default(),
            found_again: options.move_up.then(FoundAgain::default),
        })
    }

    /// The rules by which texts become URLs here. They refuse a text that is longer than `traps.url_bytes`.
    pub fn canonicalizer(&self) -> &Canonicalizer {
        &self.canonicalizer
    }

    /// The key of the fingerprints. With it one can write URLs that fall into one shard, so it is random unless it is given.
    pub fn fingerprint_key(&self) -> FingerprintKey {
        self.key
    }

    /// Checks that a URL can be kept with this metadata. [`admit`](Self::admit) does not check it. Call this before, since a URL that the
    /// frontier refuses afterwards is already in the seen set.
    ///
    /// # Errors
    /// If there are more bytes than an option allows.
    pub fn fits(&self, metadata: &[u8]) -> Result<(), MetadataError> {
        self.fits_beside(metadata, 0)
    }

    /// The same, once `more` bytes are held.
    pub(crate) fn fits_beside(&self, metadata: &[u8], more: u64) -> Result<(), MetadataError> {
        if metadata.is_empty() {
            return Ok(());
        }
        self.metadata.fit(metadata.len(), self.held.load(Ordering::Relaxed).saturating_add(more))
    }

    /// Notes how many bytes of metadata the frontier holds in memory.
    pub(crate) fn note_held(&self, bytes: u64) {
        self.held.store(bytes, Ordering::Relaxed);
    }

    /// Resolves a link's text against its page. A text that is no URL is counted as refused: it was found, and the report should say how
    /// many there were.
    ///
    /// # Errors
    /// Why it is no URL: malformed, neither http nor https, or too long.
    pub fn join(&self, base: &BaseUrl, href: &str) -> Result<CanonicalUrl, AddressError> {
        self.canonicalizer.join(base, href).inspect_err(|error| self.refuse(error.into()))
    }

    /// The verdict on one URL, which is remembered if it is new. A seed, or the URL that a seed redirects to, widens the scope first.
    ///
    /// It locks one shard. For many URLs, [`admit_batch`](Self::admit_batch) is several times faster.
    pub fn admit(&self, found: Found) -> Admission {
        self.widen(std::slice::from_ref(&found));
        let verdict = self.judge(&self.scope.roots(), &found);
        match verdict {
            Ok(fingerprint) if found.seen_test == SeenTest::Skipped => self.pass(found, fingerprint),
            Ok(fingerprint) => self.conclude(found, fingerprint, self.seen.insert(fingerprint)),
            Err(refusal) => self.turn_away(refusal),
        }
    }

    /// The verdict without the seen test: whether scope, traps and budgets let a URL pass. It is not counted, and the URL is not remembered
    /// as seen. As in [`admit`](Self::admit), a seed widens the scope first, and the scope stays widened.
    ///
    /// # Errors
    /// Why it does not pass.
    pub fn check(&self, found: &Found) -> Result<(), Refusal> {
        self.widen(std::slice::from_ref(found));
        self.judge(&self.scope.roots(), found).map(drop)
    }

    /// The verdicts on many URLs, in their order. Seeds go first, wherever they are: they widen the scope for the others, and a link to a
    /// seed's page is a link to a page that was seen. Each shard's lock is taken once for all of them, and not at all for links that this
    /// thread brought lately: the links of one site repeat from page to page.
    ///
    /// # Panics
    /// If the seen set does not answer each question.
    pub fn admit_batch(&self, found: Vec<Found>) -> Vec<Admission> {
        let is_other = |found: &Found| !found.via.widens_scope(found.depth);
        if found.is_sorted_by_key(is_other) {
            return self.admit_in_order(found);
        }
        let mut seeds_first: Vec<_> = found.into_iter().enumerate().collect();
        seeds_first.sort_by_key(|(_, found)| is_other(found));
        let (places, found): (Vec<_>, Vec<_>) = seeds_first.into_iter().unzip();
        let mut admissions: Vec<_> = places.into_iter().zip(self.admit_in_order(found)).collect();
        admissions.sort_unstable_by_key(|(place, _)| *place);
        admissions.into_iter().map(|(_, admission)| admission).collect()
    }

    fn admit_in_order(&self, found: Vec<Found>) -> Vec<Admission> {
        self.widen(&found);
        let verdicts: Vec<_> = {
            let roots = self.scope.roots();
            found.iter().map(|found| self.judge(&roots, found)).collect()
        };
        let shown = found.iter().zip(&verdicts).filter(|(found, _)| found.seen_test != SeenTest::Skipped);
        let fingerprints: Vec<Fingerprint> = shown.filter_map(|(_, verdict)| verdict.ok()).collect();
        let mut sightings = Vec::new();
        self.seen.insert_links(&fingerprints, &mut sightings);
        let mut sightings = sightings.into_iter();
        let conclude = |(found, verdict): (Found, Result<Fingerprint, Refusal>)| match verdict {
            Ok(fingerprint) if found.seen_test == SeenTest::Skipped => self.pass(found, fingerprint),
            Ok(fingerprint) => {
                let sighting = sightings.next().expect("one answer for each fingerprint");
                self.conclude(found, fingerprint, sighting)
            }
            Err(refusal) => self.turn_away(refusal),
        };
        found.into_iter().zip(verdicts).map(conclude).collect()
    }

    /// How far from the seeds the scope goes.
    pub fn scope_kind(&self) -> ScopeKind {
        self.scope.kind()
    }

    /// Whether this crawl uses sitemaps: not if its scope is the seeds alone, or no links are followed.
    pub fn takes_sitemaps(&self) -> bool {
        self.scope.kind() != ScopeKind::Page && self.scope.depths().follows_links()
    }

    /// Whether pages of this URL's host may be in scope.
    pub fn may_have(&self, url: &CanonicalUrl) -> bool {
        self.scope.may_have(&self.scope.roots(), url)
    }

    /// Counts a URL that was refused before it came to the gate, for instance by its page's nofollow.
    pub fn refuse(&self, refusal: Refusal) {
        self.refused[refusal as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Raises the count for a reason to the number that another process has counted, if that is higher.
    pub fn count_refused(&self, refusal: Refusal, counted: u64) {
        self.refused[refusal as usize].fetch_max(counted, Ordering::Relaxed);
    }

    /// A hash of the rules: scope, blocklists, bounds of URLs, and what the user has dropped. It is the same in every process, and never 0.
    pub(crate) fn digest(&self) -> u64 {
        let TrapLimits { url_bytes, path_segments, segment_repeats, redirects, parameters, .. } = self.traps;
        let traps = (url_bytes, path_segments, segment_repeats, redirects, parameters);
        let text = format!("{} {traps:?} {:?}", self.scope.text(), self.scope.drops().rules());
        FingerprintKey::from_u64(0).fingerprint(&text).bits().max(1)
    }

    /// The verdict of the present rules on a URL that was admitted, perhaps by other rules. Neither budgets nor the seen set are asked,
    /// nothing is counted, and the scope is not widened. It costs the parsing of the URL.
    ///
    /// # Errors
    /// Why it does not pass.
    pub(crate) fn judge_again(
        &self,
        wire: &str,
        queue: Option<&str>,
        (via, depth, redirects): (Via, u32, u8),
    ) -> Result<(), Refusal> {
        let url = self.canonicalizer.canonicalize(wire).map_err(|error| Refusal::from(&error))?;
        let found = Found { depth, via, redirects, queue: queue.map(HostKey::of_origin), ..Found::seed(url) };
        self.judge_by_rules(&self.scope.roots(), &found).map(drop)
    }

    /// Whether the user has dropped anything.
    pub(crate) fn drops_any(&self) -> bool {
        self.scope.drops().are_any()
    }

    /// Whether the user has dropped all of a host, or a queue.
    pub(crate) fn drops_host(&self, host: &HostKey) -> bool {
        self.scope.drops().have_host(host.host())
    }

    /// What the user has dropped.
    pub fn dropped(&self) -> Vec<DropRule> {
        self.scope.drops().rules()
    }

    /// Replaces what is dropped by these rules.
    ///
    /// # Errors
    /// If a name is no host's, or a pattern does not compile; nothing has changed then.
    pub(crate) fn set_dropped(&self, rules: &[DropRule]) -> Result<(), OptionError> {
        self.scope.drops().set(rules)
    }

    /// Moves URLs from refused to admitted, since the rule that refused them is gone.
    pub(crate) fn readmit(&self, refusal: Refusal, urls: u64) {
        self.refused[refusal as usize].fetch_sub(urls, Ordering::Relaxed);
        self.admitted.fetch_add(urls, Ordering::Relaxed);
    }

    /// Moves URLs from admitted to refused: their host's robots.txt, read since, disallows them, or a budget was spent. The seen set still
    /// holds them, so a later link to one is refused as seen, and no URL is counted for two reasons.
    pub(crate) fn withdraw(&self, refusal: Refusal, urls: u64) {
        self.refused[refusal as usize].fetch_add(urls, Ordering::Relaxed);
        self.admitted.fetch_sub(urls, Ordering::Relaxed);
    }

    /// Takes URLs from the admitted count: pages that were scheduled again, in records that are lost.
    pub(crate) fn retract(&self, urls: u64) {
        self.admitted.fetch_sub(urls, Ordering::Relaxed);
    }

    /// The surroundings that the seeds have opened so far, for a checkpoint. A resume opens them before it judges anything: the seeds are
    /// not shown again, and links that they brought into scope must not be refused for that.
    pub(crate) fn roots(&self) -> Vec<String> {
        self.scope.roots().iter().map(ToString::to_string).collect()
    }

    /// Whether a seed is on this host, or redirects there.
    pub(crate) fn is_of_seed(&self, host: &str) -> bool {
        self.budgets.is_seeds(host)
    }

    /// Restores the counts of an earlier run, and the surroundings that its seeds had opened in a scope of that kind. No other thread has
    /// the gate yet.
    pub(crate) fn restore(
        &mut self,
        admitted: u64,
        refused: &[(Refusal, u64)],
        (scope, roots): (ScopeKind, &[String]),
        originals: &[String],
    ) {
        for origin in originals {
            self.budgets.add_original(origin);
        }
        *self.admitted.get_mut() = admitted;
        for &(refusal, count) in refused {
            *self.refused[refusal as usize].get_mut() = count;
        }
        self.scope.open(scope, roots);
    }

    /// Admits a URL without the seen test, since the journal has it, or it is requested again. `insert` says how to add its identity, or else
    /// its key, to the seen set, and `count` whether to add itself to the counts: a checkpoint's may have it already.
    pub(crate) fn remember(
        &self,
        url: &CanonicalUrl,
        identity: Option<Identity<'_>>,
        (via, depth): (Via, u32),
        insert: Insertion,
        count: bool,
    ) {
        if via.widens_scope(depth) {
            self.budgets.add_original(url.origin());
            self.forget_narrower(self.scope.widen_by(url));
        }
        match insert {
            Insertion::None => {}
            Insertion::Shown => _ = self.seen.insert(fingerprint(url, identity, self.key)),
            Insertion::Admitted => self.seen.insert_again(fingerprint(url, identity, self.key)),
        }
        self.admitted.fetch_add(count.into(), Ordering::Relaxed);
    }

    /// The seen set, for its statistics.
    pub fn seen(&self) -> &SeenSet {
        &self.seen
    }

    /// The second seen set, which remembers the contents of pages, for its statistics.
    pub fn contents(&self) -> &SeenSet {
        self.budgets.contents()
    }

    /// The lists of hosts and URLs that are never requested; `None` if the options name none.
    pub fn blocklist(&self) -> Option<&Blocklist> {
        self.scope.blocklist()
    }

    /// Checks that the disk has worked so far, if the seen set or a blocklist needs one. If it failed, the crawl must not go on.
    ///
    /// # Errors
    /// The first failure.
    pub fn check_disk(&self) -> Result<(), SeenError> {
        self.seen.check()?;
        self.blocklist().map_or(Ok(()), Blocklist::check)
    }

    /// URLs refused so far, by reason. The counts are read one by one: while other threads are in the gate, they are not of one moment.
    pub fn refusals(&self) -> RefusalCounts {
        RefusalCounts::new(|refusal| self.refused[refusal as usize].load(Ordering::Relaxed))
    }

    /// URLs found so far, admitted or refused.
    pub fn found(&self) -> u64 {
        self.admitted() + self.refusals().total()
    }

    /// URLs admitted so far, except the ones refused later: by their host's robots.txt, a spent budget or changed rules.
    pub fn admitted(&self) -> u64 {
        self.admitted.load(Ordering::Relaxed)
    }

    /// Scope, traps and budgets: all but the seen test.
    fn judge(&self, roots: &Roots, found: &Found) -> Result<Fingerprint, Refusal> {
        let fingerprint = self.judge_by_rules(roots, found)?;
        self.judge_by_budgets(found)?;
        Ok(fingerprint)
    }

    /// Scope, then traps: the rules whose answer stays the same. The fingerprint is returned, so that each key is hashed once.
    pub(super) fn judge_by_rules(&self, roots: &Roots, found: &Found) -> Result<Fingerprint, Refusal> {
        self.scope.judge(roots, found)?;
        self.traps.judge(found)?;
        Ok(found.fingerprint(self.key))
    }

    /// Whether budgets apply to requests that have an identity of their own, and learn from them.
    pub const fn budgets_identities(&self) -> bool {
        self.traps.budget_identities
    }

    /// Whether budgets apply to a URL that was found this way. They do not apply to seeds, which the user asked for, nor to sitemaps, which
    /// only name pages that are judged one by one. They apply to requests with an identity of their own only if the user asks for it.
    pub(crate) fn has_budget(&self, via: Via, has_identity: bool) -> bool {
        !matches!(via, Via::Seed | Via::Sitemap) && (!has_identity || self.budgets_identities())
    }

    /// Refuses a URL if the budget of its shape, section, host or domain is spent, or its host is a known mirror.
    pub(super) fn judge_by_budgets(&self, found: &Found) -> Result<(), Refusal> {
        if !self.has_budget(found.via, found.identity.is_some()) {
            return Ok(());
        }
        self.budgets.judge(found.url.host(), found.url.path_and_query())?;
        if self.is_known_mirror(&found.url) {
            self.budgets.count_mirror(found.url.host());
            return Err(Refusal::KnownMirror);
        }
        Ok(())
    }

    /// Whether a URL whose turn has come may be requested, as far as budgets go. The caller knows that it [has one](Self::has_budget).
    ///
    /// # Errors
    /// The reason of the first budget that is spent.
    pub(crate) fn judge_turn(&self, host: &str, wire: &str) -> Result<(), Refusal> {
        self.budgets.judge(host, path_and_query(wire))?;
        let is_known = || self.canonicalizer.canonicalize(wire).is_ok_and(|url| self.is_known_mirror(&url));
        if self.budgets.is_mirror(host) && is_known() {
            self.budgets.count_mirror(host);
            return Err(Refusal::KnownMirror);
        }
        Ok(())
    }

    /// Whether a URL's host is a mirror of a seed's host on which the same page was found.
    fn is_known_mirror(&self, url: &CanonicalUrl) -> bool {
        self.budgets.is_known_mirror(url, |key| self.seen.contains(self.key.fingerprint(key)))
    }

    /// The budgets, with the contents of pages.
    pub fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// The budgets, while no other thread has the gate.
    pub(crate) fn budgets_mut(&mut self) -> &mut Budgets {
        &mut self.budgets
    }

    /// Opens the surroundings of the seeds among these. Links of pages open nothing.
    ///
    /// It comes before any verdict on the same batch, so that the links that came in with a seed are judged by the scope that it opens.
    fn widen(&self, found: &[Found]) {
        let seeds = found.iter().filter(|found| found.via.widens_scope(found.depth));
        for seed in seeds.filter(|seed| self.scope.may_open(seed)) {
            self.budgets.add_original(seed.url.origin());
        }
        self.forget_narrower(self.scope.widen(found));
    }

    /// If the scope is wider now, forgets the answers of links that were out of scope.
    fn forget_narrower(&self, is_wider: bool) {
        if is_wider {
            self.answers.forget_out_of_scope();
        }
    }

    /// The verdict of the scope on a URL, and that of traps and budgets, each with the rule that decided it. It changes nothing: even a
    /// seed opens nothing.
    pub fn explain(&self, found: &Found) -> (Ruled, Ruled) {
        let (scope, trap) = (self.scope.judge_to_explain(found), self.traps.judge(found));
        let scope = Ruled { refusal: scope.err(), rule: Some(self.scope.rule(found, scope)) };
        let mut traps = Ruled { refusal: trap.err(), rule: self.traps.rule(trap) };
        let has_budget = self.has_budget(found.via, found.identity.is_some());
        if traps.refusal.is_none()
            && has_budget
            && let Some((refusal, rule)) = self.budgets.rule(found.url.host(), found.url.path_and_query())
        {
            traps = Ruled { refusal: Some(refusal), rule: Some(rule) };
        }
        if traps.refusal.is_none() && has_budget && self.is_known_mirror(&found.url) {
            traps = Ruled { refusal: Some(Refusal::KnownMirror), rule: self.budgets.mirror_rule(found.url.host()) };
        }
        (scope, traps)
    }

    /// How many links from a seed a page may be. With it, all links of a page are refused at once if they are too deep.
    pub(crate) fn depths(&self) -> &Depths {
        self.scope.depths()
    }

    /// The verdict on a URL that the rules let pass, from its sighting. Only here and in [`admit_links`](Self::admit_links) is an
    /// [`Admitted`] made.
    fn conclude(&self, found: Found, fingerprint: Fingerprint, sighting: Sighting) -> Admission {
        if sighting == Sighting::Seen && found.seen_test == SeenTest::Asked {
            self.hand_over([(fingerprint, found.score())]);
            return self.turn_away(Refusal::Seen);
        }
        self.pass(found, fingerprint)
    }

    /// Keeps URLs that were found again for the frontier, which takes them with its next call.
    pub(super) fn hand_over(&self, again: impl IntoIterator<Item = (Fingerprint, i64)>) {
        let Some(found_again) = &self.found_again else { return };
        let mut again = again.into_iter();
        let Some(first) = again.next() else { return };
        let mut urls = found_again.urls.lock().unwrap_or_else(PoisonError::into_inner);
        let room = FoundAgain::MOST.saturating_sub(urls.len());
        urls.extend(std::iter::once(first).chain(again.by_ref()).take(room));
        found_again.missed.fetch_add(u64::from(room == 0) + again.count() as u64, Ordering::Relaxed);
        found_again.is_any.store(true, Ordering::Release);
    }

    /// Moves the URLs that were found again since the last call into `urls`, which is emptied first.
    #[inline]
    pub(crate) fn take_found_again(&self, urls: &mut Vec<(Fingerprint, i64)>) {
        urls.clear();
        if let Some(found_again) = &self.found_again
            && found_again.is_any.swap(false, Ordering::Acquire)
        {
            std::mem::swap(urls, &mut found_again.urls.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// How many URLs that were found again were left out, since the list was full.
    pub(crate) fn missed_again(&self) -> u64 {
        self.found_again.as_ref().map_or(0, |found_again| found_again.missed.load(Ordering::Relaxed))
    }

    /// Counts an admission, and makes it the verdict.
    fn pass(&self, found: Found, fingerprint: Fingerprint) -> Admission {
        self.admitted.fetch_add(1, Ordering::Relaxed);
        let priority = found.score();
        Admission::Admitted(Admitted { found, fingerprint, priority })
    }

    /// Counts a refusal, and makes it the verdict.
    fn turn_away(&self, refusal: Refusal) -> Admission {
        self.refuse(refusal);
        Admission::Refused(refusal)
    }
}
