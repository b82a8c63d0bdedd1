//! The cost of one page: `cargo bench --bench parse`. A page of 35 kB with 200 links, beside scraper's way of reading it; the verdicts on
//! its links; and the pages that cost a parser most.

use std::fmt::Write;
use std::hint::black_box;

use crawler::address::BaseUrl;
use crawler::crawl::{Page, ParseOptions, parse};
use crawler::frontier::{Frontier, FrontierOptions, Timestamp};
use crawler::gate::{Found, Gate, Via};
use crawler_frontier::driver::{LinkUrl, Links};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use scraper::{Html, Selector};

fn main_page() -> String {
    let mut html = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>The valley in spring</title>\n\
         <link rel=\"stylesheet\" href=\"/static/main.css?v=31\"><link rel=\"canonical\" href=\"https://example.org/valley\">\n\
         <meta name=\"description\" content=\"What grows where, and when to see it.\"><script>window.page={\"id\":7311};</script>\
         </head>\n<body class=\"article two-columns\"><nav id=\"menu\"><ul class=\"menu menu-main\">\n",
    );
    for number in 0..50 {
        writeln!(
            html,
            "<li class=\"menu-item item-{number}\"><a class=\"menu-link\" href=\"/section/{number}/?from=menu\">\
             Section {number}</a></li>"
        )
        .unwrap();
    }
    html.push_str("</ul></nav><main><article>\n");
    for number in 0..75 {
        writeln!(
            html,
            "<h2 id=\"part-{number}\">Part {number}</h2>\n<p class=\"text\">The path climbs along the brook, past the mill \
             and the <a href=\"../places/mill-{number}.html#history\" title=\"The old mill\">old mill</a>, to where the \
             <em>first</em> anemones grow &mdash; white at noon, closed by four. In April the snow line is still close; \
             see <a href=\"https://weather.example/valley?day={number}\" rel=\"external nofollow\">the forecast</a>.</p>\n\
             <img src=\"/images/{number}.jpg\" alt=\"\" width=\"320\" height=\"240\">"
        )
        .unwrap();
    }
    html.push_str("</article></main><footer><p>&copy; nobody</p></footer></body></html>\n");
    html
}

fn pages(criterion: &mut Criterion) {
    let page = main_page();
    let mut group = criterion.benchmark_group("page");
    group.throughput(Throughput::Bytes(page.len() as u64));
    let options = ParseOptions::default();
    group.bench_function("parse", |bencher| {
        bencher.iter(|| parse(black_box(page.as_bytes()), Some("text/html"), &options));
    });
    let links = Selector::parse("a[href]").unwrap();
    group.bench_function("scraper", |bencher| {
        bencher.iter(|| {
            let html = Html::parse_document(black_box(&page));
            html.select(&links).filter_map(|link| link.value().attr("href").map(str::to_owned)).collect::<Vec<_>>()
        });
    });
    group.finish();
}

/// A way to the verdicts on a page's links; it says how many are new.
type Way = fn(&Gate, &BaseUrl, &Page) -> usize;

/// The links of a page, at a gate that has never seen any of them, that has seen all of them on the neighbor, and that has seen
/// them in another directory, where most of them lead elsewhere.
fn verdicts(criterion: &mut Criterion) {
    let page = parse(main_page().as_bytes(), Some("text/html"), &ParseOptions::default());
    let frontier = || {
        let mut options = FrontierOptions::default();
        options.seen.capacity = 100_000;
        let mut frontier = Frontier::new(&options).unwrap();
        frontier.seed("https://example.org/valley/", Timestamp::from_micros(0)).unwrap();
        frontier
    };
    let seen = frontier();
    let base = |text: &str| seen.gate().canonicalizer().base(text).unwrap();
    let neighbor = base("https://example.org/valley/spring.html");
    let elsewhere: Vec<BaseUrl> = (0..5_000).map(|n| base(&format!("https://example.org/{n}/x.html"))).collect();
    for base in elsewhere.iter().chain([&neighbor]) {
        together(seen.gate(), base, &page);
    }
    let mut group = criterion.benchmark_group("verdicts");
    group.throughput(Throughput::Elements(page.links.len() as u64));
    for (way, verdicts) in [("together", together as Way), ("one by one", one_by_one)] {
        group.bench_function(format!("new/{way}"), |bencher| {
            bencher.iter_batched(frontier, |new| verdicts(new.gate(), &neighbor, &page), BatchSize::SmallInput);
        });
        group
            .bench_function(format!("known/{way}"), |bencher| bencher.iter(|| verdicts(seen.gate(), &neighbor, &page)));
        let mut bases = elsewhere.iter().cycle();
        group.bench_function(format!("elsewhere/{way}"), |bencher| {
            bencher.iter(|| verdicts(seen.gate(), bases.next().unwrap(), &page));
        });
    }
    group.finish();
}

fn together(gate: &Gate, base: &BaseUrl, page: &Page) -> usize {
    let mut links = Links::new(1, None);
    for link in page.links.iter() {
        let _ = links.add(gate, &mut LinkUrl::new(base, link.href), false);
    }
    gate.admit_links(links).0.len()
}

fn one_by_one(gate: &Gate, base: &BaseUrl, page: &Page) -> usize {
    let found = page.links.iter().filter_map(|link| {
        let mut found = Found::seed(gate.join(base, link.href).ok()?);
        (found.via, found.depth) = (Via::Link, 1);
        Some(found)
    });
    gate.admit_batch(found.collect()).len()
}

fn hostile(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("1 MB");
    group.sample_size(10);
    let numbered =
        |text: &str, count| (0..count).fold(String::new(), |html, n| html + &text.replace('#', &n.to_string()));
    let cases = [
        ("text", "x ".repeat(500_000)),
        ("div", "<div>".repeat(200_000)),
        ("font", numbered("<p><font name=#>", 400) + "</p>" + &"<p>x</p>".repeat(125_000)),
        ("attributes", "<a ".to_owned() + &numbered("a# ", 150_000)),
        ("links", numbered("<a href=/#>", 60_000)),
        ("svg", "<svg><desc><p></svg>".repeat(50_000)),
    ];
    for (name, page) in &cases {
        group.throughput(Throughput::Bytes(page.len() as u64));
        let options = ParseOptions::default();
        group.bench_function(*name, |bencher| {
            bencher.iter(|| parse(black_box(page.as_bytes()), Some("text/html; charset=utf-8"), &options));
        });
    }
    group.finish();
}

criterion_group!(benches, pages, verdicts, hostile);
criterion_main!(benches);
