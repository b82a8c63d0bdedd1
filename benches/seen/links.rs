//! The links of pages, as a crawl shows them to the gate: page by page, and most of them seen lately.

use std::hint::black_box;
use std::time::Instant;

use crawler::address::{Fingerprint, FingerprintKey};
use crawler::seen::{SeenSet, Sighting};

use crate::entries::{options, set};
use crate::keys::nth;
use crate::race::median;

/// Links timed in all.
const LINKS: usize = 4_000_000;

/// Between two pages, a crawl's other work goes through the caches: the bytes of its next page, for example.
const BETWEEN: usize = 256 * 1024;

type Show = fn(&SeenSet, &[Fingerprint], &mut Vec<Sighting>);

const WAYS: [(&str, Show); 2] =
    [("page by page, insert_batch", SeenSet::insert_batch), ("page by page, insert_links", SeenSet::insert_links)];

/// Into sets that hold this many URLs already. Each of [`WAYS`] has its own set and gets each page in turn.
pub(crate) fn page_by_page(urls: u64) {
    let pages = pages();
    let links: usize = pages.iter().map(Vec::len).sum();
    let sets = WAYS.map(|_| filled(urls));
    let (mut between, mut sightings) = (vec![1_u8; BETWEEN], Vec::new());
    let mut times = WAYS.map(|_| Vec::new());
    for site in 0..(LINKS / links).max(5) as u64 {
        let mut sums = WAYS.map(|_| 0.0);
        for page in &pages {
            // The same site under another name.
            let page: Vec<_> = page.iter().map(|link| nth(link.bits() ^ site << 48)).collect();
            for (((_, show), seen), sum) in WAYS.iter().zip(&sets).zip(&mut sums) {
                between.fill(black_box(1));
                black_box(&between);
                let start = Instant::now();
                show(seen, &page, &mut sightings);
                *sum += start.elapsed().as_nanos() as f64;
                black_box(&sightings);
            }
        }
        times.iter_mut().zip(sums).for_each(|(times, sum)| times.push(sum / links as f64));
    }
    println!("\nlinks of {} pages, {} a page", pages.len(), links / pages.len());
    for (((name, _), seen), times) in WAYS.iter().zip(&sets).zip(&mut times) {
        let statistics = seen.statistics();
        let hits = statistics.recent_hits as f64 / (times.len() * links) as f64;
        println!("{name:<46} {:>8.1} ns a link; {:.1} % without a shard", median(times), hits * 100.0);
    }
}

fn filled(urls: u64) -> SeenSet {
    let seen = set(&options(urls + urls / 10));
    let (mut keys, mut sightings) = (Vec::new(), Vec::new());
    for start in (0..urls).step_by(8192) {
        keys.clear();
        keys.extend((start..urls.min(start + 8192)).map(|count| nth(count | 1 << 62)));
        seen.insert_batch(&keys, &mut sightings);
    }
    seen
}

/// Those of `SEEN_BENCH_LINKS`, a file with a link a line and an empty line behind each page; or as the manuals of a language and a library had
/// them: nine links in ten repeat one of the last few hundred.
fn pages() -> Vec<Vec<Fingerprint>> {
    let Ok(path) = std::env::var("SEEN_BENCH_LINKS") else { return (0..1000).map(invented).collect() };
    let key = FingerprintKey::from_u64(7);
    let text = std::fs::read_to_string(path).expect("SEEN_BENCH_LINKS is a file");
    let pages = text.split("\n\n").map(|page| page.lines().map(|link| key.fingerprint(link)).collect());
    pages.filter(|page: &Vec<_>| !page.is_empty()).collect()
}

/// A page's 60 links: 6 new ones, and 54 of the 300 before these.
fn invented(page: u64) -> Vec<Fingerprint> {
    let newest = 6 * page + 300;
    let link = |place: u64| match place % 10 {
        0 => newest + place / 10,
        _ => newest - 1 - nth(page << 8 | place).bits() % 300,
    };
    (0..60).map(|place| nth(link(place))).collect()
}
