//! "Why was this URL not fetched?": what the records of pages and of refused links tell of it.

use std::fs;

use crawler::crawl::{PageRecord, look_up, look_up_refused};

use crate::explained::{World, cut_world};

#[test]
fn a_record_is_found_where_the_journal_knows_no_more() {
    let mut world = cut_world();
    let mut explanations = [world.kept("https://example.org/"), world.kept("https://example.org/x")];
    let record = |key: &str, status| {
        let mut record =
            PageRecord { url: key.to_owned(), key: key.to_owned(), status: Some(status), ..PageRecord::default() };
        record.referrer = Some("https://example.org/x".to_owned());
        serde_json::to_string(&record).unwrap() + "\n"
    };
    let path = world.job.pages_path();
    look_up(&path, &mut explanations).unwrap();
    assert!(!explanations[0].to_string().contains("  record "), "there is no file");
    let lines = [record("https://example.org/a", 200), record("https://example.org/", 204)].concat();
    fs::write(&path, lines + "{\"key\":\"https://example.org/").unwrap();
    look_up(&path, &mut explanations).unwrap();
    assert_eq!(explanations[0].verdict().to_string(), "fetched: 204");
    assert!(!explanations[1].to_string().contains("  record "), "a referrer is no page");
}

#[test]
fn a_list_of_refused_links_tells_what_no_rule_does() {
    let mut world = World::of("http://a.test/");
    let list = world.directory.path().join("skipped.jsonl");
    let line = |url: &str, reason: &str, page: &str| {
        let (url, page) = (format!("http://a.test/{url}"), format!("http://a.test/{page}"));
        format!(
            "{{\"url\":\"{url}\",\"reason\":\"{reason}\",\"referrer\":\"{page}\",\"depth\":1,\"links\":1,\"of\":1}}\n"
        )
    };
    let untold = line("", "too_many_links", "").replace("\"http://a.test/\"", "null");
    let lines =
        [line("loop", "cross_host", "x"), line("loop", "too_many_redirects", "y"), line("", "nofollow", "z"), untold];
    fs::write(&list, lines.concat() + "{\"url\":\"http://a.test/l").unwrap();
    let mut told = ["loop", "nowhere", ""].map(|path| world.kept(&format!("http://a.test/{path}")));
    look_up_refused(&list, &mut told).unwrap();
    let told = told.map(|of| of.verdict().to_string());
    assert_eq!(told[0], "refused: too_many_redirects (as it was found on http://a.test/y)");
    assert!(told[1].starts_with("never found"), "{}", told[1]);
    assert!(told[2].starts_with("waiting"), "what was admitted has its own story: {}", told[2]);
    look_up_refused(&world.directory.path().join("none"), &mut []).unwrap();
}
