//! Texts that would command a terminal, a spreadsheet, a browser or a reader of lines, from a real site through every output of the
//! command: each stays a text.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use tempfile::TempDir;

use crate::loopback::{Loopback, response};
use crate::ran::{Ran, crawler, set};
use crate::tame::is_tame;

/// Clears a screen, sets a title, rings, goes back to the line's beginning; opens and ends elements, texts, sections; turns the direction of
/// writing; is a formula; is no UTF-8.
const HOSTILE: &[u8] =
    b"=cmd|'/C calc'!A0\x1b[2J\x1b]0;own\x07\r\x08\x7f\xc2\x9b31m</b><script>alert(1)</script><img src=x \
    onerror=alert(1)>\"'`]]>-->{{x}}\\\xe2\x80\xae\xe2\x81\xa6\xff\xfe%s%n";

fn hostile(before: &[u8], after: &[u8]) -> Vec<u8> {
    [before, HOSTILE, after].concat()
}

/// The texts of a hostile site.
fn answer(url: &str) -> Vec<u8> {
    let html = "200 OK\r\nContent-Type: text/html; charset=utf-8";
    let path = url.split_once('/').map_or("", |(_, path)| path);
    match path {
        "" => {
            let mut body = hostile(b"<html lang=\"", b"\"><head><title>");
            body.extend(hostile(b"", b"</title><meta name=description content=\""));
            body.extend(hostile(b"", b"\"></head><body>"));
            for href in [&b"/page?"[..], b"/", b"http://other.test/", b"mailto:", b"javascript:", b"http://"] {
                body.extend(hostile(&[b"<a rel='\x1b[1m' href='", href, b"'>"].concat(), b"</a>"));
                body.extend([b"<a href=\"", href, b"\x1b[2J%1b%0a%00\xc2\x9b=1+1\xe2\x80\xae&quot;&#27;&#x9b;\">\x1b[2J</a>"].concat());
            }
            let plain = ["type", "moved", "broken", "reason", "-2+3", "@sum", "=1+1", "missing", "%3Cscript%3E", "private/x"];
            for path in plain {
                body.extend(format!("<a href='/{path}'>{path}</a>").bytes());
            }
            response(html, &body)
        }
        "robots.txt" => response("200 OK\r\nContent-Type: text/plain", &hostile(b"User-agent: *\nDisallow: /private/\n# ", b"\nDisallow: /\x1b[2J\nSitemap: \x1b[2J\n")),
        "type" => b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=\"\x1b[2J<script>\"; =1+1\r\nETag: \"\x9b\x1b[2J\"\r\nX-\x1b: y\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok".to_vec(),
        "reason" => {
            // What may stand in a head, and in no page.
            let head = "500 <script>alert(1)</script>\r\nContent-Type: <script>alert(1)</script>=\"'`{{x}}\\%s";
            response(head, b"")
        }
        "moved" => b"HTTP/1.1 302 Found\r\nLocation: /to?\x1b[2J\xc2\x9b\"<script>=\xe2\x80\xae\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
        "broken" => b"\x1b[2J\xc2\x9b<script>alert(1)</script>\r\n\r\n".to_vec(),
        _ => response("404 Not Found\r\nContent-Type: text/html", &hostile(b"<title>", b"</title>")),
    }
}

fn command(desk: &Path, address: SocketAddr, arguments: &[&str]) -> Ran {
    let mut command = crawler(desk, arguments);
    command.envs(set([
        ("FETCH_RESOLVE_ALL_TO", &*address.to_string()),
        ("SCOPE_KIND", "any"),
        ("SCOPE_MAX_DEPTH", "9"),
        ("POLITENESS_HOST_DELAY", "1ms"),
        ("POLITENESS_BACKOFF", "1ms"),
        ("SITEMAPS_ENABLED", "false"),
    ]));
    command.output().unwrap().into()
}

/// Each line is one value.
#[track_caller]
fn values(what: &str, text: &str) -> Vec<Value> {
    is_tame(what, text);
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{what}: {error}: {line:?}"));
    text.lines().map(parse).collect()
}

/// The fields of a table, by RFC 4180.
fn table(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut is_quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' if is_quoted && rest.peek() == Some(&'"') => field.extend(rest.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut field)),
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            '\r' if !is_quoted => {}
            c => field.push(c),
        }
    }
    assert!(row.is_empty() && field.is_empty() && !is_quoted, "it ends with a whole row");
    rows
}

/// The names of the elements of a page.
fn elements(page: &str) -> Vec<&str> {
    page.split('<')
        .skip(1)
        .map(|tag| tag.split(|c: char| !c.is_ascii_alphanumeric() && !"!/".contains(c)).next().unwrap())
        .collect()
}

/// A line of the exposition format: a comment, or a name, labels in quotes, and a number.
fn is_sample(line: &str) -> bool {
    let (name, number) = match line.split_once('{') {
        None => line.split_once(' ').unwrap_or_default(),
        Some((name, rest)) => {
            let (mut is_quoted, mut is_escaped) = (false, false);
            let end = rest.find(|c| {
                let ends = c == '}' && !is_quoted;
                is_quoted ^= c == '"' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                ends
            });
            (name, end.map_or("", |end| &rest[end + 2..]))
        }
    };
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    line.starts_with('#') || is_name && number.split(' ').next().is_some_and(|number| number.parse::<f64>().is_ok())
}

#[test]
fn whatever_the_web_says_stays_a_text() {
    let has_changed = Arc::new(AtomicBool::new(false));
    let changed = Arc::clone(&has_changed);
    let site = Loopback::serve(move |url| {
        if changed.load(Ordering::Relaxed) && url.ends_with("sum") { answer("a/") } else { answer(url) }
    });
    let desk = TempDir::new().unwrap();
    let run = |arguments: &[&str]| command(desk.path(), site.address, arguments);
    let kept = ["--warc", "--links", "--skipped", "--visits", "-v", "--no-progress"];
    let seed = ["http://hostile.test/", "--job"];
    let crawled = run(&[&seed[..], &["job"], &kept, &["-o", "pages.csv", "--log-file", "log"]].concat());
    assert_eq!(crawled.code, Some(0), "{}", crawled.err);
    is_tame("the report", &crawled.out);
    is_tame("standard error", &crawled.err);
    assert!(crawled.err.contains("broken") && site.asked().len() > 15, "{} {:?}", crawled.err, site.asked());
    has_changed.store(true, Ordering::Relaxed);
    let again =
        run(&[&seed[..], &["again"], &kept, &["--json", "--log-file", "log.json", "--log-format", "json"]].concat());
    assert_eq!(again.code, Some(0), "{}", again.err);
    serde_json::from_str::<Value>(&again.out).unwrap();
    is_tame("the report as JSON", &again.out);
    let read =
        |name: &str| fs::read_to_string(desk.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    is_tame("the log", &read("log"));

    for name in ["job/pages.jsonl", "job/links.jsonl", "job/skipped.jsonl", "log.json"] {
        assert!(values(name, &read(name)).len() > 5, "{name}");
    }
    let pages = read("job/pages.jsonl");
    assert!(pages.contains("alert(1)") && pages.contains("calc"), "the texts are kept: {pages}");

    let rows = table(&read("pages.csv"));
    assert!(rows.len() > 10);
    for row in &rows {
        assert_eq!(row.len(), rows[0].len(), "{row:?}");
        for field in row {
            is_tame("a field", field);
        }
        assert!(!row.iter().any(|field| field.starts_with(['=', '+', '-', '@', '\t'])), "{row:?}");
    }
    assert!(rows.iter().flatten().any(|field| field.starts_with("'=cmd")), "a formula is a text");

    let page = read("job/report.html");
    let calm = elements(&page);
    assert!(!calm.contains(&"script") && !calm.contains(&"img"), "{calm:?}");
    is_tame("report.html", &page);
    // Names of types, hosts and errors are all that the web says in it; what these could be is tried in `report_page`.
    assert!(!page.contains("alert(1)") && !read("job/report.json").contains("alert(1)"));

    for parts in [&[][..], &["--all"], &["--hosts"], &["--errors"], &["--latency"], &["--filter"]] {
        let stats = run(&[&["stats", "job"], parts].concat());
        assert_eq!(stats.code, Some(0), "{}", stats.err);
        is_tame("stats", &(stats.out + &stats.err));
    }
    let metrics = run(&["stats", "job", "--metrics"]).out;
    is_tame("metrics", &metrics);
    assert!(metrics.lines().count() > 100);
    metrics.lines().for_each(|line| assert!(is_sample(line), "{line:?}"));
    values("stats --json", &run(&["stats", "job", "--json"]).out.replace('\n', " "));

    let met: Vec<Value> = values("pages", &pages);
    let skipped = values("skipped", &read("job/skipped.jsonl"));
    let urls = met.iter().chain(&skipped).filter_map(|record| record["url"].as_str());
    let raw = "http://hostile.test/\u{1b}[2J\u{9b}\u{202e}<script>";
    for url in urls.chain([raw]) {
        let explained = run(&["explain", "--job", "job", url]);
        is_tame("explain", &(explained.out + &explained.err));
        let explained = run(&["explain", "--job", "job", "--json", url]);
        values("explain --json", &explained.out.replace('\n', " "));
    }
    for (arguments, least) in [
        (&["diff", "job", "again"][..], 3),
        (&["diff", "job", "again", "--pages"], 1),
        (&["cdxj", "job"], 10),
        (&["export", "job"], 10),
        (&["unmet", "job", "again"], 0),
        (&["sitemap", "log"], 0),
        (&["extract", "log", "title"], 0),
    ] {
        let ran = run(arguments);
        is_tame(arguments[0], &ran.out);
        is_tame(arguments[0], &ran.err);
        assert!(ran.out.lines().count() >= least, "{arguments:?}: {}{}", ran.out, ran.err);
    }
    for line in run(&["cdxj", "job"]).out.lines().filter(|line| !line.starts_with('!')) {
        let value = line.splitn(3, ' ').nth(2).unwrap();
        serde_json::from_str::<Value>(value).unwrap_or_else(|error| panic!("{error}: {line:?}"));
    }
}

crate::both::and_over_reqwest! {}
