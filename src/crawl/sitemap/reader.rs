//! Reads a sitemap of any format, entry by entry.

use super::root::beginning;
use super::sitemap::Sitemap;
use super::text::SitemapText;
use super::{SitemapEntry, SitemapLimits, SitemapSummary, plain, xml};

/// Reads a body as a sitemap, and passes on its entries in order, each as soon as it is complete. Only the charset of `content_type` is
/// used.
///
/// Linear in the body and its unpacked size.
///
/// ```
/// use crawler::crawl::{SitemapFormat, SitemapLimits, read_sitemap};
///
/// let body = b"<urlset><url><loc> https://example.org/a?b&amp;c </loc><lastmod>2026-11-01</lastmod></url><url><lo";
/// let mut urls = Vec::new();
/// let summary = read_sitemap(body, None, &SitemapLimits::default(), |entry| urls.push((entry.url, entry.lastmod)));
/// assert_eq!(urls, [("https://example.org/a?b&c".to_owned(), Some("2026-11-01".to_owned()))]);
/// assert_eq!(summary.format, SitemapFormat::UrlSet);
/// assert!(summary.problem.is_some(), "it breaks off");
/// ```
pub fn read_sitemap(
    body: &[u8],
    content_type: Option<&str>,
    limits: &SitemapLimits,
    mut tell: impl FnMut(SitemapEntry),
) -> SitemapSummary {
    let mut sitemap = Sitemap::new(limits, &mut tell);
    let mut text = SitemapText::new(body, content_type, limits.max_bytes);
    let (offset, head) = text.head();
    let begins = beginning(head);
    let is_markup = head[begins..].starts_with('<');
    text.pass(begins);
    let offset = offset + begins as u64;
    if is_markup {
        xml::read(text, offset, &mut sitemap);
    } else {
        plain::read(text, offset, &mut sitemap);
    }
    sitemap.summary()
}
