//! The report as an HTML page: its content, and that a hostile web cannot put markup into it.

use std::path::Path;

use crawler::report::{Report, read};

fn invented() -> Report {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/report.json");
    read(&golden).expect("a report")
}

/// The tags of a page, without their attributes; comments and texts are passed over.
fn tags(page: &str) -> Vec<&str> {
    page.split('<').skip(1).filter_map(|rest| rest.split([' ', '>', '/', '\n']).find(|name| !name.is_empty())).collect()
}

#[test]
fn it_answers_without_a_request() {
    let page = invented().html();
    for words in [
        "Ended: the time is over. 11,790 pages in 2 min 14 s",
        "Lost to the filter: at most 4,658 measured",
        "robots.txt was NOT honored",
        "2 requests came TOO EARLY",
        "https://docs.example.org",
        "out_of_scope",
        "shard 3",
        "<title>docs.example.org and 409 more hosts: crawl of 2026-",
        "https://docs.example.org/missing",
        "refuses us: 403, 9 of 10 answers",
        // A bar is as long as its number says.
        ">0.4 %</td><td class=\"bar\"><svg width=\"100%\" height=\"12\" aria-hidden=\"true\"><rect class=\"bar2\" width=\"0.4%\"",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(page.len() < 200_000, "{} bytes", page.len());
    assert!(page.contains("crawler 0.1.0, 2026-11-10T10:00:00.007Z to 2026"), "words stand apart");
    let tags = tags(&page);
    for tag in ["script", "link", "img", "iframe", "object", "form", "base", "image", "use", "a"] {
        assert!(!tags.contains(&tag), "<{tag}>");
    }
    for reference in ["src=", "href=", "url(", "@import"] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert_eq!(page.matches("<polyline").count(), 8, "each line of each chart");
}

#[test]
fn its_first_line_is_whole_however_long() {
    let mut report = invented();
    (report.urls.counts.fetched, report.elapsed_us) = (98_765_432_101, 77_000_000_000_000);
    report.finish = crawler::crawl::FinishReason::ReaderLeft;
    let whole = "Ended: the reader of the records has left. 98,765,432,101 pages in 891 d 4 h, 1282.7 a second.";
    assert!(report.html().contains(&format!("<h1>{whole}</h1>")));
    let verdict = report.verdict().replace('\n', " ");
    assert!(verdict.starts_with(whole), "{verdict}");
}

#[test]
fn texts_of_the_web_stay_texts() {
    let hostile = "</title><script>alert(1)</script>\"'><img src=x onerror=alert(1)> &amp; \u{202e}{{ report }}";
    let mut report = invented();
    let mut named = |name: &str| {
        report.pages.content_types = [(name.to_owned(), 1_000)].into_iter().collect();
        report.urls.errors = [(name.to_owned(), 1_000)].into_iter().collect();
        report.hosts.top[0].host = name.to_owned();
        report.html()
    };
    let calm = tags(&named("calm")).len();
    let page = named(hostile);
    assert_eq!(tags(&page).len(), calm, "no tag more");
    assert!(!page.contains("<script") && !page.contains("<img"));
    assert!(page.contains("&#60;script&#62;alert(1)"), "it is shown");
}

#[test]
fn it_stays_small_whatever_the_crawl() {
    let mut report = invented();
    let shard = report.seen.shards[0].clone();
    report.seen.shards = vec![shard; 65_536];
    report.pages.content_types = (0..100_000).map(|number| (format!("type/{number}"), 1)).collect();
    report.urls.statuses = (100..1000).map(|status| (status, 1)).collect();
    let page = report.html();
    assert!(page.len() < 200_000, "{} bytes", page.len());
    assert!(page.contains("The 32 fullest of 65,536. A whole bar is all of a shard&#39;s bits."));
}
