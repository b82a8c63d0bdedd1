//! How `/robots.txt` can go wrong, and the host must be crawled all the same.

use crate::content::gzip;
use crate::row::Does::{Acts, Resets};
use crate::row::{Row, Seed, answer, each, html_with, raw};
use crate::server::Visit;
use crate::transport::INTERIM;

/// Each once: the host is asked again, and crawled.
pub(crate) fn recoveries() -> Vec<Row> {
    let headers = "X: y\r\n".repeat(300);
    let busy = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
    vec![
        Row::robots("R2", "robots-304", raw("HTTP/1.1 304 Not Modified\r\n\r\n")),
        Row::robots("R2", "robots-coding-unknown", html_with("Content-Encoding: snappy", b"\x19\x01User-agent: *\n")),
        Row::robots(
            "R2",
            "robots-two-lengths",
            raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
        ),
        Row::robots("R2", "robots-headers", raw(format!("HTTP/1.1 200 OK\r\n{headers}\r\n"))),
        Row::robots("R2", "robots-no-status-line", raw("User-agent: *\nAllow: /\n")),
        Row::robots("R2", "robots-two-locations", raw("HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /b\r\n\r\n")),
        Row::robots("R2", "robots-500", raw("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n")),
        Row::robots("R2", "robots-503", raw(busy)),
        Row::robots("R1", "robots-429", raw(busy.replace("503 Busy", "429 Slow Down"))),
        Row::robots("R2", "robots-hangs", Acts(Visit::hang)),
        Row::robots("R2", "robots-closes", raw("")),
        Row::robots("R2", "robots-resets", Resets(Vec::new())),
        Row::robots("R2", "robots-breaks-off", raw("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nUser")),
        Row::robots(
            "R2",
            "robots-endless-103",
            Acts(|visit| {
                visit.repeat("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1_000), std::time::Duration::ZERO);
            }),
        )
        .only_by(INTERIM),
        Row::robots(
            "R2",
            "robots-transfer-coding",
            raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: identityx\r\n\r\nUser-agent: *"),
        ),
    ]
}

/// Each is an answer: the host is crawled by it.
pub(crate) fn answers() -> Vec<Row> {
    let text = "200 OK\r\nContent-Type: text/plain";
    let rules = |lines: &[u8]| answer(text, lines);
    let gone = |status: &str| answer(status, b"User-agent: *\nDisallow: /\n");
    let many = each(20_000, |number| format!("User-agent: x{number}\nDisallow: /\n"));
    let utf_8 = "\u{feff}User-agent: x\nDisallow: /\n".as_bytes();
    vec![
        Row::rules("R1", "robots-401", gone("401 Who")),
        Row::rules("R1", "robots-403", gone("403 No")),
        Row::rules("R1", "robots-404", gone("404 Not Found")),
        Row::rules("R1", "robots-410", gone("410 Gone")),
        Row::rules("R3", "robots-moved", answer("301 Moved\r\nLocation: /elsewhere", b"")),
        Row::rules("R3", "robots-in-a-circle", answer("302 Found\r\nLocation: /robots.txt", b"")),
        Row::rules("R3", "robots-moved-away", answer("302 Found\r\nLocation: http://healthy-1.test/rules.txt", b"")),
        Row::rules(
            "R4",
            "robots-endless",
            Acts(|visit| {
                visit.say("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nUser-agent: x\nDisallow: /\n");
                visit.repeat("# nothing\n".repeat(1_000), std::time::Duration::ZERO);
            }),
        ),
        Row::rules("R5", "robots-with-bom", rules(utf_8)),
        Row::rules("R5", "robots-of-nuls", rules(&[0; 10_000])),
        Row::rules(
            "R5",
            "robots-is-html",
            answer("200 OK\r\nContent-Type: text/html", b"<html><p>User-agent: *\nDisallow: /x"),
        ),
        Row::rules("R5", "robots-of-returns", rules(b"User-agent: x\rDisallow: /\r")),
        Row::rules("R5", "robots-without-end-of-line", rules(b"User-agent: x\nDisallow: /")),
        Row::rules(
            "R5",
            "robots-of-long-lines",
            rules(format!("User-agent: *\nDisallow: /{}\n", "x".repeat(100_000)).as_bytes()),
        ),
        Row::rules("R5", "robots-of-many-groups", rules(many.as_bytes())),
        Row::rules(
            "R5",
            "robots-of-stars",
            rules(format!("User-agent: *\nDisallow: /{}x\n", "*a".repeat(50_000)).as_bytes()),
        ),
        Row::rules("R2", "robots-coding-is-a-lie", html_with("Content-Encoding: gzip", b"User-agent: *\nAllow: /\n")),
        Row::rules(
            "R2",
            "robots-a-little-short",
            raw("HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\nUser-agent: *\nDisallow: /x\n"),
        ),
        Row::rules("R2", "robots-a-little-short-in-gzip", raw(short_in_gzip())),
        Row::rules(
            "R2",
            "robots-length-beside-identity",
            raw(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 27\r\n\r\nUser-agent: *\nDisallow: /x\n",
            ),
        ),
        Row::rules("R5", "robots-empty", rules(b"")),
        Row::rules("R7", "robots-delay-below-nothing", rules(b"User-agent: *\nCrawl-delay: -1\n")),
        Row::rules("R7", "robots-delay-in-words", rules(b"User-agent: *\nCrawl-delay: ten\n")),
        Row::rules("R7", "robots-delay-of-years", rules(b"User-agent: *\nCrawl-delay: 1e9\n")),
    ]
}

/// A host of `https` that completes its first handshake only. It never answers, but is requested more than once.
pub(crate) fn handshakes() -> Vec<Row> {
    vec![Row::page("R2", "robots-tls-ends", raw("")).at(Seed::Https).none("tls")]
}

/// Hosts that are well, in the middle of it all.
pub(crate) fn healthy() -> Vec<Row> {
    let page = || crate::row::html("<a href=/1><a href=/2><a href=/3>");
    let names = ["healthy-1", "healthy-2", "healthy-3", "healthy-4", "healthy-5"];
    names.map(|name| Row::page("all", name, page()).found(3).asked(1)).into()
}

/// Its last bytes, which a gzip member ends with, never come.
fn short_in_gzip() -> Vec<u8> {
    let member = gzip(b"User-agent: *\nDisallow: /x\n");
    let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", member.len());
    [head.as_bytes(), &member[..member.len() - 6]].concat()
}
