//! A crawl of the pages that another job has visited: its requests, its records, and that kills lose nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crawler::crawl::{PageChange, PageRecord};
use crawler::report::Report;
use flate2::read::MultiGzDecoder;
use tempfile::TempDir;

use crate::ran::{Ran, crawler, ends_before_a_kill, set};
use crate::random::Random;
use crate::site::{Answers, Asked, Page, Site};

const DATE: &str = "Mon, 23 Nov 2026 01:00:00 GMT";

fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = crawler(directory, arguments);
    command.envs(set([
        ("FETCH_ALLOW_PRIVATE_ADDRESSES", "true"),
        ("POLITENESS_HOST_DELAY", "0s"),
        ("POLITENESS_BACKOFF", "1ms"),
        ("SEEN_CAPACITY", "1000"),
        ("OUTPUT_PROGRESS", "false"),
    ]));
    command
}

#[track_caller]
fn run(directory: &Path, arguments: &[&str]) -> Ran {
    let ran = Ran::from(command(directory, arguments).output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran
}

/// The records of a job, by path.
fn records(job: &Path) -> BTreeMap<String, PageRecord> {
    let text = fs::read_to_string(job.join("pages.jsonl")).unwrap();
    let mut records = BTreeMap::new();
    for record in text.lines().map(|line| serde_json::from_str::<PageRecord>(line).unwrap()) {
        let path = record.url.splitn(4, '/').nth(3).map(|path| format!("/{path}")).unwrap();
        assert!(records.insert(path, record).is_none(), "each page has one record");
    }
    records
}

fn changes(job: &Path) -> BTreeMap<String, PageChange> {
    let told = |(path, record): (String, PageRecord)| Some((path, record.recrawl?.change));
    records(job).into_iter().filter_map(told).collect()
}

fn report(job: &Path) -> Report {
    serde_json::from_slice(&fs::read(job.join("report.json")).unwrap()).unwrap()
}

fn of<'a>(asked: &'a [Asked], path: &str) -> &'a Asked {
    let mut all = asked.iter().filter(|asked| asked.path == path);
    let first = all.next().unwrap_or_else(|| panic!("{path} was not asked for"));
    assert!(all.next().is_none(), "{path} was asked for once");
    first
}

/// Pages by what will become of them.
fn site() -> Site {
    Site::serve([
        ("/", Page::of("<a href=/hub><a href=/dated><a href=/bare><a href=/changes><a href=/goes>1").etag("\"root\"")),
        // No other page links to its children.
        (
            "/hub",
            Page::of("<base href=/deep/><a href=child><a rel=nofollow href=not><a href=http://[><a href=child?q=1>")
                .etag("W/\"hub\"")
                .dated(DATE),
        ),
        ("/deep/child", Page::of("<a href=/deep/grandchild>").dated(DATE)),
        ("/deep/child?q=1", Page::of("a query")),
        ("/deep/grandchild", Page::of("the end").etag("\"e\"")),
        ("/dated", Page::of("a date alone").dated(DATE)),
        ("/bare", Page::of("no validators: <a href=/unlinked>")),
        ("/unlinked", Page::of("u")),
        ("/changes", Page::of("before <a href=/moves> <a href=/breaks>").etag("\"before\"").dated(DATE)),
        ("/goes", Page::of("g").etag("\"g\"")),
        ("/moves", Page::of("").answers(Answers::Status(301)).head("Location: /deep/child\r\n")),
        ("/breaks", Page::of("b").etag("\"b\"")),
    ])
}

fn change(site: &Site) {
    let mut pages = site.pages();
    let changed = Page::of("after <a href=/moves> <a href=/breaks> <a href=/young>")
        .etag("\"after\"")
        .dated("Tue, 24 Nov 2026 01:00:00 GMT");
    pages.insert("/changes".to_owned(), changed);
    pages.insert("/young".to_owned(), Page::of("y"));
    pages.insert("/bare".to_owned(), Page::of("no validators, and no link"));
    pages.get_mut("/moves").unwrap().head = String::from("Location: /deep/grandchild\r\n");
    pages.get_mut("/breaks").unwrap().answers = Answers::Status(403);
    pages.remove("/goes");
}

/// The `recrawl` of each page of [`site`] after the [`change`].
fn expected() -> BTreeMap<String, PageChange> {
    let told = [
        ("/", PageChange::Unchanged),
        ("/bare", PageChange::Changed),
        ("/breaks", PageChange::Failed),
        ("/changes", PageChange::Changed),
        ("/dated", PageChange::Unchanged),
        ("/deep/child", PageChange::Unchanged),
        ("/deep/child?q=1", PageChange::Unchanged),
        ("/deep/grandchild", PageChange::Unchanged),
        ("/goes", PageChange::Gone),
        ("/hub", PageChange::Unchanged),
        ("/moves", PageChange::Changed),
        ("/young", PageChange::New),
    ];
    told.into_iter().map(|(path, change)| (path.to_owned(), change)).collect()
}

#[test]
fn a_page_is_asked_whether_it_has_changed_and_its_links_stay() {
    let (place, site) = (TempDir::new().unwrap(), site());
    let seed = site.url("/");
    run(place.path(), &[&seed, "--job", "old", "--visits"]);
    assert!(site.asked().iter().all(|asked| asked.etag.is_none() && asked.date.is_none()));
    let old = place.path().join("old");
    assert!(changes(&old).is_empty() && report(&old).recrawl.is_none(), "nothing was compared");
    change(&site);
    let before: BTreeSet<_> = fs::read_dir(&old).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let ran = run(place.path(), &[&seed, "--job", "new", "--recrawl", "old", "--links"]);
    let after: BTreeSet<_> = fs::read_dir(&old).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(before, after, "the old job is only read");
    let new = place.path().join("new");
    assert_eq!(changes(&new), expected());

    // A page that has not changed has its links in the list, too.
    let links = fs::read_to_string(new.join("links.jsonl")).unwrap();
    let of_hub = links.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let of_hub: Vec<_> = of_hub.filter(|link| link["from"] == *site.url("/hub")).collect();
    let to = ["/deep/child", "/deep/not", "/deep/child?q=1"].map(|path| site.url(path));
    assert_eq!(of_hub.iter().map(|link| link["to"].as_str().unwrap()).collect::<Vec<_>>(), to);
    assert!(of_hub.iter().all(|link| link["kind"] == "unchanged"), "{of_hub:?}");

    let asked = site.asked();
    for (path, etag, date, status) in [
        ("/", Some("\"root\""), None, 304),
        ("/hub", Some("W/\"hub\""), Some(DATE), 304),
        ("/dated", None, Some(DATE), 304),
        ("/bare", None, None, 200),
        ("/changes", Some("\"before\""), Some(DATE), 200),
        ("/goes", Some("\"g\""), None, 404),
        // Only through pages that did not change.
        ("/deep/grandchild", Some("\"e\""), None, 304),
        ("/young", None, None, 200),
    ] {
        let asked = of(&asked, path);
        assert_eq!((asked.etag.as_deref(), asked.date.as_deref(), asked.status), (etag, date, status), "{path}");
    }
    let (first, second) = (records(&old), records(&new));
    assert_eq!(second["/deep/grandchild"].depth, 3);
    assert_eq!(second["/hub"].links.found, first["/hub"].links.found);
    assert_eq!(second["/hub"].links.refused, first["/hub"].links.refused, "nofollow, and a text that is no URL");
    let since = |path: &str| second[path].recrawl.as_ref().unwrap().since.clone();
    assert_eq!(since("/hub").as_ref(), Some(&first["/hub"].fetched_at));
    assert_eq!(since("/young"), None);

    let figures = report(&new).recrawl.unwrap();
    assert_eq!((figures.known, figures.unmet), (Some(12), Some(1)));
    let counts = figures.counts;
    assert_eq!((counts.new, counts.changed, counts.unchanged, counts.gone, counts.failed), (1, 3, 6, 1, 1));
    assert_eq!(counts.not_modified, 5);
    assert!(ran.out.contains("1 new, 3 changed, 6 unchanged, 1 gone; 1 not met"), "{}", ran.out);
    let unmet = run(place.path(), &["unmet", "old", "new"]).out;
    assert_eq!(unmet, format!("{}\n", site.url("/unlinked")));
    let told = run(place.path(), &["explain", &site.url("/hub"), "--job", "new"]).out;
    assert!(told.contains("; unchanged, compared with 2"), "{told}");

    // The next crawl needs the last job alone: what did not change has its validators and its links still.
    run(place.path(), &[&seed, "--job", "third", "--recrawl", "new", "--warc"]);
    let asked = site.asked();
    assert_eq!((of(&asked, "/hub").status, of(&asked, "/deep/grandchild").status), (304, 304));
    assert_eq!(of(&asked, "/changes").etag.as_deref(), Some("\"after\""));
    assert_eq!(of(&asked, "/breaks").etag.as_deref(), Some("\"b\""), "it is known over a bad time");
    let third = records(&place.path().join("third"));
    assert_eq!(third["/hub"].recrawl.as_ref().unwrap().since.as_ref(), Some(&first["/hub"].fetched_at));
    assert!(third["/goes"].recrawl.is_none(), "it was gone before");
    assert_eq!(report(&place.path().join("third")).recrawl.unwrap().known, Some(11));
    let archive = File::open(place.path().join("third/pages-000000000000000.warc.gz")).unwrap();
    let mut text = Vec::new();
    MultiGzDecoder::new(archive).read_to_end(&mut text).unwrap();
    let text = String::from_utf8_lossy(&text);
    let revisit = text.split("WARC/1.1\r\n").find(|record| {
        record.starts_with("WARC-Type: revisit")
            && record.contains(&format!("WARC-Target-URI: {}\r\n", site.url("/hub")))
    });
    let revisit = revisit.unwrap();
    for field in [
        "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified\r\n",
        &format!("WARC-Refers-To-Target-URI: {}\r\n", site.url("/hub")),
        &format!("WARC-Refers-To-Date: {}\r\n", first["/hub"].fetched_at),
        "HTTP/1.1 304 So\r\n",
    ] {
        assert!(revisit.contains(field), "{field}: {revisit}");
    }
}

/// Paths are read from the working directory; a job keeps them so that they lead to the same files from elsewhere.
#[test]
fn a_job_goes_on_from_another_working_directory() {
    let (place, site) = (TempDir::new().unwrap(), site());
    let [here, elsewhere] = ["here", "elsewhere"].map(|name| place.path().join(name));
    for path in [&here, &elsewhere] {
        fs::create_dir(path).unwrap();
    }
    let seed = format!("http://{}/", site.address);
    fs::write(here.join("blocked.txt"), format!("{seed}hub\n")).unwrap();
    fs::write(
        here.join("mine.toml"),
        "[scope]\nblocklists = [\"blocked.txt\"]\n[hosts.\"x.test\"]\nsign_in = \"basic file:password\"\n",
    )
    .unwrap();
    fs::write(here.join("password"), "ann:secret").unwrap();
    run(&here, &[&seed, "--job", "old", "--visits"]);
    let first = ["--job", "new", "--recrawl", "old", "--config", "mine.toml", "--max-pages", "2", "-o", "found.csv"];
    run(&here, &[&[&*seed], &first[..]].concat());
    let resumed = run(&elsewhere, &["resume", "../here/new", "--max-pages", "100"]);
    assert!(resumed.err.contains("goes on: 2 pages"), "{}", resumed.err);
    let records = records(&here.join("new"));
    assert!(records.len() > 5 && !records.contains_key("/hub"), "{:?}", records.keys());
    assert!(
        records.values().all(|record| record.recrawl.as_ref().is_some_and(|of| of.change == PageChange::Unchanged))
    );
    assert_eq!(fs::read_to_string(here.join("found.csv")).unwrap().lines().count(), records.len() + 1);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "nothing is written where it was not asked for");
    // The settings are printed as they were given.
    let shown = run(&here, &["config", "--config", "mine.toml", "--job", "new"]).out;
    assert!(shown.contains("blocklists = [\"blocked.txt\"]") && shown.contains("basic file:password"), "{shown}");
}

#[test]
fn a_304_that_is_wrong_loses_no_page() {
    let site = Site::serve([
        ("/", Page::of("<a href=/lies><a href=/other><a href=/whole><a href=/same>").etag("\"1\"")),
        ("/lies", Page::of("l")),
        ("/other", Page::of("o").etag("\"o\"")),
        ("/whole", Page::of("w").etag("\"w\"")),
        ("/same", Page::of("s").etag("\"s1\"")),
    ]);
    let (place, seed) = (TempDir::new().unwrap(), site.url("/"));
    run(place.path(), &[&seed, "--job", "old", "--visits"]);
    site.asked();
    {
        let mut pages = site.pages();
        // Its request had no condition.
        pages.insert("/lies".to_owned(), Page::of("l").answers(Answers::NotModified));
        pages.insert("/other".to_owned(), Page::of("another").answers(Answers::OfAnother));
        // The same ETag, and another body; the same body, and another ETag.
        pages.insert("/whole".to_owned(), Page::of("W").etag("\"w\"").answers(Answers::Whole));
        pages.insert("/same".to_owned(), Page::of("s").etag("\"s2\""));
    }
    run(place.path(), &[&seed, "--job", "new", "--recrawl", "old"]);
    let records = records(&place.path().join("new"));
    let told = |path: &str| (records[path].status, records[path].recrawl.as_ref().map(|recrawled| recrawled.change));
    assert_eq!(told("/lies"), (None, Some(PageChange::Failed)));
    assert_eq!(records["/lies"].error.as_deref(), Some("bad_response"));
    assert_eq!(told("/other"), (Some(200), Some(PageChange::Changed)));
    assert_eq!(records["/other"].attempts, 2);
    assert_eq!(told("/whole"), (Some(200), Some(PageChange::Changed)));
    assert_eq!(told("/same"), (Some(200), Some(PageChange::Unchanged)));
    let asked = site.asked();
    let other: Vec<_> = asked.iter().filter(|asked| asked.path == "/other").collect();
    assert_eq!(other.iter().map(|asked| asked.etag.as_deref()).collect::<Vec<_>>(), [Some("\"o\""), None]);
    // If a body changes but the server answers 304, HTTP believes the server.
    site.pages().insert("/same".to_owned(), Page::of("another").etag("\"s2\""));
    run(place.path(), &[&seed, "--job", "third", "--recrawl", "new"]);
    assert_eq!(changes(&place.path().join("third"))["/same"], PageChange::Unchanged);
}

#[test]
fn whenever_it_is_killed_it_says_the_same() {
    let rounds: u64 = std::env::var("CRASH_ROUNDS").map_or(12, |rounds| rounds.parse().unwrap());
    let (place, site) = (TempDir::new().unwrap(), site());
    let seed = site.url("/");
    let mut random = Random(0x5eed_a6a1);
    let mut kills = 0;
    let mut crawl = |job: &str, more: &[&str]| {
        let directory = place.path().join(job);
        loop {
            let begun = directory.join("manifest").exists();
            let arguments = if begun { vec!["resume", job] } else { [&[&*seed, "--job", job][..], more].concat() };
            let mut command = command(place.path(), &arguments);
            command.env("CRAWLER_POLITENESS_HOST_DELAY", "30ms").env("CRAWLER_JOB_CHECKPOINT_INTERVAL", "100ms");
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            if ends_before_a_kill(&mut child, Duration::from_millis(60 + random.below(500))) {
                return;
            }
            kills += 1;
            if directory.join("pages.visits").exists() {
                let mut visits = File::options().append(true).open(directory.join("pages.visits")).unwrap();
                visits.write_all(b"half a visit").unwrap();
            }
        }
    };
    let mut job = 0;
    loop {
        let [old, new] = [format!("old{job}"), format!("new{job}")];
        crawl(&old, &["--visits"]);
        change(&site);
        crawl(&new, &["--recrawl", &old]);
        assert_eq!(changes(&place.path().join(&new)), expected());
        let figures = report(&place.path().join(&new)).recrawl.unwrap();
        assert_eq!((figures.known, figures.unmet, figures.counts.not_modified), (Some(12), Some(1), 5));
        *site.pages() = self::site().pages().clone();
        job += 1;
        if kills_of(&place, job) >= rounds {
            break;
        }
    }
}

/// Each crawl that is cut off is resumed.
fn kills_of(place: &TempDir, jobs: u64) -> u64 {
    let resumes = |name: String| report(&place.path().join(name)).resumes;
    (0..jobs).map(|job| resumes(format!("old{job}")) + resumes(format!("new{job}"))).sum()
}

#[test]
fn what_is_whole_of_damaged_visits_is_used() {
    let (place, site) = (TempDir::new().unwrap(), site());
    let seed = site.url("/");
    run(place.path(), &[&seed, "--job", "old", "--visits"]);
    let visits = place.path().join("old/pages.visits");
    let whole = fs::read(&visits).unwrap();
    fs::write(&visits, &whole[..whole.len() - 5]).unwrap();
    let ran = run(place.path(), &[&seed, "--job", "new", "--recrawl", "old"]);
    assert!(ran.err.contains("pages.visits is damaged at byte"), "{}", ran.err);
    let changes = changes(&place.path().join("new"));
    let new = changes.values().filter(|change| **change == PageChange::New).count();
    assert_eq!((changes["/"], new), (PageChange::Unchanged, 1), "only the last one is lost");
}

#[test]
fn a_job_that_cannot_be_crawled_again_is_refused_by_name() {
    let (place, site) = (TempDir::new().unwrap(), site());
    let seed = site.url("/");
    run(place.path(), &[&seed, "--job", "bare"]);
    run(place.path(), &[&seed, "--job", "old", "--visits"]);
    let held = File::open(place.path().join("old/lock")).unwrap();
    held.lock().unwrap();
    for (job, old, words) in [
        ("new", "bare", "has no pages.visits: crawl it with --visits"),
        ("new", "nothing", "holds no job"),
        ("new", "old", "is locked"),
        ("bare", "bare", "is the job itself"),
    ] {
        let ran = Ran::from(command(place.path(), &[&seed, "--job", job, "--recrawl", old]).output().unwrap());
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains(words) && ran.err.contains("--recrawl"), "{}", ran.err);
    }
    drop(held);
    run(place.path(), &[&seed, "--job", "new", "--recrawl", "old"]);
}

/// When each page was asked for.
fn visits(asked: &[Asked], begun: Instant) -> BTreeMap<String, Vec<Duration>> {
    let mut visits = BTreeMap::<_, Vec<_>>::new();
    for asked in asked {
        visits.entry(asked.path.clone()).or_default().push(asked.at - begun);
    }
    visits
}

#[test]
fn pages_are_visited_again_whenever_it_is_killed() {
    let site = Site::serve([
        ("/", Page::of("<a href=/still><a href=/busy>").etag("\"1\"")),
        ("/still", Page::of("s").etag("\"s\"")),
        ("/busy", Page::of("0")),
    ]);
    let (place, seed, begun) = (TempDir::new().unwrap(), site.url("/"), Instant::now());
    let mut random = Random(0x5eed_bbb1);
    let mut kills = 0;
    for round in 0.. {
        let is_last = begun.elapsed() > Duration::from_secs(12);
        let of =
            if round == 0 { &[&*seed, "--job", "job", "--recrawl-every", "800ms"][..] } else { &["resume", "job"] };
        let arguments = [of, &["--max-duration", "3s"]].concat();
        let mut command = command(place.path(), &arguments);
        command.env("CRAWLER_RECRAWL_SHORTEST", "200ms").env("CRAWLER_RECRAWL_LONGEST", "6s");
        command.env("CRAWLER_JOB_CHECKPOINT_INTERVAL", "300ms");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let until = Instant::now() + Duration::from_millis(500 + random.below(900));
        let mut count = 0;
        while is_last && child.try_wait().unwrap().is_none() || Instant::now() < until {
            count += 1;
            site.pages().get_mut("/busy").unwrap().body = format!("{round} {count}");
            sleep(Duration::from_millis(20));
        }
        if is_last {
            assert!(child.wait().unwrap().success());
            break;
        }
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            kills += 1;
        }
        child.wait().unwrap();
    }
    assert!(kills > 4, "{kills}");
    let asked = site.asked();
    let visits = visits(&asked, begun);
    let [still, busy] = ["/still", "/busy"].map(|path| &visits[path]);
    // 0.8 + 1.6 + 3.2 + 6 s: beside them those that a kill took before they were done.
    assert!((3..=4 + kills).contains(&still.len()), "{still:?}");
    assert!(busy.len() > 2 * still.len(), "{busy:?} beside {still:?}");
    assert!(asked.iter().filter(|asked| asked.path == "/still").skip(1).all(|asked| asked.status == 304), "{asked:?}");
    let gaps: Vec<_> = still.windows(2).map(|two| two[1].saturating_sub(two[0])).collect();
    assert!(gaps.last() > Some(&Duration::from_millis(2400)), "{gaps:?}");
    // Each visit has a record, and says how the page compares with the one before.
    let text = fs::read_to_string(place.path().join("job/pages.jsonl")).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<PageRecord>(line).unwrap());
    let mut told = BTreeMap::<String, Vec<PageChange>>::new();
    for record in records {
        told.entry(record.url.clone()).or_default().push(record.recrawl.unwrap().change);
    }
    let [still, busy] = ["/still", "/busy"].map(|path| &told[&site.url(path)]);
    assert_eq!((still[0], busy[0]), (PageChange::New, PageChange::New));
    assert!(still[1..].iter().all(|change| *change == PageChange::Unchanged), "{still:?}");
    assert!(busy[1..].iter().all(|change| *change == PageChange::Changed), "{busy:?}");
}

/// A 304 has no title and no body. It says that the page is as it was.
#[test]
fn what_was_not_modified_is_no_difference() {
    let directory = TempDir::new().unwrap();
    let site = Site::serve([
        ("/", Page::of("<title>front</title><a href=/same><a href=/busy><a href=/gone>").etag("\"1\"")),
        ("/same", Page::of("<title>same</title>").etag("\"s\"")),
        ("/busy", Page::of("<title>busy</title> 1").etag("\"b1\"")),
        ("/gone", Page::of("<title>gone</title>").etag("\"g\"")),
    ]);
    let seed = site.url("/");
    let put = |path: &str, page: Page| _ = site.pages().insert(path.to_owned(), page);
    let again = |old: &str, new: &str| run(directory.path(), &[&seed, "--job", new, "--recrawl", old, "--no-sitemaps"]);
    run(directory.path(), &[&seed, "--job", "1", "--visits", "--no-sitemaps"]);
    again("1", "2");
    put("/busy", Page::of("<title>busy</title> 2").etag("\"b2\""));
    put("/gone", Page::of("").answers(Answers::Status(404)));
    again("2", "3");
    again("3", "4");
    for (old, new, differences) in [
        ("1", "2", &[][..]),
        ("2", "3", &["changed\t/busy\tbody", "gone\t/gone\tstatus 200 -> 404"]),
        ("1", "3", &["changed\t/busy\tbody", "gone\t/gone\tstatus 200 -> 404"]),
        ("3", "4", &[]),
        ("1", "4", &["changed\t/busy\tbody", "gone\t/gone\tstatus 200 -> 404"]),
    ] {
        let told = run(directory.path(), &["diff", old, new, "--pages"]).out;
        let mut lines: Vec<_> = told.lines().map(|line| line.replace(&*seed, "/")).collect();
        lines.sort();
        let is_so = lines.len() == differences.len();
        assert!(
            is_so && lines.iter().zip(differences).all(|(line, start)| line.starts_with(start)),
            "{old} {new}: {lines:?}"
        );
    }
}

#[test]
fn two_jobs_are_compared_page_by_page_and_number_by_number() {
    let directory = TempDir::new().unwrap();
    let site = Site::serve([]);
    let put = |path: &str, page: Page| _ = site.pages().insert(path.to_owned(), page);
    let page =
        |names: &[&str]| names.iter().map(|name| format!("<a href=/{name}>{name}</a>")).collect::<Vec<_>>().concat();
    put("/", Page::of(&page(&["same", "title", "gone", "unmet", "longer"])));
    for name in ["same", "title", "gone", "unmet", "longer"] {
        put(&format!("/{name}"), Page::of("<title>before</title>"));
    }
    let seed = site.url("/");
    run(directory.path(), &[&seed, "--job", "old", "--no-sitemaps"]);
    put("/", Page::of(&page(&["same", "title", "gone", "newer", "longer"])));
    put("/title", Page::of("<title>behind</title>"));
    put("/gone", Page::of("").answers(Answers::Status(410)));
    put("/longer", Page::of("<title>before</title> and more"));
    put("/newer", Page::of("new"));
    run(directory.path(), &[&seed, "--job", "new", "--no-sitemaps"]);

    let told = run(directory.path(), &["diff", "old", "new", "--pages"]).out;
    let mut lines: Vec<_> = told.lines().map(|line| line.replace(&*seed, "/")).collect();
    lines.sort();
    let status = "status 200 -> 410, title, bytes 21 -> 0";
    assert_eq!(
        lines,
        [
            "changed\t/longer\tbytes 21 -> 30",
            "changed\t/title\ttitle",
            &format!("gone\t/gone\t{status}"),
            "new\t/newer\t",
            "unmet\t/unmet\t",
        ]
    );
    let told = run(directory.path(), &["diff", "old", "new"]).out;
    for line in ["           1  new ", "           2  changed ", "           2  unchanged ", "pages.statuses.410 "] {
        assert!(told.lines().any(|told| told.starts_with(line)), "{line} in {told}");
    }
    let told = run(directory.path(), &["diff", "old", "new", "--json"]).out;
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["pages"], serde_json::json!({"new": 1, "changed": 2, "gone": 1, "unmet": 1, "unchanged": 2}));
    assert_eq!(told["numbers"]["pages.statuses.200"], serde_json::json!([6.0, 5.0]));
    let told = run(directory.path(), &["diff", "new", "new", "--pages"]).out;
    assert_eq!(told, "");

    // Half a line is not there yet; a line that is no record is an error that names it.
    let mut pages = fs::OpenOptions::new().append(true).open(directory.path().join("new/pages.jsonl")).unwrap();
    pages.write_all(b"{\"url\":").unwrap();
    run(directory.path(), &["diff", "old", "new"]);
    pages.write_all(b"\n").unwrap();
    let ran = Ran::from(command(directory.path(), &["diff", "old", "new"]).output().unwrap());
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("new/pages.jsonl: line 7: "), "{}", ran.err);
}
