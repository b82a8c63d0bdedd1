//! [`Extract`], what is taken from a response: links for the gate, and details for its record; and the options for reading responses.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ahash::AHashMap;

use crate::address::{BaseUrl, CanonicalUrl, Fingerprint, has_userinfo};
use crate::crawl::fields::{FieldError, FieldSet, FieldValue};
use crate::crawl::html::{EncodingSource, KnownWords, LinkText, words};
use crate::crawl::lock::lock;
use crate::crawl::options::{CrawlOptions, ParseOptions, SitemapOptions};
use crate::crawl::records::{Edge, LinkCounts, Listing, Skips};
use crate::crawl::recrawl::{LinkTurn, Outlinks};
use crate::driver::Content;
use crate::gate::{Found, Gate, Links, Refusal, Via};

/// The kind of a link of an unchanged page. The kind that it had when it was found is not kept.
const UNCHANGED: &str = "unchanged";
/// At most this many bytes of a page's canonical URL are kept.
const MAX_CANONICAL: usize = 8 << 10;

/// What is taken from a response. It owns everything, so the response can be dropped.
#[derive(Debug)]
pub(in crate::crawl) struct Extract {
    gate: Arc<Gate>,
    /// Links on their way through the gate.
    pub(in crate::crawl) links: Links,
    /// Links that cannot or must not be followed, as far as they are listed.
    pub(in crate::crawl) skips: Skips,
    /// The numbers of links.
    pub(in crate::crawl) counts: LinkCounts,
    /// The page's encoding, and where it was found.
    pub(in crate::crawl) encoding: Option<(&'static str, EncodingSource)>,
    pub(in crate::crawl) title: Option<String>,
    /// The URL that it names as its canonical one.
    pub(in crate::crawl) canonical: Option<String>,
    /// It asks not to be indexed.
    pub(in crate::crawl) noindex: bool,
    /// The fields that were selected from it.
    pub(in crate::crawl) fields: BTreeMap<String, FieldValue>,
    /// Its links, if an output needs them.
    pub(in crate::crawl) edges: Option<Vec<Edge>>,
    /// The page's content as fingerprints, by which similar pages are recognized.
    pub(in crate::crawl) content: Option<Content>,
    /// What it lists, if it is a sitemap or a feed.
    pub(in crate::crawl) list: Option<Listing>,
    /// The host whose robots.txt names it, if it is a sitemap.
    pub(in crate::crawl) named_by: Option<Box<str>>,
    /// The number of sitemaps above it, if it is one.
    pub(in crate::crawl) above: u32,
    /// Its links as it wrote them, if they are to be kept.
    pub(in crate::crawl) kept: Option<Outlinks>,
}

impl Extract {
    /// Nothing yet.
    pub(in crate::crawl) fn new(gate: Arc<Gate>, links: Links, skips: Skips) -> Self {
        Self {
            gate,
            links,
            skips,
            counts: LinkCounts::default(),
            encoding: None,
            title: None,
            canonical: None,
            noindex: false,
            fields: BTreeMap::new(),
            content: None,
            edges: None,
            list: None,
            named_by: None,
            above: 0,
            kept: None,
        }
    }

    /// Fingerprints what a page says, for the budgets' second seen set. A page with few words has no fingerprint of words: many pages have
    /// the same few words. In a long page, everything after the words that are read counts byte by byte.
    pub(in crate::crawl) fn read_content(&mut self, page: Fingerprint, body: &[u8], known: &KnownWords, has_ids: bool) {
        const FEW: usize = 16;
        let key = self.gate.fingerprint_key();
        let mut words = words(body, known, has_ids);
        let (read, rest) = body.split_at(words.read);
        let mut body = key.fingerprint_bytes(read);
        if !rest.is_empty() {
            let rest = halves(key.fingerprint_bytes(rest));
            words.add_rest(rest);
            body = key.fingerprint_words([halves(body), rest].as_flattened());
        }
        let print = |(words, count): (&[u32], usize)| (count >= FEW).then(|| key.fingerprint_words(words));
        let text = if has_ids { print(words.under_title()) } else { None };
        let words = print((&words.hashes, words.count));
        self.content = Some(Content { page, body, words, text });
    }

    /// Takes the URL that a page names as its canonical one, unless it is very long.
    pub(super) fn name_canonical(&mut self, url: Option<CanonicalUrl>) {
        self.canonical = url.map(|url| url.wire().to_owned()).filter(|url| url.len() <= MAX_CANONICAL);
    }

    pub(super) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Makes a URL from a text that is not taken as a link.
    pub(super) fn join(&self, base: &BaseUrl, text: &str) -> Option<CanonicalUrl> {
        self.gate.canonicalizer().join(base, text).ok()
    }

    /// Takes a link, or refuses it. `find` makes a [`Found`] of its URL, or says why it must not be followed.
    pub(super) fn add_found(
        &mut self,
        base: &BaseUrl,
        href: &str,
        find: impl FnOnce(CanonicalUrl, &Self) -> Result<Found, Refusal>,
    ) {
        self.counts.found += 1;
        self.counts.userinfo += u64::from(has_userinfo(href));
        let found = self.gate.canonicalizer().join(base, href).map_err(|error| Refusal::from(&error));
        let found = found.and_then(|url| find(url, self)).inspect_err(|&refusal| self.links.refuse(refusal, 1));
        let gate = Arc::clone(&self.gate);
        if let Err(refusal) = found.and_then(|found| self.links.add_found(&gate, found))
            && refusal != Refusal::Seen
        {
            self.skip(base, href, refusal);
        }
    }

    /// Takes a link that is fetched when the page itself is due, or refuses it: a part of the page, at the page's depth, or a URL that the
    /// page prefers to its own.
    pub(super) fn add_first(&mut self, base: &BaseUrl, href: &str, is_part: bool, nofollow: bool) {
        let depth = self.links.depth();
        let turn = depth.saturating_sub(1);
        if let Some(kept) = &mut self.kept {
            let turn = if is_part { LinkTurn::Part } else { LinkTurn::Preferred };
            kept.add(&self.gate, base, href, turn, nofollow);
        }
        self.add_found(base, href, |url, _| {
            let depth = if is_part { turn } else { depth };
            let priority = Some(u8::try_from(turn).unwrap_or(u8::MAX));
            let found = Found { depth, via: Via::Link, priority, ..Found::seed(url) };
            if nofollow { Err(Refusal::Nofollow) } else { Ok(found) }
        });
    }

    /// Keeps a link for outputs, if one needs links and the link leads to a URL.
    pub(super) fn keep(&mut self, base: &BaseUrl, href: &str, kind: &'static str, said: LinkText) {
        if let Some(edges) = &mut self.edges
            && let Ok(url) = self.gate.canonicalizer().join(base, href)
        {
            let LinkText { text, rel, .. } = said;
            edges.push(Edge { to: url.wire().to_owned(), kind, text, rel });
        }
    }

    /// Takes the links that an unchanged page had at its last visit.
    pub(in crate::crawl) fn add_known(&mut self, page: BaseUrl, links: &Outlinks) {
        let gate = Arc::clone(&self.gate);
        links.each(&gate, page, |base, href, turn, nofollow| {
            self.keep(base, href, UNCHANGED, LinkText::default());
            match turn {
                LinkTurn::Own => self.add(base, href, nofollow),
                LinkTurn::Part => self.add_first(base, href, true, nofollow),
                LinkTurn::Preferred => self.add_first(base, href, false, nofollow),
            }
        });
    }

    /// Takes a link as written, or refuses it.
    pub(super) fn add(&mut self, base: &BaseUrl, href: &str, nofollow: bool) {
        if let Some(kept) = &mut self.kept {
            kept.add(&self.gate, base, href, LinkTurn::Own, nofollow);
        }
        self.counts.found += 1;
        self.counts.userinfo += u64::from(has_userinfo(href));
        if let Err(refusal) = self.links.add(&self.gate, base, href, nofollow)
            && refusal != Refusal::Seen
        {
            self.skip(base, href, refusal);
        }
    }

    /// Lists a refused link, if refused links are listed or logged.
    fn skip(&mut self, base: &BaseUrl, href: &str, refusal: Refusal) {
        if self.skips.is_kept() {
            let url = self.gate.canonicalizer().join(base, href).ok().filter(|_| refusal != Refusal::TooManyLinks);
            let text = url.as_ref().map_or(href, CanonicalUrl::wire);
            self.skips.add(refusal, text, self.links.depth());
        }
    }

    /// Refuses links whose texts were not kept.
    pub(super) fn refuse_untold(&mut self, refusal: Refusal, links: u32) {
        self.links.refuse(refusal, links);
        self.skips.add_untold(refusal, links, self.links.depth());
        self.counts.found += u64::from(links);
    }
}

/// The bits of a fingerprint in two halves, as wide as the hashes of words.
#[expect(clippy::cast_possible_truncation, reason = "each is a half")]
fn halves(fingerprint: Fingerprint) -> [u32; 2] {
    let bits = fingerprint.bits();
    [(bits >> 32) as u32, bits as u32]
}

/// How responses are read: the options for pages and sitemaps, and the number of sitemaps so far.
#[derive(Clone, Debug)]
pub(in crate::crawl) struct ReadOptions {
    pub(in crate::crawl) parse: ParseOptions,
    /// What to select from pages, if anything.
    pub(in crate::crawl) fields: Option<Arc<FieldSet>>,
    pub(super) sitemaps: SitemapOptions,
    pub(super) counts: Arc<SitemapsByHost>,
}

impl ReadOptions {
    /// The options for a crawl that begins.
    ///
    /// # Errors
    /// If a field's rule is invalid.
    pub(in crate::crawl) fn new(options: &CrawlOptions) -> Result<Self, FieldError> {
        let CrawlOptions { parse, extract, .. } = options;
        let fields =
            (!extract.is_empty()).then(|| FieldSet::new(extract, parse.max_nesting).map(Arc::new)).transpose()?;
        Ok(Self { parse: parse.clone(), fields, sitemaps: options.sitemaps, counts: Arc::default() })
    }
}

/// How many sitemaps of each host others have listed in this run. Only hosts with an index take memory.
#[derive(Debug, Default)]
pub(super) struct SitemapsByHost(Mutex<AHashMap<Box<str>, u32>>);

impl SitemapsByHost {
    /// Counts another one. Returns `false` if the host already has `most`.
    pub(super) fn take(&self, host: &str, most: u32) -> bool {
        let mut counts = lock(&self.0);
        let count = match counts.get_mut(host) {
            Some(count) => count,
            None => counts.entry(host.into()).or_default(),
        };
        let has_room = *count < most;
        *count += u32::from(has_room);
        has_room
    }
}
