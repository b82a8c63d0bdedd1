//! Sites without end, and pages with the text of other pages: a crawl of a simulated web that has both.
#![expect(clippy::format_collect, reason = "a page of a test is a few links, and reads best so")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crawler::crawl::{Crawl, CrawlOptions, Finished, PageRecord};
use crawler::gate::{Refusal, ScopeKind, TrapLimits};
use crawler::simulate::{Asked, Judgment, Server, SimulateOptions, Trap, TruthOptions, World};

use crate::crawled;
use crate::loopback::{self, Loopback};
use crate::ran::{crawler, set};

mod mirrors;

/// A web of this many pages.
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

/// A page's text as the simulated web made it: duplicates have equal texts. `None` if the page is not read.
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

/// The duplicates: how many there are, how many were found, and how many pages were wrongly called duplicates.
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

/// The cost of a crawl of a web with traps, and the pages it finds, compared with a crawl of the same web without traps.
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
    // Pages of the lists may be left out, but each listed item is found.
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
    use std::process::Stdio;

    let server = Server::start(World::new(&web(1500, true)).unwrap()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("job/pages.jsonl");
    let lines = || std::fs::read_to_string(&pages).unwrap_or_default().lines().count();
    let command = || {
        let mut command = crawler(&directory, ["http://www.simulated.test/", "--scope", "any", "--depth", "1000"]);
        command.env("CRAWLER_FETCH_RESOLVE_ALL_TO", server.address().to_string());
        command.envs(set([
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
        ]));
        command.stdout(Stdio::null()).stderr(Stdio::null());
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

/// The requests of a crawl with small budgets to a web with these answers, without those for robots.txt.
async fn asked_by(
    answer: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    seeds: &[String],
    change: impl FnOnce(&mut CrawlOptions),
) -> (Vec<String>, Finished) {
    let server = Loopback::serve(move |url| {
        let Some(page) = answer(url) else { return loopback::response("404 Not Found", b"") };
        let kind = match page.as_bytes() {
            [b'<', b'?', ..] => "application/xml",
            [b'<', ..] => "text/html",
            _ => "text/plain",
        };
        loopback::response(&format!("200 OK\r\nContent-Type: {kind}"), page.as_bytes())
    });
    let mut options = CrawlOptions::default();
    options.fetch.resolve_all_to = Some(server.address);
    options.sitemaps.enabled = false;
    options.frontier.scope.kind = ScopeKind::Any;
    options.frontier.traps = small();
    options.frontier.politeness.host_delay = Duration::ZERO;
    change(&mut options);
    let crawl = Crawl::new(&options).unwrap();
    crawled::seed(&crawl, seeds);
    let (finished, _) = crawled::run(crawl).await;
    let mut asked = server.asked();
    asked.retain(|url| !url.ends_with("/robots.txt"));
    (asked, finished)
}

/// Words that no page of another number has.
fn words(number: usize) -> String {
    const WORDS: [&str; 9] = ["alder", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple", "oak"];
    (0..20).map(|place| WORDS[number / 9_usize.pow(place % 5) % 9].to_owned() + " ").collect()
}

/// A page of a manual of this many pages. It links to all of them.
fn manual(page: &str, pages: usize) -> Option<String> {
    let number: usize = page.strip_prefix("page-")?.strip_suffix(".html")?.parse().ok()?;
    let links: String = (0..pages).map(|other| format!("<a href=page-{other}.html>{other}</a>")).collect();
    (number < pages).then(|| format!("{links}<p>{}", words(number)))
}

/// URLs that budgets refused.
fn refused_by_budgets(finished: &Finished) -> u64 {
    let refusals = finished.gate.refusals();
    refusals.iter().filter(|(refusal, _)| is_of_budget(*refusal)).map(|(_, urls)| urls).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_and_translations_of_a_manual_are_fetched_whole() {
    const PAGES: usize = 40;
    let beside: Vec<String> = (6..13).map(|version| format!("3.{version}/")).collect();
    let with_root = beside.iter().cloned().chain([String::new()]).collect();
    let languages = ["de", "en", "fr", "ja"];
    let translated = languages.iter().flat_map(|language| beside.iter().map(move |of| format!("{language}/{of}")));
    for places in [beside.clone(), with_root, translated.collect()] {
        let front: String = places.iter().map(|place| format!("<a href='/{place}page-0.html'>{place}</a>")).collect();
        let pages = places.len() * PAGES + 1;
        let answer = move |url: &str| match url.strip_prefix("docs.test/").unwrap() {
            "" => Some(front.clone()),
            path => {
                let (place, page) = path.split_at(path.rfind('/').map_or(0, |slash| slash + 1));
                places.iter().any(|known| known == place).then(|| manual(page, PAGES)).flatten()
            }
        };
        // Each place costs two pages of its shape.
        let places_cost = |options: &mut CrawlOptions| options.frontier.traps.shape_budget = 30;
        let (asked, finished) = asked_by(answer, &["http://docs.test/".to_owned()], places_cost).await;
        assert_eq!((asked.len(), refused_by_budgets(&finished)), (pages, 0));
    }
}

/// An id that was drawn.
fn id(number: usize) -> String {
    format!("{:032x}", (number as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
}

/// Six words that no other number has, as a title.
fn titled(number: usize) -> String {
    format!(
        "<title>{}</title>",
        words(number + 40).split(' ').take(6).fold(number.to_string(), |all, word| all + " " + word)
    )
}

/// Each answer has its own title, and a new session in all its links.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_are_told_under_titles_that_are_drawn() {
    const PAGES: usize = 150;
    let answers = AtomicUsize::new(0);
    let answer = move |url: &str| {
        let path = url.strip_prefix("site.test/")?;
        let number = path.rsplit_once("/page-").map_or(Some(0), |(_, number)| number.parse().ok())?;
        let nth = answers.fetch_add(1, Ordering::Relaxed);
        let to = (number * 3 + 1..number * 3 + 4).chain((1..5).map(|other| (nth * 31 + other * 7) % PAGES));
        let links: String =
            to.filter(|to| *to < PAGES).map(|to| format!("<a href='/s/{}/page-{to}'>x</a>", id(nth))).collect();
        Some(format!("{}{links}<p>{}", titled(nth), words(number)))
    };
    let (asked, finished) = asked_by(answer, &["http://site.test/".to_owned()], |options| {
        options.max_pages = Some(2000);
    })
    .await;
    let pages: BTreeSet<&str> =
        asked.iter().filter_map(|url| url.rsplit_once("/page-")).map(|(_, page)| page).collect();
    println!("{} of {PAGES} pages, {} requests", pages.len(), asked.len());
    assert_eq!(pages.len(), PAGES);
    assert!(asked.len() * 55 <= PAGES * 100, "{} requests", asked.len());
    assert!(finished.gate.refusals().of(Refusal::KnownSession) > 0);
}

/// Of pages with ids in their URLs and titles of their own, the rest may be equal: it is made by a script, or a picture, or short. Builds of a
/// manual stand below the hashes of their commits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_with_ids_that_differ_in_their_titles_are_fetched_whole() {
    const ITEMS: usize = 200;
    const SHELL: &str = "<div id=root></div><script src=/app.js></script>";
    let shell = |_| SHELL.to_owned();
    let noscript = |_| {
        let names = words(1).split(' ').map(|name| format!("<a href='/list/0?{name}'>{name}</a> ")).collect::<String>();
        format!("{SHELL}<noscript>You need to enable JavaScript to run this app.</noscript><nav>{names}</nav>")
    };
    // It leads to its neighbours, and to two lists of its owners.
    let photo = |number: usize| {
        let neighbours = [number + 1, number + ITEMS - 1]
            .map(|other| format!("<a href='/item/{}'>x</a>", id(other % ITEMS)))
            .concat();
        let owner = id(1000 + number / 3);
        format!("<nav>{}</nav><img src=/{number}.jpg>{neighbours}<a href='/list/0?of={owner}'>x</a>", words(1))
    };
    // All its links have one id, which no page had before.
    let owned = |number: usize| {
        let owner = id(2000 + number);
        format!("<nav>{}</nav><a href='/list/0?of={owner}'>x</a><a href='/list/0?by={owner}'>x</a>", words(1))
    };
    let thread = |number: usize| format!("<nav>{}</nav><p>{}", words(1), ["Thanks!", "Bump."][number % 2]);
    for says in [shell as fn(usize) -> String, noscript, photo, owned, thread] {
        let answer = move |url: &str| {
            let path = url.strip_prefix("site.test/")?;
            if path.starts_with("list/0") {
                let links = (0..ITEMS).map(|item| format!("<a href='/item/{}'>{item}</a>", id(item)));
                return Some(links.collect::<String>() + &words(900));
            }
            let number = (0..ITEMS).find(|item| path.strip_prefix("item/") == Some(&id(*item)))?;
            Some(titled(number) + &says(number))
        };
        let (asked, _) = asked_by(answer, &["http://site.test/list/0".to_owned()], |options| {
            // The lists by owner are one page, again and again.
            options.frontier.traps.shape_budget = 1000;
            (options.frontier.traps.section_budget, options.frontier.traps.host_budget) = (1000, 1000);
        })
        .await;
        let items = asked.iter().filter(|url| url.contains("/item/")).count();
        assert_eq!(items, ITEMS, "{}", says(7));
    }
    let builds: Vec<String> = (0..20).map(id).collect();
    let front: String = builds.iter().map(|build| format!("<a href='/build/{build}/page-0.html'>x</a>")).collect();
    let answer = move |url: &str| match url.strip_prefix("docs.test/")? {
        "" => Some(front.clone()),
        path => {
            let (build, page) = path.strip_prefix("build/")?.split_once('/')?;
            let number = builds.iter().position(|known| known == build)?;
            Some(titled(number) + &manual(page, 30)?)
        }
    };
    let (asked, finished) = asked_by(answer, &["http://docs.test/".to_owned()], |_| {}).await;
    assert_eq!((asked.len(), refused_by_budgets(&finished)), (20 * 30 + 1, 0));
}

/// A farm: each of its hosts has a page that leads to five more of its hosts, and says `says`. Beside it there is a good site.
async fn asked_of_a_farm(says: fn(usize) -> String) -> (usize, usize) {
    let answer = move |url: &str| {
        let (host, path) = url.split_once('/').unwrap();
        if host == "good.test" {
            return manual(path, 60).map(|page| page + "<a href='http://h0.farm.test/'>a farm</a>");
        }
        let number: usize = host.strip_prefix('h')?.strip_suffix(".farm.test")?.parse().ok()?;
        let links: String =
            (1..6).map(|nth| format!("<a href='http://h{}.farm.test/'>x</a>", number * 5 + nth)).collect();
        (path.is_empty()).then(|| links + &says(number))
    };
    let limit = |options: &mut CrawlOptions| options.max_pages = Some(600);
    let (asked, finished) = asked_by(answer, &["http://good.test/page-0.html".to_owned()], limit).await;
    assert!(finished.gate.refusals().of(Refusal::BarrenDomain) > 0);
    let farm = asked.iter().filter(|url| url.contains(".farm.")).count();
    (asked.len() - farm, farm)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_farm_of_texts_costs_what_its_domain_may() {
    for says in [(|_| "x".to_owned()) as fn(usize) -> String, |number| words(number)] {
        let (good, farm) = asked_of_a_farm(says).await;
        println!("{good} good pages, {farm} of the farm");
        assert!(good == 60 && farm < 40, "{good} good pages, {farm} of the farm");
    }
}

/// A farm. Each of its hosts has six pages with new texts, and links to five further hosts.
fn thick_farm(url: &str) -> Option<String> {
    let (host, path) = url.split_once('/')?;
    let number: usize = host.strip_prefix('h')?.strip_suffix(".farm.test")?.parse().ok()?;
    let page: usize = path.strip_prefix("own-").map_or(Some(0), |page| page.parse().ok())?;
    let links = (1..6)
        .filter(|_| page == 0)
        .map(|nth| format!("<a href='http://h{}.farm.test/'>x</a><a href='/own-{nth}'>{nth}</a>", number * 5 + nth));
    Some(links.collect::<String>() + &words(5000 + number * 6 + page))
}

/// However many hosts its domain has, a farm has about as many turns as the good site beside it, whose only host is asked for one page at a time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_farm_of_hosts_with_pages_has_no_more_turns_than_others() {
    const PAGES: usize = 200;
    const FARM: &str = "<a href='http://h0.farm.test/'>a farm</a>";
    // All pages linked from one page, and each page linked from the one before.
    let wide = |path: &str| {
        let number: usize = path.strip_prefix("page-").map_or(Some(0), |page| page.parse().ok())?;
        let links = (1..PAGES).filter(|_| number == 0).map(|page| format!("<a href='/page-{page}'>{page}</a>"));
        Some(links.collect::<String>() + FARM + &words(number))
    };
    let chain = |path: &str| {
        let number: usize = path.strip_prefix("page-").map_or(Some(0), |page| page.parse().ok())?;
        (number < PAGES).then(|| format!("<a href='/page-{}'>next</a>{FARM}{}", (number + 1) % PAGES, words(number)))
    };
    for good in [wide as fn(&str) -> Option<String>, chain] {
        let answer = move |url: &str| match url.strip_prefix("good.test/") {
            Some(path) => good(path),
            None => thick_farm(url),
        };
        let (asked, _) = asked_by(answer, &["http://good.test/".to_owned()], |options| {
            options.frontier.traps = TrapLimits::default();
            options.frontier.traps.domain_lead = 20;
            options.frontier.politeness.host_delay = Duration::from_millis(1);
            options.max_pages = Some(1200);
        })
        .await;
        let of_good = asked.iter().filter(|url| url.starts_with("good.test")).count();
        let last = asked.iter().rposition(|url| url.starts_with("good.test")).unwrap();
        println!("{of_good} good pages, the last of them after {last} others");
        assert!(of_good >= PAGES && last < 4 * PAGES, "{of_good} of {PAGES}, the last after {last}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blogs_of_one_domain_beside_another_site_are_fetched_whole() {
    const BLOGS: usize = 400;
    let answer = |url: &str| {
        let (host, path) = url.split_once('/')?;
        if host == "good.test" {
            let number: usize = path.strip_prefix("page-").map_or(Some(0), |page| page.parse().ok())?;
            let blogs = (0..BLOGS).map(|blog| format!("<a href='http://b{blog}.blogs.test/'>{blog}</a>"));
            let first = if number == 0 { blogs.collect() } else { String::new() };
            return (number < 100).then(|| format!("<a href='/page-{}'>next</a>{first}{}", number + 1, words(number)));
        }
        let blog: usize = host.strip_prefix('b')?.strip_suffix(".blogs.test")?.parse().ok()?;
        let page: usize = path.strip_prefix("post-").map_or(Some(0), |page| page.parse().ok())?;
        let posts = (1..4).filter(|_| page == 0).map(|post| format!("<a href='/post-{post}'>{post}</a>"));
        Some(posts.collect::<String>() + &words(1000 + blog * 4 + page))
    };
    let (asked, finished) = asked_by(answer, &["http://good.test/".to_owned()], |options| {
        options.frontier.traps = TrapLimits::default();
        options.frontier.traps.domain_lead = 20;
    })
    .await;
    assert_eq!((asked.len(), refused_by_budgets(&finished)), (100 + BLOGS * 4 + 1, 0));
}

/// A sitemap that is gone says nothing of its host's pages, and one that is named late is asked for, whatever its host's pages have brought.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sitemaps_have_no_budget_and_spend_none() {
    let answer = |url: &str| match url.split_once('/')? {
        ("gone.test", "robots.txt") => {
            Some((0..9).map(|nth| format!("Sitemap: http://gone.test/gone-{nth}.xml\n")).collect())
        }
        // Each page links to the next one.
        ("gone.test", path) => {
            let number: usize = path.strip_prefix("page-")?.parse().ok()?;
            Some(format!("<p>{}<a href='page-{}'>next</a>", words(number), number + 1)).filter(|_| number < 40)
        }
        ("same.test", "") => Some((0..40).map(|number| format!("<a href='page-{number}'>{number}</a>")).collect()),
        // The ninth page is the last one that is asked for.
        ("same.test", "page-8") => Some(format!("<p>{}<a href='http://late.test/'></a>", words(0))),
        ("same.test", path) if path.starts_with("page-") => Some(format!("<p>{}", words(0))),
        ("late.test", "robots.txt") => Some("Sitemap: http://same.test/late.xml\n".to_owned()),
        _ => None,
    };
    let seeds = ["http://gone.test/page-0", "http://same.test/"].map(str::to_owned);
    let (asked, finished) = asked_by(answer, &seeds, |options| {
        options.sitemaps.enabled = true;
        (options.frontier.traps.host_budget, options.frontier.traps.budget_growth) = (7, 0);
    })
    .await;
    let count = |prefix: &str| asked.iter().filter(|url| url.starts_with(prefix)).count();
    assert_eq!((count("gone.test/gone-"), count("gone.test/page-")), (9, 41));
    assert_eq!((count("same.test/page-"), count("same.test/late.xml")), (9, 1), "{asked:?}");
    assert_eq!(finished.gate.refusals().of(Refusal::BarrenHost), 31);
}

/// Refusals by budgets are reported with their key, and the command in the message fetches those URLs.
#[test]
fn a_refusal_by_a_budget_is_in_the_verdict() {
    const PAGES: usize = 30;
    let server = Loopback::serve(|url| {
        let (_, path) = url.split_once('/').unwrap();
        let page = match path {
            "" => Some(
                (0..6).map(|of| format!("<a href='/v{of}/page-0.html'>{of}</a><a href='mailto:a@b'>x</a>")).collect(),
            ),
            path => path.split_once('/').and_then(|(_, page)| manual(page, PAGES)),
        };
        let status = if page.is_some() { "200 OK" } else { "404 Not Found" };
        loopback::response(&format!("{status}\r\nContent-Type: text/html"), page.unwrap_or_default().as_bytes())
    });
    let directory = tempfile::tempdir().unwrap();
    let crawl = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = crawler(&directory, arguments);
        command.envs(variables.iter().copied());
        command.env("CRAWLER_FETCH_RESOLVE_ALL_TO", server.address.to_string()).env("CRAWLER_TRAPS_COPIES", "0");
        command.env("CRAWLER_POLITENESS_HOST_DELAY", "0s").env("CRAWLER_SITEMAPS_ENABLED", "false");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let text = crawl(
        &["http://docs.test/", "--job", "job"],
        &[("CRAWLER_TRAPS_SHAPE_BUDGET", "10"), ("CRAWLER_TRAPS_BUDGET_GROWTH", "1")],
    );
    let before = server.asked().len();
    assert!(before < 6 * PAGES, "{before}");
    assert!(text.contains("Refused by budgets, as more of the same: "), "{text}");
    assert!(text.contains(", by traps.shape_budget") && text.contains("docs.test/v#/page-#"), "{text}");
    let command = "CRAWLER_TRAPS_SHAPE_BUDGET=0 crawler --seeds JOB/seeds.txt --job NEW";
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(command), "{text}");
    let after = crawl(&["--seeds", "job/seeds.txt", "--job", "new"], &[("CRAWLER_TRAPS_SHAPE_BUDGET", "0")]);
    assert!(!after.contains("Refused by budgets"), "{after}");
    assert!(server.asked().len() - before > 6 * PAGES);
}
