//! Crawls in the verified layout, by the real command: a filter that errs often loses no URL, and a failing disk is reported.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

use crate::loopback::{self, response};
use crate::outputs;
use crate::ran::{crawler, set};

/// A directory with a job in it, and a filter of one shard, which so goes to the disk soon.
struct Desk(TempDir);

/// The exit code of a run, and its messages.
type Ran = (Option<i32>, String);

impl Desk {
    fn new(layout: &str) -> Self {
        let desk = Self(TempDir::new().unwrap());
        let seen = format!("[seen]\nlayout = \"{layout}\"\nfalse_positive_rate = 0.1\nshards = 1\n");
        // The same key: so the layouts that are compared err in the same URLs.
        fs::write(desk.0.path().join("crawler.toml"), seen + "fingerprint_key = \"1\"\n").unwrap();
        desk
    }

    fn run(&self, arguments: &[&str], settings: &[(&str, &str)]) -> Ran {
        let mut command = crawler(&self.0, arguments);
        command.envs(set(settings.iter().copied()));
        command.envs([("CRAWLER_POLITENESS_HOST_DELAY", "1ms"), ("CRAWLER_POLITENESS_BACKOFF", "1ms")]);
        command.env("CRAWLER_OUTPUT_PROGRESS", "false");
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    fn job(&self) -> PathBuf {
        self.0.path().join("job")
    }

    /// The keys of the pages recorded.
    fn pages(&self) -> BTreeSet<String> {
        outputs::pages(&self.job()).into_keys().collect()
    }

    fn report(&self) -> serde_json::Value {
        outputs::report(&self.job())
    }
}

/// A simulated web that is not slow, and for which these filters are just large enough.
const SIMULATED: [(&str, &str); 6] = [
    ("SIMULATE_HOSTS", "20"),
    ("SIMULATE_PAGES", "1500"),
    ("SIMULATE_CRAWL_DELAY", "1ms"),
    ("SIMULATE_SLOW_HOST_PERCENT", "0"),
    ("SIMULATE_RETRY_AFTER", "0"),
    ("SEEN_CAPACITY", "1500"),
];

const SIMULATED_CRAWL: [&str; 4] = ["--simulate", "http://www.simulated.test/", "--job", "job"];

#[test]
fn nothing_is_missed_behind_a_filter_that_alone_loses_much() {
    let [blocked, verified] = ["blocked", "verified"].map(|layout| {
        let desk = Desk::new(layout);
        let (code, told) = desk.run(&SIMULATED_CRAWL, &SIMULATED);
        let others: Vec<_> = told.lines().filter(|line| !line.contains("the host ")).collect();
        assert!(code == Some(0) && others.is_empty(), "{code:?} {others:?}");
        desk.report()
    });
    assert!(blocked["simulated"]["missed"].as_u64().unwrap() > 10, "{}", blocked["simulated"]);
    assert_eq!(blocked["simulated"]["missed"], blocked["simulated"]["missed_by_filter"]);

    assert_eq!((&verified["finish"], &verified["simulated"]["missed"]), (&"drained".into(), &0.into()));
    let seen = &verified["seen"]["merged"]["verified"];
    let count = |name: &str| seen[name].as_u64().unwrap();
    assert!(count("rescued") > 10 && count("disk_bytes") >= 512 * 8 && count("pages_read") > 0, "{seen}");
    assert_eq!(count("failures"), 0);
}

#[test]
fn a_stopped_crawl_goes_on_with_what_its_disk_had() {
    let desk = Desk::new("verified");
    let stopped = desk.run(&[&SIMULATED_CRAWL[..], &["--max-pages", "700"]].concat(), &SIMULATED);
    assert_eq!((stopped.0, desk.pages().len()), (Some(0), 700), "{}", stopped.1);
    let on_disk = |report: &serde_json::Value| report["seen"]["merged"]["verified"]["disk_bytes"].as_u64().unwrap();
    assert!(on_disk(&desk.report()) > 0);
    let (code, told) = desk.run(&["resume", "job", "--max-pages", "100000"], &SIMULATED);
    assert!(code == Some(0) && told.contains("job goes on: 700 pages"), "{code:?}: {told}");

    let whole = Desk::new("verified");
    assert_eq!(whole.run(&SIMULATED_CRAWL, &SIMULATED).0, Some(0));
    assert_eq!(desk.pages(), whole.pages());
    let files = fs::read_dir(desk.job().join("frontier")).unwrap().map(|entry| entry.unwrap().path());
    let runs: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "run")).collect();
    assert!(runs.is_empty(), "{runs:?}");
}

const SECTIONS: usize = 10;
/// More than the filter holds in memory, all sections together.
const PAGES: usize = 70;
/// The portal, sections and their pages.
const EVERYTHING: usize = 1 + SECTIONS + SECTIONS * PAGES;

/// Serves them, and takes the directory of the job's frontier away when a second page is asked for, once.
fn that_takes_away(frontier: PathBuf) -> SocketAddr {
    let asked = AtomicUsize::new(0);
    // One request at a time: the crawl has one host.
    loopback::pages(move |path| {
        if path == "/robots.txt" {
            return response("404 Not Found", b"");
        }
        match asked.fetch_add(1, Ordering::Relaxed) {
            // Not before the crawl has begun in good order.
            0 => while !frontier.join("checkpoint-000001").exists() {},
            1 => {
                fs::rename(&frontier, away(&frontier)).unwrap();
                fs::write(&frontier, "no directory").unwrap();
            }
            _ => {}
        }
        let links = |count, name: &dyn Fn(usize) -> String| {
            let links: Vec<_> = (0..count).map(|number| format!("<a href=\"{}\">{number}</a>", name(number))).collect();
            links.concat()
        };
        let body = match (path, path[1..].parse::<usize>()) {
            ("/", _) => links(SECTIONS, &|number| format!("/{number}")),
            (_, Ok(section)) => links(PAGES, &|number| format!("/{section}/{number}")),
            // A page says where it is: pages that say the same are a trap.
            _ => format!("{path}{}", links(1, &|_| "/".to_owned())),
        };
        response("200 OK\r\nContent-Type: text/html", body.as_bytes())
    })
}

fn away(frontier: &Path) -> PathBuf {
    frontier.with_file_name("away")
}

#[test]
fn a_disk_that_fails_ends_the_crawl_and_it_goes_on_when_that_is_mended() {
    let desk = Desk::new("verified");
    let frontier = desk.job().join("frontier");
    let address = that_takes_away(frontier.clone()).to_string();
    let settings = [("FETCH_RESOLVE_ALL_TO", &*address)];
    let (code, told) = desk.run(&["http://site.test/", "--job", "job"], &settings);
    assert_eq!(code, Some(4), "{told}");
    assert!(told.contains("the crawl cannot be kept: ") && told.contains("job/frontier"), "{told}");
    assert!(told.contains("resume it once that is fixed: crawler resume job"), "{told}");
    assert_eq!(desk.report()["finish"], "storage_failed");
    let before = desk.pages();
    assert!((1..EVERYTHING).contains(&before.len()), "{}", before.len());

    fs::remove_file(&frontier).unwrap();
    fs::rename(away(&frontier), &frontier).unwrap();
    let (code, told) = desk.run(&["resume", "job"], &settings);
    assert!(code == Some(0) && told.contains(&format!("job goes on: {} pages", before.len())), "{code:?}: {told}");
    assert!(desk.pages().is_superset(&before));
    assert_eq!(desk.pages().len(), EVERYTHING);
}
