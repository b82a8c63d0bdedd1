//! How what carries HTTP can go wrong, and how servers put one off.

use std::time::Duration;

use crate::row::Does::{Acts, Resets};
use crate::row::{LINK, Row, Seed, answer, html, html_with, raw};
use crate::server::Visit;

const AT_ONCE: Duration = Duration::ZERO;
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

pub(crate) fn connections() -> Vec<Row> {
    let many = "Set-Cookie: a=b\r\n".repeat(100);
    vec![
        Row::page("H12", "nobody", html("")).at(Seed::Nobody).none("connect").asked(0),
        Row::page("H12", "closes", raw("")).none("incomplete"),
        Row::page("H12", "resets", Resets(Vec::new())).none("incomplete"),
        Row::page("H12", "closes-in-the-head", raw("HTTP/1.1 200 OK\r\nContent-Le")).none("incomplete"),
        Row::page("H12", "resets-in-the-head", Resets(b"HTTP/1.1 200 OK\r\nContent-Le".to_vec())).none("incomplete"),
        Row::page("H12", "resets-in-the-body", Resets(format!("{OK}Content-Length: 99\r\n\r\n{LINK}").into_bytes()))
            .error("incomplete"),
        Row::page("H13", "tls-ends", raw("")).at(Seed::Https).none("tls"),
        Row::page("H13", "tls-resets", Resets(Vec::new())).at(Seed::Https).none("connect"),
        Row::page("H13", "tls-is-http", raw("HTTP/1.1 400 Bad Request\r\n\r\n")).at(Seed::Https).none("tls"),
        Row::page("H13", "tls-alert", raw([0x15, 3, 3, 0, 2, 2, 40])).at(Seed::Https).none("tls"),
        Row::page("H13", "tls-litter", raw([0x16, 3, 3, 0, 4, 9, 9, 9, 9])).at(Seed::Https).none("tls"),
        Row::page("H13", "tls-hangs", Acts(Visit::hang)).at(Seed::Https).none("connect"),
        Row::page(
            "H13",
            "tls-floods",
            Acts(|visit| {
                visit.repeat([&[0x16, 3, 3, 0x40, 0][..], &[0; 0x4000]].concat(), AT_ONCE);
            }),
        )
        .at(Seed::Https)
        .none("tls"),
        Row::page(
            "H14",
            "busy-for-no-time",
            Acts(|visit| {
                let status = if visit.nth == 1 { "429 Slow Down" } else { "200 OK" };
                visit.say(format!("HTTP/1.1 {status}\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"));
            }),
        )
        .asked(2),
        Row::page(
            "H14",
            "busy-in-words",
            Acts(|visit| {
                let status = if visit.nth == 1 { "503 Busy" } else { "200 OK" };
                visit.say(format!("HTTP/1.1 {status}\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n"));
            }),
        )
        .asked(2),
        Row::page(
            "H14",
            "busy-for-ten-years",
            Acts(|visit| {
                let status = if visit.nth == 1 { "503 Busy" } else { "200 OK" };
                visit.say(format!("HTTP/1.1 {status}\r\nRetry-After: 315360000\r\nContent-Length: 0\r\n\r\n"));
            }),
        )
        .asked(2),
        Row::page(
            "H14",
            "busy-in-the-past",
            Acts(|visit| {
                let status = if visit.nth == 1 { "429 Slow Down" } else { "200 OK" };
                visit.say(format!(
                    "HTTP/1.1 {status}\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 0\r\n\r\n"
                ));
            }),
        )
        .asked(2),
        Row::page(
            "H12",
            "fails-once",
            Acts(|visit| {
                let status = if visit.nth == 1 { "500 Oh" } else { "200 OK" };
                visit.say(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"));
            }),
        )
        .asked(2),
        Row::page("H18", "cookies", html_with(many.trim_end(), LINK.as_bytes())).found(1).asked(1),
        Row::page("H18", "cookie-of-a-megabyte", html_with(&format!("Set-Cookie: a={}", "b".repeat(1 << 20)), b""))
            .none("bad_response"),
        Row::page(
            "H19",
            "speaks-http2",
            raw([&[0, 0, 0, 4, 0, 0, 0, 0, 0][..], &[0, 0, 8, 6, 0, 0, 0, 0, 0]].concat()),
        )
        .none("bad_response"),
        Row::page(
            "H19",
            "http2-floods",
            Acts(|visit| {
                visit.repeat([0, 0, 5, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0].repeat(1_000), AT_ONCE);
            }),
        )
        .none("bad_response")
        .asked(1),
        Row::page("H15", "soft-404", answer("200 OK\r\nContent-Type: text/html", b"<title>Not found</title>")).found(0),
    ]
}
