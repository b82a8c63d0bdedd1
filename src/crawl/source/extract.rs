//! [`Extract`], what is taken from a response: links for the gate, and details for its record; and the options for reading responses.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ahash::AHashMap;

use crate::address::{BaseUrl, CanonicalUrl, Fingerprint};
use crate::crawl::fields::{FieldError, FieldSet, FieldValue};
use crate::crawl::html::{EncodingSource, KnownWords, LinkText, words};
use crate::crawl::lock::lock;
use crate::crawl::options::{CrawlOptions, ParseOptions, SitemapOptions};
use crate::crawl::records::{Edge, LinkCounts, Listing, Skips};
use crate::crawl::recrawl::{LinkTurn, Outlinks};
use crate::driver::{Content, LinkUrl, Links, has_userinfo};
use crate::frontier::Preferences;
use crate::gate::{Found, Gate, Refusal, Via};

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
    /// The links that are listed because they cannot or must not be followed.
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
    /// The preferences about its use in its `<meta name=robots>`.
    pub(in crate::crawl) preferences: Preferences,
    /// The fields that were selected from it.
    pub(in crate::crawl) fields: BTreeMap<String, FieldValue>,
    /// Its links, if an output needs them.
    pub(in crate::crawl) edges: Option<Vec<Edge>>,
    /// The page's content as fingerprints, by which similar pages are recognized.
    pub(in crate::crawl) content: Option<Content>,
    /// What it lists, if it is a sitemap or a feed.
    pub(in crate::crawl) list: Option<Listing>,
    /// As [`UrlSource::named_by`](super::UrlSource::named_by).
    pub(in crate::crawl) named_by: Option<Box<str>>,
    /// The number of sitemaps above it, if it is one.
    pub(in crate::crawl) above: u32,
    /// Its links as it wrote them, if they are to be kept.
    pub(in crate::crawl) kept: Option<Outlinks>,
}

impl Extract {
    /// An extract that has nothing yet.
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
            preferences: Preferences::default(),
            fields: BTreeMap::new(),
            content: None,
            edges: None,
            list: None,
            named_by: None,
            above: 0,
            kept: None,
        }
    }

    /// Fingerprints a page's content, for the budgets' second seen set. A page with few words has no fingerprint of words: many pages have
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

    /// Takes the URL that a page names as its canonical one, unless it is very long. Returns `false` if the text is not a URL.
    pub(super) fn name_canonical(&mut self, link: &mut LinkUrl<'_>) -> bool {
        let Ok(url) = link.url(&self.gate) else { return false };
        self.canonical = Some(url.wire()).filter(|wire| wire.len() <= MAX_CANONICAL).map(str::to_owned);
        true
    }

    pub(super) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Makes a URL from a text that is not taken as a link.
    pub(super) fn join(&self, base: &BaseUrl, text: &str) -> Option<CanonicalUrl> {
        self.gate.canonicalizer().join(base, text).ok()
    }

    /// Takes a link, or refuses it. `kind` and `said` are for the outputs.
    pub(super) fn add(
        &mut self,
        mut link: LinkUrl<'_>,
        turn: LinkTurn,
        nofollow: bool,
        kind: &'static str,
        said: LinkText,
    ) {
        self.keep(&mut link, kind, said);
        if let Some(kept) = &mut self.kept {
            kept.add(&self.gate, &mut link, turn, nofollow);
        }
        if turn == LinkTurn::Own {
            let verdict = self.links.add(&self.gate, &mut link, nofollow);
            self.conclude(&mut link, verdict);
        } else {
            self.add_found(link, |link, extract| extract.find_first(link, turn, nofollow));
        }
    }

    /// Takes a link, or refuses it. `find` makes a [`Found`] of its URL, or says why it must not be followed.
    pub(super) fn add_found(
        &mut self,
        mut link: LinkUrl<'_>,
        find: impl FnOnce(&mut LinkUrl<'_>, &Self) -> Result<Found, Refusal>,
    ) {
        let found = find(&mut link, self).inspect_err(|&refusal| self.links.refuse(refusal, 1));
        let verdict = found.and_then(|found| self.links.add_found(&self.gate, &mut link, found));
        self.conclude(&mut link, verdict);
    }

    /// A link that is fetched when the page itself is due: a part of the page, at the page's depth, or a URL that the page prefers to its
    /// own.
    fn find_first(&self, link: &mut LinkUrl<'_>, turn: LinkTurn, nofollow: bool) -> Result<Found, Refusal> {
        if nofollow {
            return Err(Refusal::Nofollow);
        }
        let depth = self.links.depth();
        let own = depth.saturating_sub(1);
        let depth = if turn == LinkTurn::Part { own } else { depth };
        let priority = Some(own.into());
        Ok(Found { depth, via: Via::Link, priority, ..Found::seed(link.take(&self.gate)?) })
    }

    /// Keeps a link for outputs, if one needs links and the link leads to a URL.
    pub(super) fn keep(&mut self, link: &mut LinkUrl<'_>, kind: &'static str, said: LinkText) {
        if let Some(edges) = &mut self.edges
            && let Ok(url) = link.url(&self.gate)
        {
            let LinkText { text, rel, .. } = said;
            edges.push(Edge { to: url.wire().to_owned(), kind, text, rel });
        }
    }

    /// Takes the links that an unchanged page had at its last visit.
    pub(in crate::crawl) fn add_known(&mut self, page: BaseUrl, links: &Outlinks) {
        let gate = Arc::clone(&self.gate);
        links.each(&gate, page, |link, turn, nofollow| {
            self.add(link, turn, nofollow, UNCHANGED, LinkText::default());
        });
    }

    /// Counts a link. Lists it if it was refused, and refused links are listed or logged.
    fn conclude(&mut self, link: &mut LinkUrl<'_>, verdict: Result<(), Refusal>) {
        self.counts.found += 1;
        self.counts.userinfo += u64::from(has_userinfo(link.href()));
        if let Err(refusal) = verdict
            && refusal != Refusal::Seen
            && self.skips.is_kept()
        {
            let href = link.href();
            let url = if refusal == Refusal::TooManyLinks { None } else { link.url(&self.gate).ok() };
            self.skips.add(refusal, url.map_or(href, CanonicalUrl::wire), self.links.depth());
        }
    }

    /// Refuses a number of links whose texts were not kept.
    pub(super) fn refuse_without_text(&mut self, refusal: Refusal, links: u32) {
        self.links.refuse(refusal, links);
        self.skips.add_without_text(refusal, links, self.links.depth());
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

    /// The same, with or without the texts of links.
    pub(in crate::crawl) fn with_link_texts(mut self, are_wanted: bool) -> Self {
        self.parse.link_texts = are_wanted;
        self
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::driver::QueryEncoder;
    use crate::frontier::{Frontier, FrontierOptions};

    /// The page is not in UTF-8, so each time that a link's URL is made, its query is encoded.
    #[test]
    fn a_link_is_resolved_once_whatever_its_url_is_for() {
        let frontier = Frontier::new(&FrontierOptions::default()).unwrap();
        let gate = frontier.gate();
        let (page, base) = gate.canonicalizer().page("http://a.example/").unwrap();
        gate.admit(Found::seed(page));
        let encoded = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&encoded);
        let base = base.with_query_encoder(Some(QueryEncoder::new(move |text| {
            count.fetch_add(1, Ordering::Relaxed);
            text.as_bytes().into()
        })));
        let mut extract =
            Extract::new(Arc::clone(gate), Links::new(1, None), Skips::dropped(None, true, Vec::new(), 0));
        (extract.edges, extract.kept) = (Some(Vec::new()), Some(Outlinks::default()));
        for turn in [LinkTurn::Own, LinkTurn::Part, LinkTurn::Preferred] {
            for (href, nofollow) in [("?q=\u{e9}", false), ("?q=\u{e9}", true), ("//b.example/?q=\u{e9}", false)] {
                let mut link = LinkUrl::new(&base, href);
                assert!(extract.name_canonical(&mut link));
                extract.add(link, turn, nofollow, "a", LinkText::default());
                assert_eq!(encoded.swap(0, Ordering::Relaxed), 1, "{href}, {turn:?}, nofollow: {nofollow}");
            }
        }
        extract.add_found(LinkUrl::new(&base, "//b.example/?q=\u{e9}"), |link, extract| {
            Ok(Found::seed(link.take(&extract.gate)?))
        });
        assert_eq!(encoded.load(Ordering::Relaxed), 1, "of a sitemap");
        assert_eq!((extract.counts.found, extract.edges.map(|edges| edges.len())), (10, Some(9)));
    }
}
