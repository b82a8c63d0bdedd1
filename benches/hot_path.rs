//! The cost of each step of a page, from its bytes to its record: `cargo bench --bench hot_path`.
//!
//! The pages are generated like those of the documentation corpora: 28 kB, 114 links of which 35 are distinct, most of them to pages
//! that were seen. Each step does the work of one page. `benches/crawl` measures a whole crawl, with sockets and tasks.

use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use crawler::address::{BaseUrl, CanonicalUrl};
use crawler::crawl::{Page, PageRecord, ParseOptions, parse};
use crawler::frontier::{Frontier, FrontierOptions, Lease, Next, Outcome, Timestamp};
use crawler::gate::{Admission, Found, ScopeKind};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use xxhash_rust::xxh3::xxh3_64;

/// Pages of the web: more than a seen set in a cache could hold.
const PAGES: u64 = 1 << 20;
/// Distinct links on each page. `NEW` of them were not seen.
const DISTINCT: u64 = 35;
const NEW: u64 = 1;
/// Each distinct link stands so often.
const TIMES: usize = 3;
const ORIGIN: &str = "http://docs.example.org:8481";

/// Links of page `number`: the index and its neighbors, then others anywhere, then new ones.
fn hrefs(number: u64) -> Vec<String> {
    let near = (0..10).map(|step| format!("page-{:07}.html", (number + step) % PAGES));
    let far = (10..DISTINCT - NEW).map(|step| {
        let page = xxh3_64(&(number * DISTINCT + step).to_le_bytes()) % PAGES;
        format!("../part-{:03}/page-{page:07}.html", page % 500)
    });
    let new = (0..NEW).map(|step| format!("/new/{number}/{step}.html"));
    near.chain(far).chain(new).collect()
}

fn url(number: u64) -> String {
    format!("{ORIGIN}/library/part-{:03}/page-{number:07}.html", number % 500)
}

/// A page of 28 kB.
fn html(number: u64) -> String {
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Page {number} of the library</title>\n\
         <link rel=\"stylesheet\" href=\"/style.css\" type=\"text/css\"><link rel=\"next\" href=\"page-{number:07}.html\">\n\
         <script src=\"/doctools.js\"></script></head><body>\n"
    );
    for (place, href) in hrefs(number).iter().cycle().take(usize::try_from(DISTINCT).expect("few") * TIMES).enumerate()
    {
        writeln!(
            html,
            "<dt class=\"sig\" id=\"item-{place}\"><code class=\"descname\"><span class=\"pre\">item_{place}</span></code>\
             <a class=\"reference internal\" href=\"{href}#item-{place}\" title=\"item {place}\">see</a></dt>\n\
             <dd><p>Return the value that was <em>first</em> given, or the default &mdash; see the notes.</p></dd>"
        )
        .expect("memory");
    }
    html.push_str("</body></html>\n");
    html
}

/// A frontier in the middle of a crawl: all old pages were seen.
struct Crawl {
    frontier: Frontier,
    now: Timestamp,
    number: u64,
}

impl Crawl {
    fn new() -> Self {
        let mut options = FrontierOptions::default();
        options.scope.kind = ScopeKind::Host;
        options.seen.capacity = 8 * PAGES;
        options.politeness.robots = false;
        options.politeness.host_delay = Duration::ZERO;
        let mut frontier = Frontier::new(&options).expect("options");
        let now = Timestamp::from_micros(1 << 50);
        frontier.seed(&url(0), now).expect("memory");
        for number in 1..PAGES {
            let found = Found::seed(frontier.gate().canonicalizer().canonicalize(&url(number)).expect("a URL"));
            black_box(frontier.gate().admit(found));
        }
        Self { frontier, now, number: 0 }
    }

    fn lease(&mut self) -> Lease {
        loop {
            match self.frontier.next(self.now).expect("memory") {
                Next::Fetch(lease) => return lease,
                Next::Wait(until) => self.now = until,
                other => panic!("{other:?}"),
            }
        }
    }

    /// The next page's URL and links.
    fn next_page(&mut self) -> (BaseUrl, Vec<String>) {
        self.number = (self.number + 7919) % PAGES;
        let base = self.frontier.gate().canonicalizer().base(&url(self.number)).expect("a URL");
        (base, hrefs(self.number))
    }

    fn joined(&mut self) -> Vec<CanonicalUrl> {
        let (base, hrefs) = self.next_page();
        hrefs.iter().map(|href| self.frontier.gate().join(&base, href).expect("a URL")).collect()
    }
}

fn found(urls: Vec<CanonicalUrl>) -> Vec<Found> {
    let link = |url| {
        let mut found = Found::seed(url);
        (found.depth, found.via) = (3, crawler::gate::Via::Link);
        found
    };
    urls.into_iter().map(link).collect()
}

fn record(page: &Page, url: &CanonicalUrl) -> PageRecord {
    PageRecord {
        url: url.wire().to_owned(),
        key: url.key().to_owned(),
        status: Some(200),
        content_type: Some("text/html".to_owned()),
        bytes: 28_000,
        wire_bytes: 28_000,
        encoding: Some(page.encoding.into()),
        title: page.title.clone(),
        attempts: 1,
        fetched_at: "2026-01-01T00:00:00.000Z".to_owned(),
        ..PageRecord::default()
    }
}

/// Times `run` alone. `make` prepares its input outside the measured time.
fn timed<T, R>(times: u64, mut make: impl FnMut() -> T, mut run: impl FnMut(T) -> R) -> Duration {
    (0..times).fold(Duration::ZERO, |spent, _| {
        let work = make();
        let start = Instant::now();
        black_box(run(work));
        spent + start.elapsed()
    })
}

fn stations(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("page");
    group.throughput(Throughput::Elements(1));
    let html = html(4711);
    let options = ParseOptions::default();
    group.bench_function("scan", |bencher| {
        bencher.iter(|| parse(black_box(html.as_bytes()), Some("text/html"), &options));
    });

    let mut crawl = Crawl::new();
    group.bench_function("join", |bencher| {
        bencher.iter_custom(|times| {
            let gate = std::sync::Arc::clone(crawl.frontier.gate());
            timed(
                times,
                || crawl.next_page(),
                |(base, hrefs)| hrefs.iter().filter_map(|href| gate.join(&base, href).ok()).collect::<Vec<_>>(),
            )
        });
    });
    group.bench_function("gate, with seen", |bencher| {
        bencher.iter_custom(|times| {
            let gate = std::sync::Arc::clone(crawl.frontier.gate());
            timed(times, || found(crawl.joined()), |found| gate.admit_batch(found))
        });
    });
    group.bench_function("seen", |bencher| {
        bencher.iter_custom(|times| {
            let gate = std::sync::Arc::clone(crawl.frontier.gate());
            let key = gate.fingerprint_key();
            let mut sightings = Vec::new();
            timed(
                times,
                || crawl.joined().iter().map(|url| url.fingerprint(key)).collect::<Vec<_>>(),
                |fingerprints| {
                    sightings.clear();
                    gate.seen().insert_links(&fingerprints, &mut sightings);
                },
            )
        });
    });

    let mut crawl = Crawl::new();
    let mut lease = Some(crawl.lease());
    group.bench_function("frontier: settle and next", |bencher| {
        bencher.iter_custom(|times| {
            let mut spent = Duration::ZERO;
            for _ in 0..times {
                let found = found(crawl.joined());
                let admissions = crawl.frontier.gate().admit_batch(found);
                let out = lease.take().expect("the one that is out");
                let start = Instant::now();
                for admission in admissions {
                    if let Admission::Admitted(admitted) = admission {
                        crawl.frontier.submit(admitted, crawl.now).expect("memory");
                    }
                }
                let outcome = Outcome::response(&out, 200, b"");
                crawl.frontier.complete(out, outcome, crawl.now).expect("memory");
                lease = Some(crawl.lease());
                spent += start.elapsed();
            }
            spent
        });
    });

    let page = parse(html.as_bytes(), Some("text/html"), &options);
    let url = crawl.frontier.gate().canonicalizer().canonicalize(&url(4711)).expect("a URL");
    let mut line = Vec::new();
    group.bench_function("record", |bencher| {
        bencher.iter(|| {
            line.clear();
            serde_json::to_writer(&mut line, &record(black_box(&page), &url)).expect("memory");
        });
    });
    group.finish();
}

criterion_group!(benches, stations);
criterion_main!(benches);
