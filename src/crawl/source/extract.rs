//! What is taken from a response: links that can go to the gate, and what its record says of it.

use std::sync::Arc;

use crate::address::{BaseUrl, CanonicalUrl, has_userinfo};
use crate::crawl::html::EncodingSource;
use crate::crawl::records::{LinkCounts, Skips};
use crate::gate::{Found, Gate, Refusal};

/// Bytes that the links of a page may take. Resolved, a short link on a page with a long address is as long as that.
const MAX_LINKS: usize = 8 << 20;

/// What is taken from a response. It owns all of it, so the response can be dropped.
#[derive(Debug)]
pub(in crate::crawl) struct Extract {
    gate: Arc<Gate>,
    /// Links from a seed that each of these links has.
    depth: u32,
    /// The links that can be followed.
    pub(in crate::crawl) links: Vec<CanonicalUrl>,
    /// Bytes that they take, at most.
    pub(in crate::crawl) bytes: usize,
    /// Those that cannot or must not be followed, as far as they are listed.
    pub(in crate::crawl) skips: Skips,
    /// How many links there are, and how many were refused so far.
    pub(in crate::crawl) counts: LinkCounts,
    /// The page's encoding, and where that was found.
    pub(in crate::crawl) encoding: Option<(&'static str, EncodingSource)>,
    pub(in crate::crawl) title: Option<String>,
}

impl Extract {
    /// Nothing yet. Its links will be `depth` links from a seed.
    pub(in crate::crawl) fn new(gate: Arc<Gate>, skips: Skips, depth: u32) -> Self {
        let (links, counts) = (Vec::new(), LinkCounts::default());
        Self { gate, depth, links, bytes: 0, skips, counts, encoding: None, title: None }
    }

    /// Takes a link as it is written, or refuses it.
    pub(super) fn add(&mut self, base: &BaseUrl, href: &str, nofollow: bool) {
        self.counts.found += 1;
        self.counts.userinfo += u64::from(has_userinfo(href));
        if self.bytes > MAX_LINKS {
            self.gate.refuse(Refusal::TooManyLinks);
            return self.refuse(Refusal::TooManyLinks, href);
        }
        if nofollow {
            self.gate.refuse(Refusal::Nofollow);
            let url = self.skips.is_kept().then(|| self.gate.canonicalizer().join(base, href).ok()).flatten();
            return self.refuse(Refusal::Nofollow, url.as_ref().map_or(href, CanonicalUrl::wire));
        }
        match self.gate.join(base, href) {
            Ok(url) => {
                self.bytes += size_of::<Found>() + 2 * url.wire().len();
                self.links.push(url);
            }
            Err(error) => self.refuse((&error).into(), href),
        }
    }

    /// Refuses links whose texts nobody has.
    pub(super) fn refuse_untold(&mut self, refusal: Refusal, links: u32) {
        (0..links).for_each(|_| self.gate.refuse(refusal));
        self.skips.add_untold(refusal, links, self.depth);
        self.counts.found += u64::from(links);
        self.counts.refused += u64::from(links);
    }

    fn refuse(&mut self, refusal: Refusal, text: &str) {
        self.counts.refused += 1;
        self.skips.add(refusal, text, self.depth);
    }
}
