//! The URLs in a plain text.

use ahash::AHashSet;

use super::{Extract, ReadOptions};
use crate::address::BaseUrl;
use crate::crawl::html::LinkText;
use crate::crawl::http::Response;
use crate::crawl::media_types::essence;
use crate::gate::Refusal;

/// Characters that end a URL: they never occur in one, or they enclose it in print and in Chinese, Japanese and Korean texts.
const END: &str =
    "<>\"`{}|\\^\u{fffd}“”„‟‘’‚‛«»‹›、。〈〉《》「」『』【】〔〕〖〗〝〞〟…・！（），．：；？［］｛｝｟｠｡｢｣､";
/// At most this many bytes of a URL.
const LONGEST: usize = 8 << 10;

/// Whether a body is plain text, by its type.
pub(super) fn is_plain(content_type: Option<&str>) -> bool {
    essence(content_type).eq_ignore_ascii_case("text/plain")
}

/// Takes the URLs in a text, each once, with the same limit as for a page.
#[expect(clippy::needless_pass_by_value, reason = "a page's reader makes another base of it")]
pub(super) fn read(response: &Response, base: BaseUrl, options: &ReadOptions, extract: &mut Extract) {
    let options = &options.parse;
    let nofollow = options.nofollow && response.robots.nofollow;
    super::html::add_head_links(response, &base, options, nofollow, extract);
    let text = String::from_utf8_lossy(&response.body);
    let (mut known, mut beyond) = (AHashSet::new(), 0);
    for href in urls(&text) {
        if known.len() == options.max_links && !known.contains(href) {
            beyond += 1;
        } else if known.insert(href) {
            extract.add(&base, href, nofollow);
            extract.keep(&base, href, "text", LinkText::default());
        }
    }
    extract.refuse_untold(Refusal::TooManyLinks, beyond);
}

/// The URLs in a text: from `http://` or `https://` to white space or a character that URLs never contain. Punctuation that ends a
/// sentence, and a closing bracket whose opening one is before the URL, do not belong to it.
fn urls(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let colon = rest.find("://")?;
            let (before, behind) = rest.split_at(colon + 3);
            let scheme = ["https://", "http://"].into_iter().find(|scheme| {
                before.len() >= scheme.len()
                    && before.is_char_boundary(before.len() - scheme.len())
                    && before[before.len() - scheme.len()..].eq_ignore_ascii_case(scheme)
            });
            let is_end = |letter: char| letter.is_whitespace() || letter.is_control() || END.contains(letter);
            let end = behind.find(is_end).unwrap_or(behind.len());
            let Some(scheme) = scheme else {
                rest = behind;
                continue;
            };
            let start = before.len() - scheme.len();
            let url = trimmed(&rest[start..before.len() + end]);
            rest = &behind[end..];
            if url.len() > scheme.len() && url.len() <= LONGEST {
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
        let long = format!("http://a.test/{}", "x".repeat(LONGEST));
        assert_eq!(urls(&format!("{long} http://a.test/")).collect::<Vec<_>>(), ["http://a.test/"]);
    }
}
