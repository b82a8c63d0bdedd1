//! The sums of a report agree, for any web, limits and number of runs.

use proptest::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

use crate::outputs;
use crate::ran::crawler;
use crate::sums;

fn command_out(directory: &TempDir, arguments: &[&str]) -> String {
    let ran = crawler(directory, arguments).output().unwrap();
    String::from_utf8(ran.stdout).unwrap()
}

/// Text, HTML and metrics say of statuses what JSON says.
fn check_forms(report: &Value, stats: impl Fn(&str) -> String, job: &std::path::Path) {
    let fetched = report["urls"]["fetched"].as_u64().unwrap();
    let number = |text: &str| text.replace(',', "").trim_end_matches(".0").parse::<u64>().unwrap();
    let metrics = stats("--metrics");
    let of = |name: &str| {
        metrics
            .lines()
            .filter(|line| line.starts_with(name))
            .map(|line| number(line.rsplit(' ').next().unwrap()))
            .sum::<u64>()
    };
    assert_eq!((of("crawler_urls_statuses_total"), of("crawler_urls_fetched_total")), (fetched, fetched), "{metrics}");
    let again: u64 =
        report["asked_again"]["statuses"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(of("crawler_asked_again_statuses_total"), again);
    if fetched == 0 {
        return;
    }
    let text = stats("--errors");
    let rows = text.lines().filter_map(|line| line.trim().strip_prefix("status "));
    let pages: u64 = rows.map(|row| number(row.split_whitespace().nth(1).unwrap())).sum();
    assert_eq!(pages, fetched, "{text}");
    let page = std::fs::read_to_string(job.join("report.html")).unwrap();
    let part = page.split("<h2>Pages by status</h2>").nth(1).unwrap().split("</section>").next().unwrap();
    let rows = part.split("<td class=\"number\">").skip(1).map(|row| number(row.split('<').next().unwrap()));
    assert_eq!(rows.sum::<u64>(), fetched, "{part}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    /// A crawl that stops after each step of pages, and then goes on to its end.
    #[test]
    fn sums_agree_after_each_run(
        (pages, hosts, seed) in (20..150_u32, 2..9_u32, any::<u32>()),
        steps in prop::collection::vec(1..40_u64, 0..3),
        (sitemaps, trap, robots) in (0..2_u32, any::<bool>(), any::<bool>()),
    ) {
        let directory = TempDir::new().unwrap();
        let job = directory.path().join("job");
        let run = |flags: &[&str]| {
            let mut command = crawler(&directory, flags);
            command.env("CRAWLER_POLITENESS_HOST_DELAY", "1ms").env("CRAWLER_POLITENESS_BACKOFF", "1ms");
            for (name, value) in [
                ("PAGES", pages.to_string()),
                ("HOSTS", hosts.to_string()),
                ("SEED", seed.to_string()),
                ("TRAP", trap.to_string()),
                ("SITEMAP_PERCENT", (sitemaps * 50).to_string()),
                ("RETRY_AFTER", "0".to_owned()),
                ("CRAWL_DELAY", "1ms".to_owned()),
                ("LATENCY", "1ms".to_owned()),
            ] {
                command.env(format!("CRAWLER_SIMULATE_{name}"), value);
            }
            command.env("CRAWLER_TRAPS_SHAPE_BUDGET", "10").env("CRAWLER_TRAPS_HOST_BUDGET", "50");
            command.env("CRAWLER_POLITENESS_ROBOTS", robots.to_string());
            let ran = command.output().unwrap();
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
            let report = outputs::report(&job);
            sums::check(&report, false);
            let ended = ["fetched", "failed"].map(|name| report["urls"][name].as_u64().unwrap());
            let given_up: u64 = report["urls"]["unreachable"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
            let records = outputs::pages(&job).len() as u64;
            assert_eq!(ended.iter().sum::<u64>() + given_up, records, "each has a record, and no other has");
            check_forms(&report, |form| command_out(&directory, &["stats", "job", form]), &job);
        };
        let (first, mut recorded) = ("http://www.simulated.test/", 0);
        let mut limits: Vec<_> = steps.iter().map(|step| { recorded += step; recorded.to_string() }).collect();
        limits.push("100000".to_owned());
        run(&["--simulate", first, "--job", "job", "--max-pages", &limits[0]]);
        for limit in &limits[1..] {
            run(&["resume", "job", "--max-pages", limit]);
        }
    }
}
