//! Texts from the web: their encodings, the URLs that are requested, and what reaches a record.

use std::time::Duration;

use crawler::crawl::{Crawl, CrawlOptions, PageRecord};

use crate::crawled;
use crate::loopback::{Loopback, response};

/// A site on loopback. Its front page is answered with exactly these bytes, all other URLs with 404.
struct Site(Loopback);

impl Site {
    fn of(front: &[u8]) -> Self {
        let front = front.to_vec();
        Self(Loopback::serve(
            move |url| {
                if url == "site.test/" { front.clone() } else { response("404 Not Found", b"") }
            },
        ))
    }

    /// A page with this head and body.
    fn page(content_type: &[u8], body: &[u8]) -> Self {
        let length = body.len();
        let rest = format!("\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
        Self::of(&[b"HTTP/1.1 200 OK\r\nContent-Type: ", content_type, rest.as_bytes(), body].concat())
    }

    /// Crawls it. Returns its records by URL, and the other requested URLs.
    async fn crawl(&self) -> (Vec<PageRecord>, Vec<String>) {
        let mut options = CrawlOptions::default();
        options.fetch.resolve_all_to = Some(self.0.address);
        options.sitemaps.enabled = false;
        options.frontier.politeness.host_delay = Duration::ZERO;
        options.workers = Some(4);
        let crawl = Crawl::new(&options).unwrap();
        crawled::seed(&crawl, ["http://site.test/"]);
        let (_, records) = crawled::run(crawl).await;
        let asked = self.0.asked().into_iter().map(|url| url.replacen("site.test", "", 1));
        let mut asked: Vec<String> = asked.filter(|path| path != "/robots.txt" && path != "/").collect();
        asked.sort();
        (records, asked)
    }
}

fn encode(label: &str, text: &str) -> Vec<u8> {
    encoding_rs::Encoding::for_label(label.as_bytes()).unwrap().encode(text).0.into_owned()
}

/// The URL standard, "percent-encode after encoding"; the table is of characters that encodings disagree on.
#[tokio::test]
async fn a_query_is_asked_for_in_the_encoding_of_its_page() {
    for (label, text, asked) in [
        ("utf-8", "Киев", "%D0%9A%D0%B8%D0%B5%D0%B2"),
        ("windows-1251", "Киев", "%CA%E8%E5%E2"),
        ("koi8-r", "Киев", "%EB%C9%C5%D7"),
        ("windows-1252", "é&#8364;&#1050;", "%E9%80%26%231050%3B"),
        ("gbk", "月&#128512;", "%D4%C2%26%23128512%3B"),
        ("gb18030", "&#128512;", "%949%FC6"),
        ("big5", "月&#8224;", "%A4%EB%26%238224%3B"),
        ("euc-kr", "&#8224;", "%A2%D3"),
        ("shift_jis", "月&#8722;", "%8C%8E%81|"),
        ("euc-jp", "月", "%B7%EE"),
        ("iso-2022-jp", "&#8722;", "%1B$B!]%1B(B"),
        ("iso-2022-jp", "&#14;A", "%26%2365533%3BA"),
        ("x-user-defined", "&#63360;&#233;", "%80%26%23233%3B"),
        // UTF-16 is written in no URL.
        ("utf-16le", "Киев", "%D0%9A%D0%B8%D0%B5%D0%B2"),
    ] {
        let html = format!("<a href='/p&eacute;?q={text}'>x</a>");
        let body = if label == "utf-16le" {
            html.encode_utf16().flat_map(u16::to_le_bytes).collect()
        } else {
            encode(label, &html)
        };
        let site = Site::page(format!("text/html; charset={label}").as_bytes(), &body);
        let (records, paths) = site.crawl().await;
        // A path is UTF-8 on a page of any encoding.
        assert_eq!(paths, [format!("/p%C3%A9?q={asked}")], "{label}");
        assert_eq!(records[1].url, format!("http://site.test{}", paths[0]));
    }
}

#[tokio::test]
async fn a_base_and_a_late_declaration_count_for_queries_too() {
    let late = format!("<!-- {} --><meta charset=windows-1251>", " ".repeat(2_000));
    for html in [
        "<meta charset=windows-1251><base href='/d/?b=Киев'><a href=''>x</a><a href='?q=Киев#Киев'>x</a>",
        &format!("<base href='/d/?b=Киев'><a href=''>x</a><a href='?q=Киев'>x</a>{late}"),
    ] {
        let (_, asked) = Site::page(b"text/html", &encode("windows-1251", html)).crawl().await;
        assert_eq!(asked, ["/d/?b=%CA%E8%E5%E2", "/d/?q=%CA%E8%E5%E2"]);
    }
}

#[tokio::test]
async fn a_redirect_asks_for_the_bytes_that_it_names() {
    let site = Site::of(b"HTTP/1.1 301 Moved\r\nLocation: /caf\xe9?q=\xca\xe8\r\nContent-Length: 0\r\n\r\n");
    let (records, asked) = site.crawl().await;
    assert_eq!(asked, ["/caf%E9?q=%CA%E8"]);
    assert_eq!(records[0].redirect.as_deref(), Some("http://site.test/caf%E9?q=%CA%E8"));
}

/// A header's text in a record cannot control a terminal, and has a bound.
#[tokio::test]
async fn header_texts_command_no_terminal() {
    let (records, _) = Site::page("text/html; x=\u{202e}\u{9b}31m\u{2028}é".as_bytes(), b"").crawl().await;
    assert_eq!(records[0].content_type.as_deref(), Some(r"text/html; x=\u{202e}\u{9b}31m\u{2028}é"));
    let long = format!("text/html; x={}", "\u{2067}".repeat(10_000));
    let (records, _) = Site::page(long.as_bytes(), b"").crawl().await;
    assert!(records[0].content_type.as_ref().is_some_and(|text| text.len() <= 1024 && text.ends_with('…')));

    let (records, _) = Site::page(b"text/html", "<title>a\u{202e}b\u{9b}c\u{2069}</title>".as_bytes()).crawl().await;
    assert_eq!(records[0].title.as_deref(), Some("abc"));
}

/// A page's encoding and its source; neither for a page that was not parsed.
#[tokio::test]
async fn a_record_says_the_encoding_and_its_source() {
    for (content_type, body, encoding, source) in [
        ("text/html; charset=koi8-r", "x", Some("KOI8-R"), Some("header")),
        ("text/html", "\u{feff}x", Some("UTF-8"), Some("bom")),
        ("text/html", "<meta charset=sjis>", Some("Shift_JIS"), Some("meta")),
        ("text/html", "<?xml version='1.0' encoding='gb2312'?>", Some("GBK"), Some("xml_declaration")),
        ("text/html", "x", Some("UTF-8"), Some("detection")),
        ("text/plain; charset=koi8-r", "x", None, None),
    ] {
        let (records, _) = Site::page(content_type.as_bytes(), body.as_bytes()).crawl().await;
        let PageRecord { encoding: found, encoding_source, .. } = &records[0];
        assert_eq!((found.as_deref(), encoding_source.as_deref()), (encoding, source), "{content_type} {body}");
    }
}
