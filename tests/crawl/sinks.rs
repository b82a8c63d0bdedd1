//! Outputs beside the page records: each page is in each of them exactly once, even after kills.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use crawler::address::FingerprintKey;
use crawler::crawl::{
    Crawl, CrawlError, CrawlOptions, DonePage, Exchange, FinishReason, LinkList, LinkRecord, PageRecord, Sink,
};
use crawler::frontier::{Frontier, Timestamp};
use crawler::gate::ScopeKind;
use crawler::job::{Job, OpenOptions};
use crawler::simulate::{Server, SimulateOptions, World};
use crawler_frontier::driver::Receipt;
use tempfile::TempDir;

use crate::random::Random;

const SEED: &str = "http://www.simulated.test/";

/// Each page's URL, a line each.
#[derive(Debug)]
struct Urls;

impl Sink for Urls {
    fn name(&self) -> &'static str {
        "urls.txt"
    }

    fn write(&self, page: &DonePage<'_>, to: &mut Vec<u8>) {
        to.extend(page.record.url.bytes().chain([b'\n']));
    }
}

/// Each response as it came, between its URL and an empty line.
#[derive(Debug)]
struct Raw;

impl Sink for Raw {
    fn name(&self) -> &'static str {
        "raw.bin"
    }

    fn needs_exchange(&self) -> bool {
        true
    }

    fn write(&self, page: &DonePage<'_>, to: &mut Vec<u8>) {
        let Some(Exchange { head, body, .. }) = page.exchange else { return };
        to.extend(format!("{}\n", page.record.url).bytes());
        to.extend(head.iter().chain(body));
    }
}

fn options(server: &str) -> CrawlOptions {
    let mut options = CrawlOptions::default();
    options.fetch.resolve_all_to = Some(server.parse().unwrap());
    options.frontier.scope.kind = ScopeKind::Any;
    options.frontier.politeness.host_delay = Duration::from_millis(5);
    options.frontier.seen.capacity = 10_000;
    options.job.checkpoint_interval = Duration::from_millis(100);
    options
}

fn outputs() -> Vec<Arc<dyn Sink>> {
    vec![Arc::new(Urls), Arc::new(Raw), Arc::new(LinkList::default())]
}

/// One run of the crawl, until it has ended.
async fn run(directory: &Path, server: &str, outputs: &[Arc<dyn Sink>]) {
    let options = options(server);
    let resumed = Job::resume(directory);
    let job = resumed.unwrap_or_else(|_| Job::draft(directory, true, FingerprintKey::random()).unwrap());
    let (crawl, _) = Crawl::open_with(&options, &job, outputs).unwrap();
    let url = crawl.gate().canonicalizer().canonicalize(SEED).unwrap();
    crawl.seed_again(url).unwrap();
    crawl.sync().unwrap();
    job.begin().unwrap();
    let (writer, thread) = crawl.writer().unwrap();
    let finished = crawl.run(writer).await;
    thread.join().unwrap();
    assert!(finished.storage_error.is_none(), "{:?}", finished.storage_error);
    assert_eq!(finished.reason, FinishReason::Drained);
}

/// Not a test: the process that is killed.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the other test starts it as a process of its own"]
async fn child() {
    let [job, server] = ["SINKS_JOB", "SINKS_SERVER"].map(|name| std::env::var(name).unwrap());
    run(Path::new(&job), &server, &outputs()).await;
}

/// Starts the process that is killed.
fn start(job: &Path, server: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "sinks::child", "--ignored"]).env("SINKS_JOB", job).env("SINKS_SERVER", server);
    command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
}

/// Whether `links.jsonl` has the links of each page where the page's record says, and nothing else. A run that names no outputs adds none.
fn judge_links(job: &Path) -> usize {
    let bytes = fs::read(job.join("links.jsonl")).unwrap();
    let text = fs::read_to_string(job.join("pages.jsonl")).unwrap();
    let (mut end, mut links) = (0, 0);
    for record in text.lines().map(|line| serde_json::from_str::<PageRecord>(line).unwrap()) {
        let place = record.outputs.get("links.jsonl").copied().unwrap_or_default();
        let length = place.length as usize;
        assert_eq!(place.offset, if length > 0 { end as u64 } else { 0 }, "nothing is between two pages");
        let own = str::from_utf8(&bytes[end..end + length]).unwrap();
        let own: Vec<LinkRecord> = own.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(own.iter().all(|link| link.from == record.url));
        assert!(
            own.len() as u64 <= record.links.found
                && (record.outputs.is_empty() || (own.len() as u64 + 3) * 2 >= record.links.found),
            "{record:?}"
        );
        (end, links) = (end + length, links + own.len());
    }
    assert_eq!(end, bytes.len(), "nothing is behind the last page");
    links
}

/// Whether each output has each page once, with the bytes that its record says.
fn judge(job: &Path, pages_of_the_web: usize) {
    let files = ["urls.txt", "raw.bin"].map(|name| (name, fs::read(job.join(name)).unwrap()));
    let text = fs::read_to_string(job.join("pages.jsonl")).unwrap();
    assert!(judge_links(job) > pages_of_the_web);
    let mut urls = BTreeSet::new();
    let mut ends = [0, 0];
    for line in text.lines() {
        let record: PageRecord = serde_json::from_str(line).unwrap();
        assert!(urls.insert(record.url.clone()), "{} is there twice", record.url);
        for ((name, bytes), end) in files.iter().zip(&mut ends) {
            let Some(place) = record.outputs.get(*name) else {
                assert!(*name == "raw.bin" && record.status.is_none(), "{name} has nothing of {}", record.url);
                continue;
            };
            assert_eq!(place.offset, *end, "{name}: nothing is between two pages");
            *end = place.offset + u64::from(place.length);
            let written = &bytes[usize::try_from(place.offset).unwrap()..usize::try_from(*end).unwrap()];
            assert_eq!(Receipt::of(written, place.offset).checksum, place.checksum, "{name}");
            let rest = written.strip_prefix(format!("{}\n", record.url).as_bytes()).unwrap();
            let begin = b"HTTP/1.1 ";
            assert!(*name == "urls.txt" && rest.is_empty() || rest.starts_with(begin), "{name}");
        }
    }
    assert_eq!(ends, files.map(|(_, bytes)| bytes.len() as u64), "nothing is behind the last page");
    assert_eq!(urls.len(), pages_of_the_web);
}

fn copy_of(job: &Path) -> TempDir {
    let copy = TempDir::new().unwrap();
    fs::create_dir(copy.path().join("frontier")).unwrap();
    for folder in ["", "frontier"] {
        for entry in fs::read_dir(job.join(folder)).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                fs::copy(entry.path(), copy.path().join(folder).join(entry.file_name())).unwrap();
            }
        }
    }
    copy
}

/// Pages that the next run takes for recorded. Its own records go to the job's file or elsewhere.
fn pages_before(job: &Path, output: bool) -> u64 {
    let copy = copy_of(job);
    let job = Job::resume(copy.path()).unwrap();
    Crawl::open(&options("127.0.0.1:1"), &job, output).unwrap().1.pages
}

/// Opens a copy of a job that was killed: how many pages behind its checkpoint the journal and the outputs agree on. The journal
/// must name each output that a page was written to.
fn judge_receipts(job: &Path) -> usize {
    let copy = copy_of(job);
    let files = ["links.jsonl", "pages.jsonl", "raw.bin", "urls.txt"]
        .map(|name| (name, fs::read(job.join(name)).unwrap_or_default()));
    let mut agreed: BTreeMap<String, usize> = BTreeMap::new();
    let has = |name: &str, receipt: Receipt| {
        let file = &files.iter().find(|(file, _)| *file == name).unwrap().1;
        let end = usize::try_from(receipt.end).unwrap();
        let before = end - receipt.length as usize;
        let is_there = file.get(before..end).is_some_and(|written| Receipt::of(written, before as u64) == receipt);
        *agreed.entry(name.to_owned()).or_default() += usize::from(is_there);
        is_there
    };
    let open = OpenOptions::default();
    Frontier::open_with(copy.path(), &options("127.0.0.1:1").frontier, &open, has, Timestamp::default()).unwrap();
    let [pages, urls] = ["pages.jsonl", "urls.txt"].map(|name| agreed.get(name).copied().unwrap_or_default());
    // The first page that an output lacks is the last one that is asked about, and pages.jsonl is asked first.
    assert!(pages == urls || pages == urls + 1, "{agreed:?}");
    urls
}

async fn web() -> Server {
    let mut options = SimulateOptions::default();
    (options.hosts, options.pages, options.latency) = (20, 400, Duration::from_millis(10));
    (options.crawl_delay, options.retry_after) = (Duration::from_millis(5), 0);
    Server::start(World::new(&options).unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn whenever_it_is_killed_each_page_is_in_each_output_once() {
    let rounds: u64 = std::env::var("CRASH_ROUNDS").map_or(8, |rounds| rounds.parse().unwrap());
    let server = web().await;
    let address = server.address().to_string();
    let directory = TempDir::new().unwrap();
    let undisturbed = directory.path().join("undisturbed");
    run(&undisturbed, &address, &outputs()).await;
    let pages = fs::read_to_string(undisturbed.join("pages.jsonl")).unwrap().lines().count();
    judge(&undisturbed, pages);
    let mut random = Random(0x5eed_0f51_4b5a_11ce);
    let (mut kills, mut crawls, mut agreed) = (0, 0, 0);
    while kills < rounds {
        crawls += 1;
        let job = directory.path().join(crawls.to_string());
        loop {
            let mut child = start(&job, &address);
            // When a crash comes is what this is about.
            sleep(Duration::from_millis(80 + random.below(500)));
            let ended = child.try_wait().unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
            if let Some(status) = ended {
                assert!(status.success(), "{status}");
                break;
            }
            kills += 1;
            let behind = if job.join("manifest").exists() { judge_receipts(&job) } else { 0 };
            if behind > 0 {
                assert_eq!(pages_before(&job, false), pages_before(&job, true));
            }
            agreed += behind;
            // What the writers had not finished: no record speaks of it.
            for name in
                ["pages.jsonl", "urls.txt", "raw.bin", "links.jsonl"].iter().filter(|name| job.join(name).exists())
            {
                let mut file = fs::File::options().append(true).open(job.join(name)).unwrap();
                file.write_all(b"half a page").unwrap();
            }
        }
        judge(&job, pages);
    }
    assert!(agreed > 0);
    println!("{kills} kills in {crawls} crawls; {agreed} receipts behind checkpoints");
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_that_a_run_does_not_name_are_whole_and_can_be_named_again() {
    let server = web().await;
    let address = server.address().to_string();
    let directory = TempDir::new().unwrap();
    let job = directory.path().join("job");
    let links = job.join("links.jsonl");
    let length = || links.metadata().map_or(0, |file| file.len());
    let mut enough = 5_000;
    // Until the journal has a receipt for the links, they belong to no page.
    while enough == 5_000 || judge_receipts(&job) == 0 {
        assert!(enough < 100_000, "it has never spoken of them");
        let mut child = start(&job, &address);
        while length() < enough && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        enough += 5_000;
    }
    // Of the last page, its writer had not written all.
    fs::File::options().append(true).open(&links).unwrap().set_len(length() - 7).unwrap();
    run(&job, &address, &[]).await;
    let before = judge_links(&job);
    assert!(before > 0);
    run(&job, &address, &outputs()).await;
    assert_eq!(judge_links(&job), before);
    // An output that is no longer used may be removed, until a run names it again.
    fs::remove_file(&links).unwrap();
    run(&job, &address, &[]).await;
    let options = options(&address);
    let refused = Crawl::open_with(&options, &Job::resume(&job).unwrap(), &outputs()).unwrap_err();
    assert!(matches!(refused, CrawlError::Output { path, found: 0, .. } if path == links));
}
