//! How bodies can go wrong: their codings, types and letters, and their HTML.

use std::io::Write;

use crate::row::Does;
use crate::row::{LINK, Row, answer, each, html, html_with, raw};

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
    encoder.write_all(bytes).unwrap();
    encoder.into_inner()
}

fn zstd_with_a_large_window() -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.set_parameter(zstd::zstd_safe::CParameter::WindowLog(27)).unwrap();
    encoder.write_all(&vec![b' '; 100_000]).unwrap();
    encoder.finish().unwrap()
}

/// A brotli stream that builds 3 MB of tables before its first byte of text, after this many bytes of metadata.
pub(crate) fn tables_of_brotli(metadata: usize) -> Vec<u8> {
    let mut bits: Vec<bool> = Vec::new();
    let mut put = |fields: &[(usize, u32)]| {
        bits.extend(fields.iter().flat_map(|(value, count)| (0..*count).map(move |bit| value >> bit & 1 == 1)));
    };
    // A window of 64 KiB, and a block of metadata.
    put(&[(0, 1), (0, 1), (0b11, 2), (0, 1), (2, 2), (metadata - 1, 16), (0, 1)]);
    put(&vec![(0, 8); metadata]);
    // A block of 65,536 bytes with 256 types of each kind, each with codes of one symbol.
    put(&[(0, 1), (0, 2), (0xffff, 16), (0, 1)]);
    put(&[(0b1111, 4), (127, 7), (0b0001, 4), (0, 9), (0b0001, 4), (0, 5), (0, 2)].repeat(3));
    put(&[&[(0, 6)], &[(0, 2); 256][..]].concat());
    // Two maps to 256 codes.
    put(&[(0b1111, 4), (127, 7), (0, 1), (0b0001, 4), (0, 8), (0, 1)].repeat(2));
    put(&[(0, 32)]);
    bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit))).collect()
}

fn coded(coding: &str, body: &[u8]) -> Does {
    html_with(&format!("Content-Encoding: {coding}"), body)
}

fn chunk(coding: &str, body: &[u8]) -> Does {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: {coding}\r\n\r\n{:x}\r\n",
        body.len()
    );
    raw([head.as_bytes(), body, b"\r\n0\r\n\r\n"].concat())
}

/// Nine levels of entities that stand for ten of the one before, in a sitemap of one URL.
fn laughs() -> Vec<u8> {
    let levels = each(9, |number| format!("<!ENTITY e{} \"{}\">", number + 1, format!("&e{number};").repeat(10)));
    format!("<!DOCTYPE urlset [<!ENTITY e0 \"ha\">{levels}]><urlset><url><loc>/next&e9;</loc></url></urlset>")
        .into_bytes()
}

pub(crate) fn codings() -> Vec<Row> {
    let link = LINK.as_bytes();
    let zeros = vec![b' '; 32 << 20];
    let five_times = (0..5).fold(link.to_vec(), |body, _| gzip(&body));
    let cut = &gzip(&LINK.repeat(1_000).into_bytes())[..40];
    vec![
        Row::page("H6", "gzip", coded("gzip", &gzip(link))).found(1).asked(1),
        Row::page("H6", "gzip-in-chunks", chunk("gzip, chunked", &gzip(link))).found(1).asked(1),
        Row::page("H6", "gzip-twice", coded("gzip, gzip", &gzip(&gzip(link)))).found(1),
        Row::page("H6", "gzip-bomb", coded("gzip", &gzip(&zeros))).truncated().asked(1),
        Row::page("H6", "gzip-bomb-twice", coded("gzip, gzip", &gzip(&gzip(&zeros)))).truncated().asked(1),
        Row::page("H6", "brotli-bomb", coded("br", &brotli(&zeros))).truncated().asked(1),
        Row::page("H6", "brotli-tables", coded("br", &tables_of_brotli(300))).truncated().asked(1),
        Row::page("H6", "zstd-bomb", coded("zstd", &zstd::encode_all(&zeros[..], 3).unwrap())).truncated().asked(1),
        Row::page("H6", "zstd-window", coded("zstd", &zstd_with_a_large_window())).error("bad_response").asked(1),
        Row::page("H6", "codings-without-end", coded("gzip, gzip, gzip, gzip, gzip", &five_times))
            .error("bad_response"),
        Row::page("H6", "coding-unknown", coded("snappy", &[b"\0\x01", link].concat())).error("bad_response").asked(1),
        Row::page("H6", "coding-of-no-meaning", coded("utf-8", link)).found(1).asked(1),
        Row::page("H6", "coding-is-a-lie", coded("gzip", link)).error("bad_response").asked(1),
        Row::page("H6", "coding-ends-early", coded("gzip", cut)).error("incomplete"),
        Row::page("H6", "coding-with-litter", coded("gzip", &[&gzip(link)[..], b"litter"].concat())).found(1),
        Row::page("H6", "members-without-end", coded("gzip", &gzip(b"").repeat(3_000))).truncated(),
    ]
}

pub(crate) fn types_and_letters() -> Vec<Row> {
    let link = LINK.as_bytes();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR<a href=/next>";
    let utf_16: Vec<u8> = "\u{feff}<a href=/next>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let late = format!("{}<meta charset=windows-1251>{LINK}", " ".repeat(1_024));
    vec![
        Row::page("H17", "entities-without-end", answer("200 OK\r\nContent-Type: application/xml", &laughs())).found(1),
        Row::page("H17", "feed-without-end", answer("200 OK\r\nX: y", b"<rss><channel><item><link>/next</link>"))
            .found(1),
        Row::page(
            "H17",
            "sitemap-of-one-tag",
            answer("200 OK\r\nX: y", &[&b"<urlset><url "[..], &[b' '; 1 << 19]].concat()),
        )
        .found(0),
        Row::page(
            "H17",
            "sitemap-that-nests",
            answer("200 OK\r\nX: y", &[&b"<urlset>"[..], &b"<a>".repeat(300_000)].concat()),
        )
        .found(0),
        Row::page("H16", "html-as-png", answer("200 OK\r\nContent-Type: image/png", link)).asked(1),
        Row::page("H16", "png-as-html", answer("200 OK\r\nContent-Type: text/html", png)).asked(1),
        Row::page("H16", "html-as-nothing", answer("200 OK\r\nX: y", b"<!doctype html><a href=/next>")).found(1),
        Row::page("H16", "json", answer("200 OK\r\nContent-Type: application/json", link)).found(0),
        Row::page("H16", "type-of-controls", answer("200 OK\r\nContent-Type: text/html;\x1b[31m", link)),
        Row::page(
            "H16",
            "type-without-end",
            answer(&format!("200 OK\r\nContent-Type: text/html; {}", "x".repeat(50_000)), link),
        ),
        Row::page("H17", "utf-16", answer("200 OK\r\nContent-Type: text/html", &utf_16)).found(1),
        Row::page("H17", "charset-unknown", answer("200 OK\r\nContent-Type: text/html; charset=x-no", link)).found(1),
        Row::page(
            "H17",
            "charset-is-a-lie",
            answer("200 OK\r\nContent-Type: text/html; charset=utf-8", b"\xff\xfe\xfd<a href=/next>"),
        ),
        Row::page(
            "H17",
            "charset-of-1251",
            answer("200 OK\r\nContent-Type: text/html; charset=windows-1251", b"\xca\xe8\xe5\xe2<a href=/next>"),
        )
        .found(1),
        Row::page("H17", "charset-late", html(&late)).found(1),
        Row::page(
            "H17",
            "charset-utf-7",
            answer("200 OK\r\nContent-Type: text/html; charset=utf-7", b"+ADw-a href=/no+AD4-<a href=/next>"),
        )
        .found(1),
        Row::page("C7", "pdf", answer("200 OK\r\nContent-Type: text/html", b"%PDF-1.7 <a href=/next>")),
        Row::page("C7", "zip", answer("200 OK\r\nContent-Type: application/zip", b"PK\x03\x04<a href=/next>")).found(0),
        Row::page("H5", "empty", html("")).found(0).asked(1),
    ]
}

pub(crate) fn documents() -> Vec<Row> {
    let links = each(30_000, |number| format!("<a href=/{number}>"));
    let attributes = each(2_000, |number| format!(" a{number}=b"));
    vec![
        Row::page("C1", "deep", html(&format!("{LINK}{}{LINK}", "<div>".repeat(100_000)))).asked(1),
        Row::page("C1", "deep-in-text", html(&format!("{LINK}{}", "<b><i>".repeat(20_000)))).asked(1),
        Row::page("C2", "links-without-end", html(&links)).found(30_000).asked(1),
        Row::page("C2", "link-again-and-again", html(&LINK.repeat(60_000))).found(1).asked(1),
        Row::page("C3", "quote-without-end", html(&format!("{LINK}<a href=\"/{}", "x".repeat(300_000)))).found(1),
        Row::page("C3", "long-attribute", html(&format!("{LINK}<p title=\"{}\">", "x".repeat(900_000)))).found(1),
        Row::page("C3", "many-attributes", html(&format!("{LINK}<p{attributes}>{LINK}"))).found(1),
        Row::page("C3", "long-href", html(&format!("{LINK}<a href=/{}>", "x".repeat(100_000)))),
        Row::page("C3", "nuls", html("\0<a\0 href=/no><a href=/next>\0")),
        Row::page("C3", "comment-without-end", html(&format!("{LINK}<!--<a href=/no>"))).found(1),
        Row::page("C3", "plaintext", html(&format!("{LINK}<plaintext><a href=/no>"))).found(1),
        Row::page("C3", "template", html(&format!("<template><template>{LINK}</template></template>"))),
        Row::page("C3", "script", html(&format!("{LINK}<script>document.write('<a href=/no>')</script>"))).found(1),
        Row::page("C4", "base-of-data", html(&format!("<base href=data:x>{LINK}"))).found(1),
        Row::page("C4", "base-of-another", html(&format!("<base href=//other.test/>{LINK}"))).found(1),
        Row::page("C4", "base-twice", html(&format!("<base href=/a/><base href=/b/>{LINK}"))).found(1),
        Row::page("C5", "refresh-to-itself", html("<meta http-equiv=refresh content='0;url=/'>")).found(1).asked(1),
        Row::page("C5", "nofollow", html("<a rel=nofollow href=/no>")).found(1).asked(1),
        Row::page("C5", "nofollow-by-header", html_with("X-Robots-Tag: nofollow", LINK.as_bytes())).found(1),
        Row::page("C5", "canonical-circle", html("<link rel=canonical href=/other>")).found(1),
        Row::page(
            "C6",
            "path-again-and-again",
            Does::Acts(|visit| {
                let body = format!("<a href={}a/>", visit.path);
                visit.say(format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                ));
            }),
        )
        .found(1)
        .asked(1),
    ]
}
