//! Reads the links of an HTML page, of any response's head, and the URLs in a plain text.

use ahash::AHashSet;

use super::{Extract, ReadOptions};
use crate::address::BaseUrl;
use crate::crawl::ParseOptions;
use crate::crawl::html::{LONGEST_URL, LinkKind, LinkText, each_json_ld, parse};
use crate::crawl::http::Response;
use crate::crawl::media_types::essence;
use crate::crawl::recrawl::LinkTurn;
use crate::driver::LinkUrl;
use crate::gate::Refusal;

/// Takes the links of an HTML page.
pub(super) fn read_page(response: &Response, base: BaseUrl, options: &ReadOptions, extract: &mut Extract) {
    let (options, fields) = (&options.parse, &options.fields);
    let page = parse(&response.body, response.content_type.as_deref(), options);
    if let Some(fields) = fields {
        extract.fields = fields.extract(&response.body, &page);
    }
    let own = (!response.links.is_empty()).then(|| base.clone());
    let base = base.with_query_encoder(page.query_encoder());
    let base = page.base_href.as_deref().and_then(|href| base.rebase(href)).unwrap_or(base);
    extract.refuse_without_text(Refusal::TooLong, page.links_too_long);
    extract.refuse_without_text(Refusal::TooManyLinks, page.links_over_limit);
    let nofollow = options.nofollow && (page.robots.nofollow || response.robots.nofollow);
    let mut canonical = page.canonical.as_deref().map(|href| LinkUrl::new(&base, href));
    // A canonical URL in the page counts more than one in the head.
    let is_named = canonical.as_mut().is_some_and(|link| extract.name_canonical(link));
    if let Some(own) = &own {
        add_head(response, own, options, !is_named, nofollow, extract);
    }
    let mut texts = page.link_texts.into_iter();
    for link in page.links.iter() {
        let nofollow = nofollow || (options.nofollow && link.nofollow);
        let turn = match link.kind {
            LinkKind::Canonical if options.prefer_canonical => LinkTurn::Preferred,
            kind if kind.is_resource() => LinkTurn::Part,
            _ => LinkTurn::Own,
        };
        let named = canonical.take_if(|named| named.href() == link.href);
        let found = named.unwrap_or_else(|| LinkUrl::new(&base, link.href));
        extract.add(found, turn, nofollow, link.kind.name(), texts.next().unwrap_or_default());
    }
    if options.json_ld {
        let room = options.max_links.saturating_sub(page.links.len());
        add_json_ld(response, &base, options, room, nofollow, extract);
    }
    extract.encoding = Some((page.encoding, page.encoding_source));
    extract.noindex = page.robots.noindex;
    extract.preferences = page.robots.preferences(false);
    extract.title = page.title;
}

/// Takes the links of a response's head, for a file whose body is not read.
#[expect(clippy::needless_pass_by_value, reason = "a page's reader makes another base of it")]
pub(super) fn read_head(response: &Response, base: BaseUrl, options: &ReadOptions, extract: &mut Extract) {
    let nofollow = options.parse.nofollow && response.robots.nofollow;
    add_head(response, &base, &options.parse, true, nofollow, extract);
}

/// Takes the URLs of the page's structured data, each once, as far as there is room. Parts of the page are taken only if resources are
/// wanted.
fn add_json_ld(
    response: &Response,
    base: &BaseUrl,
    options: &ParseOptions,
    room: usize,
    nofollow: bool,
    extract: &mut Extract,
) {
    let (mut known, mut beyond) = (AHashSet::new(), 0);
    each_json_ld(&response.body, |href, is_part| {
        if is_part && !options.resources || known.contains(href) {
            return;
        }
        if known.len() == room {
            beyond += 1;
            return;
        }
        known.insert(href.to_owned());
        let turn = if is_part { LinkTurn::Part } else { LinkTurn::Own };
        extract.add(LinkUrl::new(base, href), turn, nofollow, "json_ld", LinkText::default());
    });
    extract.refuse_without_text(Refusal::TooManyLinks, beyond);
}

/// Takes the links of a head, and the page's canonical URL if the head `names` it. That one is fetched before the other links if the crawl
/// prefers it.
fn add_head(
    response: &Response,
    base: &BaseUrl,
    options: &ParseOptions,
    names: bool,
    nofollow: bool,
    extract: &mut Extract,
) {
    for href in &response.links {
        let mut link = LinkUrl::new(base, href);
        let is_canonical = response.canonical.as_ref() == Some(href);
        if is_canonical && names {
            extract.name_canonical(&mut link);
        }
        let is_first = is_canonical && names && options.prefer_canonical;
        let turn = if is_first { LinkTurn::Preferred } else { LinkTurn::Own };
        let rel = is_canonical.then(|| "canonical".to_owned());
        extract.add(link, turn, nofollow, "header", LinkText { rel, ..LinkText::default() });
    }
}

/// Characters that end a URL: they never occur in one, or they enclose or follow it in print or in Chinese, Japanese and Korean texts.
const END: &str =
    "<>\"`{}|\\^\u{fffd}“”„‟‘’‚‛«»‹›、。〈〉《》「」『』【】〔〕〖〗〝〞〟…・！（），．：；？［］｛｝｟｠｡｢｣､";

/// Whether a body is plain text, by its type.
pub(super) fn is_plain(content_type: Option<&str>) -> bool {
    essence(content_type).eq_ignore_ascii_case("text/plain")
}

/// Takes the URLs in a text, each once, with the same limit as for a page.
#[expect(clippy::needless_pass_by_value, reason = "a page's reader makes another base of it")]
pub(super) fn read_text(response: &Response, base: BaseUrl, options: &ReadOptions, extract: &mut Extract) {
    let options = &options.parse;
    let nofollow = options.nofollow && response.robots.nofollow;
    add_head(response, &base, options, true, nofollow, extract);
    let text = String::from_utf8_lossy(&response.body);
    let (mut known, mut beyond) = (AHashSet::new(), 0);
    for href in urls(&text) {
        if known.len() == options.max_links && !known.contains(href) {
            beyond += 1;
        } else if known.insert(href) {
            extract.add(LinkUrl::new(&base, href), LinkTurn::Own, nofollow, "text", LinkText::default());
        }
    }
    extract.refuse_without_text(Refusal::TooManyLinks, beyond);
}

/// The URLs in a text: from `http://` or `https://` to white space or a character that URLs never contain. Punctuation that ends a
/// sentence, and a closing bracket whose opening one is before the URL, do not belong to it.
fn urls(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let colon = rest.find("://")?;
            let (before, after) = rest.split_at(colon + 3);
            let scheme = ["https://", "http://"].into_iter().find(|scheme| {
                before.len() >= scheme.len()
                    && before.is_char_boundary(before.len() - scheme.len())
                    && before[before.len() - scheme.len()..].eq_ignore_ascii_case(scheme)
            });
            let is_end = |letter: char| letter.is_whitespace() || letter.is_control() || END.contains(letter);
            let end = after.find(is_end).unwrap_or(after.len());
            let Some(scheme) = scheme else {
                rest = after;
                continue;
            };
            let start = before.len() - scheme.len();
            let url = trimmed(&rest[start..before.len() + end]);
            rest = &after[end..];
            if url.len() > scheme.len() && url.len() <= LONGEST_URL {
                return Some(url);
            }
        }
    })
}

/// A URL without punctuation that ends a sentence, and without closing brackets that it does not open.
fn trimmed(url: &str) -> &str {
    let count = |letter: char| url.matches(letter).count();
    let (opened, mut closed) = (['(', '['].map(count), [')', ']'].map(count));
    let mut end = url.len();
    for (at, last) in url.char_indices().rev() {
        let bracket = match last {
            ')' => Some(0),
            ']' => Some(1),
            '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' | '_' => None,
            _ => break,
        };
        if let Some(bracket) = bracket {
            if opened[bracket] >= closed[bracket] {
                break;
            }
            closed[bracket] -= 1;
        }
        end = at;
    }
    &url[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_end_where_a_reader_would_end_them() {
        for (text, expected) in [
            ("see http://a.test/b, or (https://a.test/c).", &["http://a.test/b", "https://a.test/c"][..]),
            ("HTTP://A.test/x_(y) [http://a.test/z]: it", &["HTTP://A.test/x_(y)", "http://a.test/z"]),
            ("<http://a.test/?q=1&b#c> \"https://b.test\"", &["http://a.test/?q=1&b#c", "https://b.test"]),
            ("ftp://a.test/ http:// https://. shttp://a.test/e", &["http://a.test/e"]),
            ("\u{e9}http://a.test/\u{e9}\u{3000}x", &["http://a.test/\u{e9}"]),
            ("見る：http://a.test/b。次", &["http://a.test/b"]),
            ("（http://a.test/c）、「http://a.test/d」", &["http://a.test/c", "http://a.test/d"]),
            (
                "\u{201c}http://a.test/e\u{201d} \u{2018}http://a.test/f\u{2019}s",
                &["http://a.test/e", "http://a.test/f"],
            ),
            ("«http://a.test/g» http://a.test/日本", &["http://a.test/g", "http://a.test/日本"]),
            ("http://a.test/h，http://a.test/i！", &["http://a.test/h", "http://a.test/i"]),
            ("://", &[]),
            ("no", &[]),
        ] {
            assert_eq!(urls(text).collect::<Vec<_>>(), expected, "{text}");
        }
        let many = format!("http://a.test/x{}", ")".repeat(1_000_000));
        assert_eq!(urls(&many).collect::<Vec<_>>(), ["http://a.test/x"]);
        let long = format!("http://a.test/{}", "x".repeat(LONGEST_URL));
        assert_eq!(urls(&format!("{long} http://a.test/")).collect::<Vec<_>>(), ["http://a.test/"]);
    }
}
