//! A crawl that may open few files: it fetches fewer pages at once, and counts no failure against a host.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Output};

use crate::visitors;

/// A page at each name, on connections that stay open until the client goes.
fn serve() -> SocketAddr {
    visitors::serve(|stream| while answer(&stream).is_some() {})
}

fn answer(mut stream: &TcpStream) -> Option<()> {
    let mut lines = BufReader::new(stream);
    let mut line = String::new();
    while lines.read_line(&mut line).ok()? > 2 {
        line.clear();
    }
    let page = "<title>page</title>";
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}", page.len());
    (!line.is_empty()).then_some(())?;
    write!(stream, "{head}\r\n\r\n{page}").ok()
}

/// Crawls 300 hosts by a command that may open at most this many files, and cannot raise the limit.
fn crawl(limit: u32, flags: &[&str]) -> Output {
    let place = tempfile::tempdir().unwrap();
    let seeds: Vec<_> = (0..300).map(|host| format!("http://h{host}.test/")).collect();
    std::fs::write(place.path().join("seeds.txt"), seeds.join("\n")).unwrap();
    let limited = format!("ulimit -n {limit} && exec \"$0\" \"$@\"");
    Command::new("sh")
        .args(["-c", &limited, env!("CARGO_BIN_EXE_crawler"), "--seeds", "seeds.txt", "--json", "--no-progress"])
        .args(flags)
        .env("CRAWLER_FETCH_RESOLVE_ALL_TO", serve().to_string())
        .env("CRAWLER_POLITENESS_HOST_DELAY", "0")
        .env("CRAWLER_POLITENESS_BACKOFF", "10ms")
        .current_dir(&place)
        .output()
        .unwrap()
}

#[test]
fn few_open_files_make_a_crawl_slower_and_not_wrong() {
    for (limit, flags) in [(100, &[][..]), (256, &[]), (256, &["--workers", "2000"])] {
        let ran = crawl(limit, flags);
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success(), "{limit} {flags:?}: {said}");
        let report: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(report["urls"]["fetched"], 300, "{limit} {flags:?}: {said}");
        assert_eq!(report["urls"]["failed"], 0, "{said}");
        assert_eq!((&report["pages"]["retries"], &report["robots"]["retries"]), (&0.into(), &0.into()), "{said}");
        assert!(said.contains(&format!("{limit} open files are allowed")), "{said}");
    }
}

#[test]
fn more_open_files_than_a_shell_grants_are_asked_for() {
    // The soft limit alone is low.
    let place = tempfile::tempdir().unwrap();
    let ran = Command::new("sh")
        .args([
            "-c",
            "ulimit -S -n 100 && exec \"$0\" --simulate --seeds \"$1\" --max-pages 20",
            env!("CARGO_BIN_EXE_crawler"),
            concat!(env!("CARGO_MANIFEST_DIR"), "/seeds/simulated.txt"),
        ])
        .current_dir(&place)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && !said.contains("100 open files"), "{said}");
}

crate::both::and_over_reqwest! {}
