//! Replies that other clients are tested with, and what we make of them.
//!
//! The tables hold behaviors, written anew, of Apache Nutch's `TestBadServerResponses` and of curl's `tests/data`. Where we differ, on
//! purpose:
//!
//! | they | we | because |
//! |---|---|---|
//! | curl refuses a length in words, or below nothing (178, 394) | it is none: the close of the connection ends the body | browsers do so, and so does Nutch |
//! | Nutch takes `HTTP/1.1 200: OK` | the response fails | so do okhttp and curl; the status line is not one |
//! | Nutch takes a body without a head (HTTP/0.9) | the response fails | a server that speaks another protocol looks the same; so does curl by default |
//! | curl takes a length beyond 2^64 as none (395) | the response fails | what has a length that cannot be is not whole |
//! | curl rejects a line without a colon (398) | it is passed over | browsers do so, and the page is whole |
//! | curl rejects two locations whatever the status (772) | so do we | |

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};

use crawler::crawl::{Crawl, CrawlOptions, FetchError, FetchOptions, Fetcher, Response};
use crawler::frontier::Failure;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::both;
use crate::crawled;
use crate::visitors;

/// What we make of a reply.
#[derive(Debug, PartialEq)]
enum Made {
    /// A whole body, of this status and text.
    Page(u16, String),
    /// The beginning of a body, longer than is taken.
    Cut(u16, usize),
    /// The beginning of a body that broke off.
    Broken(u16, String),
    /// No response.
    Failed(Failure),
}
use Made::{Broken, Cut, Failed, Page};

const LIMIT: usize = 64 * 1024;

/// Sends this to each visitor, and closes.
fn serve(reply: Vec<u8>) -> SocketAddr {
    visitors::serve(move |mut stream| {
        visitors::request(&mut stream);
        let _ = stream.write_all(&reply);
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    })
}

async fn fetch(reply: Vec<u8>) -> Result<Response, FetchError> {
    let url = format!("http://{}/", serve(reply));
    let mut options = FetchOptions::default();
    options.client = both::client();
    options.allow_private_addresses = true;
    options.max_body_bytes = LIMIT;
    Fetcher::new(&options).unwrap().fetch(&url).await
}

fn made(response: Result<Response, FetchError>) -> Made {
    match response {
        Err(error) => Failed(error.failure),
        Ok(page) if page.truncated => Cut(page.status, page.body.len()),
        Ok(page) => {
            let text = String::from_utf8_lossy(&page.body).into_owned();
            if page.incomplete.is_some() { Broken(page.status, text) } else { Page(page.status, text) }
        }
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\n";
const TEXT: &str = "Content-Type: text/plain\r\n";

/// A page whose framing browsers mend, and what reqwest makes of it.
fn mended(text: &str, reqwest: Made) -> Made {
    let is_read = both::keeps("reads bodies that are framed as browsers read them, against the standard");
    if is_read { page(text) } else { reqwest }
}

fn page(text: &str) -> Made {
    Page(200, text.to_owned())
}

/// Whoever reads the report learns that servers lean on it.
#[tokio::test]
async fn bodies_whose_framing_is_mended_are_counted() {
    for (length, is_mended) in [("thousand", true), ("15", false)] {
        let mut options = CrawlOptions::default();
        options.fetch.client = both::client();
        options.fetch.resolve_all_to =
            Some(serve(format!("{OK}{TEXT}Content-Length: {length}\r\n\r\nThis is a text.").into_bytes()));
        options.sitemaps.enabled = false;
        let crawl = Crawl::new(&options).unwrap();
        crawled::seed(&crawl, ["http://site.test/".to_owned()]);
        let (finished, _) = crawled::run(crawl).await;
        let (robots, pages) = (finished.tally.robots, finished.tally.pages);
        let is_read = both::keeps("reads bodies that are framed as browsers read them, against the standard");
        let counted = u64::from(is_mended && is_read);
        assert_eq!((robots.lenient, pages.lenient), (counted, counted), "{length}");
    }
}

#[tokio::test]
async fn nutch_test_bad_server_responses() {
    let plain = "\r\nThis is a text.";
    let overlong = format!("X-Custom-Header-{}: hello\r\n", "x".repeat(10_000)).repeat(80);
    let piece = format!("00\r\n{}\r\n00\r\n", "x".repeat(1_014));
    let chunks = format!("400\r\n{piece}\r\n").repeat(80);
    for (case, reply, expected) in [
        ("testBadHttpServer", format!("{OK}{plain}"), page("This is a text.")),
        (
            "testContentLengthNotANumber",
            format!("{OK}Content-Length: thousand\r\n{plain}"),
            mended("This is a text.", Failed(Failure::BadResponse)),
        ),
        ("testHeaderWithColon", format!("HTTP/1.1 200: OK\r\n{plain}"), Failed(Failure::BadResponse)),
        (
            "testHeaderSpellChecking",
            format!("{OK}Client-Transfer-Encoding: chunked\r\n{plain}"),
            page("This is a text."),
        ),
        ("testNoStatusLine", "This is a text: \u{e4}\u{f6}\u{fc}\u{df}".to_owned(), Failed(Failure::BadResponse)),
        ("testNoStatusLine, HTML", "<!DOCTYPE html>\n<html>\n</html".to_owned(), Failed(Failure::BadResponse)),
        (
            "testMultiLineHeader",
            format!("{OK}Set-Cookie: UserID=JohnDoe;\r\n  Max-Age=3600;\r\n  Version=1\r\n{plain}"),
            page("This is a text."),
        ),
        ("testOverlongHeader", format!("{OK}{overlong}{plain}"), Failed(Failure::BadResponse)),
        (
            "testChunkedContent",
            format!("{OK}{TEXT}Transfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"),
            Cut(200, LIMIT),
        ),
        (
            "testPartialContentTruncated",
            format!("{OK}Content-Length: 50000\r\n{plain}"),
            Broken(200, "This is a text.".to_owned()),
        ),
        ("testHttpStatusNoMessage", format!("HTTP/1.1 200 \r\n{plain}"), page("This is a text.")),
    ] {
        assert_eq!(made(fetch(reply.into_bytes()).await), expected, "{case}");
    }
}

/// `testIgnoreErrorInRedirectPayload`: where a redirect leads is known from its head.
#[tokio::test]
async fn a_redirect_with_a_broken_body_leads_on() {
    let head = "HTTP/1.1 302 Found\r\nLocation: http://example.com/\r\nTransfer-Encoding: chunked\r\n\r\n";
    let response = fetch(format!("{head}Not a valid chunk.").into_bytes()).await.unwrap();
    assert_eq!((response.status, response.location.as_deref()), (302, Some("http://example.com/")));
    assert!(response.incomplete.is_none(), "{:?}", response.incomplete);
}

/// `testTruncationMarking` and `testTruncationMarkingGzip`: a body of just the limit is whole, as sent and as decoded.
#[tokio::test]
async fn bodies_about_the_limit() {
    for kib in [63, 64, 65] {
        let body = "abcdefghijklmnopqrstuvwxyz0123456789-ABCDEFGHIJKLMNOPQRSTUVWXYZ\n".repeat(16 * kib);
        assert_eq!(body.len(), kib * 1024);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(body.as_bytes()).unwrap();
        let gzip = encoder.finish().unwrap();
        let expected = if body.len() > LIMIT { Cut(200, LIMIT) } else { page(&body) };
        for (coding, sent) in [("", body.as_bytes()), ("Content-Encoding: gzip\r\n", &gzip)] {
            let head = format!("{OK}{TEXT}{coding}Content-Length: {}\r\n\r\n", sent.len());
            assert_eq!(made(fetch([head.as_bytes(), sent].concat()).await), expected, "{kib} KiB, {coding:?}");
        }
    }
}

#[tokio::test]
async fn curl_replies() {
    let foo = "Connection: close\r\nContent-Type: text/html\r\n\r\n-foo-\n";
    let chunked = "HTTP/1.1 200 funky chunky!\r\nTransfer-Encoding: chunked\r\nConnection: mooo\r\n\r\n";
    let (forty, thirty, twenty) = ("a".repeat(0x40), "b".repeat(0x30), "c".repeat(0x21));
    let digits = "0123456789".repeat(10);
    let bad = || Failed(Failure::BadResponse);
    for (case, reply, expected) in [
        ("36, a bad size", format!("{chunked}2\r\na\n\r\nILLEGAL\r\nbbbb\r\n"), Broken(200, "a\n".to_owned())),
        ("178, a negative length", format!("{OK}Content-Length: -6\r\n{foo}"), mended("-foo-\n", bad())),
        ("207, a chunk that breaks off", format!("{chunked}41\r\n{forty}"), Broken(200, forty.clone())),
        ("376, a body that breaks off", format!("{OK}Content-Length: 75\r\n{foo}"), Broken(200, "-foo-\n".to_owned())),
        ("393 and 395, a length beyond 64 bits", format!("{OK}Content-Length: 36893488147419103232\r\n{foo}"), bad()),
        ("394, a length in words", format!("{OK}Content-Length: crap\r\n{foo}"), mended("-foo-\n", bad())),
        (
            "a line of chunks that LF ends",
            format!("{chunked}6\n-foo-\n\n0\n\n"),
            mended("-foo-\n", Broken(200, String::new())),
        ),
        (
            "398, a line without a colon",
            format!("{OK}Server test-server/fake\r\nContent-Length: 6\r\n{foo}"),
            page("-foo-\n"),
        ),
        ("768, letters behind a length", format!("{OK}Content-Length: 6badness\r\nContent-Length: 44\r\n{foo}"), bad()),
        ("771, two lengths", format!("{OK}Content-Length: 44\r\nContent-Length: 6\r\n{foo}"), bad()),
        ("772, two locations", format!("{OK}Content-Length: 0\r\nLocation: this\r\nLocation: that\r\n\r\n"), bad()),
        (
            "1116, a trailer that nobody announced",
            format!(
                "{chunked}40\r\n{forty}\r\n30\r\n{thirty}\r\n21;heresatest=moooo\r\n{twenty}\r\n\
                 0\r\nchunky-trailer: header data\r\nanother-header: yes\r\n\r\n"
            ),
            page(&format!("{forty}{thirty}{twenty}")),
        ),
        ("1429, a status of four digits", format!("HTTP/1.1 1234 OK\r\nContent-Length: 6\r\n{foo}"), bad()),
        ("1430, a negative status", format!("HTTP/1.1 -12 OK\r\nContent-Length: 6\r\n{foo}"), bad()),
        ("1431, a status of one digit", format!("HTTP/1.1 2 OK\r\nContent-Length: 6\r\n{foo}"), bad()),
        ("1432, a status of 100 digits", format!("HTTP/1.1 {digits} OK\r\nContent-Length: 6\r\n{foo}"), bad()),
        ("1433, a version of 100 digits", format!("HTTP/1.{digits} 200 OK\r\nContent-Length: 6\r\n{foo}"), bad()),
        (
            "1480, no response behind a 100",
            "HTTP/1.1 100 Continue\r\nFoo: Bar\r\n\r\nData\nData\nData\n".to_owned(),
            bad(),
        ),
    ] {
        assert_eq!(made(fetch(reply.into_bytes()).await), expected, "{case}");
    }
}

/// 221: what is no gzip, for all its header says.
#[tokio::test]
async fn a_broken_gzip_is_no_page() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(b"line 1\n line 2\n").unwrap();
    let gzip = encoder.finish().unwrap();
    let broken = &gzip[3..];
    let head = format!("{OK}Content-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", broken.len());
    let response = fetch([head.as_bytes(), broken].concat()).await.unwrap();
    assert!(response.raw || response.incomplete.is_some(), "{response:?}");
}

crate::both::and_over_reqwest! {}
