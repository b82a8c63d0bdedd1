//! Crawls in the verified layout, by the real command: a filter that errs often loses no URL, and a failing disk is reported.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

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

/// A site on loopback of a portal, sections and their pages, that knows where the crawl keeps its job.
struct Site {
    address: SocketAddr,
}

const SECTIONS: usize = 10;
/// More than the filter holds in memory, all sections together.
const PAGES: usize = 70;

impl Site {
    /// Takes the directory of the job's frontier away when a second page is asked for, once.
    fn that_takes_away(frontier: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut asked = 0;
            for stream in listener.incoming() {
                // One at a time: the crawl has one host.
                let _ = answer(&stream.unwrap(), |path| {
                    asked += usize::from(path != "/robots.txt");
                    match asked {
                        // Not before the crawl has begun in good order.
                        1 => while !frontier.join("checkpoint-000001").exists() {},
                        2 if frontier.is_dir() => {
                            fs::rename(&frontier, away(&frontier)).unwrap();
                            fs::write(&frontier, "no directory").unwrap();
                        }
                        _ => {}
                    }
                });
            }
        });
        Self { address }
    }

    fn everything() -> usize {
        1 + SECTIONS + SECTIONS * PAGES
    }
}

fn away(frontier: &Path) -> PathBuf {
    frontier.with_file_name("away")
}

fn answer(mut stream: &TcpStream, mut asked: impl FnMut(&str)) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    while reader.read_line(&mut String::new())? > 2 {}
    let path = line.split(' ').nth(1).unwrap_or_default();
    asked(path);
    let links = |count, name: &dyn Fn(usize) -> String| {
        let links: Vec<_> = (0..count).map(|number| format!("<a href=\"{}\">{number}</a>", name(number))).collect();
        links.concat()
    };
    let section = path[1..].parse::<usize>();
    let (status, body) = match (path, section) {
        ("/robots.txt", _) => ("404 Not Found", String::new()),
        ("/", _) => ("200 OK", links(SECTIONS, &|number| format!("/{number}"))),
        (_, Ok(section)) => ("200 OK", links(PAGES, &|number| format!("/{section}/{number}"))),
        // A page says where it is: pages that say the same are a trap.
        _ => ("200 OK", format!("{path}{}", links(1, &|_| "/".to_owned()))),
    };
    let head = format!("Content-Type: text/html\r\nContent-Length: {}\r\nConnection: close", body.len());
    write!(stream, "HTTP/1.1 {status}\r\n{head}\r\n\r\n{body}")
}

#[test]
fn a_disk_that_fails_ends_the_crawl_and_it_goes_on_when_that_is_mended() {
    let desk = Desk::new("verified");
    let frontier = desk.job().join("frontier");
    let site = Site::that_takes_away(frontier.clone());
    let address = site.address.to_string();
    let settings = [("FETCH_RESOLVE_ALL_TO", &*address)];
    let (code, told) = desk.run(&["http://site.test/", "--job", "job"], &settings);
    assert_eq!(code, Some(4), "{told}");
    assert!(told.contains("the crawl cannot be kept: ") && told.contains("job/frontier"), "{told}");
    assert!(told.contains("resume it once that is fixed: crawler resume job"), "{told}");
    assert_eq!(desk.report()["finish"], "storage_failed");
    let before = desk.pages();
    assert!((1..Site::everything()).contains(&before.len()), "{}", before.len());

    fs::remove_file(&frontier).unwrap();
    fs::rename(away(&frontier), &frontier).unwrap();
    let (code, told) = desk.run(&["resume", "job"], &settings);
    assert!(code == Some(0) && told.contains(&format!("job goes on: {} pages", before.len())), "{code:?}: {told}");
    assert!(desk.pages().is_superset(&before));
    assert_eq!(desk.pages().len(), Site::everything());
}
