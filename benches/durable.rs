//! What durability costs: the same crawl in memory and in a job, in turns, by the CPU time of the process that crawls. Both write page
//! records to a file. The web is simulated, in another process.
//!
//! `DURABLE_TURNS` (5) and `DURABLE_PAGES` (30,000) say how much. `DURABLE_WEB=127.0.0.1:8080 DURABLE_SEEDS=seeds.txt` crawls what a
//! server on loopback has instead.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crawler::address::FingerprintKey;
use crawler::crawl::{Cost, Crawl, CrawlOptions, Writer};
use crawler::frontier::Journal;
use crawler::gate::ScopeKind;
use crawler::job::Job;
use crawler::simulate::{Server, SimulateOptions, World};

/// The variable with the orders for the process that crawls.
const KIND: &str = "DURABLE_KIND";
const WEB: &str = "DURABLE_WEB";
const SEEDS: &str = "DURABLE_SEEDS";
const DIRECTORY: &str = "DURABLE_DIRECTORY";

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn number(name: &str, default: u32) -> u32 {
    variable(name).map_or(default, |number| number.parse().expect("a number"))
}

fn options(web: &str) -> CrawlOptions {
    let mut options = CrawlOptions::default();
    options.fetch.resolve_all_to = Some(web.parse().expect("an address"));
    options.frontier.scope.kind = ScopeKind::Any;
    options.frontier.politeness.host_delay = Duration::ZERO;
    options.frontier.politeness.robots = false;
    options.frontier.seen.capacity = 1_000_000;
    options
}

fn plant<J: Journal + Send + 'static>(crawl: &Crawl<J>) {
    let seeds = variable(SEEDS).map_or_else(
        || "http://www.simulated.test/".to_owned(),
        |path| fs::read_to_string(path).expect("a list of seeds"),
    );
    for seed in seeds.lines() {
        let url = crawl.gate().canonicalizer().canonicalize(seed).expect("a URL");
        crawl.seed(url).expect("kept");
    }
}

/// Crawls, and prints the number of pages and their cost.
#[tokio::main]
async fn crawl(kind: &str) {
    let [web, directory] = [WEB, DIRECTORY].map(|name| variable(name).expect("it was given"));
    let (options, directory) = (options(&web), Path::new(&directory));
    let (written, finished) = if kind == "memory" {
        let crawl = Crawl::new(&options).expect("valid options");
        plant(&crawl);
        let file = File::create(directory.join("pages.jsonl")).expect("a file");
        let (writer, thread) = Writer::start(file).expect("a thread");
        let finished = crawl.run(writer).await;
        (thread.join(), finished)
    } else {
        let job = Job::draft(&directory.join("job"), false, FingerprintKey::random()).expect("a job");
        let (crawl, _) = Crawl::open(&options, &job, true).expect("valid options");
        plant(&crawl);
        crawl.sync().expect("kept");
        job.begin().expect("kept");
        let (writer, thread) = crawl.writer().expect("a thread");
        let finished = crawl.run(writer).await;
        (thread.join(), finished)
    };
    assert!(finished.storage_error.is_none(), "{:?}", finished.storage_error);
    let cpu = Cost::of_this_process().cpu_us.expect("Linux") / 1000;
    println!("{} {cpu}", written.expect("written"));
}

/// Pages, and CPU milliseconds.
fn run(kind: &str, web: &str) -> (u64, u64) {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env(KIND, kind).env(WEB, web).env(DIRECTORY, directory.path());
    let ran = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let said = said.trim().split_once(' ').unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&ran.stderr)));
    (said.0.parse().expect("pages"), said.1.parse().expect("milliseconds"))
}

fn main() {
    if let Some(kind) = variable(KIND) {
        return crawl(&kind);
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let server = variable(WEB).is_none().then(|| {
        let mut options = SimulateOptions::default();
        (options.hosts, options.pages, options.latency) = (100, number("DURABLE_PAGES", 30_000), Duration::ZERO);
        (options.slow_host_percent, options.crawl_delay, options.retry_after) = (0, Duration::ZERO, 0);
        runtime.block_on(Server::start(World::new(&options).expect("valid options"))).expect("loopback")
    });
    let web =
        server.as_ref().map_or_else(|| variable(WEB).expect("one of both"), |server| server.address().to_string());
    let mut ratios = Vec::new();
    for turn in 1..=number("DURABLE_TURNS", 5) {
        let (pages, memory) = run("memory", &web);
        let (again, job) = run("job", &web);
        ratios.push(job as f64 / memory as f64);
        println!(
            "turn {turn}: {pages} pages in memory {memory} ms, {again} in a job {job} ms: {:.3}",
            ratios[ratios.len() - 1]
        );
    }
    ratios.sort_by(f64::total_cmp);
    println!("in a job, of the CPU in memory: {:.3} in the median", ratios[ratios.len() / 2]);
}
