//! A whole crawl of the simulated web, which another process serves: from the socket to the journal on disk.
//!
//! - `cargo bench --bench crawl -- fixed` crawls the same small web each time, in one thread, for a tool that counts instructions:
//!   see `benches/BASELINE.md`.
//! - `-- flat` crawls a million pages (`CRAWL_PAGES=1e5` fewer) without rests, and prints for each tenth the CPU time of a page and
//!   the memory. It fails where the last tenth costs more than 1.1 times what the second does, or an admitted URL takes more than
//!   24 bytes. An audit watches one URL in 1,024.
//! - `-- slow` crawls ten thousand hosts (`CRAWL_HOSTS=1e3` fewer), each of which answers after about a second, and prints how many
//!   requests were out at once, how many were answered, and the memory. It needs as many open files twice: see `ulimit -n`.
//!
//! CPU and memory are this process's; the web's are not among them.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes that a machine can hold")]

mod flat;
mod served;
mod slow;

use std::time::Duration;

use crawler::address::FingerprintKey;
use crawler::crawl::{Crawl, CrawlOptions, FinishReason, Finished, Progress};
use crawler::gate::ScopeKind;
use crawler::job::Job;
use crawler::simulate::SimulateOptions;
use served::Served;
use tokio::runtime::{Builder, Runtime};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] | ["fixed"] => fixed(),
        ["flat"] => flat::measure(),
        ["slow"] => slow::measure(),
        ["serve", numbers @ ..] => served::serve(numbers),
        _ => panic!("fixed, flat or slow"),
    }
}

/// Two thousand pages on forty hosts, none of them slow.
fn fixed() {
    let mut web = SimulateOptions::default();
    (web.hosts, web.pages, web.slow_host_percent) = (40, 2_000, 0);
    let served = Served::start(&web);
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let finished = crawl(&runtime, &options(&served, 64), &[PORTAL], None);
    println!("{} URLs admitted of {} found", finished.gate.admitted(), finished.gate.found());
}

/// Without rests, of every host that a link leads to.
fn options(served: &Served, workers: usize) -> CrawlOptions {
    let mut options = CrawlOptions::default();
    options.frontier.scope.kind = ScopeKind::Any;
    options.frontier.politeness.host_delay = Duration::ZERO;
    options.frontier.politeness.max_crawl_delay = Duration::ZERO;
    options.frontier.politeness.max_retry_after = Duration::ZERO;
    options.frontier.politeness.backoff = Duration::from_millis(10);
    options.frontier.politeness.patience = Duration::ZERO;
    options.frontier.fingerprint_key = Some(FingerprintKey::from_u64(12));
    options.fetch.resolve_all_to = Some(served.address);
    options.fetch.allow_private_addresses = true;
    options.workers = Some(workers);
    options
}

/// Leads to all hosts of the simulated web.
const PORTAL: &str = "http://www.simulated.test/";

/// Gets the crawl's numbers twenty times a second.
type Look = Box<dyn FnMut(&Progress) + Send>;

/// Crawls from these seeds into a new job.
fn crawl(runtime: &Runtime, options: &CrawlOptions, seeds: &[impl AsRef<str>], look: Option<Look>) -> Finished {
    let directory = tempfile::tempdir().expect("a directory");
    let key = options.frontier.fingerprint_key.expect("a key");
    let job = Job::create(&directory.path().join("job"), false, key).expect("a job");
    runtime.block_on(async {
        let (crawl, _) = Crawl::open(options, &job, true).expect("valid options");
        for seed in seeds {
            let seed = crawl.gate().canonicalizer().canonicalize(seed.as_ref()).expect("a URL");
            assert_eq!(crawl.seed(seed).expect("a journal"), None);
        }
        let (writer, written) = crawl.writer().expect("an output");
        let looking = look.map(|mut look| {
            let watch = crawl.watch();
            tokio::spawn(async move {
                loop {
                    look(&watch());
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            })
        });
        let finished = crawl.run(writer).await;
        looking.inspect(tokio::task::JoinHandle::abort);
        written.join().expect("records");
        let expected = match (options.max_pages, options.max_duration) {
            (Some(_), _) => FinishReason::MaxPages,
            (None, Some(_)) => FinishReason::MaxDuration,
            (None, None) => FinishReason::Drained,
        };
        assert_eq!(finished.reason, expected, "{:?}", finished.storage_error);
        finished
    })
}

/// A number from the environment.
fn setting(name: &str, default: f64) -> u32 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number")) as u32
}
