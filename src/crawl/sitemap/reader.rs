//! Reads a sitemap or feed of any format, entry by entry. The first element decides what a body is; a body without one may list a URL a
//! line.

use super::summary::Sitemap;
use super::text::{SitemapText, begins, gzip_at};
use super::{SitemapEntry, SitemapFormat, SitemapLimits, SitemapSummary, xml};
use crate::crawl::html::{LONGEST_URL, boundary, first_element};

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
    mut take: impl FnMut(SitemapEntry),
) -> SitemapSummary {
    let mut sitemap = Sitemap::new(limits, &mut take);
    let mut text = SitemapText::new(body, content_type, limits.max_bytes);
    let (offset, head) = text.head();
    let begins = beginning(head);
    let is_markup = head[begins..].starts_with('<');
    text.pass(begins);
    let offset = offset + begins as u64;
    if is_markup {
        xml::read(text, offset, &mut sitemap);
    } else {
        read_plain(text, offset, &mut sitemap);
    }
    sitemap.summary()
}

/// At most this many first bytes are examined: the first part that a reader loads.
const HEAD: usize = 8 * 1024;
/// The first bytes of most pages.
const HTML: [&str; 2] = ["<!DOCTYPE html", "<html"];
/// Elements with which a file or a page may begin. If one of them comes first, no other beginning is looked for.
const FIRST: [&str; 11] =
    ["body", "entry", "feed", "head", "html", "rdf", "rss", "sitemap", "sitemapindex", "url", "urlset"];
/// The first bytes of a file, looked for if something else comes before it.
const BEGINNINGS: [&str; 6] = ["<?xml", "<feed", "<rdf:rdf", "<rss", "<sitemapindex", "<urlset"];

/// Whether a body begins as an XML sitemap.
pub(in crate::crawl) fn is_sitemap(start: &[u8]) -> bool {
    matches!(root(start).as_deref(), Some("urlset" | "sitemapindex"))
}

/// Whether a body begins as a feed.
pub(in crate::crawl) fn is_feed(start: &[u8]) -> bool {
    matches!(root(start).as_deref(), Some("rss" | "feed" | "rdf" | "entry"))
}

/// Whether a body is packed by gzip, so that its first bytes do not show its format.
pub(in crate::crawl) fn is_gzip(start: &[u8]) -> bool {
    gzip_at(start).is_some()
}

/// Where the actual file begins in a text: at once, or after messages of the program that writes it. These may be markup too, like PHP's
/// notices.
pub(super) fn beginning(text: &str) -> usize {
    let text = &text[..boundary(text, HEAD)];
    let first = first_element(text);
    if HTML.iter().any(|with| begins(text, with)) || first.is_none() && text.starts_with('<') {
        return 0;
    }
    let from = match first {
        Some((_, name)) if FIRST.iter().any(|known| known.eq_ignore_ascii_case(name)) => return 0,
        Some((at, _)) => at,
        None => 0,
    };
    let is_one = |text: &str| {
        let is_end = |next: &u8| !next.is_ascii_alphanumeric();
        BEGINNINGS.iter().any(|with| begins(text, with) && text.as_bytes().get(with.len()).is_none_or(is_end))
    };
    let mut tags = text[from..].match_indices('<').map(|(at, _)| from + at);
    tags.find(|at| is_one(&text[*at..])).unwrap_or_default()
}

/// The first element's name in lower case, without its prefix. In UTF-16, every second byte is a NUL. Most pages are recognized as HTML by
/// their first bytes, and nothing more is done for them.
fn root(start: &[u8]) -> Option<String> {
    let start = &start[..start.len().min(HEAD)];
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    let is = |with: &str| start.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with.as_bytes()));
    if HTML.into_iter().any(is) || !start.iter().take(4).any(|byte| *byte == b'<') {
        return None;
    }
    let ascii = |byte: &&u8| byte.is_ascii() && **byte != 0;
    let ascii: String = start.iter().filter(ascii).map(|byte| char::from(*byte)).collect();
    first_element(&ascii[beginning(&ascii)..]).map(|(_, name)| name.to_ascii_lowercase())
}

/// Reads the lines of a text. Each line that is a URL is an entry, wherever it is; other lines are counted, except comments and blank
/// lines. A last line without a line end counts only if the file is complete.
pub(super) fn read_plain(mut text: SitemapText<'_>, mut offset: u64, sitemap: &mut Sitemap<'_>) {
    let mut line = Vec::new();
    loop {
        line.clear();
        let begun = offset;
        text.begin_element();
        match std::io::BufRead::read_until(&mut text, b'\n', &mut line) {
            Ok(0) => break,
            Ok(read) => offset += read as u64,
            Err(error) => {
                sitemap.note(begun, &error.to_string());
                break;
            }
        }
        let is_whole = line.ends_with(b"\n") || !sitemap.is_cut && text.problem.is_none();
        // A lone CR ends a line too.
        for piece in String::from_utf8_lossy(&line).split('\r') {
            let url = piece.trim();
            if url.is_empty() || url.starts_with('#') {
                continue;
            }
            if is_url(url) && is_whole {
                sitemap.format = SitemapFormat::Text;
                sitemap.pass(SitemapEntry { url: url.to_owned(), offset: begun, ..SitemapEntry::default() });
            } else {
                sitemap.note(begun, if is_whole { "a line that is no URL" } else { "the last line breaks off" });
            }
        }
    }
    if let Some(problem) = text.problem {
        sitemap.note(offset, problem);
    }
}

/// Whether a line is meant as a URL: it has a web scheme, or lacks one and begins with `www.`.
fn is_url(line: &str) -> bool {
    let is_one = ["http://", "https://", "www."].into_iter().any(|with| begins(line, with));
    is_one && line.len() <= LONGEST_URL && !line.contains(char::is_whitespace)
}
