//! The type of a body, from its first element.

use super::gzip::gzip_at;
use super::text::floor;
use crate::crawl::html::first_element;

/// Bytes to look at: as many as a reader has at first.
const HEAD: usize = 8 * 1024;
/// The first bytes of most pages.
const HTML: [&str; 2] = ["<!DOCTYPE html", "<html"];
/// Elements that a file or a page may begin with: after them, no other beginning is looked for.
const FIRST: [&str; 11] =
    ["body", "entry", "feed", "head", "html", "rdf", "rss", "sitemap", "sitemapindex", "url", "urlset"];
/// The first bytes of a file that has something else before it.
const BEGINNINGS: [&str; 6] = ["<?xml", "<feed", "<rdf:rdf", "<rss", "<sitemapindex", "<urlset"];

/// Whether a body begins as an XML sitemap.
pub(in crate::crawl) fn is_sitemap(start: &[u8]) -> bool {
    matches!(root(start).as_deref(), Some("urlset" | "sitemapindex"))
}

/// Whether a body begins as a feed.
pub(in crate::crawl) fn is_feed(start: &[u8]) -> bool {
    matches!(root(start).as_deref(), Some("rss" | "feed" | "rdf" | "entry"))
}

/// Whether a body is packed by gzip, so that its beginning says nothing else.
pub(in crate::crawl) fn is_gzip(start: &[u8]) -> bool {
    gzip_at(start).is_some()
}

/// Where the actual file begins in a text: at once, or after output of the program that writes it. That output may be markup too, like
/// PHP's notices.
pub(super) fn beginning(text: &str) -> usize {
    let text = &text[..floor(text, HEAD)];
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
/// their first bytes, and cost no more than that look.
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

fn begins(text: &str, with: &str) -> bool {
    text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
}
