//! Blocklists, as the command takes them.

use std::collections::BTreeSet;
use std::fs;

use tempfile::TempDir;

use crate::ran::{crawler, set};

fn run(place: &TempDir, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = crawler(place, arguments);
    command.envs(set([("SIMULATE_HOSTS", "4"), ("SIMULATE_PAGES", "60"), ("POLITENESS_HOST_DELAY", "1ms")]));
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn hosts(place: &TempDir, job: &str) -> BTreeSet<String> {
    let pages = fs::read_to_string(place.path().join(job).join("pages.jsonl")).unwrap();
    let host = |line: &str| line.split("://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    pages.lines().map(host).collect()
}

#[test]
fn a_crawl_leaves_out_what_a_list_names_and_explains_it() {
    let place = TempDir::new().unwrap();
    let crawl = ["--simulate", "http://www.simulated.test/", "--no-progress"];
    let (code, ..) = run(&place, &[&crawl[..], &["--job", "all"]].concat());
    assert_eq!(code, Some(0));
    let all = hosts(&place, "all");
    let other = all.iter().find(|host| *host != "www.simulated.test").unwrap();
    // The job keeps the path whole: it may be gone on with from elsewhere.
    let list = place.path().join("list.txt");
    fs::write(&list, format!("# one\n{other}\nnot a line\n")).unwrap();
    let (code, out, err) = run(&place, &[&crawl[..], &["--job", "some", "--blocklist", "list.txt"]].concat());
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("list.txt:3: \"not a line\" names neither host nor URL: not blocked"), "{err}");
    assert!(out.contains("blocked"), "{out}");
    let some = hosts(&place, "some");
    assert!(!some.contains(other) && some.contains("www.simulated.test"), "{some:?}");

    let url = format!("http://{other}/");
    let (_, out, _) = run(&place, &["explain", &url, "--job", "some"]);
    assert!(out.contains(&format!("refused: blocked (scope.blocklists: {}:2)", list.display())), "{out}");
    // A seed is named with the line that blocks it, and explained by it: it opened nothing, but that is not why.
    let seeds = [&crawl[..], &[&url, "--scope", "host", "--job", "seed", "--blocklist", "list.txt"]].concat();
    let (_, _, err) = run(&place, &seeds);
    assert!(err.contains("refused: blocked (scope.blocklists: list.txt:2)"), "{err}");
    let (_, out, _) = run(&place, &["explain", &url, "--job", "seed"]);
    assert!(out.contains(&format!("refused: blocked (scope.blocklists: {}:2)", list.display())), "{out}");
    fs::remove_file(&list).unwrap();
    let (code, _, err) = run(&place, &["explain", &url, "--job", "some"]);
    assert!(code == Some(0) && err.contains(&format!("blocklist {} is gone", list.display())), "{code:?} {err}");
    let (code, _, err) = run(&place, &[&crawl[..], &["--job", "none", "--blocklist", "list.txt"]].concat());
    assert!(code == Some(2) && err.contains("scope.blocklists") && err.contains("list.txt"), "{code:?} {err}");
}
