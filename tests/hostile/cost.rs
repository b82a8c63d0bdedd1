//! What the worst of them cost a whole process, at default settings.

use std::process::{Command, Stdio};
use std::sync::Arc;

use crawler::crawl::ClientChoice;

use crate::content::{gzip, tables_of_brotli};
use crate::row::{Does, Row, answer, each, html};
use crate::server::Server;
use crate::{alone, both, rows};

/// What a flood must cost less than, in honest pages. On a busy machine one costs up to 1.2 of them.
const MOST_PAGES: u64 = 3;

/// Floods, none of which may cost the crawl much more CPU than an honest page does.
const FLOODS: [&str; 14] = [
    "head-in-crumbs",
    "endless-103",
    "endless-100",
    "endless-header",
    "endless-headers",
    "endless-trailers",
    "endless-extension",
    "endless-body",
    "crumbs",
    "http2-floods",
    "gzip-bomb-twice",
    "members-without-end",
    "tls-floods",
    "robots-endless-103",
];

/// A page of 9 MiB, of which all is read (at most 10 are), in lines with a link each.
fn honest_page() -> Arc<Vec<Row>> {
    let line = |number| {
        format!("<p>The words of a line, as a page has them, with <a href=/{number}>a link</a> among them.</p>\n")
    };
    Arc::new(vec![Row::page("H5", "honest", html(&each(104_000, line)))])
}

/// Compared with a page and not with a clock: a slower machine takes longer for both.
#[test]
fn a_flood_costs_less_than_three_honest_pages() {
    let _alone = alone();
    let (rows, page) = (rows(), honest_page());
    let (server, honest) = (Server::of(&rows), Server::of(&page));
    let once = |name: &str| {
        let scheme = if name.starts_with("tls") { "https" } else { "http" };
        cost(&server, &[format!("{scheme}://{name}.test/")])
    };
    let a_page = || cost(&honest, &["http://honest.test/".to_owned()]).0;
    let floods = FLOODS.iter().filter(|name| rows.iter().any(|row| row.name == **name));
    let (costs, mut page_us) = std::thread::scope(|scope| {
        let all: Vec<_> = floods.map(|name| (name, scope.spawn(|| once(name)))).collect();
        let page_us = a_page();
        (all.into_iter().map(|(name, run)| (name, run.join().unwrap())).collect::<Vec<_>>(), page_us)
    });
    println!("a page: {} ms", page_us / 1000);
    for (name, (mut cpu_us, mut memory)) in costs {
        let has_short_head = *name != "head-in-crumbs" || both::keeps("gives up a head after 128 KiB");
        let most_pages = if has_short_head { MOST_PAGES } else { MOST_PAGES * 3 };
        // Beside others each costs more: one that took too much runs again, with a page after it, at most twice.
        for _ in 0..2 {
            if cpu_us >= page_us * most_pages {
                let again = once(name);
                (cpu_us, memory) = (again.0, memory.max(again.1));
                page_us = a_page();
            }
        }
        println!("{name}: {} ms, {} MB", cpu_us / 1000, memory >> 20);
        assert!(cpu_us < page_us * most_pages, "{name} took {cpu_us} µs of CPU, and a page {page_us}");
        assert!(memory < 300 << 20, "{name} took {memory} bytes");
    }
}

/// Pages that are small on the wire and large in memory.
fn big_pages() -> Arc<Vec<Row>> {
    let text = |type_: &str, text: &[u8]| {
        answer(&format!("200 OK\r\nContent-Type: {type_}\r\nContent-Encoding: gzip"), &gzip(text))
    };
    let links = each(260_000, |number| format!("<a href=/{number}>x</a>"));
    let pages = [
        ("big-links", text("text/html", links.as_bytes())),
        ("big-windows-1252", text("text/html; charset=windows-1252", &vec![0xe9; 10 << 20])),
        ("big-paragraphs", text("text/html", "<p>".repeat(2_600_000).as_bytes())),
        ("big-no-html", text("application/octet-stream", &vec![7; 10 << 20])),
    ];
    Arc::new(pages.map(|(name, does)| Row::page("C2", name, does)).into())
}

/// One of each; as many hosts of one kind as `hosts` have it at once.
fn big_pages_at_once(hosts: usize) {
    // A page costs the same with each client.
    if both::client() != ClientChoice::DIRECT {
        return;
    }
    let _alone = alone();
    let rows = big_pages();
    let server = Server::of(&rows);
    for row in rows.iter() {
        let seeds: Vec<_> = (0..hosts).map(|host| format!("http://h{host}.{}.test/", row.name)).collect();
        let (cpu_us, memory) = cost(&server, &seeds);
        println!("{} of {}: {} ms, {} MB", hosts, row.name, cpu_us / 1000, memory >> 20);
        assert!(memory < 300 << 20, "{hosts} of {} took {memory} bytes", row.name);
    }
}

#[test]
fn a_big_page_fits() {
    big_pages_at_once(1);
}

/// Their bodies alone are 400 MB.
#[test]
fn forty_big_pages_at_once_fit() {
    big_pages_at_once(40);
}

/// A decoder's memory counts: 200 hosts that each send 4 kB of brotli want 700 MB.
#[test]
fn tables_of_many_silent_hosts_fit() {
    let _alone = alone();
    let says = Does::Acts(|visit| {
        if visit.path == "/robots.txt" {
            visit.say("HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            return;
        }
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: br\r\nContent-Length: 9999\r\n\r\n";
        visit.say([head.as_bytes(), &tables_of_brotli(4_000)].concat());
        visit.hang();
    });
    let server = Server::of(&Arc::new(vec![Row::page("T4", "silent-brotli", says)]));
    let seeds: Vec<_> = (0..200).map(|host| format!("http://h{host}.silent-brotli.test/")).collect();
    let (cpu_us, memory) =
        cost_with(&server, &seeds, &[("CRAWLER_FETCH_IDLE_TIMEOUT", "500ms"), ("CRAWLER_POLITENESS_ATTEMPTS", "1")]);
    println!("200 of silent-brotli: {} ms, {} MB", cpu_us / 1000, memory >> 20);
    assert!(memory < 300 << 20, "{memory} bytes");
}

/// Crawls in a separate process. Returns its CPU time in microseconds and its peak of memory in bytes, by its own report.
fn cost(server: &Server, seeds: &[String]) -> (u64, u64) {
    cost_with(server, seeds, &[])
}

/// The same, with these settings.
fn cost_with(server: &Server, seeds: &[String], settings: &[(&str, &str)]) -> (u64, u64) {
    let desk = tempfile::tempdir().unwrap();
    let job = desk.path().join("job");
    let output = Command::new(env!("CARGO_BIN_EXE_crawler"))
        .args(seeds)
        .args(["--job", job.to_str().unwrap(), "--quiet", "--depth", "0"])
        .current_dir(&desk)
        .env("CRAWLER_FETCH_RESOLVE_ALL_TO", server.address.to_string())
        .env("CRAWLER_POLITENESS_BACKOFF", "10ms")
        .env("CRAWLER_POLITENESS_MAX_BACKOFF", "100ms")
        .envs(settings.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let report = std::fs::read(job.join("report.json"))
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    let figure = |name: &str| report["cost"][name].as_u64().unwrap_or_else(|| panic!("no {name}"));
    (figure("cpu_us"), figure("peak_memory_bytes"))
}
