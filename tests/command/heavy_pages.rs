//! Pages that are small on the wire and large in memory, many at once: the crawl waits instead of growing.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::ran::crawler;
use crate::visitors;

/// Bytes of each page.
const SIZE: usize = 10_000_000;
/// Hosts with each of them.
const HOSTS: usize = 6;
/// By the first part of their host's name: Content-Type and page, compressed.
type Pages = Arc<Vec<(&'static str, &'static str, Vec<u8>)>>;

fn pages() -> Pages {
    let links = (0..260_000).fold(String::new(), |mut links, number| {
        write!(links, "<a href=/{number}>x</a>").unwrap();
        links
    });
    // Letters in no order, or it would be taken for a bomb; a byte of windows-1252 is two or three of UTF-8.
    let block = (0..1_000_u32).map(|at| 0x80 | (at.wrapping_mul(2_654_435_761) >> 25) as u8).collect::<Vec<_>>();
    let letters = block.repeat(SIZE / block.len());
    let text = [b"<title>t</title><p>", &letters[..]].concat();
    let pages = [
        ("links", "text/html", links.into_bytes()),
        ("text", "text/html; charset=windows-1252", text),
        ("paragraphs", "text/html", b"<p>".repeat(2_600_000)),
        ("other", "application/octet-stream", letters),
    ];
    let compressed = |bytes: Vec<u8>| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&bytes).unwrap();
        encoder.finish().unwrap()
    };
    Arc::new(pages.into_iter().map(|(name, content_type, bytes)| (name, content_type, compressed(bytes))).collect())
}

fn serve() -> SocketAddr {
    let pages = pages();
    visitors::serve(move |stream| _ = answer(&stream, &pages))
}

fn answer(mut stream: &TcpStream, pages: &Pages) -> Option<()> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let is_page = lines.next()?.starts_with("GET / ");
    let host = lines.find_map(|line| line.to_ascii_lowercase().strip_prefix("host: ").map(str::to_owned))?;
    let _rest = lines.take_while(|line| !line.is_empty()).count();
    let (status, content_type, body) = match pages.iter().find(|(name, ..)| host.starts_with(name)) {
        Some((_, content_type, body)) if is_page => ("200 OK", *content_type, &body[..]),
        _ => ("404 Not Found", "text/plain", &b""[..]),
    };
    let coding = if body.is_empty() { "identity" } else { "gzip" };
    let length = body.len();
    let head = format!("Content-Type: {content_type}\r\nContent-Encoding: {coding}\r\nContent-Length: {length}");
    write!(stream, "HTTP/1.1 {status}\r\n{head}\r\nConnection: close\r\n\r\n").ok()?;
    stream.write_all(body).ok()
}

#[test]
fn pages_that_grow_in_memory_wait_for_each_other() {
    let place = tempfile::tempdir().unwrap();
    let kinds = ["links", "text", "paragraphs", "other"];
    let seeds = kinds.iter().flat_map(|kind| (0..HOSTS).map(move |host| format!("http://{kind}{host}.test/")));
    std::fs::write(place.path().join("seeds.txt"), seeds.collect::<Vec<_>>().join("\n")).unwrap();
    let ran = crawler(&place, ["--seeds", "seeds.txt", "--scope", "page", "--json", "--no-progress"])
        .env("CRAWLER_FETCH_RESOLVE_ALL_TO", serve().to_string())
        .env("CRAWLER_POLITENESS_HOST_DELAY", "0")
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(report["urls"]["fetched"], kinds.len() * HOSTS, "{}", String::from_utf8_lossy(&ran.stderr));
    let peak = report["cost"]["peak_memory_bytes"].as_u64().unwrap();
    assert!(peak < 300_000_000, "{peak} bytes");
    // A file that is not read is not loaded to its end.
    let records = std::fs::read_to_string(place.path().join("crawl/pages.jsonl")).unwrap();
    let records = records.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let others: Vec<_> = records.filter(|record| record["url"].as_str().unwrap().contains("//other")).collect();
    assert_eq!(others.len(), HOSTS);
    assert!(others.iter().all(|record| record["bytes"].as_u64().unwrap() < SIZE as u64), "{others:?}");
}

/// A zip has no links: its head is enough, and the rest stays on its server. With `--bodies` it is wanted.
#[test]
fn what_nobody_reads_is_not_loaded() {
    const LONG: usize = 8 << 20;
    let address = visitors::serve(move |mut stream| {
        let _rest = BufReader::new(stream.try_clone().unwrap())
            .lines()
            .map_while(Result::ok)
            .take_while(|line| !line.is_empty())
            .count();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\nContent-Length: {LONG}\r\n\r\n");
        let _gone = stream.write_all(&[head.as_bytes(), b"PK\x03\x04", &vec![b'x'; LONG - 4]].concat());
    });
    for (bodies, least, most) in [(&[][..], 1, LONG / 8), (&["--bodies", "bodies"], LONG, LONG)] {
        let place = tempfile::tempdir().unwrap();
        let ran = crawler(&place, ["http://a.test/a.zip", "--no-robots", "--scope", "page", "--no-progress"])
            .args(bodies)
            .env("CRAWLER_FETCH_RESOLVE_ALL_TO", address.to_string())
            .output()
            .unwrap();
        let records = std::fs::read_to_string(place.path().join("crawl/pages.jsonl")).unwrap();
        let records: Vec<serde_json::Value> = records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let record = records.iter().find(|record| record["url"] == "http://a.test/a.zip").unwrap();
        let bytes = usize::try_from(record["bytes"].as_u64().unwrap()).unwrap();
        assert!((least..=most).contains(&bytes), "{record} {}", String::from_utf8_lossy(&ran.stderr));
        assert!(record["error"].is_null() && record["truncated"] == false, "{record}");
    }
}
