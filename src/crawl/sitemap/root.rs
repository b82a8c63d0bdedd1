//! What a body is, by its first element.

use super::gzip::gzip_at;

/// Bytes that are looked at.
const HEAD: usize = 4096;
/// What most pages begin with.
const HTML: &[u8] = b"<!DOCTYPE html";

/// Whether the beginning of a body is that of a sitemap in XML.
pub(in crate::crawl) fn is_sitemap(start: &[u8]) -> bool {
    matches!(root(start).as_deref(), Some("urlset" | "sitemapindex"))
}

/// Whether the beginning of a body is that of a feed.
pub(in crate::crawl) fn is_feed(start: &[u8]) -> bool {
    matches!(root(start).as_deref(), Some("rss" | "feed" | "rdf"))
}

/// Whether a body is packed by gzip, so that its beginning tells nothing else.
pub(in crate::crawl) fn is_gzip(start: &[u8]) -> bool {
    gzip_at(start).is_some()
}

/// The first element's name in lower case, without its prefix. UTF-16 has a NUL for each second byte. Most pages are HTML by their
/// first bytes, and cost no more than to look at these.
fn root(start: &[u8]) -> Option<String> {
    let start = &start[..start.len().min(HEAD)];
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    let is_html = start.get(..HTML.len()).is_some_and(|start| start.eq_ignore_ascii_case(HTML));
    if is_html || !start.iter().take(4).any(|byte| *byte == b'<') {
        return None;
    }
    let ascii = |byte: &&u8| byte.is_ascii() && **byte != 0;
    let ascii: String = start.iter().filter(ascii).map(|byte| char::from(*byte)).collect();
    let mut rest = ascii.as_str();
    loop {
        rest = rest.trim_start().strip_prefix('<')?;
        let end = match rest.get(..1)? {
            "!" if rest.starts_with("!--") => rest.find("-->")? + 3,
            "!" if rest.contains('[') && rest.find('[') < rest.find('>') => rest.find("]>")? + 2,
            "!" | "?" => rest.find('>')? + 1,
            _ => break,
        };
        rest = &rest[end..];
    }
    let name = &rest[..rest.find(|letter: char| letter.is_ascii_whitespace() || "/>".contains(letter))?];
    Some(name.rsplit(':').next()?.to_ascii_lowercase())
}
