//! What one page costs by either engine: `cargo bench --bench parse`. A page of 35 kB with 200 links, beside scraper's own way of
//! reading it, and the pages that cost a parser most.

use std::fmt::Write;
use std::hint::black_box;

use crawler::crawl::{Engine, ParseOptions, parse};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
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

/// Both engines, by name.
fn engines() -> [(&'static str, ParseOptions); 2] {
    [Engine::Stream, Engine::Dom].map(|engine| {
        let mut options = ParseOptions::default();
        options.engine = engine;
        (engine.name(), options)
    })
}

fn pages(criterion: &mut Criterion) {
    let page = main_page();
    let mut group = criterion.benchmark_group("page");
    group.throughput(Throughput::Bytes(page.len() as u64));
    for (engine, options) in engines() {
        group.bench_function(engine, |bencher| {
            bencher.iter(|| parse(black_box(page.as_bytes()), Some("text/html"), &options));
        });
    }
    let links = Selector::parse("a[href]").unwrap();
    group.bench_function("scraper", |bencher| {
        bencher.iter(|| {
            let html = Html::parse_document(black_box(&page));
            html.select(&links).filter_map(|link| link.value().attr("href").map(str::to_owned)).collect::<Vec<_>>()
        });
    });
    group.finish();
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
        for (engine, options) in engines() {
            group.bench_function(format!("{name}/{engine}"), |bencher| {
                bencher.iter(|| parse(black_box(page.as_bytes()), Some("text/html; charset=utf-8"), &options));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, pages, hostile);
criterion_main!(benches);
