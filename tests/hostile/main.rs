//! A bad web: a server of many names, each of which behaves badly in its own way, and the results of a crawl of all of them at once. The
//! web is one table: `row` defines a row; `transport`, `connections`, `content` and `robots` have the rows; `server` serves them; and
//! `cost` measures the worst of them.
#![cfg(feature = "crawl")]

#[path = "../both/mod.rs"]
mod both;
mod connections;
mod content;
#[cfg(feature = "cli")]
mod cost;
#[path = "../crawled/mod.rs"]
mod crawled;
mod robots;
mod row;
mod server;
mod transport;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crawler::crawl::{ClientChoice, Crawl, CrawlOptions, FinishReason, PageRecord};

use crate::row::{Row, Seed, Wants};
use crate::server::Server;

/// The whole table.
fn rows() -> Arc<Vec<Row>> {
    let chapters = [
        transport::redirects(),
        transport::clocks(),
        transport::heads_without_end(),
        transport::bodies_without_end(),
        transport::framing(),
        connections::connections(),
        content::codings(),
        content::types_and_letters(),
        content::documents(),
        robots::recoveries(),
        robots::answers(),
        robots::handshakes(),
        robots::healthy(),
    ];
    let is_kept = |row: &Row| row.promise.is_none_or(both::keeps);
    Arc::new(chapters.into_iter().flatten().filter(is_kept).collect())
}

/// Held by each test: what one measures, another would change.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Short rests; and clocks that are short, but long enough for a flood to reach its limit on a busy machine.
fn options(server: &Server) -> CrawlOptions {
    let mut options = CrawlOptions::default();
    let fetch = &mut options.fetch;
    fetch.client = both::client();
    fetch.resolve_all_to = Some(server.address);
    fetch.connect_timeout = Duration::from_secs(6);
    fetch.first_byte_timeout = Duration::from_secs(6);
    fetch.idle_timeout = Duration::from_secs(6);
    fetch.rate_grace = Duration::from_secs(2);
    fetch.total_timeout = Duration::from_secs(10);
    fetch.max_body_bytes = 1 << 20;
    let politeness = &mut options.frontier.politeness;
    politeness.host_delay = Duration::ZERO;
    politeness.backoff = Duration::from_millis(10);
    politeness.max_backoff = Duration::from_millis(100);
    politeness.max_retry_after = Duration::from_millis(50);
    politeness.max_crawl_delay = Duration::from_millis(50);
    // Once only failing hosts are left: the last one never answers a TLS greeting, and its eight tries would take 48 seconds.
    politeness.patience = Duration::from_secs(10);
    politeness.attempts = 2;
    options.parse.max_links = 100_000;
    // Pages far beyond these are not what the table is about.
    options.frontier.scope.max_depth = Some(12);
    options
}

#[test]
fn each_row_has_its_record_and_none_harms_another() {
    let _alone = alone();
    let rows = rows();
    let by_name: BTreeMap<_, _> = rows.iter().map(|row| (row.name, row)).collect();
    assert!(rows.len() >= 150 && by_name.len() == rows.len(), "{} rows, {} names", rows.len(), by_name.len());
    let server = Server::of(&rows);
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let crawl = Crawl::new(&options(&server)).unwrap();
    crawled::seed(&crawl, rows.iter().map(|row| row.url(nobody)));
    let begun = Instant::now();
    let (finished, records) = tokio::runtime::Runtime::new().unwrap().block_on(crawled::run(crawl));
    let (took, written) = (begun.elapsed(), records.len() as u64);
    let by_url: BTreeMap<_, _> = records.iter().map(|record| (&*record.url, record)).collect();
    assert_eq!(by_url.len(), records.len(), "each URL has one record");

    let mut wrong = String::new();
    for row in rows.iter() {
        let got = by_url.get(&*row.url(nobody)).map(|record| made_of(record, row, &server));
        if got.as_ref() != Some(&row.wants) {
            let (of, name, wants) = (row.of, row.name, row.wants);
            write!(wrong, "\n{of} {name}\n wanted {wants:?}\n got    {got:?}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    for row in rows.iter().filter(|row| row.of == "all") {
        for path in ["1", "2", "3"] {
            assert_eq!(by_url[&*format!("{}{path}", row.url(nobody))].status, Some(200), "{} {path}", row.name);
        }
    }

    // The counters are the records', counted again.
    let tally = &finished.tally;
    let count = |wanted: fn(&&PageRecord) -> bool| records.iter().filter(wanted).count() as u64;
    let failed = count(|record| record.error.is_some() && !record.given_up);
    let unreachable = count(|record| record.given_up);
    assert_eq!((tally.urls.failed, tally.urls.unreachable.total()), (failed, unreachable));
    assert_eq!(tally.urls.fetched + failed + unreachable, written);
    let sum = |count: fn(&PageRecord) -> u64| records.iter().map(count).sum::<u64>();
    // Those count each try.
    assert!(tally.links.found >= sum(|record| record.links.found));
    assert!(tally.pages.truncated >= sum(|record| record.truncated.into()));
    assert_eq!(finished.reason, FinishReason::Drained);
    // Half a minute of clocks, on a machine that has other things to do.
    assert!(took < Duration::from_secs(120), "{took:?}");
}

both::and_over_reqwest! { holding alone(); }

/// A record as the table shows it. Values that a row does not check are those of the row.
fn made_of(record: &PageRecord, row: &Row, server: &Server) -> Wants {
    let wants = &row.wants;
    // With reqwest the floods take more of the processor, so that on a busy machine a clock may run out before a limit, or elsewhere: that
    // host is asked again.
    let asks_again = both::client() != ClientChoice::DIRECT;
    let is_wanted = |wanted: &str, error| wanted == error || asks_again && error == "timeout";
    let error =
        record.error.as_deref().map(|error| wants.error.filter(|wanted| is_wanted(wanted, error)).unwrap_or("other"));
    let path = if row.seed == Seed::Https { "tls" } else { "/" };
    Wants {
        status: record.status,
        error,
        truncated: record.truncated,
        found: wants.found.and(Some(record.links.found)),
        asked: if asks_again { wants.asked } else { wants.asked.and(Some(server.asked(row.name, path))) },
        recovers: if asks_again { wants.recovers } else { server.asked(row.name, "/robots.txt") > 1 },
    }
}
