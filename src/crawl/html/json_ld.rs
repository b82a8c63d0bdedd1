//! The URLs in a page's structured data: its scripts of the type `application/ld+json`.
//!
//! In JSON-LD, a context defines the meaning of keys, and nearly all pages use schema.org's. So keys are recognized by name, and no context
//! is fetched. [`LINKS`] are the keys of other pages; [`PARTS`] are the keys of parts of this page. A string that is the value of such a
//! key, an element of a list there, or the `url` of an object there, is a URL, unless it is a name within the page (`#it`), a blank node
//! (`_:it`) or a template (`{query}`).

use memchr::{memchr, memmem};
use serde_json::Value;

/// At most this many bytes of a script are read.
const MOST: usize = 1 << 20;
/// At most this many scripts are read.
const SCRIPTS: usize = 64;
/// The keys of links to pages.
const LINKS: [&str; 9] =
    ["@id", "discussionUrl", "embedUrl", "item", "mainEntityOfPage", "relatedLink", "sameAs", "significantLink", "url"];
/// The keys of images, media and files.
const PARTS: [&str; 5] = ["contentUrl", "downloadUrl", "image", "logo", "thumbnailUrl"];

/// Marks before a script that hide it from very old browsers or from XML.
const BEFORE: [&[u8]; 8] = [b"\xef\xbb\xbf", b"<!--", b"-->", b"<![CDATA[", b"//", b"/*", b"*/", b">"];
/// Marks after a script.
const AFTER: [&[u8]; 7] = [b"-->", b"]]>", b"//", b"/*", b"*/", b"<!", b";"];

/// Calls `each` with each URL in a page's structured data, as written, and whether the URL is of a part of the page. A script has no URLs
/// if it is incomplete, is not JSON, is longer than 1 MiB, or nests deeper than 128 levels. Common mistakes are tolerated.
pub(in crate::crawl) fn each_json_ld(body: &[u8], mut each: impl FnMut(&str, bool)) {
    let mut rest = body;
    for script in std::iter::from_fn(|| next_script(&mut rest)).take(SCRIPTS).filter(|script| script.len() <= MOST) {
        if let Ok(data) = serde_json::from_slice(script).or_else(|_| serde_json::from_slice(&mended(script))) {
            walk(&data, false, &mut each);
        }
    }
}

/// Repairs a script that is not JSON: removes marks around it and trailing commas, and replaces line ends and tabs in its strings by
/// blanks.
fn mended(script: &[u8]) -> Vec<u8> {
    let mut json = Vec::with_capacity(script.len());
    let (mut is_text, mut is_escaped) = (false, false);
    for &byte in unwrapped(script) {
        if is_text {
            is_text = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
            json.push(if byte.is_ascii_control() { b' ' } else { byte });
            continue;
        }
        if matches!(byte, b'}' | b']')
            && let Some(before) = json.trim_ascii_end().strip_suffix(b",")
        {
            json.truncate(before.len());
        }
        is_text = byte == b'"';
        json.push(byte);
    }
    json
}

fn unwrapped(script: &[u8]) -> &[u8] {
    let mut script = script.trim_ascii();
    while let Some(inner) = BEFORE.iter().find_map(|mark| script.strip_prefix(*mark)) {
        script = inner.trim_ascii_start();
    }
    while let Some(inner) = AFTER.iter().find_map(|mark| script.strip_suffix(*mark)) {
        script = inner.trim_ascii_end();
    }
    script
}

fn walk(data: &Value, is_part: bool, each: &mut impl FnMut(&str, bool)) {
    match data {
        Value::Array(list) => list.iter().for_each(|one| walk(one, is_part, each)),
        Value::Object(object) => {
            for (key, value) in object.iter().filter(|(key, _)| *key != "@context") {
                let is_part = is_part || PARTS.contains(&key.as_str());
                if LINKS.contains(&key.as_str()) || PARTS.contains(&key.as_str()) {
                    take(value, is_part, each);
                }
                walk(value, is_part, each);
            }
        }
        _ => {}
    }
}

/// Takes the strings where a URL belongs.
fn take(value: &Value, is_part: bool, each: &mut impl FnMut(&str, bool)) {
    match value {
        Value::Array(list) => list.iter().filter(|one| one.is_string()).for_each(|one| take(one, is_part, each)),
        Value::String(text) => {
            let text = text.trim();
            if !text.is_empty() && !text.starts_with(['#', '_']) && !text.contains(['{', ' ']) {
                each(text, is_part);
            }
        }
        _ => {}
    }
}

/// The text of the next script of structured data. Moves past it, and past comments and other scripts.
fn next_script<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    loop {
        let text = *rest;
        let tag = &text[memchr(b'<', text)?..];
        if tag.starts_with(b"<!--") {
            *rest = &tag[memmem::find(tag, b"-->")?..];
        } else if begins(tag, b"<script") {
            let open = memchr(b'>', tag)?;
            let (attributes, text) = (&tag[b"<script".len()..open], &tag[open + 1..]);
            let end = memmem::find_iter(text, b"</").find(|end| begins(&text[*end..], b"</script"))?;
            *rest = &text[end..];
            if is_json_ld(attributes) {
                return Some(&text[..end]);
            }
        } else {
            *rest = &tag[1..];
        }
    }
}

fn begins(text: &[u8], with: &[u8]) -> bool {
    text.get(..with.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(with))
}

fn is_json_ld(attributes: &[u8]) -> bool {
    memmem::find(&attributes.to_ascii_lowercase(), b"application/ld+json").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(body: &str) -> Vec<(String, bool)> {
        let mut found = Vec::new();
        each_json_ld(body.as_bytes(), |href, is_part| found.push((href.to_owned(), is_part)));
        found
    }

    #[test]
    fn urls_are_found_by_their_keys() {
        let page = r##"<script>x = "</a>"</script><!-- <script type="application/ld+json">{"url": "/no"}</script> -->
            <SCRIPT nonce=1 Type='Application/LD+JSON'>
            [{"@context": "https://schema.org/", "@id": "#me", "@type": "Article", "url": "/a?b=1&c", "name": "http://no.test/",
              "sameAs": ["https://x.test/", "_:b"], "image": {"@type": "ImageObject", "url": "/i.png", "width": 3},
              "logo": ["/l.png"], "potentialAction": {"target": {"urlTemplate": "/s?q={q}"}},
              "itemListElement": [{"@type": "ListItem", "item": {"@id": "http://a.test/up"}}, {"item": "/up2", "url": "/{x}"}]}]
            </script><script type="application/ld+json">{"url": "/half</script>
            <script type=application/ld+json>{"url": "/last", "thumbnailUrl": "t.png"}</script><script type=application/ld+json>{"url": "/open"}"##;
        let mut all = found(page);
        all.sort();
        let expected = [
            ("/a?b=1&c", false),
            ("/i.png", true),
            ("/l.png", true),
            ("/last", false),
            ("/up2", false),
            ("http://a.test/up", false),
            ("https://x.test/", false),
            ("t.png", true),
        ];
        assert_eq!(all, expected.map(|(href, is_part)| (href.to_owned(), is_part)));
    }

    #[test]
    fn what_people_and_old_programs_put_around_and_into_it_is_passed_over() {
        for script in [
            r#"<!-- {"url": "/a,]"} -->"#,
            "\n//<![CDATA[\n{\"url\": \"/a,]\"}\n//]]>\n",
            r#"/*<![CDATA[*/{"url": "/a,]"}/*]]>*/"#,
            r#"<![CDATA[{"url": "/a,]"}]]>"#,
            "<!--//--><![CDATA[//><!--\n{\"url\": \"/a,]\"}\n//--><!]]>",
            r#"{"url": "/a,]",}"#,
            r#"{"a": [1, 2 , ] , "b": "\",}", "url": "/a,]" , } ;"#,
            "{\"a\": \"one\ntwo\tthree\r\n\", \"url\": \"/a,]\"}",
            "\u{feff}{\"url\": \"/a,]\"}",
        ] {
            let page = format!("<script type=application/ld+json>{script}</script>");
            assert_eq!(found(&page), [("/a,]".to_owned(), false)], "{script}");
        }
    }

    #[test]
    fn what_is_long_deep_or_much_is_bounded() {
        let script = |text: &str| format!("<script type=application/ld+json>{text}</script>");
        assert!(found(&script(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)))).is_empty());
        assert!(found(&script(&format!(r#"{{"a": "{}", "url": "/a"}}"#, "x".repeat(MOST)))).is_empty());
        assert_eq!(found(&script(r#"{"url": "/a"}"#).repeat(100)).len(), SCRIPTS);
        assert!(found(&"<script".repeat(100_000)).is_empty() && found(&"<".repeat(100_000)).is_empty());
    }
}
