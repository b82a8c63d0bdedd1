//! What is taken from a response: links that can go to the gate, and what its record says of it.

use std::sync::Arc;

use crate::address::{BaseUrl, CanonicalUrl, has_userinfo};
use crate::crawl::html::EncodingSource;
use crate::crawl::records::{LinkCounts, Skips};
use crate::gate::{Gate, Links, Refusal};

/// What is taken from a response. It owns all of it, so the response can be dropped.
#[derive(Debug)]
pub(in crate::crawl) struct Extract {
    gate: Arc<Gate>,
    /// On their way through the gate.
    pub(in crate::crawl) links: Links,
    /// Those that cannot or must not be followed, as far as they are listed.
    pub(in crate::crawl) skips: Skips,
    /// How many links there are.
    pub(in crate::crawl) counts: LinkCounts,
    /// The page's encoding, and where that was found.
    pub(in crate::crawl) encoding: Option<(&'static str, EncodingSource)>,
    pub(in crate::crawl) title: Option<String>,
}

impl Extract {
    /// Nothing yet.
    pub(in crate::crawl) fn new(gate: Arc<Gate>, links: Links, skips: Skips) -> Self {
        Self { gate, links, skips, counts: LinkCounts::default(), encoding: None, title: None }
    }

    /// Takes a link as it is written, or refuses it.
    pub(super) fn add(&mut self, base: &BaseUrl, href: &str, nofollow: bool) {
        self.counts.found += 1;
        self.counts.userinfo += u64::from(has_userinfo(href));
        if let Err(refusal) = self.links.add(&self.gate, base, href, nofollow)
            && refusal != Refusal::Seen
            && self.skips.is_kept()
        {
            let url = self.gate.canonicalizer().join(base, href).ok().filter(|_| refusal != Refusal::TooManyLinks);
            let text = url.as_ref().map_or(href, CanonicalUrl::wire);
            self.skips.add(refusal, text, self.links.depth());
        }
    }

    /// Refuses links whose texts nobody has.
    pub(super) fn refuse_untold(&mut self, refusal: Refusal, links: u32) {
        self.links.refuse(refusal, links);
        self.skips.add_untold(refusal, links, self.links.depth());
        self.counts.found += u64::from(links);
    }
}
