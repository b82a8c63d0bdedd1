//! Sites without end, and pages that say what others said: a crawl of a simulated web that has both.
#![cfg(feature = "cli")]

mod crawled;
mod loopback;

use std::collections::BTreeMap;
use std::time::Duration;

use crawler::crawl::{Crawl, CrawlOptions, Finished, PageRecord};
use crawler::gate::{Refusal, ScopeKind, TrapLimits};
use crawler::simulate::{Asked, Judgment, Server, SimulateOptions, Trap, TruthOptions, World};
use loopback::Loopback;

/// A web of so many pages.
fn web(pages: u32, trap: bool) -> SimulateOptions {
    let mut web = SimulateOptions::default();
    (web.pages, web.hosts, web.trap) = (pages, 40, trap);
    (web.latency, web.crawl_delay, web.retry_after) = (Duration::ZERO, Duration::ZERO, 0);
    web
}

struct Crawled {
    finished: Finished,
    records: Vec<PageRecord>,
    judgment: Judgment,
    world: World,
}

async fn crawl(web: &SimulateOptions, traps: TrapLimits, max_pages: Option<u64>) -> Crawled {
    let server = Server::start(World::new(web).unwrap()).await.unwrap();
    let mut options = CrawlOptions::default();
    options.fetch.resolve_all_to = Some(server.address());
    options.frontier.politeness.host_delay = Duration::ZERO;
    options.frontier.politeness.backoff = Duration::from_millis(1);
    options.frontier.scope.kind = ScopeKind::Any;
    options.frontier.traps = traps;
    options.workers = Some(8);
    options.max_pages = max_pages;
    let crawl = Crawl::new(&options).unwrap();
    crawled::seed(&crawl, server.world().seeds());
    let (finished, records) = crawled::run(crawl).await;
    let truth = server.world().truth(&TruthOptions::default());
    let judgment = server.judge().judgment(server.world(), &truth, Duration::ZERO, 1);
    Crawled { finished, records, judgment, world: World::new(web).unwrap() }
}

/// Budgets as small as the web is.
fn small() -> TrapLimits {
    let mut traps = TrapLimits::default();
    (traps.shape_budget, traps.section_budget, traps.host_budget) = (10, 20, 40);
    (traps.domain_budget, traps.session_budget, traps.mirror_budget, traps.budget_growth) = (5, 10, 10, 1);
    traps.parameter_sets = 5;
    traps
}

fn without_budgets() -> TrapLimits {
    let mut traps = TrapLimits::default();
    (traps.shape_budget, traps.section_budget, traps.host_budget) = (0, 0, 0);
    (traps.domain_budget, traps.session_budget, traps.mirror_budget) = (0, 0, 0);
    traps
}

/// What a page says, as its maker knows: pages that say the same have the same text. `None` where nothing is read.
fn says(world: &World, record: &PageRecord) -> Option<String> {
    let (host, path) = record.url.strip_prefix("http://")?.split_once('/')?;
    record.encoding.as_ref()?;
    match world.find(host, &format!("/{path}")) {
        Asked::Page { id, .. } | Asked::Trap { trap: Trap::Mirror(id), .. } => Some(format!("{id:?}")),
        Asked::Trap { trap: Trap::Month(_), .. } => Some("month".to_owned()),
        Asked::Trap { trap, .. } => Some(format!("{trap:?}")),
        _ => None,
    }
}

/// Pages that say what another one said: how many there are, how many were found, and how many were called so that are none.
fn duplicates(world: &World, records: &[PageRecord]) -> (u64, u64, u64) {
    let mut said: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for record in records {
        if let Some(text) = says(world, record) {
            let (pages, marked) = said.entry(text).or_default();
            *pages += 1;
            *marked += u64::from(record.duplicate.is_some());
        }
    }
    let sum = |of: fn(&(u64, u64)) -> u64| said.values().map(of).sum();
    (
        sum(|(pages, _)| pages - 1),
        sum(|(pages, marked)| *marked.min(&(pages - 1))),
        sum(|(pages, marked)| marked.saturating_sub(pages - 1)),
    )
}

/// What a crawl of a web with traps costs, and what it finds, beside a crawl of the same web without them.
async fn measure(pages: u32, traps: TrapLimits, most_percent: u64) {
    let plain = crawl(&web(pages, false), TrapLimits::default(), None).await;
    assert_eq!(plain.judgment.missed, 0, "{}", plain.judgment);
    assert_eq!(
        plain
            .finished
            .gate
            .refusals()
            .iter()
            .filter(|(refusal, _)| is_of_budget(*refusal))
            .map(|(_, urls)| urls)
            .sum::<u64>(),
        0
    );

    let shape_budget = traps.shape_budget as usize;
    let crawled = crawl(&web(pages, true), traps, None).await;
    let Judgment { reachable, fetched, requests, trapped, .. } = crawled.judgment;
    let (of, found, wrongly) = duplicates(&crawled.world, &crawled.records);
    let without = plain.judgment.requests;
    println!(
        "{fetched} of {reachable} true pages; {requests} requests, {without} without traps; {trapped} of them trapped"
    );
    println!("{found} of {of} duplicates, {wrongly} wrongly");
    assert!(fetched * 100 >= reachable * 99, "{}", crawled.judgment);
    assert!(requests * 100 <= without * most_percent, "{requests} requests, {without} without traps");
    assert!(found * 100 >= of * 99 && wrongly * 1000 <= fetched, "{found} of {of}, {wrongly} wrongly");
    let refused = |refusal| crawled.finished.gate.refusals().of(refusal);
    for refusal in [
        Refusal::BarrenCombination,
        Refusal::BarrenDomain,
        Refusal::BarrenSection,
        Refusal::BarrenShape,
        Refusal::KnownMirror,
        Refusal::KnownSession,
    ] {
        assert!(refused(refusal) > 0, "{refusal}");
    }
    // A shape that answers 500, or leads to one page, is asked for no more, and its host is not given up for it.
    let asked = |under: &str| crawled.records.iter().filter(|record| record.url.contains(under)).count();
    for under in ["//forum.simulated.test/edit/", "//forum.simulated.test/reply?"] {
        assert!((1..=shape_budget + 8).contains(&asked(under)), "{under} {}", asked(under));
    }
    // Whatever is left of the lists of things, all things are found.
    assert_eq!(asked("//filters.simulated.test/thing/"), 30);
    let counted = crawled.finished.tally.duplicates;
    assert_eq!(counted.same + counted.near, found + wrongly);
}

fn is_of_budget(refusal: Refusal) -> bool {
    refusal.name().starts_with("barren") || matches!(refusal, Refusal::KnownMirror | Refusal::KnownSession)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_does_not_drown() {
    measure(6000, small(), 110).await;
}

#[ignore = "a larger web, with the budgets that a user has"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_does_not_drown_with_the_budgets_of_a_user() {
    measure(60_000, TrapLimits::default(), 110).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_budgets_it_drowns() {
    let drowned = crawl(&web(1000, true), without_budgets(), Some(4000)).await;
    let Judgment { reachable, requests, trapped, .. } = drowned.judgment;
    println!("{reachable} true pages; {requests} requests, {trapped} of them trapped");
    assert!(trapped > 2 * reachable, "{trapped} of {requests}");
    assert!(!drowned.finished.gate.refusals().iter().any(|(refusal, urls)| is_of_budget(refusal) && urls > 0));
}

/// How often a crawl asks for the robots.txt of a domain and for its pages, where its first page lists a thousand names on one address, and
/// all of them have the same page. `robots` answers for each robots.txt.
async fn asked_of_a_wildcard_domain(robots: fn(&str) -> Vec<u8>) -> (usize, usize) {
    let server = Loopback::serve(move |url| match url.split_once('/').unwrap() {
        ("www.wild.test", "") => {
            let names: String = (0..1000)
                .fold(String::new(), |all, name| all + &format!("<a href='http://n{name}.wild.test/'>{name}</a>"));
            loopback::response("200 OK\r\nContent-Type: text/html", names.as_bytes())
        }
        (_, "") => loopback::response("200 OK\r\nContent-Type: text/html", b"<p>There is nothing here."),
        (_, path) => robots(path),
    });
    let mut options = CrawlOptions::default();
    options.fetch.resolve_all_to = Some(server.address);
    options.sitemaps.enabled = false;
    options.frontier.scope.kind = ScopeKind::Any;
    options.frontier.traps = small();
    let politeness = &mut options.frontier.politeness;
    (politeness.host_delay, politeness.address_delay) = (Duration::from_millis(1), Some(Duration::from_millis(1)));
    let crawl = Crawl::new(&options).unwrap();
    crawled::seed(&crawl, ["http://www.wild.test/"]);
    let (finished, _) = crawled::run(crawl).await;
    assert!(finished.gate.refusals().of(Refusal::BarrenDomain) > 900);
    let asked = server.asked();
    let pages = asked.iter().filter(|url| url.ends_with(".test/")).count();
    (asked.len() - pages, pages)
}

/// A name that was asked for its robots.txt is asked for its page before further names are asked: so the domain is known for what it is
/// when it has cost twice its budget.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wildcard_domain_costs_little_robots_txt() {
    let (robots, pages) = asked_of_a_wildcard_domain(|_| loopback::response("404 Not Found", b"")).await;
    println!("{robots} robots.txt, {pages} pages");
    assert!(pages < 30 && robots < 40, "{robots} robots.txt, {pages} pages");
    let moved = |path: &str| match path {
        "robots.txt" => loopback::response("301 Moved\r\nLocation: /elsewhere.txt", b""),
        _ => loopback::response("200 OK\r\nContent-Type: text/plain", b"User-agent: *\nDisallow: /no\n"),
    };
    let (robots, pages) = asked_of_a_wildcard_domain(moved).await;
    println!("{robots} robots.txt that are elsewhere, {pages} pages");
    assert!(pages < 30 && robots < 80, "{robots} robots.txt, {pages} pages");
}

/// The judge of a crawl by the real command that is killed again and again. A page that is fetched again is no duplicate of itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicates_and_budgets_outlive_kills() {
    use std::process::{Command, Stdio};

    let server = Server::start(World::new(&web(1500, true)).unwrap()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("job/pages.jsonl");
    let lines = || std::fs::read_to_string(&pages).unwrap_or_default().lines().count();
    let command = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.args(["http://www.simulated.test/", "--scope", "any", "--depth", "1000"]).current_dir(directory.path());
        command.env("CRAWLER_FETCH_RESOLVE_ALL_TO", server.address().to_string());
        for (name, value) in [
            ("POLITENESS_HOST_DELAY", "1ms"),
            ("POLITENESS_BACKOFF", "5ms"),
            ("JOB_DIR", "job"),
            ("JOB_CHECKPOINT_INTERVAL", "1s"),
            ("TRAPS_SHAPE_BUDGET", "10"),
            ("TRAPS_SECTION_BUDGET", "20"),
            ("TRAPS_HOST_BUDGET", "40"),
            ("TRAPS_DOMAIN_BUDGET", "5"),
            ("TRAPS_SESSION_BUDGET", "10"),
            ("TRAPS_BUDGET_GROWTH", "1"),
        ] {
            command.env(format!("CRAWLER_{name}"), value);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    for kill in 1..=4 {
        let mut child = command().spawn().unwrap();
        while lines() < 250 * kill && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(command().status().unwrap().success());
    let text = std::fs::read_to_string(&pages).unwrap();
    let records: Vec<PageRecord> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let world = server.world();
    let (of, found, wrongly) = duplicates(world, &records);
    println!("{} records, {of} duplicates, {found} found, {wrongly} wrongly", records.len());
    assert_eq!(wrongly, 0);
    assert!(found * 100 >= of * 99, "{found} of {of}");
    let judgment = server.judge().judgment(world, &world.truth(&TruthOptions::default()), Duration::ZERO, 1);
    assert_eq!(judgment.missed, 0, "{judgment}");
    // Some were asked for again after each kill; without budgets this would not end.
    assert!(judgment.trapped < 1000, "{judgment}: {} trapped", judgment.trapped);
}
