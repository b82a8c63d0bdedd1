//! A host that repeats another one, page by page: a crawl leaves it when it knows that.

use std::time::Duration;

use crawler::gate::{Refusal, TrapLimits};

use super::{asked_by, manual, refused_by_budgets, words};
use crate::loopback::{self, Loopback};
use crate::ran::crawler;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_on_hosts_of_seeds_are_fetched_whole() {
    // More hosts of one domain than a domain's budget, and more than are compared as mirrors.
    for (hosts, pages) in [(12, 40), (70, 15)] {
        let seeds: Vec<String> = (0..hosts).map(|host| format!("http://h{host}.docs.test/page-0.html")).collect();
        let answer = move |url: &str| manual(url.split_once('/').unwrap().1, pages);
        let (asked, finished) = asked_by(answer, &seeds, |_| {}).await;
        assert_eq!((asked.len(), refused_by_budgets(&finished)), (hosts * pages, 0));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mirror_without_end_is_left_after_so_many_copies() {
    const PAGES: usize = 30;
    // Each copy links to itself and to the next one.
    let answer = |url: &str| {
        let (place, page) = url.strip_prefix("docs.test/mirror-")?.split_once('/')?;
        let next: usize = place.parse::<usize>().ok()? + 1;
        Some(manual(page, PAGES)? + &format!("<a href='/mirror-{next}/page-0.html'>next</a>"))
    };
    let seed = ["http://docs.test/mirror-0/page-0.html".to_owned()];
    for (copies, most) in [(8, 9 * PAGES + 100), (0, 150)] {
        let (asked, finished) = asked_by(answer, &seed, |options| options.frontier.traps.copies = copies).await;
        println!("{copies} copies: {} asked", asked.len());
        assert!(asked.len() >= (copies as usize + 1) * PAGES && asked.len() < most, "{copies}: {}", asked.len());
        assert!(refused_by_budgets(&finished) > 0);
    }
}

/// A seed's host with a manual, and its mirror, which has three pages more. All pages of the mirror are linked from the last one of the manual.
fn mirrored(url: &str) -> Option<String> {
    const PAGES: usize = 30;
    let (host, path) = url.split_once('/')?;
    let links = |host, name, pages| {
        (0..pages).map(move |number| format!("<a href='http://{host}/{name}-{number}.html'>{number}</a>"))
    };
    let copies = || links("copy.test", "page", PAGES).chain(links("copy.test", "own", 3)).collect::<String>();
    match host {
        "seed.test" if path == format!("page-{}.html", PAGES - 1) => manual(path, PAGES).map(|page| copies() + &page),
        "seed.test" | "copy.test" if path.starts_with("page") => manual(path, PAGES),
        "copy.test" => {
            path.strip_prefix("own-")?.strip_suffix(".html")?.parse().ok().map(|own: usize| words(1000 + own))
        }
        _ => None,
    }
}

/// How many pages of a mirror were asked for that its original has, and how many that it has alone.
fn of_the_mirror(asked: &[String]) -> (usize, usize) {
    let count = |prefix: &str| asked.iter().filter(|url| url.starts_with(prefix)).count();
    (count("copy.test/page-"), count("copy.test/own-"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mirror_is_left_when_the_turn_of_its_pages_comes() {
    let (asked, finished) = asked_by(mirrored, &["http://seed.test/page-0.html".to_owned()], |options| {
        options.frontier.traps = TrapLimits::default();
        options.frontier.traps.mirror_budget = 5;
        options.frontier.politeness.host_delay = Duration::from_millis(1);
    })
    .await;
    let (copies, own) = of_the_mirror(&asked);
    assert!((6..=8).contains(&copies) && own == 3, "{copies} copies, {own} of its own");
    assert_eq!(finished.gate.refusals().of(Refusal::KnownMirror), 30 - copies as u64);
}

#[test]
fn a_mirror_is_left_after_a_resume() {
    // The seed redirects to the host that has a mirror.
    let server = Loopback::serve(|url| match mirrored(url) {
        Some(page) => loopback::response("200 OK\r\nContent-Type: text/html", page.as_bytes()),
        None if url == "old.test/" => {
            loopback::response("301 Moved Permanently\r\nLocation: http://seed.test/page-0.html", b"")
        }
        None => loopback::response("404 Not Found", b""),
    });
    let directory = tempfile::tempdir().unwrap();
    // The mirror is known with its sixth page: its other pages wait for the resume.
    for arguments in [
        &["http://old.test/", "--scope", "any", "--job", "job", "--max-pages", "37", "-q"][..],
        &["resume", "job", "--max-pages", "1000", "-q"],
    ] {
        let mut command = crawler(&directory, arguments);
        command.env("CRAWLER_FETCH_RESOLVE_ALL_TO", server.address.to_string());
        command.env("CRAWLER_TRAPS_MIRROR_BUDGET", "5").env("CRAWLER_POLITENESS_HOST_DELAY", "1ms");
        assert!(command.env("CRAWLER_SITEMAPS_ENABLED", "false").status().unwrap().success());
        assert!(of_the_mirror(&server.asked()).0 <= 6);
    }
    assert_eq!(of_the_mirror(&server.asked()), (6, 3));
    let report = std::fs::read_to_string(directory.path().join("job/report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["urls"]["refused"]["known_mirror"], 24);
}
