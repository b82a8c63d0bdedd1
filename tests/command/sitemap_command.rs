//! Sitemaps from the command line: `crawler sitemap`, and whole crawls of a simulated web that has some.

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::ran::crawler;

fn run(arguments: &[&str], input: &[u8], place: &Path, environment: &[(&str, &str)]) -> Output {
    let mut command = crawler(place, arguments);
    command.envs(environment.iter().copied());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The URLs that `crawler sitemap -` prints for a file.
fn list(body: &str, base: &[&str]) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    let output = run(&[&["sitemap", "-"], base].concat(), body.as_bytes(), place.path(), &[]);
    text(&output.stdout).split_whitespace().map(str::to_owned).collect()
}

#[test]
fn it_prints_the_urls_and_says_elsewhere_what_is_wrong() {
    let place = tempfile::tempdir().unwrap();
    let body = b"<urlset><url><loc>http://a.test/x y</loc><priority>0.8</priority><lastmod>2026-11-01</lastmod></url>
        <sitemap><loc>/more.xml</loc></sitemap><url><loc>http://a.test/b";
    std::fs::write(place.path().join("map.xml"), body).unwrap();
    let plain = run(&["sitemap", "map.xml"], b"", place.path(), &[]);
    assert_eq!((text(&plain.stdout), plain.status.code()), ("http://a.test/x%20y\n", Some(0)));
    let told = text(&plain.stderr);
    assert!(
        told.contains("map.xml: at byte 180: it breaks off in a URL") || told.contains("it breaks off in a URL"),
        "{told}"
    );
    assert!(told.contains("/more.xml: not a URL"), "{told}");
    let lines = run(&["sitemap", "-"], b"a b\nc d\nhttp://a.test/1\ne f\n", place.path(), &[]);
    let told = text(&lines.stderr);
    assert!(told.contains("at byte 0: a line that is no URL") && told.contains(": 2 more "), "{told}");
    let json = run(&["sitemap", "-", "--json", "--base", "http://a.test/maps/"], body, place.path(), &[]);
    let lines: Vec<Value> = text(&json.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(
        (&lines[0]["priority"], &lines[0]["lastmod"], &lines[0]["kind"]),
        (&0.8.into(), &"2026-11-01".into(), &"page".into())
    );
    assert_eq!((&lines[1]["url"], &lines[1]["kind"]), (&"http://a.test/more.xml".into(), &"sitemap".into()));
    for (input, arguments, words) in [
        (
            &b"<html>"[..],
            &["sitemap", "-"][..],
            "- is not a sitemap: at byte 0: neither a sitemap nor a feed: it begins with <html>",
        ),
        (b"", &["sitemap", "-"], "- is not a sitemap: it is empty"),
        (b"", &["sitemap", "none.xml"], "cannot read none.xml"),
        (b"", &["sitemap", "http://127.0.0.1/sitemap.xml"], "127.0.0.1 is not public"),
    ] {
        let failed = run(arguments, input, place.path(), &[]);
        assert_eq!((text(&failed.stdout), failed.status.code()), ("", Some(1)), "{arguments:?}");
        assert!(text(&failed.stderr).contains(words), "{}", text(&failed.stderr));
    }
}

/// What the crawl asks for, the command prints.
#[test]
fn urls_are_completed_as_in_a_crawl() {
    let locs = ["www.a.test/y", "A.test/z", "a.test", "b.test/z", "/abs", "//b.test/x"];
    let body = locs.iter().fold(String::new(), |body, loc| body + "<url><loc>" + loc + "</loc></url>");
    let body = format!("<urlset>{body}</urlset>");
    assert_eq!(
        list(&body, &["--base", "http://a.test/dir/s.xml"]),
        [
            "http://www.a.test/y",
            "http://a.test/z",
            "http://a.test/",
            "http://a.test/dir/b.test/z",
            "http://a.test/abs",
            "http://b.test/x"
        ]
    );
    assert_eq!(list(&body, &[]), ["https://www.a.test/y"], "https is assumed, as of a seed");
}

/// RFC 4287 section 2, and XML Base: each is relative to the one around it.
#[test]
fn the_bases_of_a_feed_are_obeyed() {
    let feed = "<feed xml:base=\"/base/\"><title xml:base='http://no.test/'>t</title><entry><link href=\"1\"/></entry>
        <entry xml:base=\"sub/\"><link href=\"2\"/><link href=\"3\" xml:base='deep/?a&amp;b'/><link href='?c'/></entry>
        <entry xml:base='http://b.test/x/'><link href=\"4\"/><link href='/5'/><link href='http://c.test/6'/>
        <entry xml:base='urn:none'><link href=\"7\"/></entry><entry><link href=\"8\"/></entry></feed>";
    assert_eq!(
        list(feed, &["--base", "http://a.test/f/feed"]),
        [
            "http://a.test/base/1",
            "http://a.test/base/sub/2",
            "http://a.test/base/sub/deep/3",
            "http://a.test/base/sub/?c",
            "http://b.test/x/4",
            "http://b.test/5",
            "http://c.test/6",
            "http://a.test/base/7",
            "http://a.test/base/8"
        ]
    );
    let rss = "<rss xml:base='http://a.test/x/'><channel><item xml:base='y/'><link>1</link><link xml:base='z/'>2</link></item></channel></rss>";
    assert_eq!(list(rss, &[]), ["http://a.test/x/y/1", "http://a.test/x/y/z/2"], "a base alone suffices");
    let urlset = "<urlset xml:base='http://b.test/'><url><loc>1</loc></url></urlset>";
    assert_eq!(list(urlset, &["--base", "http://a.test/"]), ["http://a.test/1"], "a sitemap has no bases");
}

/// The simulated web's own truth knows which pages only a sitemap leads to.
#[test]
fn a_simulated_web_is_crawled_by_its_sitemaps_too() {
    let place = tempfile::tempdir().unwrap();
    let crawl = |job: &str, more: &[&str]| {
        let environment = [("CRAWLER_SIMULATE_SITEMAP_PERCENT", "80"), ("CRAWLER_POLITENESS_HOST_DELAY", "1ms")];
        let arguments = ["http://www.simulated.test/", "--simulate", "--json", "--no-progress", "--job", job];
        let output = run(&[&arguments[..], more].concat(), b"", place.path(), &environment);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["finish"], "drained");
        let truth = &report["simulated"];
        assert_eq!(truth["fetched"], truth["reachable"]);
        for wrong in ["missed", "fetched_twice", "against_robots", "unknown_urls", "interval_violations"] {
            assert_eq!(truth[wrong], 0, "{wrong}");
        }
        report
    };
    let (with, without) = (crawl("with", &[]), crawl("without", &["--no-sitemaps"]));
    let count = |report: &Value, pointer: &str| report.pointer(pointer).unwrap().as_u64().unwrap();
    assert!(
        count(&with, "/simulated/reachable") > count(&without, "/simulated/reachable"),
        "there is something to find"
    );
    assert_eq!(count(&without, "/sitemaps/records"), 0);
    assert!(count(&with, "/sitemaps/read") > 40);
    assert_eq!(count(&with, "/sitemaps/faulty") + count(&with, "/sitemaps/unknown"), 0);
    let sources =
        with["urls"]["sources"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum::<u64>();
    assert_eq!(sources, count(&with, "/urls/admitted") + count(&with, "/urls/refused/robots"));
    assert_eq!(count(&with, "/urls/fetched") - count(&with, "/sitemaps/records"), count(&with, "/simulated/fetched"));

    let pages = std::fs::read_to_string(place.path().join("with/pages.jsonl")).unwrap();
    let listed = pages.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let listed = listed.filter(|page| page["referrer"].as_str().is_some_and(|referrer| referrer.contains("/sitemap")));
    let listed: Vec<Value> = listed.filter(|page| page["kind"].is_null()).collect();
    let (url, referrer) = (listed[0]["url"].as_str().unwrap(), listed[0]["referrer"].as_str().unwrap());
    let explained = run(&["explain", url, referrer, "--job", "with"], b"", place.path(), &[]);
    let explained = text(&explained.stdout);
    assert!(explained.contains(&format!("a listed page, depth 1, found on {referrer}")), "{explained}");
    assert!(explained.contains("a sitemap, depth"), "{explained}");
}
