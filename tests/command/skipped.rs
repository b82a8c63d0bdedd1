//! Links that were refused, as `--skipped` lists them.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;

use crawler::crawl::SkippedLink;

use crate::loopback::{self, response};
use crate::ran::crawler;

/// A site on loopback: a body for each path, or a status and a Location.
fn serve(pages: &[(&'static str, &str)]) -> SocketAddr {
    let pages: BTreeMap<String, String> = pages.iter().map(|(path, page)| ((*path).into(), (*page).into())).collect();
    loopback::pages(move |path| match pages.get(path).map(|page| (page.strip_prefix("301 "), page)) {
        None => response("404 Not Found", b""),
        Some((Some(""), _)) => response("301 Moved", b""),
        Some((Some(location), _)) => response(&format!("301 Moved\r\nLocation: {location}"), b""),
        Some((None, page)) => response("200 OK\r\nContent-Type: text/html", page.as_bytes()),
    })
}

fn crawl(place: &Path, arguments: &[&str]) {
    let flags = ["--skipped", "--allow-private-addresses", "--host-delay=1ms"];
    let output = crawler(place, arguments).args(flags).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

fn listed(place: &Path) -> Vec<SkippedLink> {
    let text = std::fs::read_to_string(place.join("crawl/skipped.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Reason, URL, referrer's path and depth, sorted.
fn told(links: &[SkippedLink], seed: &str) -> Vec<String> {
    let mut told: Vec<_> = links
        .iter()
        .map(|link| {
            let url =
                link.url.as_deref().map_or("-", |url| url.strip_prefix(seed.trim_end_matches('/')).unwrap_or(url));
            let referrer = link.referrer.as_deref().map_or("-", |referrer| referrer.strip_prefix(seed).unwrap());
            format!("{} {url} /{referrer} {} {} {}", link.reason, link.depth, link.links, link.of)
        })
        .collect();
    told.sort();
    told
}

/// Its record says why.
#[test]
fn a_redirect_that_leads_nowhere_is_told() {
    let long = format!("301 /{}", "x".repeat(9_000));
    let nowhere = [
        ("/none", "301 ", "no Location that can be read"),
        ("/control", "301 /a\u{1}b", "no Location that can be read"),
        ("/ftp", "301 ftp://a.test/", "Location: scheme `ftp` is not crawled"),
        ("/script", "301 javascript:go()", "Location: scheme `javascript` is not crawled"),
        ("/space", "301 http://a b/", "Location: not a URL: "),
        ("/port", "301 http://a.test:99999/", "Location: not a URL: "),
        ("/long", &*long, "Location: 9"),
    ];
    let links = nowhere.iter().fold(String::new(), |links, (path, ..)| links + "<a href=" + path + ">");
    let mut pages = vec![("/", &*links), ("/away", "301 http://other.test/")];
    pages.extend(nowhere.map(|(path, page, _)| (path, page)));
    let seed = format!("http://{}/", serve(&pages));
    let place = tempfile::tempdir().unwrap();
    crawl(place.path(), &[&seed, &format!("{seed}away")]);
    let records = std::fs::read_to_string(place.path().join("crawl/pages.jsonl")).unwrap();
    let records = records.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let records: BTreeMap<_, _> = records.map(|record| (record["url"].as_str().unwrap().to_owned(), record)).collect();
    for (path, _, words) in nowhere {
        let record = &records[&format!("{seed}{}", &path[1..])];
        let message = record["message"].as_str().unwrap_or_default();
        assert!(message.starts_with(words) && message.len() <= 200, "{path}: {message:?}");
        let is_plain = record["redirect"].is_null() && record["error"].is_null();
        assert!(is_plain && record["status"] == 301, "{record}");
    }
    for path in ["", "away"] {
        let record = &records[&format!("{seed}{path}")];
        assert!(record["message"].is_null(), "{record}");
    }
}

#[test]
fn each_refused_link_has_its_reason_and_referrer() {
    let long = "x".repeat(70_000);
    let seed = format!(
        "http://{}/",
        serve(&[
            (
                "/",
                &format!(
                    "<a href=/a><a href=/a?utm_source=x><a href=http://other.test/b><a href=mailto:x@y.z><a href='http://['>\
                 <a rel=nofollow href=c><a href='http://\u{202e}['><a href='/{long}'><a href=/moved><a href=/no/1><a href=/{}>",
                    "y".repeat(9_000)
                ),
            ),
            ("/a", "<a href=/d/d/d/d/d><a href=http://other.test/b>"),
            ("/moved", "301 http://other.test/moved"),
            ("/robots.txt", "User-agent: *\nDisallow: /no/"),
        ])
    );
    let place = tempfile::tempdir().unwrap();
    crawl(place.path(), &[&seed]);
    let links = listed(place.path());
    let cut = links.iter().find(|link| link.reason == "too_long" && link.url.is_some()).unwrap();
    assert!(cut.url.as_ref().is_some_and(|url| url.len() <= 1024 && url.starts_with("/yyy") && url.ends_with('…')));
    let links: Vec<_> = links.iter().filter(|link| *link != cut).cloned().collect();
    assert_eq!(
        told(&links, &seed),
        [
            "malformed http://[ / 1 1 1",
            r"malformed http://\u{202e}[ / 1 1 1",
            "nofollow /c / 1 1 1",
            "out_of_scope http://other.test/b / 1 1 1",
            "out_of_scope http://other.test/b /a 2 1 1",
            "out_of_scope http://other.test/moved /moved 1 1 1",
            "repeated_segments /d/d/d/d/d /a 2 1 1",
            "robots /no/1 / 1 1 1",
            "too_long - / 1 1 1",
            "unsupported_scheme mailto:x@y.z / 1 1 1",
        ]
    );
}

#[test]
fn the_list_goes_on_with_its_job() {
    let seed = format!(
        "http://{}/",
        serve(&[("/", "<a href=/a><a href=http://other.test/1>"), ("/a", "<a href=http://other.test/2>"),])
    );
    let place = tempfile::tempdir().unwrap();
    crawl(place.path(), &[&seed, "--max-pages=1"]);
    let first = listed(place.path());
    assert_eq!(told(&first, &seed), ["out_of_scope http://other.test/1 / 1 1 1"]);
    // A crash leaves half a line.
    let path = place.path().join("crawl/skipped.jsonl");
    std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"url\":\"http").unwrap();
    crawl(place.path(), &[&seed, "--max-pages=9"]);
    assert_eq!(told(&listed(place.path()), &seed)[1..], ["out_of_scope http://other.test/2 /a 2 1 1"]);
    crawl(place.path(), &[&seed, "--max-pages=1", "--overwrite"]);
    assert_eq!(listed(place.path()), first, "another job's list is not gone on with");
}

/// `-v` says of each request and of each link that is refused what the records and the list say, without a list.
#[test]
fn a_verbose_crawl_tells_each_page_and_each_refusal() {
    let page = "<title>\u{1b}[31m</title><a href=/moved>1</a><a href=/moved>again</a><a href=/no/a>2</a>\
                <a href='//else.test/%1b\u{1b}[2J'>3</a>";
    let site = serve(&[("/", page), ("/moved", "301 /gone"), ("/robots.txt", "User-agent: *\nDisallow: /no/")]);
    let place = tempfile::tempdir().unwrap();
    let seed = format!("http://{site}/");
    let run = |flags: &[&str]| {
        let arguments = [&seed, "--allow-private-addresses", "--host-delay=1ms", "--no-sitemaps"];
        let output = crawler(&place, arguments).args(flags).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stderr).unwrap()
    };
    let told = run(&["-v", "--job", "told"]);
    let lines: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("crawler: info: ")).collect();
    let has =
        |line: &str| assert_eq!(lines.iter().filter(|told| told.starts_with(line)).count(), 1, "{line} in {told}");
    has(&format!("200 {seed}robots.txt "));
    has(&format!("200 {seed} text/html, {} bytes in ", page.len()));
    has(&format!("301 {seed}moved -> {seed}gone"));
    has(&format!("404 {seed}gone "));
    has(&format!("refused: out_of_scope: http://else.test/%1b%1B[2J, on {seed}"));
    has(&format!("refused: robots: {seed}no/a, on {seed}"));
    assert!(!told.contains('\u{1b}') && !told.contains("seen:"), "{told}");
    let quiet = run(&["--job", "quiet"]);
    assert!(!quiet.contains("200 ") && !quiet.contains("refused:"), "{quiet}");
}
