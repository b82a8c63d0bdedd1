//! How HTTP itself can go wrong: redirects, clocks, floods, framing.

use std::time::Duration;

use crate::row::Does::Acts;
use crate::row::{CHUNKED, LINK, Row, chunked, raw};
use crate::server::Visit;

/// What `direct` alone does.
pub(crate) const INTERIM: &str = "ends a flood of interim responses after ten";
const FRAMING: &str = "reads bodies that are framed as browsers read them, against the standard";

const AT_ONCE: Duration = Duration::ZERO;
const SLOWLY: Duration = Duration::from_millis(100);
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

/// A redirect with this header, if it is one.
fn to(status: u16, header: &str) -> crate::row::Does {
    raw(format!("HTTP/1.1 {status} Moved\r\n{header}Content-Length: 0\r\n\r\n"))
}

/// A page with its link after this head.
fn head(head: impl AsRef<str>) -> crate::row::Does {
    raw(format!("{}\r\n\r\n{LINK}", head.as_ref()))
}

pub(crate) fn redirects() -> Vec<Row> {
    let whole = "Content-Length: 14";
    assert_eq!(LINK.len(), 14);
    vec![
        Row::page("H1", "redirect-to-itself", to(302, "Location: /\r\n")).status(302).error("redirect_loop").asked(1),
        Row::page(
            "H1",
            "redirect-in-a-circle",
            Acts(|visit| {
                let to = if visit.path == "/" { "/b" } else { "/" };
                visit.say(format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"));
            }),
        )
        .status(302)
        .found(1)
        .asked(1),
        Row::page(
            "H1",
            "redirect-without-end",
            Acts(|visit| {
                let hop = visit.path.len();
                let to = "x".repeat(hop);
                visit.say(format!("HTTP/1.1 302 Found\r\nLocation: /{to}\r\nContent-Length: 0\r\n\r\n"));
            }),
        )
        .status(302)
        .found(1)
        .asked(1),
        Row::page("H2", "redirect-to-ftp", to(302, "Location: ftp://x/\r\n")).status(302),
        Row::page("H2", "redirect-to-script", to(302, "Location: javascript:alert(1)\r\n")).status(302),
        Row::page("H2", "redirect-to-data", to(302, "Location: data:text/html,x\r\n")).status(302),
        Row::page("H2", "redirect-to-nothing", to(302, "Location:\r\n")).status(302).error("redirect_loop").asked(1),
        Row::page("H2", "redirect-nowhere", to(302, "")).status(302).asked(1),
        Row::page("H2", "redirect-to-a-fragment", to(302, "Location: #x\r\n"))
            .status(302)
            .error("redirect_loop")
            .asked(1),
        Row::page("H2", "redirect-with-spaces", to(301, "Location: \\a b\u{e9}\r\n")).status(301).found(1),
        Row::page("H2", "redirect-both-ways", to(302, "Location: /a\r\nLocation: /b\r\n"))
            .none("bad_response")
            .asked(1),
        Row::page("H2", "redirect-twice-the-same", to(302, "Location: /a\r\nLocation: /a\r\n")).status(302).found(1),
        Row::page("H3", "redirect-300", to(300, "Location: /a\r\n")).status(300).found(0),
        Row::page("H3", "redirect-303", to(303, "Location: /a\r\n")).status(303).found(1),
        Row::page("H3", "redirect-307", to(307, "Location: /a\r\n")).status(307).found(1),
        Row::page("H3", "redirect-308", to(308, "Location: /a\r\n")).status(308).found(1),
        Row::page("H3", "not-modified", to(304, "")).none("bad_response").asked(1),
        Row::page(
            "H3",
            "redirect-breaks-off",
            raw("HTTP/1.1 302 Found\r\nLocation: /a\r\nContent-Length: 99\r\n\r\nx"),
        )
        .status(302)
        .found(1)
        .asked(1),
        Row::page(
            "H3",
            "redirect-hangs",
            Acts(|visit| {
                visit.say("HTTP/1.1 302 Found\r\nLocation: /a\r\nContent-Length: 99\r\n\r\nx");
                visit.hang();
            }),
        )
        .status(302)
        .found(1),
        Row::page("H12", "not-found-breaks-off", raw("HTTP/1.1 404 Not Found\r\nContent-Length: 99\r\n\r\nx"))
            .status(404)
            .asked(1),
        Row::page("H9", "length-is-right", raw(format!("{OK}{whole}\r\n\r\n{LINK}"))).found(1).asked(1),
    ]
}

pub(crate) fn clocks() -> Vec<Row> {
    vec![
        Row::page("H4", "silent", Acts(Visit::hang)).none("timeout"),
        Row::page(
            "H4",
            "slow-head",
            Acts(|visit| {
                visit.say("HTTP/1.1 200 OK\r\nX: ");
                visit.repeat("y", SLOWLY);
            }),
        )
        .none("timeout"),
        Row::page(
            "H4",
            "slow-body",
            Acts(|visit| {
                visit.say(format!("{OK}Content-Length: 100000\r\n\r\n{LINK}"));
                visit.repeat("y", SLOWLY);
            }),
        )
        .error("timeout")
        .found(1),
        Row::page(
            "H4",
            "silent-body",
            Acts(|visit| {
                visit.say(format!("{OK}Content-Length: 100\r\n\r\n{LINK}"));
                visit.hang();
            }),
        )
        .error("timeout")
        .found(1),
    ]
}

pub(crate) fn heads_without_end() -> Vec<Row> {
    vec![
        Row::page("H7", "long-header", head(format!("HTTP/1.1 200 OK\r\nX: {}", "y".repeat(1 << 19))))
            .none("bad_response")
            .asked(1),
        Row::page("H7", "many-headers", head(format!("HTTP/1.1 200 OK\r\n{}X: y", "X: y\r\n".repeat(10_000))))
            .none("bad_response")
            .asked(1),
        Row::page(
            "H7",
            "endless-header",
            Acts(|visit| {
                visit.say("HTTP/1.1 200 OK\r\nX: ");
                visit.repeat("y".repeat(1 << 14), AT_ONCE);
            }),
        )
        .none("bad_response")
        .asked(1),
        Row::page(
            "H7",
            "endless-headers",
            Acts(|visit| {
                visit.say("HTTP/1.1 200 OK\r\n");
                visit.repeat("X: y\r\n".repeat(100), AT_ONCE);
            }),
        )
        .none("bad_response")
        .asked(1),
        Row::page(
            "H7",
            "endless-103",
            Acts(|visit| {
                visit.repeat("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1_000), AT_ONCE);
            }),
        )
        .none("bad_response")
        .asked(1)
        .only_by(INTERIM),
        Row::page(
            "H7",
            "endless-100",
            Acts(|visit| {
                visit.repeat("HTTP/1.1 100 Continue\r\nX: y\r\n\r\n".repeat(1_000), AT_ONCE);
            }),
        )
        .none("bad_response")
        .asked(1)
        .only_by(INTERIM),
        Row::page(
            "H7",
            "eleven-hints",
            raw(format!("{}{OK}\r\n{LINK}", "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(11))),
        )
        .none("bad_response")
        .only_by(INTERIM),
        Row::page("H7", "ten-hints", raw(format!("{}{OK}\r\n{LINK}", "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(10))))
            .found(1),
        Row::page(
            "H7",
            "switch",
            raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n"),
        )
        .none("bad_response")
        .asked(1),
        Row::page("H7", "head-in-crumbs", Acts(|visit| visit.crumble(b'y'))).none("bad_response").asked(1),
    ]
}

pub(crate) fn bodies_without_end() -> Vec<Row> {
    vec![
        Row::page(
            "H5",
            "endless-chunks",
            Acts(|visit| {
                visit.say(CHUNKED);
                visit.repeat(format!("4000\r\n{}\r\n", " ".repeat(0x4000)), AT_ONCE);
            }),
        )
        .truncated()
        .asked(1),
        Row::page(
            "H5",
            "endless-body",
            Acts(|visit| {
                visit.say(format!("{OK}\r\n{LINK}"));
                visit.repeat(" ".repeat(1 << 16), AT_ONCE);
            }),
        )
        .truncated()
        .found(1)
        .asked(1),
        Row::page(
            "H8",
            "crumbs",
            Acts(|visit| {
                visit.say(CHUNKED);
                visit.repeat("1\r\nx\r\n".repeat(1_000), AT_ONCE);
            }),
        )
        .error("bad_response")
        .asked(1),
        Row::page(
            "H8",
            "endless-trailers",
            Acts(|visit| {
                visit.say(format!("{CHUNKED}e\r\n{LINK}\r\n0\r\n"));
                visit.repeat("X: y\r\n".repeat(100), AT_ONCE);
            }),
        )
        .error("bad_response")
        .found(1),
        Row::page(
            "H8",
            "endless-extension",
            Acts(|visit| {
                visit.say(format!("{CHUNKED}e\r\n{LINK}\r\n5;"));
                visit.repeat("x".repeat(1_000), AT_ONCE);
            }),
        )
        .error("bad_response")
        .found(1),
    ]
}

pub(crate) fn framing() -> Vec<Row> {
    let link = format!("e\r\n{LINK}\r\n");
    let chunks = |behind: &str| chunked(&format!("{link}{behind}"));
    vec![
        Row::page("H8", "chunk-size-is-no-number", chunks("zz\r\n")).error("bad_response").found(1).asked(1),
        Row::page("H8", "chunk-size-below-nothing", chunks("-1\r\n")).error("bad_response").found(1).asked(1),
        Row::page("H8", "chunk-size-of-all", chunks("ffffffffffffffffff\r\n")).error("bad_response").found(1).asked(1),
        Row::page("H8", "chunk-without-last", chunks("")).error("incomplete").found(1),
        Row::page("H8", "chunk-cut", chunks("5\r\nabc")).error("incomplete").found(1),
        Row::page("H8", "trailer-with-nul", chunks("0\r\nX: \0\r\n\r\n")).error("bad_response").found(1).asked(1),
        Row::page("H8", "trailers", chunks("0\r\nContent-Type: image/png\r\nX: y\r\n\r\n")).found(1).asked(1),
        Row::page("H9", "length-too-long", head(format!("{OK}Content-Length: 99"))).error("incomplete").found(1),
        Row::page("H9", "length-too-short", raw(format!("{OK}Content-Length: 14\r\n\r\n{LINK}<a href=/no>")))
            .found(1)
            .asked(1),
        Row::page("H9", "length-below-nothing", head(format!("{OK}Content-Length: -14")))
            .found(1)
            .asked(1)
            .only_by(FRAMING),
        Row::page("H9", "length-in-words", head(format!("{OK}Content-Length: fourteen")))
            .found(1)
            .asked(1)
            .only_by(FRAMING),
        Row::page("H9", "length-of-all", head(format!("{OK}Content-Length: 99999999999999999999999")))
            .none("bad_response")
            .asked(1),
        Row::page("H9", "two-lengths", head(format!("{OK}Content-Length: 14\r\nContent-Length: 15")))
            .none("bad_response")
            .asked(1),
        Row::page("H9", "one-length-twice", head(format!("{OK}Content-Length: 14\r\nContent-Length: 14")))
            .found(1)
            .asked(1),
        Row::page(
            "H9",
            "length-and-chunks",
            raw(format!("{OK}Content-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n{link}0\r\n\r\n")),
        )
        .found(1)
        .asked(1),
        Row::page("H9", "coding-identityx", head(format!("{OK}Transfer-Encoding: identityx")))
            .error("bad_response")
            .found(0)
            .asked(1),
        Row::page(
            "H9",
            "coding-behind-chunks",
            raw(format!("{OK}Transfer-Encoding: chunked, gzip\r\n\r\n{link}0\r\n\r\n")),
        )
        .error("bad_response")
        .found(0)
        .asked(1),
        Row::page(
            "H9",
            "coding-compress",
            raw(format!("{OK}Transfer-Encoding: compress, chunked\r\n\r\n{link}0\r\n\r\n")),
        )
        .error("bad_response")
        .found(0)
        .asked(1),
        Row::page(
            "H9",
            "chunks-of-1.0",
            raw(format!("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{link}0\r\n\r\n")),
        )
        .none("bad_response"),
        Row::page("H10", "no-status-line", raw(LINK)).none("bad_response").asked(1),
        Row::page("H10", "status-with-colon", head("HTTP/1.1 200: OK")).none("bad_response"),
        Row::page("H10", "status-999", head("HTTP/1.1 999 Odd")).status(999).asked(2),
        Row::page("H10", "status-below-nothing", head("HTTP/1.1 -1 Minus")).none("bad_response"),
        Row::page("H10", "status-of-one-digit", head("HTTP/1.1 2 OK")).none("bad_response"),
        Row::page("H10", "status-of-100-digits", head(format!("HTTP/1.1 {} OK", "2".repeat(100)))).none("bad_response"),
        Row::page("H10", "no-reason", head("HTTP/1.1 200\r\nContent-Type: text/html")).found(1),
        Row::page("H10", "folded-header", head("HTTP/1.1 200 OK\r\nContent-Type: text/html;\r\n charset=utf-8"))
            .found(1),
        Row::page("H10", "header-without-colon", head(format!("{OK}nonsense"))).found(1),
        Row::page("H10", "space-before-colon", head("HTTP/1.1 200 OK\r\nContent-Type : text/html")).found(1),
        Row::page("H10", "bare-newlines", raw(format!("HTTP/1.1 200 OK\nContent-Type: text/html\n\n{LINK}"))).found(1),
        Row::page("H10", "http-1.0", head("HTTP/1.0 200 OK\r\nContent-Type: text/html")).found(1),
        Row::page("H10", "http-9.9", head("HTTP/9.9 200 OK")).none("bad_response"),
        Row::page("H10", "nul-in-a-header", head(format!("{OK}X: a\0b"))).none("bad_response"),
        Row::page("H11", "surplus", raw(format!("{OK}Content-Length: 14\r\n\r\n{LINK}litter"))).found(1),
        Row::page(
            "H11",
            "second-answer",
            raw(format!("{OK}Content-Length: 14\r\n\r\n{LINK}{OK}Content-Length: 4\r\n\r\nevil")),
        )
        .found(1),
        Row::page("H11", "body-of-204", head("HTTP/1.1 204 No Content")).status(204).found(0),
        Row::page("H11", "body-of-304", head("HTTP/1.1 304 Not Modified")).none("bad_response"),
    ]
}
