//! Whether a page costs the same at the end of a crawl as at its beginning.

use std::sync::{Arc, Mutex, PoisonError};

use crawler::crawl::{Cost, Progress};
use crawler::simulate::SimulateOptions;
use tokio::runtime::Builder;

use crate::served::Served;

/// Where a crawl stands.
#[derive(Clone, Copy)]
struct Mark {
    pages: u64,
    admitted: u64,
    cpu_us: u64,
    resident: u64,
}

const MOST_RISE: f64 = 1.1;
const MOST_BYTES: f64 = 24.0;

pub(crate) fn measure() {
    let mut web = SimulateOptions::default();
    let pages = crate::setting("CRAWL_PAGES", 1e6);
    // The web has more than are crawled: at its end, only its largest hosts would be left.
    (web.pages, web.hosts, web.slow_host_percent) = (4 * pages, pages / 100, 0);
    let served = Served::start(&web);
    let mut options = crate::options(&served, 64);
    options.frontier.seen.capacity = u64::from(web.pages);
    options.max_pages = Some(pages.into());
    let tenth = u64::from(pages) / 10;
    let marks = Arc::new(Mutex::new(Vec::<Mark>::new()));
    let runtime = Builder::new_multi_thread().enable_all().build().expect("a runtime");
    println!("{:>9} {:>10} {:>12} {:>8}", "pages", "admitted", "CPU us/page", "MiB");
    let seen = Arc::clone(&marks);
    let look = move |progress: &Progress| {
        let mut marks = seen.lock().unwrap_or_else(PoisonError::into_inner);
        // The last ends before the crawl does, so that somebody looks then.
        if progress.pages < tenth * (marks.len() as u64 + 1) * 99 / 100 {
            return;
        }
        let mark = Mark {
            pages: progress.pages,
            admitted: progress.pages
                + progress.frontier.queued
                + progress.frontier.scheduled
                + progress.frontier.leased,
            cpu_us: Cost::of_this_process().cpu_us.expect("Linux"),
            resident: resident(),
        };
        let before = marks.last().copied().unwrap_or(Mark { pages: 0, admitted: 0, cpu_us: 0, resident: 0 });
        println!("{:>9} {:>10} {:>12.1} {:>8.1}", mark.pages, mark.admitted, cost(&before, &mark), mib(mark.resident));
        marks.push(mark);
    };
    let finished = crate::crawl(&runtime, &options, &[crate::PORTAL], Some(Box::new(look)));
    let marks = marks.lock().unwrap_or_else(PoisonError::into_inner);
    let (Some(last), Some([first, second])) = (marks.last_chunk::<2>(), marks.first_chunk::<2>()) else {
        panic!("too few pages to tell");
    };
    let rise = cost(&last[0], &last[1]) / cost(first, second);
    let bytes = (last[1].resident as f64 - second.resident as f64) / (last[1].admitted - second.admitted) as f64;
    println!("{} pages in {:?}", finished.tally.urls.fetched, finished.elapsed);
    println!("last tenth against the second: {rise:.3} (at most {MOST_RISE})");
    println!("memory an admitted URL since the second: {bytes:.1} bytes (at most {MOST_BYTES})");
    assert!(rise <= MOST_RISE && bytes <= MOST_BYTES, "it is not flat");
}

/// Microseconds of CPU a page between two marks.
fn cost(from: &Mark, to: &Mark) -> f64 {
    (to.cpu_us - from.cpu_us) as f64 / (to.pages - from.pages) as f64
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Bytes of memory that this process has in use.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).expect("a number") << 10
}
