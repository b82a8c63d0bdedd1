//! Sniffing: whether a body is HTML, from its Content-Type and its first bytes.

use crate::crawl::media_types::{essence, is_page_type};

/// The namespace of an XHTML page.
const XHTML: &str = "http://www.w3.org/1999/xhtml";
/// At most this many first bytes are examined (WHATWG MIME Sniffing, "resource header").
pub(in crate::crawl) const SNIFFED: usize = 1445;

/// The beginnings of HTML, after white space. A space or `>` must follow, except after the comment.
const HTML: [&str; 17] = [
    "<!DOCTYPE HTML",
    "<A",
    "<B",
    "<BODY",
    "<BR",
    "<DIV",
    "<FONT",
    "<H1",
    "<HEAD",
    "<HTML",
    "<IFRAME",
    "<P",
    "<SCRIPT",
    "<STYLE",
    "<TABLE",
    "<TITLE",
    "<!--",
];

/// The beginnings of data that is never a document: images, sound, archives, fonts, programs.
const BINARY: [&[u8]; 24] = [
    b"\x89PNG\r\n\x1a\n",
    b"GIF87a",
    b"GIF89a",
    b"\xff\xd8\xff",
    b"BM\0",
    b"\0\0\x01\0",
    b"RIFF",
    b"II*\0",
    b"MM\0*",
    b"%PDF-",
    b"%!PS",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b\x08",
    b"Rar!\x1a\x07",
    b"7z\xbc\xaf\x27\x1c",
    b"BZh9",
    b"\xfd7zXZ\0",
    b"\x28\xb5\x2f\xfd",
    b"OggS",
    b"ID3",
    b"wOFF",
    b"\x7fELF",
    b"\0asm",
];

/// Whether a body should be parsed as HTML: the header says HTML or XHTML; or it says nothing useful and the bytes begin as HTML; or it
/// says XML or nothing useful and the first element is XHTML's. In each case, the bytes must not begin as an image, archive or program.
pub fn is_html(content_type: Option<&str>, body: &[u8]) -> bool {
    if BINARY.iter().any(|signature| body.starts_with(signature)) {
        return false;
    }
    let essence = essence(content_type);
    if is_page_type(essence) {
        return true;
    }
    let is = |names: &[&str]| names.iter().any(|name| essence.eq_ignore_ascii_case(name));
    let head = &body[..body.len().min(SNIFFED)];
    let unhelpful = essence.is_empty()
        || is(&["unknown/unknown", "application/unknown", "application/octet-stream", "binary/octet-stream"]);
    unhelpful && begins_as_html(head) || (unhelpful || is(&["application/xml", "text/xml"])) && begins_as_xhtml(head)
}

fn begins_as_html(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    HTML.iter().any(|start| {
        let (begin, rest) = head.split_at(head.len().min(start.len()));
        begin.eq_ignore_ascii_case(start.as_bytes())
            && (*start == "<!--" || matches!(rest.first(), Some(b' ' | b'>' | b'\t' | b'\n' | b'\r')))
    })
}

/// Whether the first element is XHTML's. NULs are skipped: in UTF-16, every second byte of such a text is one.
fn begins_as_xhtml(head: &[u8]) -> bool {
    let ascii = |byte: &&u8| byte.is_ascii() && **byte != 0;
    let text: String = head.iter().filter(ascii).map(|byte| char::from(*byte)).collect();
    first_element(&text).is_some_and(|(at, name)| {
        let tag = &text[at..];
        name.eq_ignore_ascii_case("html") && tag[..tag.find('>').unwrap_or(tag.len())].contains(XHTML)
    })
}

/// The first element of a text, after comments and declarations: where it begins, and its name without prefix.
pub(in crate::crawl) fn first_element(text: &str) -> Option<(usize, &str)> {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let at = text.len() - rest.len();
        rest = rest.strip_prefix('<')?;
        let end = match rest.get(..1)? {
            "!" if rest.starts_with("!--") => rest.find("-->")? + 3,
            "!" if rest.contains('[') && rest.find('[') < rest.find('>') => rest.find("]>")? + 2,
            "!" | "?" => rest.find('>')? + 1,
            _ => {
                let is_end = |letter: char| letter.is_ascii_whitespace() || "/>".contains(letter);
                return Some((at, rest[..rest.find(is_end)?].rsplit(':').next()?));
            }
        };
        rest = &rest[end..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page in XML, with everything that may come before its first element.
    const XHTML: &[u8] = b"<?xml version='1.0'?>\n<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN' 'x'>\n<!-- <c> -->\n<html lang='en'
    xmlns='http://www.w3.org/1999/xhtml'><body>";

    #[test]
    fn only_html_is_parsed() {
        let html = b"<!doctype html><p>";
        let png = b"\x89PNG\r\n\x1a\n";
        for (header, body, expected) in [
            (Some("text/html"), &b"anything"[..], true),
            (Some("Text/HTML ; charset=x"), b"", true),
            (Some("application/xhtml+xml"), b"<?xml version='1.0'?><html/>", true),
            (Some("text/html charset=utf-8"), b"anything", true),
            (Some("text/html:charset=utf-8"), b"anything", true),
            (Some("text/html (utf-8)"), b"anything", true),
            (Some("text/html,text/html"), b"anything", true),
            (Some("text/plain, text/html"), b"anything", true),
            (Some("*/*, text/html"), b"anything", true),
            (Some("text/html, text/plain"), html, false),
            (Some("application/xml"), XHTML, true),
            (Some("text/xml; charset=utf-8"), XHTML, true),
            (Some("application/octet-stream"), XHTML, true),
            (None, XHTML, true),
            (Some("text/plain"), XHTML, false),
            (Some("application/xml"), b"<html><a href=/>", false),
            (Some("application/xml"), b"<feed xmlns:h='http://www.w3.org/1999/xhtml'/>", false),
            (Some("text/html"), png, false),
            (Some("text/html"), b"%PDF-1.7", false),
            (Some("text/plain"), html, false),
            (Some("image/png"), html, false),
            (Some("application/octet-stream"), html, true),
            (Some("application/octet-stream"), b"PK\x03\x04", false),
            (Some("html"), html, true),
            (None, html, true),
            (None, b"\xef\xbb\xbf \n<HTML>", true),
            (None, b"<!-- c --><p>", true),
            (None, b"<a href=/>", true),
            (None, b"<abbr>", false),
            (None, b"<?xml version='1.0'?><rss/>", false),
            (None, b"{}", false),
            (None, b"", false),
        ] {
            assert_eq!(is_html(header, body), expected, "{header:?} {body:?}");
        }
    }
}
