//! Whether a crawl waits for thousands of slow hosts at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crawler::crawl::{Cost, Progress};
use crawler::simulate::{SimulateOptions, World};
use tokio::runtime::Builder;

use crate::served::Served;

/// MB that the crawl may take.
const MEMORY: u64 = 400;
const TIME: Duration = Duration::from_secs(15);

pub(crate) fn measure() {
    let mut web = SimulateOptions::default();
    web.hosts = crate::setting("CRAWL_HOSTS", 1e4);
    web.pages = 3 * web.hosts;
    (web.slow_host_percent, web.latency) = (100, Duration::from_secs(1));
    let served = Served::start(&web);
    // Half of all fetches may be first contacts.
    let mut options = crate::options(&served, 2 * web.hosts as usize);
    // A share for each fetch, which few of them take.
    options.memory = 2 << 30;
    // The hosts with many pages would go on for long, alone.
    options.max_duration = Some(TIME);
    let world = World::new(&web).expect("valid options");
    let seeds: Vec<String> = (0..web.hosts).map(|host| format!("http://{}/", world.host_name(host))).collect();
    crawler::crawl::raise_open_files();
    let runtime = Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let most = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&most);
    let look = move |progress: &Progress| _ = seen.fetch_max(progress.frontier.leased, Ordering::Relaxed);
    let finished = crate::crawl(&runtime, &options, &seeds, Some(Box::new(look)));
    let most = most.load(Ordering::Relaxed);
    let memory = Cost::of_this_process().peak_memory_bytes.expect("Linux") / 1_000_000;
    let failed = finished.tally.urls.failed;
    println!(
        "{} hosts, {most} requests out at once, {} pages in {:?}",
        web.hosts, finished.tally.urls.fetched, finished.elapsed
    );
    println!("without an answer: {failed}; peak memory {memory} MB (at most {MEMORY})");
    assert!(memory <= MEMORY && failed == 0, "{:?}", finished.tally.pages.errors);
}
