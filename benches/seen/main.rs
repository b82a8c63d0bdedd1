//! The seen set and its peers in one run, and the limit that memory sets.
//!
//! `cargo bench --bench seen` compares at a million URLs, or at the sizes of `SEEN_BENCH_URLS=1e6,2e7,1e8`.
//! `SEEN_BENCH_ROWS="limit: a;one by one"` chooses rows. At a hundred million, all rows take 8 GB of memory and an hour, most of it for the
//! disk.
//!
//! The load is a crawl's. Of the keys, already hashed, 30 % are new, and 70 % repeat an earlier one, each with the same chance. Meanwhile,
//! the filter fills up from empty to its capacity, at a rate of 1e-4. Times are the mean of a test over the fill. The rows of a table take
//! turns at the same keys. Two rows are compared by the median of the ratios of their turns, which other work on the machine does not change.
//! Keys are made outside the measured time.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes that a machine can hold")]

mod entries;
mod keys;
mod links;
mod race;
mod steps;
mod threads;

use crawler::seen::Layout;
use criterion::Criterion;

use entries::ours;
use race::race;

fn main() {
    let wanted = std::env::var("SEEN_BENCH_ROWS").unwrap_or_default();
    let is_wanted = |name: &str| wanted.split(';').any(|part| name.contains(part));
    if is_wanted("steps") {
        let mut criterion = Criterion::default().configure_from_args();
        steps::small_steps(&mut criterion);
        criterion.final_summary();
    }
    let sizes = std::env::var("SEEN_BENCH_URLS").unwrap_or_else(|_| "1e6".to_owned());
    for size in sizes.split(',') {
        let urls = size.trim().parse::<f64>().expect("SEEN_BENCH_URLS are numbers") as u64;
        println!("\n{urls} URLs, rate 1e-4, 30 % new, one core unless said otherwise");
        peers(urls, &wanted);
        audit(urls, &wanted);
        links(urls, &wanted);
        layouts(urls, &wanted);
        strings(urls, &wanted);
        if is_wanted("page by page") {
            links::page_by_page(urls);
        }
        if is_wanted("two threads") {
            threads::two_beside_one(urls);
        }
    }
}

const LIMIT: &str = "limit: a random line read and written";
const LOCKED_LIMIT: &str = "limit: the same, one by one under 16 locks";
const FASTBLOOM: &str = "fastbloom 0.17, ahash";
const SPLIT_BLOCK: &str = "sbbf-rs-safe 0.3 (split block)";
const BATCHED: &str = "blocked, batches of 8192, 16 shards";
const UNAUDITED: &str = "blocked, batches of 8192, 16 shards, no audit";
const SINGLE: &str = "blocked, one by one, 16 shards";

fn peers(urls: u64, wanted: &str) {
    let times = race(
        urls,
        wanted,
        vec![
            (LIMIT, Box::new(entries::limit)),
            (LOCKED_LIMIT, Box::new(entries::limit_under_locks)),
            (FASTBLOOM, Box::new(entries::fastbloom)),
            (SPLIT_BLOCK, Box::new(entries::split_block)),
            ("std HashSet<u64>, ahash", Box::new(entries::hash_set)),
            (BATCHED, ours(8192, |_| {})),
            ("blocked, batches of 1024, 16 shards", ours(1024, |_| {})),
            ("blocked, batches of 64, 1 shard", ours(64, |options| options.shards = 1)),
            (SINGLE, Box::new(entries::one_by_one)),
        ],
    );
    times.compare(FASTBLOOM, BATCHED, " (bar: at least 8)");
    times.compare(SPLIT_BLOCK, BATCHED, " (bar: at least 1)");
    times.compare(BATCHED, LIMIT, " (bar: at most 1.6)");
    times.compare(SINGLE, LOCKED_LIMIT, "");
}

/// Alone with each other: in a longer round one would always follow its twin, and find what that left in the caches.
fn audit(urls: u64, wanted: &str) {
    let entries = vec![(BATCHED, ours(8192, |_| {})), (UNAUDITED, ours(8192, |options| options.audit = 0))];
    race(urls, wanted, entries).compare(BATCHED, UNAUDITED, " (bar: at most 1.02)");
}

/// The links of a page, some four for each shard: all of them wait for memory, and no shard has enough to fetch ahead.
fn links(urls: u64, wanted: &str) {
    let links = |layout| ours(64, move |options| options.layout = layout);
    let entries = vec![
        ("the 64 links of a page, 16 shards: blocked", links(Layout::Blocked)),
        ("the 64 links of a page, 16 shards: quotient", links(Layout::Quotient)),
        ("the 64 links of a page, 16 shards: exact", links(Layout::Exact)),
        ("the 64 links of a page, 16 shards: standard", links(Layout::Standard)),
    ];
    race(urls, wanted, entries);
}

const QUOTIENT: &str = "quotient, batches of 8192, 16 shards";
const EXACT: &str = "exact, batches of 8192, 16 shards";
const GROWN: &str = "exact, grown from a million, batches of 8192";
const VERIFIED: &str = "verified, batches of 8192, 16 shards";

/// Repeats of any age are the worst that can be shown to the verified layout: nearly all of them are looked up on disk.
fn layouts(urls: u64, wanted: &str) {
    let layout = |layout| ours(8192, move |options| options.layout = layout);
    let verified = |rate: f64| {
        ours(8192, move |options| {
            (options.layout, options.false_positive_rate) = (Layout::Verified, rate);
            options.directory = Some(std::env::temp_dir());
        })
    };
    let grown = ours(8192, |options| (options.layout, options.capacity) = (Layout::Exact, 1_000_000));
    let times = race(
        urls,
        wanted,
        vec![
            (BATCHED, layout(Layout::Blocked)),
            (QUOTIENT, layout(Layout::Quotient)),
            ("standard, batches of 8192, 16 shards", layout(Layout::Standard)),
            ("partitioned, batches of 8192, 16 shards", layout(Layout::Partitioned)),
            ("counting, batches of 8192, 16 shards", layout(Layout::Counting)),
            (EXACT, layout(Layout::Exact)),
            (GROWN, grown),
            (VERIFIED, verified(1e-4)),
            ("verified, batches of 8192, 16 shards, rate 1e-2", verified(1e-2)),
        ],
    );
    times.compare(QUOTIENT, BATCHED, "");
    times.compare(VERIFIED, BATCHED, "");
    times.compare(EXACT, BATCHED, " (bar: at most 1.5)");
    times.compare(GROWN, EXACT, " (bar: at most 1.25)");
}

fn strings(urls: u64, wanted: &str) {
    race(
        urls,
        wanted,
        vec![
            ("from strings of 66 bytes: writing them", Box::new(entries::writing)),
            ("from strings of 66 bytes: fastbloom", Box::new(entries::fastbloom_of_strings)),
            ("from strings of 66 bytes: blocked, batches", Box::new(entries::ours_of_strings)),
        ],
    );
}
