//! A report, as its reader meets it: printed, saved, read back, refused.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use crawler::crawl::{Cost, CrawlOptions, Finished, PageRecord, PolitenessWatch, Tally};
use crawler::frontier::{Completion, Frontier, Href, LeaseKind, Next, Reply, Timestamp};
use crawler::report::{PolitenessFigures, Report, ReportError, ReportPart, read};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// A crawl that never was, with something in each field.
fn invented() -> Report {
    read(&golden("report.json")).expect("a report")
}

fn json(report: &Report) -> String {
    let mut json = Vec::new();
    report.write_json(&mut json).expect("memory");
    String::from_utf8(json).expect("text")
}

/// Reads a report with this content, which fails.
fn failure(content: &str) -> ReportError {
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), content).expect("written");
    read(file.path()).expect_err("no report")
}

/// Crawls a web of one host, on which all pages have the same links. It stops after this many requests.
fn crawled(requests: usize) -> Report {
    const LINKS: &str = "/ /a /b /b#twice /private/c /private/d mailto:a@b.test https://else.test/ http://[ /e /f";
    let options = CrawlOptions::default();
    let mut frontier = Frontier::new(&options.frontier).expect("the defaults");
    let mut tally = Tally::default();
    let mut politeness = PolitenessWatch::default();
    let mut now = Timestamp::default();
    frontier.seed("https://a.test/", now).expect("memory");
    while tally.pages.requests + tally.robots.requests < requests as u64 {
        let lease = match frontier.next(now).expect("memory") {
            Next::Fetch(lease) => lease,
            Next::Wait(until) => {
                now = until;
                continue;
            }
            _ => break,
        };
        let delay = frontier.top_hosts(1)[0].delay;
        politeness.sent(lease.origin(), now, delay);
        let kind = lease.kind();
        let record = PageRecord { status: Some(200), wire_bytes: 10, ..PageRecord::default() };
        let mut reply = Reply::from(200);
        reply.body = b"User-agent: *\nDisallow: /private/";
        reply.links = LINKS.split(' ').map(Href::from).collect();
        let completion = frontier.answer(lease, &reply, now).expect("memory");
        let is_done = completion == Completion::Done;
        match kind {
            LeaseKind::Page => tally.record_page(is_done, &record),
            _ => tally.robots.record(is_done, &record),
        }
    }
    let mut finished = Finished::of(&frontier, tally, now);
    finished.politeness = politeness.counts();
    Report::of(&finished, &options, Cost::default(), None)
}

#[test]
fn each_url_is_in_one_place_whenever_the_crawl_stops() {
    for requests in 0..8 {
        let Report { urls, pages, hosts, politeness, seen, .. } = crawled(requests);
        assert_eq!(urls.found, urls.admitted + urls.refused.values().sum::<u64>(), "{requests}: {urls:?}");
        let unreachable: u64 = urls.counts.unreachable.total();
        assert_eq!(
            urls.admitted,
            urls.counts.fetched + urls.counts.failed + unreachable + urls.queued,
            "{requests}: {urls:?}"
        );
        assert_eq!(pages.wire_bytes, 10 * urls.counts.fetched);
        assert_eq!(hosts.top[0].requests, requests.min(6) as u64);
        assert_eq!(hosts.by_requests.iter().map(|bucket| bucket.hosts).sum::<u64>(), hosts.known);
        assert_eq!((politeness.counts.requests, politeness.counts.violations), (requests.min(6) as u64, 0));
        assert_eq!(seen.merged.inserted, urls.admitted + urls.refused["robots"]);
    }
    let Report { urls, .. } = crawled(usize::MAX);
    let refused = |reason: &str| urls.refused[reason];
    assert_eq!((urls.found, urls.counts.fetched, urls.queued), (1 + 5 * 11, 5, 0));
    assert_eq!((refused("unsupported_scheme"), refused("out_of_scope"), refused("malformed")), (5, 5, 5));
    assert_eq!((refused("robots"), refused("seen")), (2, 56 - 5 - 15 - 2));
}

/// Takes from a report all that should frighten.
fn calm(report: &mut Report) {
    report.seen.merged.full = 0;
    report.settings.robots = true;
    report.settings.private_addresses = false;
    report.settings.insecure = false;
    report.politeness = PolitenessFigures::default();
    report.simulated = None;
}

fn assert_golden(text: &str, name: &str) {
    if std::env::var_os("WRITE_GOLDEN").is_some() {
        fs::write(golden(name), text).expect("the golden file");
    }
    let expected = fs::read_to_string(golden(name)).expect("the golden file");
    for (line, (ours, expected)) in text.lines().zip(expected.lines()).enumerate() {
        assert_eq!(ours, expected, "{name}:{}", line + 1);
    }
    assert_eq!(text.len(), expected.len(), "one of the two ends early");
}

#[test]
fn what_people_read() {
    let report = invented();
    assert_golden(&report.to_string(), "report.txt");
    assert_golden(&format!("{}\n{}", report.in_full(&ReportPart::ALL), report.verdict()), "report-in-full.txt");
}

#[test]
fn what_programs_read() {
    assert_golden(&json(&invented()), "report.json");
}

#[test]
fn a_saved_report_comes_back_whole() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("report.json");
    let mut report = invented();
    report.save(&path).expect("saved");
    assert_eq!(read(&path).expect("the report"), report);

    // Over another one, and with a number that differs from its neighbor only in the last bit.
    report.seen.merged.fill_ratio = f64::from_bits(report.seen.merged.fill_ratio.to_bits() + 1);
    report.save(&path).expect("saved");
    assert_eq!(read(&path).expect("the report"), report);
    assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 1);
}

#[test]
fn the_text_stays_within_its_columns_and_obeys_nobody() {
    let mut report = invented();
    report.urls.found = u64::MAX;
    report.urls.refused.insert("y".repeat(300), u64::MAX);
    report.pages.wire_bytes = u64::MAX / 2;
    report.pages.content_types.add("text/\u{1b}]0;owned\u{7}\r\n", 1);
    report.hosts.top[0].host = "https://".to_owned() + &"x".repeat(250);
    report.hosts.top[1].host = "https://\u{202e}moc.elpmaxe".to_owned();
    report.started = "\u{1b}[31m".to_owned();
    for shard in &mut report.seen.shards {
        shard.capacity = u64::MAX / 4;
        shard.tests = u64::MAX / 4;
        shard.cardinality = f64::INFINITY;
        shard.false_positive_rate_estimated = 1e-300;
        shard.false_positive_rate_mean = f64::NAN;
        shard.expected_lost = 1e18;
    }
    report.seen.merged.full = 7;
    for (text, lines) in [(report.to_string(), 56), (report.in_full(&ReportPart::ALL), 200)] {
        for line in text.lines() {
            assert!(line.len() <= 80, "{} columns: {line}", line.len());
            assert!(line.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()), "{line:?}");
        }
        assert!(text.lines().count() <= lines, "{text}");
    }
    // The command adds a line on where the rest is.
    let mut report = invented();
    calm(&mut report);
    assert!(report.to_string().lines().count() < 40, "{report}");
}

#[test]
fn rare_statuses_and_types_are_summed() {
    let mut report = invented();
    report.urls.statuses = (200..1000).map(|status| (status, 1)).collect();
    report.robots.content_types = (0..30).map(|i| (format!("x/{i}"), 2)).collect();
    let text = report.in_full(&[ReportPart::Responses]);
    let row = |name: &str| text.lines().find(|line| line.trim_start().starts_with(name)).map(str::split_whitespace);
    let cells = |name: &str| row(name).expect("a row").map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(cells("status 791 others"), ["status", "791", "others", "791", "0", "0", "0"]);
    assert_eq!(cells("26 others"), ["26", "others", "0", "52"]);
    assert!(text.contains("  text/html"), "the common ones have their own rows");
}

#[test]
fn of_many_shards_the_text_shows_the_fullest_and_says_so() {
    let mut report = invented();
    let row = report.seen.shards[0].clone();
    report.seen.shards = vec![row; 65_536];
    for number in [7, 40_000, 65_535] {
        report.seen.shards[number].fill_ratio *= 1.5;
    }
    let text = report.in_full(&[ReportPart::Filter]);
    let table: Vec<_> = text.lines().skip_while(|line| *line != "The seen filter, by shard").collect();
    let numbers: Vec<_> = table[3..].iter().filter_map(|line| line.split_whitespace().next()).collect();
    let firsts = (0..14).filter(|&number| number != 7).map(|number: u32| number.to_string());
    let expected: Vec<_> = firsts.chain(["7", "40000", "65535", "shown:", "mean:", "the"].map(str::to_owned)).collect();
    let mut shown = numbers.clone();
    shown.sort_by_key(|number| number.parse::<u32>().unwrap_or(u32::MAX));
    assert_eq!(numbers, shown, "in their order");
    assert_eq!(numbers.len(), expected.len(), "{numbers:?}");
    assert!(expected.iter().all(|number| numbers.contains(&number.as_str())), "{numbers:?}");
    assert_eq!(table.last(), Some(&"  the 16 fullest of 65,536 shards; report.json has all"));
    assert!(json(&report).matches("\"tests\"").count() == 65_537, "JSON has all");
}

#[test]
fn what_should_frighten_stands_in_the_last_lines() {
    let mut report = invented();
    report.seen.merged.full = 3;
    let alarms = |report: &Report| {
        let text = report.to_string();
        text.lines().rev().take(9).filter(|line| line.starts_with("!! ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let told = alarms(&report);
    for alarm in [
        "robots.txt was NOT honored",
        "private addresses",
        "3 shards of the seen filter",
        "118 requests came AGAINST robots.txt",
        "2 requests came TOO EARLY",
    ] {
        assert!(told.iter().any(|line| line.contains(alarm)), "{alarm}: {told:#?}");
    }

    calm(&mut report);
    assert!(!report.to_string().contains("!!"));
    report.settings.insecure_hosts = ["*.a.test", "b.test", "group cdn", "d.test"].map(str::to_owned).to_vec();
    let said = "!! certificates were NOT checked: *.a.test, b.test and 2 more";
    assert_eq!(alarms(&report), [said]);
    report.settings.insecure = true;
    assert_eq!(alarms(&report), ["!! certificates were NOT checked"]);
}

#[test]
fn a_missing_report_is_said_so() {
    let nowhere = Path::new("no/such/report.json");
    let error = read(nowhere).expect_err("missing");
    assert_eq!(error.to_string(), "no/such/report.json is not there: the crawl has not ended, or was killed");
}

#[test]
fn a_damaged_report_is_refused_with_its_place() {
    let whole = json(&invented());
    for (damaged, place) in [
        (
            whole.replace("\"found\": 49847", "\"found\": \"many\""),
            "invalid type: string \"many\", expected u64 at line 30 column 19",
        ),
        (whole.replace("  \"finish\": \"max_duration\",\n", ""), "missing field `finish` at line"),
        (whole.replace("max_duration\",", "sleepy\","), "unknown variant `sleepy`"),
        (whole.rsplit_once('{').expect("objects").0.to_owned(), "EOF while parsing"),
        (String::new(), "EOF while parsing a value at line 1 column 0"),
        ("[]".to_owned(), "invalid"),
    ] {
        let error = failure(&damaged);
        assert!(matches!(error, ReportError::Damaged { .. }), "{error:?}");
        let source = error.source().expect("a reason").to_string();
        assert!(source.contains(place), "{source}");
    }
}

#[test]
fn a_newer_report_is_refused_with_both_numbers() {
    let error = failure(r#"{"version": 2, "all": "else", "is": ["different"]}"#);
    assert!(matches!(error, ReportError::Newer { found: 2, supported: 1, .. }), "{error:?}");
    assert!(error.to_string().ends_with(" has format 2; this version of crawler knows formats up to 1"), "{error}");
}
