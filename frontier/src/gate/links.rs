//! A page's links on their way through the gate.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use super::answers::LinkKey;
use super::budget::renew_ids;
use super::{Admitted, Found, Gate, Position, Refusal, RefusalCounts, SeenTest, Via};
use crate::address::{BaseUrl, CanonicalUrl, Fingerprint};
use crate::seen::Sighting;

/// The most bytes that the links of a page may take. Once resolved, a short link on a page with a long address is as long as that address.
const MOST: usize = 8 << 20;
/// The same for the URLs that a sitemap lists: it may have 50,000.
const MOST_LISTED: usize = 48 << 20;

/// A link as its page wrote it, and the URL that it leads to. The URL is made at first use, and kept for later uses.
#[derive(Debug)]
pub struct LinkUrl<'p> {
    base: &'p BaseUrl,
    href: &'p str,
    url: Option<Result<CanonicalUrl, Refusal>>,
}

impl<'p> LinkUrl<'p> {
    /// The link `href` of a page whose links are relative to `base`. It is not resolved yet.
    #[inline]
    pub fn new(base: &'p BaseUrl, href: &'p str) -> Self {
        Self { base, href, url: None }
    }

    /// What the link is relative to.
    #[inline]
    pub fn base(&self) -> &'p BaseUrl {
        self.base
    }

    /// Its text as written.
    #[inline]
    pub fn href(&self) -> &'p str {
        self.href
    }

    /// Where it leads.
    ///
    /// # Errors
    /// Why its text is no URL.
    pub fn url(&mut self, gate: &Gate) -> Result<&CanonicalUrl, Refusal> {
        let (base, href) = (self.base, self.href);
        let url = self.url.get_or_insert_with(|| resolved(gate, base, href));
        url.as_ref().map_err(|&refusal| refusal)
    }

    /// Takes the URL out, for a [`Found`]. If that is refused, [`Links::add_found`] gives the URL back.
    ///
    /// # Errors
    /// As [`url`](Self::url).
    pub fn take(&mut self, gate: &Gate) -> Result<CanonicalUrl, Refusal> {
        let url = self.url.take().unwrap_or_else(|| resolved(gate, self.base, self.href));
        url.inspect_err(|&refusal| self.url = Some(Err(refusal)))
    }
}

/// The only place where a page's link becomes a URL.
fn resolved(gate: &Gate, base: &BaseUrl, href: &str) -> Result<CanonicalUrl, Refusal> {
    gate.canonicalizer().join(base, href).map_err(|error| Refusal::from(&error))
}

/// The links of one page, judged by scope, traps and budgets as they are added. [`Gate::admit_links`] asks the seen set about all of them
/// at once, and counts them.
///
/// A link whose answer is known costs one lookup, by its text and by the part of the base that it depends on: no URL is made of it.
///
/// ```
/// # use crawler_frontier::frontier::{Frontier, FrontierOptions};
/// use crawler_frontier::driver::{LinkUrl, Links};
/// use crawler_frontier::gate::{Found, Refusal};
///
/// let frontier = Frontier::new(&FrontierOptions::default())?;
/// let gate = frontier.gate();
/// let (page, base) = gate.canonicalizer().page("https://example.org/a/")?;
/// gate.admit(Found::seed(page));
/// let mut links = Links::new(1, None);
/// for href in ["b", "../c", "b#top", "mailto:ann@example.org"] {
///     let _ = links.add(gate, &mut LinkUrl::new(&base, href), false);
/// }
/// let (new, refused) = gate.admit_links(links);
/// assert_eq!(new.iter().map(|new| new.found().url.wire()).collect::<Vec<_>>(), ["https://example.org/a/b", "https://example.org/c"]);
/// assert_eq!((refused.of(Refusal::Seen), refused.of(Refusal::UnsupportedScheme)), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Links {
    depth: u32,
    referrer: Option<Position>,
    bytes: usize,
    open: Vec<Open>,
    refused: RefusalCounts,
    /// Links that were answered by the cache and may move up, with their priorities; empty if the options let no URL move up.
    again: Vec<(Fingerprint, i64)>,
}

/// A link that the rules let pass. The seen set decides whether it is new.
#[derive(Debug)]
struct Open {
    key: Option<LinkKey>,
    found: Found,
    fingerprint: Fingerprint,
}

thread_local! {
    /// The fingerprints of a page's links and the answers to them: kept here so that nothing is allocated for each page.
    static SHOWN: Cell<(Vec<Fingerprint>, Vec<Sighting>)> = const { Cell::new((Vec::new(), Vec::new())) };
}

impl Links {
    /// No links yet. Those that are added are `depth` links from a seed.
    pub fn new(depth: u32, referrer: Option<Position>) -> Self {
        Self { depth, referrer, bytes: 0, open: Vec::new(), refused: RefusalCounts::default(), again: Vec::new() }
    }

    /// How many links from a seed each of these is.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Adds a link as its page wrote it. A `nofollow` link is refused. The URL of a link that is refused stays with it.
    ///
    /// # Errors
    /// Why it is refused, as far as that is known before [`Gate::admit_links`].
    pub fn add(&mut self, gate: &Gate, link: &mut LinkUrl<'_>, nofollow: bool) -> Result<(), Refusal> {
        let verdict = match nofollow {
            _ if self.bytes > MOST => Err(Refusal::TooManyLinks),
            true => Err(Refusal::Nofollow),
            false => self.judge(gate, link),
        };
        verdict.inspect_err(|&refusal| self.refuse(refusal, 1))
    }

    /// Adds a link whose URL was taken for `found`, such as one that a sitemap or feed lists. Its referrer becomes this page, whatever
    /// `found` says.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_found(&mut self, gate: &Gate, link: &mut LinkUrl<'_>, found: Found) -> Result<(), Refusal> {
        let verdict = if self.bytes > MOST_LISTED {
            Err(Refusal::TooManyLinks)
        } else {
            self.judge_found(gate, link, None, Found { referrer: self.referrer, ..found })
        };
        verdict.inspect_err(|&refusal| self.refuse(refusal, 1))
    }

    /// Counts links that are refused for a reason that their page gives.
    pub fn refuse(&mut self, refusal: Refusal, links: u32) {
        self.refused.add(refusal, links.into());
    }

    /// Bytes that the links take until the gate has answered.
    pub fn memory(&self) -> usize {
        self.open.iter().map(|open| size_of::<Open>() + 2 * open.found.url.wire().len()).sum()
    }

    /// Whether one of them leads to a URL of this host other than `own`.
    pub fn lead_into(&self, host: &str, own: &str) -> bool {
        self.open.iter().any(|open| open.found.url.host() == host && open.found.url.wire() != own)
    }

    /// Whether they carry one new id from page to page of this host, as links do that have a session in them. A link that is refused because
    /// its host has sessions is one of them. `own` is the path and query of their page.
    pub fn renew_ids(&self, host: &str, own: &str) -> bool {
        let urls = self.open.iter().map(|open| &open.found.url).filter(|url| url.host() == host);
        self.refused.of(Refusal::KnownSession) > 0 || renew_ids(own, urls.map(CanonicalUrl::path_and_query))
    }

    /// Takes out the links that the rules let pass and that are `elsewhere`. The gate has neither shown them to the seen set nor counted
    /// them.
    pub fn split_off(&mut self, elsewhere: impl Fn(&CanonicalUrl) -> bool) -> Vec<(Found, Fingerprint)> {
        let away = self.open.extract_if(.., |open| elsewhere(&open.found.url));
        away.map(|Open { found, fingerprint, .. }| (found, fingerprint)).collect()
    }

    fn judge(&mut self, gate: &Gate, link: &mut LinkUrl<'_>) -> Result<(), Refusal> {
        let is_too_deep = gate.depths().are_too_deep(self.depth);
        // If that depends on the link's host, no answer is cached, since the link's text need not tell the host.
        let key = is_too_deep.and_then(|_| gate.answers.key(link.base, link.href));
        let is_too_deep = is_too_deep.unwrap_or_default();
        if let Some((refusal, bytes)) = key.and_then(|key| gate.answers.answer(key, is_too_deep)) {
            self.take(bytes);
            if refusal == Refusal::Seen && gate.found_again.is_some() {
                self.again
                    .extend(key.and_then(|key| gate.answers.fingerprint(key)).map(|name| (name, self.depth.into())));
            }
            return Err(refusal);
        }
        let url = link.take(gate).inspect_err(|&refusal| gate.answers.note(key, refusal, 0))?;
        let found = Found { depth: self.depth, via: Via::Link, referrer: self.referrer, ..Found::seed(url) };
        self.judge_found(gate, link, key, found)
    }

    fn judge_found(
        &mut self,
        gate: &Gate,
        link: &mut LinkUrl<'_>,
        key: Option<LinkKey>,
        found: Found,
    ) -> Result<(), Refusal> {
        self.take(found.url.wire().len());
        match gate.rule(&found, key) {
            Ok(fingerprint) => self.open.push(Open { key, found, fingerprint }),
            Err(refusal) => {
                link.url = Some(Ok(found.url));
                return Err(refusal);
            }
        }
        Ok(())
    }

    /// Counts a link's bytes; a text that is no URL has none.
    fn take(&mut self, bytes: usize) {
        if bytes > 0 {
            self.bytes += size_of::<Found>() + 2 * bytes;
        }
    }
}

impl Gate {
    /// The verdicts on a page's links: the new ones, in their order, and how many were refused for each reason. This counts all of them.
    /// Each shard's lock is taken once for all of them.
    ///
    /// # Panics
    /// If the seen set does not answer each question.
    pub fn admit_links(&self, links: Links) -> (Vec<Admitted>, RefusalCounts) {
        let Links { open, mut refused, mut again, .. } = links;
        self.seen().note_recent(refused.of(Refusal::Seen));
        let (mut shown, mut answers) = SHOWN.take();
        shown.clear();
        let is_shown = |open: &&Open| open.found.seen_test != SeenTest::Skipped;
        shown.extend(open.iter().filter(is_shown).map(|open| open.fingerprint));
        self.seen().insert_links(&shown, &mut answers);
        let mut sightings = answers.iter().copied();
        let forgets = self.seen().options().layout.forgets();
        let mut admitted = Vec::new();
        for Open { key, found, fingerprint } in open {
            let sighting = match found.seen_test {
                SeenTest::Skipped => Sighting::New,
                _ => sightings.next().expect("one answer for each fingerprint"),
            };
            if !forgets {
                self.answers.note(key, Refusal::Seen, found.url.wire().len());
                if self.found_again.is_some() {
                    self.answers.note_fingerprint(key, fingerprint);
                }
            }
            if sighting == Sighting::New || found.seen_test == SeenTest::Told {
                admitted.push(Admitted { priority: found.score(), found, fingerprint });
            } else {
                refused.add(Refusal::Seen, 1);
                if self.found_again.is_some() {
                    again.push((fingerprint, found.score()));
                }
            }
        }
        SHOWN.set((shown, answers));
        self.hand_over(again);
        self.admitted.fetch_add(admitted.len() as u64, Ordering::Relaxed);
        for (refusal, urls) in refused.iter().filter(|(_, urls)| *urls > 0) {
            self.refused[refusal as usize].fetch_add(urls, Ordering::Relaxed);
        }
        (admitted, refused)
    }

    /// Scope, traps and budgets, for a link of this key: a refusal by the first two is cached.
    fn rule(&self, found: &Found, key: Option<LinkKey>) -> Result<Fingerprint, Refusal> {
        // The lock is held until the refusal is noted, so that a scope that widens later forgets the note.
        let roots = self.scope.roots();
        let verdict = self.judge_by_rules(&roots, found);
        let fingerprint = verdict.inspect_err(|&refusal| self.answers.note(key, refusal, found.url.wire().len()))?;
        // A budget may grow again.
        self.judge_by_budgets(found)?;
        Ok(fingerprint)
    }
}
