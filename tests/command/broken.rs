//! How the command reports failed pages, broken links and hosts that refuse us.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::outputs;
use crate::ran::{Ran, crawler};
use crate::site::{Answers, Page, Site};

struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn job(&self) -> PathBuf {
        self.0.path().join("job")
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = crawler(&self.0, arguments);
        for name in ["HOST_DELAY", "BACKOFF", "MAX_BACKOFF"] {
            command.env(format!("CRAWLER_POLITENESS_{name}"), "1ms");
        }
        command.output().unwrap().into()
    }

    fn crawl(&self, flags: &[&str]) -> Ran {
        self.run(&[flags, &["--allow-private-addresses", "--job", "job"]].concat())
    }
}

/// One good page that links to five pages with a 500, and to another good one that links to five with a 404 and to two of the others.
fn broken_site() -> Site {
    let failing = (0..10).map(|number| {
        let path: &str = Box::leak(format!("/{number}").into_boxed_str());
        (path, Page::of("").answers(Answers::Status(if number < 5 { 500 } else { 404 })))
    });
    let links = |numbers| links(numbers) + "<a href=/more>more</a><a href=/old>old</a>";
    let good = [("/", Page::of(&links(0..5))), ("/more", Page::of(&links(3..10)))];
    let old = Page::of("").answers(Answers::Status(301)).head("Location: /9\r\n");
    Site::serve(good.into_iter().chain(failing).chain([("/old", old)]))
}

/// A link to each of these pages.
fn links(numbers: std::ops::Range<u32>) -> String {
    numbers.fold(String::new(), |links, number| links + &format!("<a href=/{number}>{number}</a>"))
}

#[test]
fn errors_are_told_and_each_broken_link_with_its_pages() {
    let (site, desk) = (broken_site(), Desk::new());
    let ran = desk.crawl(&[&site.url("/"), "--links"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for words in [
        "failed            10 pages (404: 5, 500: 5)",
        "Failed: 10 pages; crawler retry asks again for 5, crawler broken lists all.",
    ] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }

    let report = outputs::report(&desk.job());
    assert_eq!(report["urls"]["statuses"], serde_json::json!({ "200": 2, "301": 1, "404": 5, "500": 5 }));
    assert_eq!(report["asked_again"]["statuses"], serde_json::json!({ "500": 10 }));
    assert_eq!(report["guesses"]["statuses"], serde_json::json!({ "404": 1 }));
    let told = report["urls"]["failed_pages"].as_array().unwrap();
    let found_on = |path: &str| {
        let page = told.iter().find(|page| page["url"] == *site.url(path)).unwrap();
        (page["status"].clone(), page["referrer"].clone())
    };
    assert_eq!((told.len(), found_on("/0")), (10, (500.into(), site.url("/").into())));

    let errors = desk.run(&["stats", "job", "--errors"]).out;
    assert!(errors.contains("Pages that failed: 10 pages (404: 5, 500: 5)"), "{errors}");
    assert!(errors.contains(&format!("  404  {}", site.url("/7"))), "{errors}");
    assert!(errors.contains(&format!("on {}", site.url("/more"))), "{errors}");
    let page = std::fs::read_to_string(desk.job().join("report.html")).unwrap();
    assert!(page.contains("<h2>Pages that failed</h2>") && page.contains(&site.url("/7")), "{page}");
    let title = format!("<title>{}, job job: crawl of ", site.address);
    assert!(page.contains(&title), "{page}");

    let lines = desk.run(&["broken", "job", "--format", "jsonl"]);
    let broken: BTreeMap<String, Value> = lines
        .out
        .lines()
        .map(|line| {
            let broken: Value = serde_json::from_str(line).unwrap();
            (broken["url"].as_str().unwrap().to_owned(), broken)
        })
        .collect();
    assert_eq!((broken.len(), lines.code), (10, Some(0)), "{}", lines.err);
    let pages = |path: &str| broken[&site.url(path)]["pages"].as_array().unwrap().len();
    assert_eq!(["/0", "/3", "/4", "/5"].map(pages), [1, 2, 2, 1]);
    let by_redirect = broken[&site.url("/9")]["pages"].as_array().unwrap();
    assert!(by_redirect.contains(&site.url("/").into()), "it links to a redirect to it: {by_redirect:?}");
    let text = desk.run(&["broken", "job", "--check"]);
    assert_eq!(text.code, Some(6));
    assert!(text.out.contains(&format!("500 {}\n    {}\n", site.url("/0"), site.url("/"))), "{}", text.out);
    let table = desk.run(&["broken", "job", "--format", "csv"]).out;
    assert!(table.starts_with("url,status,error,message,page\n"), "{table}");
    assert!(table.contains(&format!("{},500,,,{}\n", site.url("/3"), site.url("/more"))), "{table}");
}

#[test]
fn without_links_the_first_page_is_known_and_that_is_said() {
    let (site, desk) = (broken_site(), Desk::new());
    assert_eq!(desk.crawl(&[&site.url("/")]).code, Some(0));
    let ran = desk.run(&["broken", "job", "--format", "jsonl"]);
    assert!(ran.out.lines().count() == 10 && ran.out.lines().all(|line| line.contains("\"is_complete\":false")));
    assert!(ran.err.contains("a crawl with --links"), "{}", ran.err);
    // A link that works again is not listed.
    (0..10).for_each(|number| _ = site.pages().insert(format!("/{number}"), Page::of("")));
    assert_eq!(desk.run(&["retry", "job"]).code, Some(0));
    let ran = desk.run(&["broken", "job", "--check"]);
    assert_eq!((ran.code, ran.out.matches("404 ").count(), ran.out.matches("500 ").count()), (Some(6), 5, 0));
}

#[test]
fn a_site_of_good_pages_has_no_broken_link() {
    let (site, desk) = (Site::serve([("/", Page::of("<a href=/2>2</a>")), ("/2", Page::of(""))]), Desk::new());
    let ran = desk.crawl(&[&site.url("/")]);
    assert!(
        ran.code == Some(0) && !ran.out.contains("Failed") && ran.out.contains("failed            no page"),
        "{}",
        ran.out
    );
    let ran = desk.run(&["broken", "job", "--check"]);
    assert_eq!((ran.code, &*ran.out, &*ran.err), (Some(0), "", ""));
}

#[test]
fn seeds_that_are_all_missing_are_nothing_crawled() {
    let (site, desk) = (Site::serve([]), Desk::new());
    let ran = desk.crawl(&[&site.url("/a"), &site.url("/b")]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("nothing was crawled: 2 answered: status 404"), "{}", ran.err);
}

#[test]
fn a_site_that_refuses_us_is_told_from_one_that_is_done() {
    let links = links(0..20);
    let wall = |number: usize| match number % 5 {
        0 => Page::of("").answers(Answers::Status(403)),
        1 => Page::of("").answers(Answers::Status(451)),
        2 => Page::of("").answers(Answers::Status(407)),
        3 => Page::of("<title>Just a moment...</title>").answers(Answers::Status(403)),
        _ => Page::of("").head("cf-mitigated: challenge\r\n"),
    };
    let paths = (0..20).map(|number| -> &'static str { Box::leak(format!("/{number}").into_boxed_str()) });
    let pages = paths.enumerate().map(|(number, path)| (path, wall(number)));
    let (site, desk) = (Site::serve(pages.chain([("/", Page::of(&links))])), Desk::new());
    let ran = desk.crawl(&[&site.url("/")]);
    let report = outputs::report(&desk.job());
    let refusing = &report["hosts"]["refusing_hosts"][0];
    assert_eq!(
        (&report["hosts"]["refusing"], &refusing["answers"], &refusing["refused"]),
        (&1.into(), &21.into(), &20.into())
    );
    assert!(ran.out.contains("Drained but for hosts that refuse us."), "{}", ran.out);
    assert!(ran.out.contains("20 of 21 answers"), "{}", ran.out);
    let metrics = desk.run(&["stats", "job", "--metrics"]).out;
    assert!(metrics.contains("crawler_hosts_refusing{} 1.0"), "{metrics}");
    assert_eq!(report["challenges"], serde_json::json!({ "cloudflare": 8 }));
    let full = desk.run(&["stats", "job", "--all"]).out;
    assert!(full.contains("challenges of cloudflare"), "{full}");
    for number in [3, 4] {
        let explained = desk.run(&["explain", &site.url(&format!("/{number}")), "--job", "job"]).out;
        assert!(explained.contains("a challenge of cloudflare came instead of the page"), "{explained}");
        assert!(explained.contains("ask more slowly, sign requests (--identity), or write to the site"), "{explained}");
    }
}

#[test]
fn a_host_that_says_429_for_ever_keeps_its_pages() {
    let links = links(0..20);
    let paths = (0..20).map(|number| -> &'static str { Box::leak(format!("/{number}").into_boxed_str()) });
    let pages = paths.map(|path| (path, Page::of("").answers(Answers::Status(429))));
    let (site, desk) = (Site::serve(pages.chain([("/", Page::of(&links))])), Desk::new());
    let ran = desk.crawl(&[&site.url("/")]);
    let report = outputs::report(&desk.job());
    assert_eq!(report["urls"]["unreachable"], serde_json::json!({ "refused": 20 }));
    assert_eq!(report["hosts"]["refusing"], 1, "{}", ran.out);
    let reason = report["hosts"]["in_trouble"][0]["reason"].as_str().unwrap();
    assert_eq!(reason, "refused: status 429");
    (0..20).for_each(|number| _ = site.pages().insert(format!("/{number}"), Page::of("")));
    assert_eq!(desk.run(&["resume", "job"]).code, Some(0));
    assert_eq!(outputs::report(&desk.job())["urls"]["statuses"], serde_json::json!({ "200": 21 }));
}

crate::both::and_over_reqwest! {}
