//! Killed at any moment, a crawl goes on as if nothing had been: the real command, the real `SIGKILL`, and a simulated web
//! that outlives it and has seen everything.
//!
//! `CRASH_ROUNDS=1000 cargo test --release --test command crash:: -- --nocapture` kills so often; every tenth time twice. `EARLY_ROUNDS` is
//! for the kills in a job's first moments.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crawler::simulate::{Judgment, Server, SimulateOptions, TruthOptions, World};
use tempfile::TempDir;

use crate::outputs::{pages, report};
use crate::ran::{crawler, set};
use crate::random::Random;
use crate::sums;

const DELAY: Duration = Duration::from_millis(5);
const HOSTS: u32 = 20;

/// A web that goes on while its crawlers come and go.
struct Web {
    server: Server,
    /// The settings of their seen set.
    seen: &'static [(&'static str, &'static str)],
    /// Beyond, their idle hosts leave memory.
    hosts_in_memory: &'static str,
    /// Whether all of its hosts, which are on one address, count as one server.
    by_address: bool,
}

/// A filter that loses nothing, fingerprints in lines that double five times, and a filter that would lose much without its fingerprints on
/// disk.
const SEEN: [&[(&str, &str)]; 3] = [
    &[("SEEN_CAPACITY", "10000")],
    &[("SEEN_LAYOUT", "exact"), ("SEEN_CAPACITY", "20"), ("SEEN_SHARDS", "1")],
    &[("SEEN_LAYOUT", "verified"), ("SEEN_CAPACITY", "500"), ("SEEN_SHARDS", "1"), ("SEEN_FALSE_POSITIVE_RATE", "0.1")],
];

impl Web {
    async fn serve(seed: u64) -> Self {
        let mut options = SimulateOptions::default();
        (options.seed, options.hosts, options.pages) = (seed, HOSTS, 700);
        options.latency = Duration::from_millis(10);
        // A robots.txt counts only once it has been read.
        options.crawl_delay = DELAY;
        options.retry_after = 0;
        // Every third web has no sitemaps.
        options.sitemap_percent = if seed.is_multiple_of(3) { 0 } else { 70 };
        let server = Server::start(World::new(&options).unwrap()).await.unwrap();
        let hosts_in_memory = if seed % 4 < 2 { "0" } else { "7" };
        let by_address = seed % 4 == 1;
        Self { server, by_address, seen: SEEN[(seed % 3) as usize], hosts_in_memory }
    }

    /// Waits until the server has closed the connections of a dead crawler. Until then the judge counts its requests as under way.
    async fn notices_the_kill(&self) {
        let port = format!(":{:04X}", self.server.address().port());
        let is_open = |line: &str| {
            let mut fields = line.split_whitespace().skip(1);
            // Established, or closed by the client alone.
            fields.next().is_some_and(|local| local.ends_with(&port)) && matches!(fields.nth(1), Some("01" | "08"))
        };
        let noticed = async {
            // The list has connections whose requests the judge has yet to hear of. A system other than Linux has no such file.
            while fs::read_to_string("/proc/net/tcp").unwrap_or_default().lines().any(is_open)
                || (0..HOSTS).any(|host| self.server.judge().in_flight(host) > 0)
            {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), noticed).await.expect("the server closes the connections");
    }

    fn judgment(&self) -> Judgment {
        let (world, judge) = (self.server.world(), self.server.judge());
        let truth = world.truth(&TruthOptions::default());
        judge.judgment(world, &truth, DELAY, 1)
    }

    /// A crawl of it, into a job directory.
    fn crawl(&self, directory: &Path, arguments: &[&str]) -> Child {
        let mut command = crawler(directory, arguments);
        command.env("CRAWLER_FETCH_RESOLVE_ALL_TO", self.server.address().to_string());
        let settings = [
            ("SCOPE_KIND", "any"),
            ("SCOPE_MAX_DEPTH", "1000"),
            ("POLITENESS_HOST_DELAY", "5ms"),
            ("POLITENESS_BACKOFF", "5ms"),
            ("JOB_DIR", "job"),
            // Often enough that some are killed in the middle.
            ("JOB_CHECKPOINT_INTERVAL", "1s"),
            ("JOB_HOSTS_IN_MEMORY", self.hosts_in_memory),
            ("OUTPUT_PROGRESS", "false"),
        ];
        command.envs(set(settings.into_iter().chain(self.seen.iter().copied())));
        if self.by_address {
            command
                .env("CRAWLER_POLITENESS_ADDRESS_DELAY", "1ms")
                .env("CRAWLER_POLITENESS_CONNECTIONS_PER_ADDRESS", "5");
        }
        let stderr = fs::File::options().append(true).create(true).open(directory.join("stderr")).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr).spawn().unwrap()
    }
}

const SEED: [&str; 1] = ["http://www.simulated.test/"];

/// Asks the newest snapshot of the seen set for these URLs: how many it has not seen.
fn unseen(job: &Path, pages: &BTreeMap<String, serde_json::Value>) -> usize {
    let files = fs::read_dir(job.join("frontier")).unwrap().map(|entry| entry.unwrap().path());
    let number = |path: &PathBuf| path.file_name()?.to_str()?.strip_prefix("seen-")?.parse::<u64>().ok();
    // Beside it may be one that has no number: a process was killed while it gave a run of fingerprints a name for a moment.
    let snapshot = files.max_by_key(number).unwrap();
    let mut command = crawler(".", ["seen", "query"]);
    command.arg(snapshot).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let urls = pages.keys().map(String::as_str).collect::<Vec<_>>().join("\n");
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(urls.as_bytes()).unwrap());
    let answers = child.wait_with_output().unwrap().stdout;
    writer.join().unwrap();
    let answers = String::from_utf8(answers).unwrap();
    assert_eq!(answers.lines().count(), pages.len());
    answers.lines().filter(|line| line.starts_with("new")).count()
}

/// Lets it run for a while, then kills it; whether it had ended before.
fn killed(mut child: Child, after: Duration) -> bool {
    // The one test that sleeps: it is about the moment of a crash.
    sleep(after);
    let ended = child.try_wait().unwrap();
    child.kill().unwrap();
    let status = child.wait().unwrap();
    if let Some(ended) = ended {
        assert!(ended.success(), "{ended}");
    }
    ended.is_some() && status.success()
}

#[tokio::test(flavor = "multi_thread")]
async fn whenever_it_is_killed_no_page_is_lost_and_none_is_there_twice() {
    let rounds: u64 = std::env::var("CRASH_ROUNDS").map_or(25, |rounds| rounds.parse().unwrap());
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut kills, mut seed, mut fetched_again) = (0, 0, 0);
    let (mut hosts, mut asked_for_robots) = (0, 0);
    while kills < rounds {
        seed += 1;
        let undisturbed = {
            let (web, directory) = (Web::serve(seed).await, TempDir::new().unwrap());
            let status = web.crawl(directory.path(), &SEED).wait().unwrap();
            assert!(status.success(), "{}", fs::read_to_string(directory.path().join("stderr")).unwrap());
            pages(&directory.path().join("job"))
        };
        let (web, directory) = (Web::serve(seed).await, TempDir::new().unwrap());
        let job = directory.path().join("job");
        let told = || fs::read_to_string(directory.path().join("stderr")).unwrap();
        let mut arguments: &[&str] = &SEED;
        let mut resumes = 0;
        loop {
            // Killed before its manifest has its name, a job is not begun: the same command begins it.
            let was_begun = job.join("manifest").exists();
            resumes += u64::from(was_begun);
            arguments = if was_begun { &["resume", "job"] } else { arguments };
            let mut after = Duration::from_millis(random.below(900));
            if kills % 10 == 9 {
                // In the middle of its recovery.
                after = Duration::from_millis(20 + random.below(60));
            }
            if killed(web.crawl(directory.path(), arguments), after) {
                break;
            }
            web.notices_the_kill().await;
            kills += 1;
        }
        let (pages, report) = (pages(&job), report(&job));
        let missing: Vec<_> = undisturbed.keys().filter(|key| !pages.contains_key(*key)).collect();
        let more: Vec<_> = pages.keys().filter(|key| !undisturbed.contains_key(*key)).collect();
        assert!(missing.is_empty() && more.is_empty(), "missing {missing:?}, more {more:?}\n{}", told());
        for (key, page) in &pages {
            assert_eq!(page["status"], undisturbed[key]["status"], "{key}");
        }
        assert_eq!(unseen(&job, &pages), 0, "all that was admitted is in the filter");
        assert_eq!(report["finish"], "drained");
        assert_eq!(
            report["urls"]["fetched"].as_u64().unwrap() + report["urls"]["failed"].as_u64().unwrap(),
            pages.len() as u64
        );
        sums::check(&report, kills > 0);
        let politeness = &report["politeness"];
        assert_eq!(politeness["violations"], 0, "{politeness}");
        assert_eq!(politeness["by_address"] != 0, web.by_address, "{politeness}");
        let judgment = web.judgment();
        assert_eq!((judgment.missed, judgment.unknown_urls), (0, 0));
        assert_eq!((judgment.hosts_hurried, judgment.hosts_concurrent), (0, 0), "{judgment:?}");
        // Each robots.txt is fetched once, and again only if a kill lost the answer: in the first moments, that of every host.
        assert!(judgment.robots_requests <= u64::from(judgment.hosts) * (2 + resumes), "{judgment:?}");
        hosts += u64::from(judgment.hosts);
        asked_for_robots += judgment.robots_requests;
        fetched_again += judgment.fetched_twice;
    }
    assert!(asked_for_robots <= 2 * hosts + kills, "{asked_for_robots} of {hosts} hosts over {kills} kills");
    println!("{kills} kills in {seed} crawls: 0 pages lost, 0 there twice; {fetched_again} were asked for again");
}

/// A job that was not completely begun is begun again by the same command, and `resume` says so. A begun job goes on.
#[tokio::test(flavor = "multi_thread")]
async fn killed_in_its_first_moments_a_job_can_be_resumed_or_begun_again() {
    let rounds: u64 = std::env::var("EARLY_ROUNDS").map_or(20, |rounds| rounds.parse().unwrap());
    let mut random = Random(0x0a71_2b3c_4d5e_6f01);
    let web = Web::serve(2).await;
    let few = ["http://www.simulated.test/", "--depth", "1"];
    let undisturbed = {
        let directory = TempDir::new().unwrap();
        let status = web.crawl(directory.path(), &few).wait().unwrap();
        assert!(status.success());
        pages(&directory.path().join("job"))
    };
    let (mut resumed, mut not_begun, mut finished, mut without_directory) = (0, 0, 0, 0);
    for round in 0..rounds {
        let directory = TempDir::new().unwrap();
        let (job, told) = (directory.path().join("job"), directory.path().join("stderr"));
        // Half of them are started or resumed again, and killed again.
        for _ in 0..=round % 2 {
            let after = Duration::from_micros(random.below(50_000));
            finished += u64::from(killed(web.crawl(directory.path(), &few), after));
            without_directory += u64::from(!job.exists());
        }
        fs::write(&told, "").unwrap();
        let ran = web.crawl(directory.path(), &["resume", "job", "--depth", "1"]).wait().unwrap();
        let says = fs::read_to_string(&told).unwrap();
        if ran.success() {
            resumed += 1;
        } else {
            let is_told =
                says.contains("run the command that was to begin it once more") || says.contains("holds no job");
            assert!(matches!(ran.code(), Some(1 | 5)) && is_told, "round {round}: {ran} {says}");
            not_begun += 1;
            let again = web.crawl(directory.path(), &few).wait().unwrap();
            assert!(again.success(), "round {round}: {}", fs::read_to_string(&told).unwrap());
        }
        let pages = pages(&job);
        assert_eq!(pages.keys().collect::<Vec<_>>(), undisturbed.keys().collect::<Vec<_>>(), "round {round}");
    }
    println!(
        "{rounds} jobs killed in their first 50 ms: {resumed} resumed, {not_begun} begun again by the same command \
         ({without_directory} had no directory yet, {finished} had ended); 0 pages lost, 0 there twice"
    );
}
