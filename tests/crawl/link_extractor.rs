//! The links that other extractors are tested with, and what we make of them.
//!
//! The table holds the behaviors of Scrapy's `tests/test_linkextractors.py`, written anew. Its filters by pattern, domain, text and place
//! are not ours: `scope.include`, `scope.exclude` and the selectors of fields stand for them. Where we differ, on purpose:
//!
//! | Scrapy | we | because |
//! |---|---|---|
//! | keeps fragments, so that a page comes twice | they are gone | a fragment is not sent (RFC 3986 section 3.5) |
//! | leaves out links that end like pictures or archives | they are links | an ending says nothing sure of a type; it can be excluded |
//! | gives links that are not followed | so do we, marked | |
//! | keeps `ftp:` | it is refused and counted | nothing here can fetch it |
//! | reads on behind a `<title>` that is not closed | it holds the rest of the page | browsers follow the HTML standard there |
//! | leaves out `http://Some wierd html : ...` | so do we, refused and counted | |

use crawler::address::{Canonicalizer, KeyRules};
use crawler::crawl::{ParseOptions, parse};

/// The links of a page as they would be asked for, each once, and whether they are followed; those that are no URLs are left out.
fn links(url: &str, content_type: &str, html: &[u8]) -> Vec<(String, bool)> {
    let canonicalizer = Canonicalizer::new(&KeyRules::default());
    let page = parse(html, Some(content_type), &ParseOptions::default());
    let base = canonicalizer.base(url).unwrap();
    let base = page.base_href.as_deref().map_or(Some(base.clone()), |href| base.rebase(href)).unwrap();
    let base = base.with_query_encoder(page.query_encoder());
    let mut found: Vec<(String, bool)> = Vec::new();
    for link in page.links.iter() {
        let Ok(url) = canonicalizer.join(&base, link.href) else { continue };
        if found.iter().all(|(other, _)| other != url.wire()) {
            found.push((url.wire().to_owned(), !link.nofollow));
        }
    }
    found
}

const HTML: &str = "text/html";

/// The case, the page's URL, its type, its bytes, and its links; a `!` is in front of one that is not followed.
type Case = (&'static str, &'static str, &'static str, &'static [u8], &'static [&'static str]);

const CASES: &[Case] = &[
    (
        "test_extract_all_links",
        "http://example.com/index",
        HTML,
        b"<!DOCTYPE html><html><head><base href='http://example.com' /><title>Links</title></head><body><div>
          <area href='sample1.html' alt='one'/><a href='sample2.html'>two<img src='sample2.jpg' alt='two'/></a>
          <a href='http://example.com/sample3.html' title='three'>three</a><a href='sample3.html'>again</a>
          <a href='sample3.html'>and again</a><a href='sample3.html#foo'>its part</a>
          <a href='http://www.google.com/something'></a><a href='http://example.com/innertag.html'><strong>in</strong> tag</a>
          <a href='page 4.html'>blanks</a></div></body></html>",
        &[
            "http://example.com/sample1.html",
            "http://example.com/sample2.html",
            "http://example.com/sample3.html",
            "http://www.google.com/something",
            "http://example.com/innertag.html",
            "http://example.com/page%204.html",
        ],
    ),
    (
        "test_nofollow, with its title closed",
        "http://example.org/somepage/index.html",
        HTML,
        b"<html><head><title>A page</title><body><p><a href='/about.html'>us</a><p><a href='/follow.html'>this</a>
          <p><a href='/nofollow.html' rel='nofollow'>not this</a><p><a href='/nofollow2.html' rel='blah'>as you like</a>
          <p><a href='http://google.com/something' rel='external nofollow'>not that</a></body></html>",
        &[
            "http://example.org/about.html",
            "http://example.org/follow.html",
            "!http://example.org/nofollow.html",
            "http://example.org/nofollow2.html",
            "!http://google.com/something",
        ],
    ),
    (
        "test_nofollow, as it is: the title is the rest of the page",
        "http://example.org/somepage/index.html",
        HTML,
        b"<html><head><title>A page<title><body><p><a href='/about.html'>us</a></body></html>",
        &[],
    ),
    (
        "test_restrict_xpaths_encoding",
        "http://example.org/somepage/index.html",
        "text/html; charset=windows-1252",
        b"<body><p><a href='item/12.html'>12</a></p><div><p><a href='/about.html'>us\xa3</a></p></div>",
        &["http://example.org/somepage/item/12.html", "http://example.org/about.html"],
    ),
    (
        "test_restrict_xpaths_with_html_entities: a path is UTF-8, a query is in the page's encoding",
        "http://example.org/somepage/index.html",
        "text/html; charset=iso8859-15",
        b"<p><a href='/&hearts;/you?c=&euro;'>text</a></p>",
        &["http://example.org/%E2%99%A5/you?c=%A4"],
    ),
    (
        "test_restrict_xpaths_concat_in_handle_data",
        "http://example.org/",
        "text/html; charset=gb18030",
        b"<div><a href='/foo'>&gt;\xbe\xa9&lt;\xb6\xab</a>",
        &["http://example.org/foo"],
    ),
    (
        "test_area_tag_with_unicode_present",
        "http://example.org/",
        "text/html; charset=utf-8",
        b"<html><body>\xbe\xa9<map><area href='http://example.org/foo' /></map></body></html>",
        &["http://example.org/foo"],
    ),
    (
        "test_encoded_url",
        "http://known.fm/AC%2FDC/",
        "text/html; charset=utf8",
        b"<div><a href='?page=2'>next</a>",
        &["http://known.fm/AC%2FDC/?page=2"],
    ),
    (
        "test_ignored_extensions",
        "http://example.org/",
        HTML,
        b"<a href='page.html'>a</a> and <a href='photo.jpg'>",
        &["http://example.org/page.html", "http://example.org/photo.jpg"],
    ),
    (
        "test_process_value: a script is no link",
        "http://example.org/somepage/index.html",
        HTML,
        b"<a href=\"javascript:goToPage('../other/page.html','photo'); return false\">Text</a>\n<a href='/about.html'>us</a>",
        &["http://example.org/about.html"],
    ),
    (
        "test_base_url_with_restrict_xpaths, with its title closed",
        "http://example.org/somepage/index.html",
        HTML,
        b"<title>A page</title><base href='http://otherdomain.com/base/' /><body><p><a href='item/12.html'>12</a></p>",
        &["http://otherdomain.com/base/item/12.html"],
    ),
    (
        "test_tags",
        "http://example.com/index.html",
        HTML,
        b"<html><area href=sample1.html></area><a href=sample2.html>two</a><img src=sample2.jpg /></html>",
        &["http://example.com/sample1.html", "http://example.com/sample2.html"],
    ),
    (
        "test_tags_attrs: a fragment leads to the page itself",
        "http://example.com/index.html",
        HTML,
        b"<div data-url='get?id=1'><a href='#'>1</a></div><div data-url='get?id=2'><a href='#'>2</a></div>",
        &["http://example.com/index.html"],
    ),
    (
        "test_xhtml",
        "http://example.com/index.xhtml",
        "application/xhtml+xml",
        b"<?xml version=\"1.0\"?><!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Strict//EN\" \"\">
          <html xmlns=\"http://www.w3.org/1999/xhtml\" xml:lang=\"en\"><head><title>A page</title></head><body>
          <p><a href=\"/about.html\">us</a></p><p><a href=\"/nofollow.html\" rel=\"nofollow\">not this</a></p></body></html>",
        &["http://example.com/about.html", "!http://example.com/nofollow.html"],
    ),
    (
        "test_link_wrong_href",
        "http://example.org/index.html",
        HTML,
        b"<a href='http://example.org/item1.html'>1</a><a href='http://[example.org/item2.html'>2</a>
          <a href='http://example.org/item3.html'>3</a>",
        &["http://example.org/item1.html", "http://example.org/item3.html"],
    ),
    (
        "test_ftp_links",
        "http://www.example.com/index.html",
        HTML,
        b"<div><a href='ftp://www.external.com/'>An Item</a></div>",
        &[],
    ),
    (
        "test_skip_bad_links",
        "http://example.org/index.html",
        HTML,
        b"<a href='http://Some wierd html : http://example.com/like_this'>why</a>
          <a href='http://example.org/item2.html'>2</a><a href='http://example.org/item3.html'>3</a>",
        &["http://example.org/item2.html", "http://example.org/item3.html"],
    ),
];

#[test]
fn scrapy_test_linkextractors() {
    for (case, url, content_type, html, expected) in CASES {
        let found = links(url, content_type, html);
        let found: Vec<_> =
            found.iter().map(|(url, follow)| format!("{}{url}", if *follow { "" } else { "!" })).collect();
        assert_eq!(&found, expected, "{case}");
    }
}
