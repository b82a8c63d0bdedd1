//! Lists of what is never asked for: what they name, what they cost, and what becomes of bad ones.
//!
//! `cargo test --release -p crawler-frontier --test frontier blocklist:: -- --ignored --nocapture` reads a list of five million hosts.

use std::collections::HashSet;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use crawler_frontier::driver::{LinkUrl, Links};
use crawler_frontier::frontier::{Frontier, FrontierOptions};
use crawler_frontier::gate::{Admission, Found, Gate, OptionError, Refusal, ScopeKind, Via};
use proptest::prelude::*;
use proptest::sample::select;
use tempfile::TempDir;

/// A gate of any host, with these lists.
fn gate(directory: &TempDir, lists: &[&str]) -> Result<Frontier, OptionError> {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    for (number, list) in lists.iter().enumerate() {
        let path = directory.path().join(format!("list{number}"));
        fs::write(&path, list).unwrap();
        options.scope.blocklists.push(path);
    }
    Frontier::new(&options)
}

fn verdict(gate: &Gate, url: &str, via: Via) -> Option<Refusal> {
    let mut found = Found::seed(gate.canonicalizer().canonicalize(url).unwrap());
    found.via = via;
    match gate.admit(found) {
        Admission::Admitted(_) => None,
        Admission::Refused(refusal) => Some(refusal),
    }
}

#[test]
fn a_host_stands_for_all_below_it_and_a_url_for_itself() {
    let directory = TempDir::new().unwrap();
    let hosts = "# ads\n0.0.0.0 ads.example  track.example\n127.0.0.1 localhost\n||cdn.example^\n";
    let urls = "https://b.example/bad?x=1\nc.example/worse\n\nHTTP://D.example/%7Ea\n";
    let frontier = gate(&directory, &[hosts, urls]).unwrap();
    let gate = frontier.gate();
    for (url, blocked) in [
        ("https://ads.example/", true),
        ("http://ads.example:8080/a", true),
        ("https://a.b.ads.example./x", true),
        ("https://bads.example/", false),
        ("https://example/", false),
        ("https://track.example/", true),
        ("https://img.cdn.example/x.png", true),
        ("http://localhost/", false),
        ("https://b.example/bad?x=1#top", true),
        ("https://b.example/bad?x=2", false),
        ("https://b.example/", false),
        ("http://c.example/worse", true),
        ("https://c.example/worse", true),
        ("https://c.example/worse/", false),
        ("http://d.example/~a", true),
    ] {
        for via in [Via::Seed, Via::Link, Via::Redirect] {
            let refusal = verdict(gate, url, via);
            assert_eq!(refusal == Some(Refusal::Blocked), blocked, "{url} {refusal:?}");
        }
    }
    let list = gate.blocklist().unwrap();
    // The URL without its scheme is two.
    assert_eq!((list.entries(), list.unread()), (7, None));
}

#[test]
fn a_seed_that_is_blocked_opens_nothing() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("list");
    fs::write(&path, "https://a.example/start\n").unwrap();
    let mut options = FrontierOptions::default();
    options.scope.blocklists = vec![path];
    let frontier = Frontier::new(&options).unwrap();
    let gate = frontier.gate();
    assert_eq!(verdict(gate, "https://a.example/start", Via::Seed), Some(Refusal::Blocked));
    assert_eq!(verdict(gate, "https://a.example/other", Via::Link), Some(Refusal::OutOfScope));
    assert_eq!(verdict(gate, "https://a.example/", Via::Seed), None);
    assert_eq!(verdict(gate, "https://a.example/other", Via::Link), None);
}

#[test]
fn lines_that_name_nothing_are_counted_and_the_first_is_shown() {
    let directory = TempDir::new().unwrap();
    let long = format!("https://a.example/{}", "x".repeat(100_000));
    let list = format!("a.example\nno host at all\n{long}\nb.example##.banner\nc.example");
    let frontier = gate(&directory, &[&list]).unwrap();
    let list = frontier.gate().blocklist().unwrap();
    let (lines, first) = list.unread().unwrap();
    assert_eq!((list.entries(), lines), (2, 3));
    assert!(first.ends_with("list0:2: \"no host at all\""), "{first}");
}

#[test]
fn a_list_that_is_not_there_is_an_error_that_names_it() {
    let mut options = FrontierOptions::default();
    options.scope.blocklists = vec![PathBuf::from("no/such/list")];
    let error = Frontier::new(&options).unwrap_err().to_string();
    assert!(error.starts_with("scope.blocklists = no/such/list: No such file"), "{error}");
}

#[test]
fn links_that_are_known_stay_blocked_at_any_depth() {
    let directory = TempDir::new().unwrap();
    let frontier = gate(&directory, &["b.example"]).unwrap();
    let gate = frontier.gate();
    let (page, base) = gate.canonicalizer().page("https://a.example/").unwrap();
    gate.admit(Found::seed(page));
    for _ in 0..3 {
        let mut links = Links::new(1, None);
        assert_eq!(links.add(gate, &mut LinkUrl::new(&base, "//b.example/x"), false), Err(Refusal::Blocked));
        assert_eq!(gate.admit_links(links).1.of(Refusal::Blocked), 1);
    }
    assert_eq!(gate.refusals().of(Refusal::Blocked), 3);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Against a set of names, and a walk up the labels of each host.
    #[test]
    fn it_blocks_what_a_set_of_names_does(
        listed in prop::collection::vec(name(), 0..60),
        asked in prop::collection::vec((name(), select(vec!["", "a", "p/q?r=1"])), 0..60),
    ) {
        let directory = TempDir::new().unwrap();
        let frontier = gate(&directory, &[&listed.join("\n")]).unwrap();
        let names: HashSet<&str> = listed.iter().map(String::as_str).collect();
        for (host, path) in asked {
            let labels: Vec<&str> = host.split('.').collect();
            let expected = (0..labels.len()).any(|from| names.contains(labels[from..].join(".").as_str()));
            let refusal = verdict(frontier.gate(), &format!("http://{host}/{path}"), Via::Link);
            prop_assert_eq!(refusal == Some(Refusal::Blocked), expected, "{} of {:?}", host, names);
        }
    }

    /// Whatever a line holds: it is read, or it is counted.
    #[test]
    fn no_line_is_too_odd(lines in prop::collection::vec(any::<Vec<u8>>(), 0..20)) {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("list");
        fs::write(&path, lines.join(&b'\n')).unwrap();
        let mut options = FrontierOptions::default();
        options.scope.blocklists = vec![path];
        prop_assert!(Frontier::new(&options).is_ok());
    }
}

/// Few labels, so that lists and questions meet.
fn name() -> impl Strategy<Value = String> {
    prop::collection::vec(select(vec!["a", "b", "c"]), 1..5).prop_map(|labels| format!("{}.test", labels.join(".")))
}

#[test]
#[ignore = "five million hosts; run with --release"]
fn five_million_hosts_in_twelve_megabytes() {
    let directory = TempDir::new().unwrap();
    let list = (0..5_000_000).fold(String::new(), |mut list, number| {
        writeln!(list, "0.0.0.0 host{number}.ads.example").unwrap();
        list
    });
    let begin = Instant::now();
    let frontier = gate(&directory, &[&list]).unwrap();
    let (read, gate) = (begin.elapsed(), frontier.gate());
    let list = gate.blocklist().unwrap();
    let links: Vec<_> = (0..1_000_000)
        .map(|number| gate.canonicalizer().canonicalize(&format!("https://www.site{number}.example/a/b")).unwrap())
        .map(Found::seed)
        .collect();
    let begin = Instant::now();
    let passed = links.iter().filter(|found| gate.check(found).is_ok()).count();
    let asked = begin.elapsed();
    println!("{} entries read in {read:.1?}, {} bytes; a link {:?}", list.entries(), list.bytes(), asked / 1_000_000);
    assert_eq!((list.entries(), passed), (5_000_000, 1_000_000));
    assert!((0..5_000_000).step_by(997).all(|number| {
        verdict(gate, &format!("http://host{number}.ads.example/"), Via::Link) == Some(Refusal::Blocked)
    }));
    assert!(list.bytes() <= 12_000_000, "{}", list.bytes());
}
