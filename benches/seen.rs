//! The seen set beside its peers, side by side in one run, and the limit that memory sets.
//!
//! `cargo bench --bench seen` compares at a million URLs; `SEEN_BENCH_URLS=1e6,2e7,1e8` says otherwise. At a hundred million it takes
//! 4 GB of memory and ten minutes.
//!
//! The load is a crawl's: of the keys, already hashed, 30 % are new and 70 % repeat an earlier one, while the filter fills up
//! from empty to its capacity at a rate of 1e-4. Times are the mean of a test over the fill, the median of several fills where the
//! size allows them. Keys are made in blocks outside the clock.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes that a machine can hold")]

use std::hint::black_box;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use crawler::address::{Fingerprint, FingerprintKey};
use crawler::seen::{Layout, SeenOptions, SeenSet, Sighting};
use criterion::{Criterion, Throughput};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    small_steps(&mut criterion);
    criterion.final_summary();
    let sizes = std::env::var("SEEN_BENCH_URLS").unwrap_or_else(|_| "1e6".to_owned());
    let wanted = std::env::var("SEEN_BENCH_ROWS").unwrap_or_default();
    for size in sizes.split(',') {
        let urls = size.trim().parse::<f64>().expect("SEEN_BENCH_URLS are numbers") as u64;
        side_by_side(urls, &wanted);
    }
}

/// One key at a time, in the second level's cache.
fn small_steps(criterion: &mut Criterion) {
    let key = FingerprintKey::from_u64(7);
    let url = "https://www.example.org/catalogue/books/fiction/page-42.html?a=1&b=22x";
    assert_eq!(url.len(), 70);
    let mut group = criterion.benchmark_group("seen");
    group.throughput(Throughput::Elements(1));
    group.bench_function("fingerprint of 70 bytes", |b| b.iter(|| key.fingerprint(black_box(url))));
    group.bench_function("insert, new", |b| {
        let seen = filled(Layout::Blocked, 1_000_000, 16);
        let mut count = 0;
        b.iter(|| {
            count += 1;
            seen.insert(nth(count))
        });
    });
    group.bench_function("insert, seen", |b| {
        let seen = filled(Layout::Blocked, 1_000_000, 16);
        let mut count = 0;
        for count in 1..=100_000 {
            seen.insert(nth(count));
        }
        b.iter(|| {
            count = count % 100_000 + 1;
            seen.insert(nth(count))
        });
    });
    group.bench_function("insert_batch, the 64 links of a page, seen", |b| {
        let seen = filled(Layout::Blocked, 1_000_000, 16);
        let links: Vec<_> = (1..=64).map(nth).collect();
        let mut sightings = Vec::new();
        b.iter(|| seen.insert_batch(&links, &mut sightings));
    });
    group.finish();
}

/// The `count`th key: distinct and even, as a keyed hash gives them.
fn nth(count: u64) -> Fingerprint {
    let bits = count.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    Fingerprint::from_bits(bits ^ bits >> 31)
}

fn filled(layout: Layout, capacity: u64, shards: usize) -> SeenSet {
    let mut options = SeenOptions::default();
    (options.layout, options.capacity, options.shards) = (layout, capacity, shards);
    SeenSet::new(&options).expect("the options are in range")
}

const BLOCK: usize = 8192;

/// Keys in blocks, 30 % of them new, until `urls` new ones were made.
struct Stream {
    urls: u64,
    made: u64,
    random: u64,
}

impl Stream {
    fn new(urls: u64) -> Self {
        Self { urls, made: 0, random: 0 }
    }

    fn next(&mut self, block: &mut Vec<Fingerprint>) -> bool {
        block.clear();
        while block.len() < BLOCK && self.made < self.urls {
            self.random += 1;
            let random = nth(self.random ^ 1 << 60).bits();
            let count = if self.made == 0 || random % 10 < 3 {
                self.made += 1;
                self.made
            } else {
                1 + ((u128::from(random) * u128::from(self.made)) >> 64) as u64
            };
            block.push(nth(count));
        }
        !block.is_empty()
    }
}

/// Nanoseconds a key of `test`, which is given blocks of keys: the mean over the blocks but the slowest tenth, into which other work on the
/// machine breaks.
fn time(urls: u64, mut test: impl FnMut(&[Fingerprint])) -> f64 {
    let (mut stream, mut block, mut times) = (Stream::new(urls), Vec::with_capacity(BLOCK), Vec::new());
    while stream.next(&mut block) {
        let start = Instant::now();
        test(&block);
        times.push(start.elapsed().as_nanos() as f64 / block.len() as f64);
    }
    times.sort_by(f64::total_cmp);
    times.truncate(times.len() - times.len() / 10);
    times.iter().sum::<f64>() / times.len() as f64
}

/// The median of several fills; `make` makes an empty one, and says its bits.
fn row<T: FnMut(&[Fingerprint])>(wanted: &str, name: &str, urls: u64, make: impl Fn() -> (u64, T)) -> f64 {
    if !name.contains(wanted) {
        return f64::NAN;
    }
    let fills = (10_000_000 / urls).clamp(1, 5);
    let (mut bits, mut resident) = (0, 0);
    let mut times: Vec<_> = (0..fills)
        .map(|_| {
            let before = resident_bytes();
            let (size, mut test) = make();
            bits = size;
            let time = time(urls, &mut test);
            resident = resident_bytes().saturating_sub(before);
            time
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    let bits_per_url = bits as f64 / urls as f64;
    println!("{name:<46} {median:>8.1} ns {bits_per_url:>8.2} bits/URL {:>10.1} MB", resident as f64 / 1e6);
    median
}

/// Memory of this process that is in use; 0 where the system does not tell. What one fill gave back, the next may find in use already.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    pages.and_then(|pages| pages.split(' ').nth(1)?.parse::<u64>().ok()).map_or(0, |pages| pages * 4096)
}

/// A URL of 66 bytes, written into `url`.
fn write_url(url: &mut String, key: Fingerprint) {
    use std::fmt::Write;
    url.clear();
    write!(url, "https://www.example.org/catalogue/books/fiction/{:016x}.h", key.bits()).expect("a string grows");
}

fn side_by_side(urls: u64, wanted: &str) {
    println!("\n{urls} URLs, rate 1e-4, 30 % new, one core unless said otherwise");
    println!("{:<46} {:>11} {:>17} {:>13}", "", "a key", "memory", "resident");
    let bits_of = |seen: &SeenSet| seen.statistics().merged.bytes * 8;
    let row_of = |name: &str, layout: Layout, shards: usize, batch: usize| {
        row(wanted, name, urls, || {
            let seen = filled(layout, urls, shards);
            let mut sightings = Vec::new();
            (bits_of(&seen), move |keys: &[Fingerprint]| {
                if batch == 1 {
                    for &key in keys {
                        black_box(seen.insert(key));
                    }
                } else {
                    for batch in keys.chunks(batch) {
                        seen.insert_batch(batch, &mut sightings);
                        black_box(&sightings);
                    }
                }
            })
        })
    };

    let limit = row(wanted, "limit: a random line read and written", urls, || {
        // As many lines as the blocked layout has, and nothing but the access.
        let lines = urls as usize * 236 / 5120 + 1;
        let mut words = vec![0_u64; lines * 8];
        (words.len() as u64 * 64, move |keys: &[Fingerprint]| {
            for key in keys {
                let line = ((u128::from(key.bits()) * lines as u128) >> 64) as usize;
                words[line * 8] ^= key.bits();
            }
        })
    });
    let locked_limit = limit_under_locks(urls, wanted);
    let fastbloom = row(wanted, "fastbloom 0.17, ahash", urls, || {
        let builder = fastbloom::BloomFilter::with_false_pos(1e-4);
        let mut filter = builder.hasher(ahash::RandomState::new()).expected_items(urls as usize);
        (filter.num_bits() as u64, move |keys: &[Fingerprint]| {
            for key in keys {
                black_box(filter.insert(&key.bits()));
            }
        })
    });
    let split_block = row(wanted, "sbbf-rs-safe 0.3 (split block)", urls, || {
        let mut filter = sbbf_rs_safe::Filter::new(27, urls as usize);
        (filter.as_bytes().len() as u64 * 8, move |keys: &[Fingerprint]| {
            for key in keys {
                black_box(filter.insert_hash(key.bits()));
            }
        })
    });
    row(wanted, "std HashSet<u64>, ahash", urls, || {
        let mut set = std::collections::HashSet::with_capacity_and_hasher(urls as usize, ahash::RandomState::new());
        (set.capacity() as u64 * 8 / 7 * 72, move |keys: &[Fingerprint]| {
            for key in keys {
                black_box(set.insert(key.bits()));
            }
        })
    });
    let batched = row_of("blocked, batches of 8192, 16 shards", Layout::Blocked, 16, BLOCK);
    row_of("blocked, batches of 1024, 16 shards", Layout::Blocked, 16, 1024);
    row_of("blocked, batches of 64, 16 shards", Layout::Blocked, 16, 64);
    row_of("blocked, batches of 64, 1 shard", Layout::Blocked, 1, 64);
    let single = row_of("blocked, one by one, 16 shards", Layout::Blocked, 16, 1);
    let unaudited = row(wanted, "blocked, batches of 8192, 16 shards, no audit", urls, || {
        let mut options = SeenOptions::default();
        (options.capacity, options.audit) = (urls, 0);
        let seen = SeenSet::new(&options).expect("the options are in range");
        let mut sightings = Vec::new();
        (bits_of(&seen), move |keys: &[Fingerprint]| {
            seen.insert_batch(keys, &mut sightings);
            black_box(&sightings);
        })
    });
    row_of("standard, batches of 8192, 16 shards", Layout::Standard, 16, BLOCK);
    row_of("partitioned, batches of 8192, 16 shards", Layout::Partitioned, 16, BLOCK);
    row_of("counting, batches of 8192, 16 shards", Layout::Counting, 16, BLOCK);
    row_of("exact, batches of 8192, 16 shards", Layout::Exact, 16, BLOCK);
    println!(
        "batched blocked: fastbloom takes {:.1} times, split block {:.2} times as long; {:.2} times the limit; with audit {:.3} \
         times without",
        fastbloom / batched,
        split_block / batched,
        batched / limit,
        batched / unaudited
    );
    println!("one by one: {:.2} times the limit under locks", single / locked_limit);
    from_strings(urls, wanted);
    if "threads".contains(wanted) {
        let median = |count| {
            let mut runs: Vec<_> = (0..5).map(|_| threads(urls, count)).collect();
            runs.sort_by(f64::total_cmp);
            runs[2]
        };
        println!("two threads, 16 shards, batches of 8192: {:.2} times one thread", median(2) / median(1));
    }
}

/// One line as before, but each access behind the lock of its part.
fn limit_under_locks(urls: u64, wanted: &str) -> f64 {
    row(wanted, "limit: the same, one by one under 16 locks", urls, || {
        let lines = urls as usize * 236 / 5120 / 16 + 1;
        let shards: Vec<_> = (0..16).map(|_| Mutex::new(vec![0_u64; lines * 8])).collect();
        (lines as u64 * 16 * 512, move |keys: &[Fingerprint]| {
            for key in keys {
                let mut words = shards[(key.bits() >> 60) as usize].lock().expect("no one panics");
                let line = ((u128::from(key.bits() << 4) * lines as u128) >> 64) as usize;
                words[line * 8] ^= key.bits();
            }
        })
    })
}

/// The hash included, and the writing of the URL, which the first row takes alone.
fn from_strings(urls: u64, wanted: &str) {
    let mut text = String::new();
    write_url(&mut text, nth(1));
    assert_eq!(text.len(), 66);
    row(wanted, "from strings of 66 bytes: writing them", urls, || {
        let mut url = String::new();
        (0, move |keys: &[Fingerprint]| {
            for &key in keys {
                write_url(&mut url, key);
                black_box(&url);
            }
        })
    });
    row(wanted, "from strings of 66 bytes: fastbloom", urls, || {
        let builder = fastbloom::BloomFilter::with_false_pos(1e-4);
        let mut filter = builder.hasher(ahash::RandomState::new()).expected_items(urls as usize);
        let mut url = String::new();
        (filter.num_bits() as u64, move |keys: &[Fingerprint]| {
            for &key in keys {
                write_url(&mut url, key);
                black_box(filter.insert(url.as_str()));
            }
        })
    });
    row(wanted, "from strings of 66 bytes: blocked, batches", urls, || {
        let seen = filled(Layout::Blocked, urls, 16);
        let (mut url, mut fingerprints, mut sightings) = (String::new(), Vec::new(), Vec::new());
        let key = seen.options().key;
        (seen.statistics().merged.bytes * 8, move |keys: &[Fingerprint]| {
            fingerprints.clear();
            for &bits in keys {
                write_url(&mut url, bits);
                fingerprints.push(key.fingerprint(&url));
            }
            seen.insert_batch(&fingerprints, &mut sightings);
            black_box(&sightings);
        })
    });
}

/// Keys a second by the wall clock, lock waits and all, of so many threads that share one set; the work is the same for any number: each
/// thread brings its part of the same keys, made before the clock starts, each new once and then repeated twice.
fn threads(urls: u64, threads: u64) -> f64 {
    let seen = filled(Layout::Blocked, urls, 16);
    let part = urls / threads;
    let keys: Vec<Vec<_>> =
        (0..threads).map(|thread| (thread * part + 1..=(thread + 1) * part).map(nth).collect()).collect();
    let work = |keys: &[Fingerprint]| {
        let (mut sightings, mut new) = (Vec::new(), 0);
        for block in (0..3).flat_map(|_| keys.chunks(BLOCK)) {
            seen.insert_batch(block, &mut sightings);
            new += sightings.iter().filter(|sighting| **sighting == Sighting::New).count();
        }
        new
    };
    let start = Instant::now();
    let new: usize = thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = keys.iter().map(|keys| scope.spawn(move || work(keys))).collect();
        workers.into_iter().map(|worker| worker.join().expect("no worker panics")).sum()
    });
    let elapsed = start.elapsed().as_secs_f64();
    let shown = part * threads;
    assert!(new as u64 <= shown && new as u64 > shown - shown / 1000, "{new} of {shown} are new");
    (3 * shown) as f64 / elapsed
}
