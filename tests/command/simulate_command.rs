//! `crawler simulate`: a web that other processes crawl, and which judges them when it is stopped.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::ran::{Ran, crawler};

fn command(place: &Path, arguments: &[&str]) -> Command {
    crawler(place, arguments)
}

/// A web in its own process.
struct Web {
    process: Child,
    out: BufReader<ChildStdout>,
    address: String,
}

const SMALL: [&str; 4] = ["--simulate-hosts", "5", "--simulate-pages", "80"];

impl Web {
    fn serve(place: &Path, flags: &[&str]) -> Self {
        let mut command = command(place, &[&["simulate"][..], &SMALL, flags].concat());
        command.env("CRAWLER_SIMULATE_RETRY_AFTER", "0").env("CRAWLER_SIMULATE_CRAWL_DELAY", "20ms");
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (mut out, mut address) = (BufReader::new(process.stdout.take().unwrap()), String::new());
        out.read_line(&mut address).unwrap();
        Self { process, out, address: address.trim_end().to_owned() }
    }

    /// A whole crawl of it, by its address alone.
    fn crawled(&self, place: &Path, flags: &[&str]) -> Ran {
        let crawl = ["--simulate", "--resolve-all-to", &self.address, "--no-progress"];
        command(place, &[&crawl, flags].concat()).output().unwrap().into()
    }

    /// Stops it. Returns its judgment of the crawls.
    fn stop(mut self, signal: &str) -> Ran {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let (mut out, mut err) = (String::new(), String::new());
        self.out.read_to_string(&mut out).unwrap();
        self.process.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        Ran { code: self.process.wait().unwrap().code(), out, err }
    }
}

impl Drop for Web {
    /// A test that fails leaves no process behind.
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

#[test]
fn a_crawl_of_another_process_is_judged_when_the_web_is_stopped() {
    let place = TempDir::new().unwrap();
    let web = Web::serve(place.path(), &["--json", "--address-file", "address", "--seeds-file", "seeds.txt"]);
    let read = |name| fs::read_to_string(place.path().join(name)).unwrap();
    assert_eq!((read("address"), &*read("seeds.txt")), (format!("{}\n", web.address), "http://www.simulated.test/\n"));
    let ran = web.crawled(place.path(), &["--job", "job", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["simulated"], Value::Null, "the web of another process judges by itself");
    // It may be stopped and go on, and finds the same web.
    let again = command(place.path(), &["resume", "job", "--no-progress"]).output().unwrap();
    assert_eq!(again.status.code(), Some(0), "{}", String::from_utf8_lossy(&again.stderr));

    let ran = web.stop("-TERM");
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("crawler --simulate --resolve-all-to 127.0.0.1:"), "{}", ran.err);
    let judgment: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&judgment["pages"], &judgment["hosts"]), (&80.into(), &5.into()));
    assert!(judgment["fetched"].as_u64().unwrap() > 40, "{judgment}");
    assert_eq!(judgment["fetched"], report["urls"]["fetched"]);
    assert_eq!(judgment["fetched"], judgment["reachable"]);
}

/// The web outlives each run: a new one would forget how often a page that fails twice was requested.
#[test]
fn runs_that_go_on_sum_to_one_run() {
    let place = TempDir::new().unwrap();
    let sums = |job: &str, limits: &[&str]| {
        let web = Web::serve(place.path(), &[]);
        let begun = web.crawled(place.path(), &["--job", job, "--max-pages", limits[0]]);
        assert_eq!(begun.code, Some(0), "{}", begun.err);
        for limit in &limits[1..] {
            let resume = ["resume", job, "--max-pages", limit, "--no-progress"];
            let again = Ran::from(command(place.path(), &resume).output().unwrap());
            assert_eq!(again.code, Some(0), "{}", again.err);
        }
        assert_eq!(web.stop("-TERM").code, Some(0), "{job}");
        let report = fs::read(place.path().join(job).join("report.json")).unwrap();
        let report: Value = serde_json::from_slice(&report).unwrap();
        let urls = ["found", "admitted", "fetched", "failed", "refused"].map(|name| report["urls"][name].clone());
        // By which of two ways a URL came first, a link or a redirect, is chance: the ways are summed up.
        let ways = report["urls"]["sources"].as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>();
        ((urls, ways, report["pages"]["statuses"].clone()), report["resumes"].clone())
    };
    let (one, several) = (sums("one", &["1000"]), sums("several", &["7", "31", "55", "1000"]));
    assert_eq!(one.0, several.0);
    assert_eq!((one.1, several.1), (0.into(), 3.into()));
}

#[test]
fn two_that_crawl_the_same_have_fetched_all_twice() {
    let place = TempDir::new().unwrap();
    let web = Web::serve(place.path(), &[]);
    for job in ["one", "two"] {
        let ran = web.crawled(place.path(), &["--job", job]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    let ran = web.stop("-INT");
    assert!(ran.code == Some(1) && ran.err.contains("error: the crawl has faults: fetched twice "), "{}", ran.err);
    assert!(ran.out.starts_with("simulated web 1: 80 pages on 5 hosts\n  reachable "), "{}", ran.out);
    assert!(ran.out.contains(", missed 0\n"), "{}", ran.out);
}

#[test]
fn the_judge_goes_by_the_rules_that_the_web_was_given() {
    let place = TempDir::new().unwrap();
    let web = Web::serve(place.path(), &["--host-delay", "1h"]);
    web.crawled(place.path(), &["--host-delay", "1ms", "--max-pages", "30"]);
    let ran = web.stop("-TERM");
    assert!(ran.code == Some(1) && ran.err.contains("error: the crawl has faults: missed "), "{}", ran.err);
    assert!(ran.err.contains("hosts hurried "), "{}", ran.err);
}

#[test]
fn what_cannot_be_served_is_said_by_its_name() {
    let place = TempDir::new().unwrap();
    let web = Web::serve(place.path(), &[]);
    for (flags, code, says) in [
        (&["--listen", "0.0.0.0:0"][..], 2, "--listen 0.0.0.0:0: not an address of this machine alone"),
        (&["--listen", &web.address], 1, "cannot serve at 127.0.0.1:"),
        (&["--simulate-hosts", "0"], 2, "--simulate-hosts: simulate.hosts = 0: at least 1"),
        (&["--seeds-file", "nowhere/seeds"], 1, "cannot write nowhere/seeds"),
    ] {
        let ran: Ran = command(place.path(), &[&["simulate"], flags].concat()).output().unwrap().into();
        assert!(ran.code == Some(code) && ran.err.contains(says) && ran.out.is_empty(), "{:?} {}", ran.code, ran.err);
    }
    web.stop("-TERM");
}
