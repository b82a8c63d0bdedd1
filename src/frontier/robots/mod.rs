//! robots.txt by RFC 9309: parsed once, matched in time that does not grow with its rules.

use std::time::Duration;

/// Bytes of a robots.txt that are read (RFC 9309 section 2.5); the rest is ignored, with the line that is cut.
pub const MAX_BYTES: usize = 500 * 1024;

/// The rules of one robots.txt for one product token.
#[derive(Clone, Debug, Default)]
pub struct Robots {}

/// The answer for one URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruling<'a> {
    /// Whether it may be fetched.
    pub allowed: bool,
    /// The rule that decided, as `Disallow: /private/`; `None` where no rule matches.
    pub rule: Option<&'a str>,
}

impl Robots {
    /// Everything is allowed: no robots.txt, or a 4xx.
    pub fn allow_all() -> Self {
        Self {}
    }

    /// Parses a body for a product token (`crawler`, without version). Any bytes are a robots.txt.
    pub fn parse(body: &[u8], agent: &str) -> Self {
        let _ = (body, agent);
        todo!()
    }

    /// May this path and query be fetched?
    pub fn ruling(&self, path_and_query: &str) -> Ruling<'_> {
        let _ = path_and_query;
        todo!()
    }

    /// The group's Crawl-delay.
    pub fn crawl_delay(&self) -> Option<Duration> {
        todo!()
    }

    /// The file's Sitemap lines.
    pub fn sitemaps(&self) -> &[String] {
        todo!()
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        todo!()
    }
}
