//! A host's sitemaps: which pages they list, and how they are served.

use std::fmt::Write;

use super::answer::Answer;
use super::gzip;
use super::host::WorldHost;
use super::robots::{SITEMAP_PARTS, Service};
use super::world::{PageId, World};

const HAS: u64 = 801;
const LISTS: u64 = 802;
const SAID: u64 = 803;

/// Hosts with at least this many pages have an index, the others one file.
const INDEX_FROM: u32 = 20;

impl World {
    /// Whether a host's robots.txt names a sitemap.
    pub(super) fn has_sitemap(&self, host: &WorldHost) -> bool {
        let percent = u32::from(self.options().sitemap_percent);
        self.robots(host).service != Service::Missing && host.dice.on(HAS).per_mille(percent * 10)
    }

    /// The pages that a host's sitemaps list: about three in ten, including pages that no page links to, and pages that robots.txt forbids.
    pub(super) fn listed(&self, host: &WorldHost) -> Vec<PageId> {
        if !self.has_sitemap(host) {
            return Vec::new();
        }
        let is_listed = |number: &u32| host.dice.on(LISTS).on(u64::from(*number)).per_mille(300);
        (0..host.pages).filter(is_listed).map(|number| PageId { host: host.index, number }).collect()
    }

    /// What a host answers where its sitemap is or would be: `file` 0 is the first, and the parts of an index follow.
    pub(super) fn sitemap_answer(&self, host: &WorldHost, file: u8) -> Answer {
        let has_index = host.pages >= INDEX_FROM;
        if !self.has_sitemap(host) || (file > 0 && !has_index) {
            return Answer::not_found(404);
        }
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        if file == 0 && has_index {
            text.push_str("<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n");
            for part in SITEMAP_PARTS {
                _ = writeln!(text, "<sitemap><loc>http://{}{part}</loc></sitemap>", host.name());
            }
            text.push_str("</sitemapindex>\n");
            return Answer::html(200, "application/xml".to_owned(), text.into_bytes());
        }
        text.push_str("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n");
        for id in self.listed(host) {
            if file > 0 && id.number % 2 != u32::from(file) - 1 {
                continue;
            }
            let said = host.dice.on(SAID).on(u64::from(id.number));
            _ = write!(text, "<url><loc>\n {} </loc>", self.url(id).replace('&', "&amp;"));
            if said.per_mille(500) {
                _ = write!(text, "<priority>0.{}</priority>", said.on(1).below(10));
            }
            text.push_str("</url>\n");
        }
        text.push_str("</urlset>\n");
        if file == 2 {
            // Writing to memory cannot fail.
            let packed = gzip::compress(text.as_bytes()).unwrap_or_default();
            return Answer::html(200, "application/x-gzip".to_owned(), packed);
        }
        Answer::html(200, "text/xml".to_owned(), text.into_bytes())
    }
}
