//! A share of turns for each registrable domain: invented webs, crawled by many fetchers in no time.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::time::Duration;

use crawler_frontier::frontier::{
    Failure, Frontier, FrontierOptions, HostRule, Lease, LeaseKind, Next, Outcome, QueueOrder, Timestamp,
};
use crawler_frontier::gate::ScopeKind;
use proptest::prelude::*;

/// What a URL leads to; `None` where the host does not answer.
type Web<'a> = &'a dyn Fn(&str) -> Option<Vec<String>>;

struct Fetchers {
    count: usize,
    /// Milliseconds that each answer takes.
    latency: u64,
    /// Pages in all.
    most: usize,
}

/// Pages that were asked for, with the millisecond in which each was.
type Visits = Vec<(u64, String)>;

fn options() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    options
}

/// Crawls until the frontier is drained or `most` pages are done.
fn crawl(options: &FrontierOptions, seeds: &[&str], fetchers: &Fetchers, web: Web<'_>) -> Visits {
    let mut frontier = Frontier::new(options).unwrap();
    let at = |millis: u64| Timestamp::from_micros(millis * 1000);
    for seed in seeds {
        frontier.seed(*seed, at(0)).unwrap();
    }
    let (mut visits, mut now, mut number) = (Visits::new(), 0, 0);
    let mut out: HashMap<usize, Lease> = HashMap::new();
    let mut ends = BinaryHeap::new();
    while visits.len() < fetchers.most {
        let next = if out.len() < fetchers.count { frontier.next(at(now)).unwrap() } else { Next::Busy };
        match next {
            Next::Fetch(lease) => {
                if lease.kind() != LeaseKind::Robots {
                    visits.push((now, lease.url().to_owned()));
                }
                number += 1;
                ends.push(Reverse((now + fetchers.latency, number)));
                out.insert(number, lease);
                continue;
            }
            Next::GiveUp(lease) => {
                frontier.complete(lease, Outcome::GivenUp, at(now)).unwrap();
                continue;
            }
            Next::Drained => break,
            Next::Wait(until) if ends.peek().is_none_or(|Reverse((end, _))| *end > until.as_micros() / 1000) => {
                now = until.as_micros().div_ceil(1000).max(now);
                continue;
            }
            Next::Wait(_) | Next::Busy => {}
        }
        let Reverse((end, which)) = ends.pop().expect("somebody is busy");
        now = end.max(now);
        let lease = out.remove(&which).unwrap();
        let outcome = match (lease.kind(), web(lease.url())) {
            (LeaseKind::Robots, Some(_)) => Outcome::response(&lease, 404, b""),
            (_, Some(links)) => {
                frontier.links(&lease, links.iter().map(String::as_str), at(now)).unwrap();
                Outcome::response(&lease, 200, b"")
            }
            (_, None) => Outcome::Failed(Failure::Connect.into()),
        };
        frontier.complete(lease, outcome, at(now)).unwrap();
    }
    visits
}

/// A page of a farm: the first of each host leads to five more of it and to five further hosts.
fn farm(url: &str) -> Vec<String> {
    let host = url.strip_prefix("https://h").and_then(|rest| rest.split_once(".farm.test/"));
    let Some((number, "")) = host else { return Vec::new() };
    let number: usize = number.parse().unwrap();
    let links = |nth| [format!("/own-{nth}"), format!("https://h{}.farm.test/", number * 5 + nth)];
    (1..6).flat_map(links).collect()
}

fn count(visits: &Visits, of: &str) -> usize {
    visits.iter().filter(|(_, url)| url.contains(of)).count()
}

/// The bar of the page on traps in the reference.
#[test]
fn a_good_site_is_fetched_whole_beside_a_farm_of_hosts_with_pages() {
    let wide = |url: &str| match url.strip_prefix("https://good.test/") {
        Some("") => (1..1001).map(|page| format!("/{page}")).chain(["https://h0.farm.test/".to_owned()]).collect(),
        Some(_) => Vec::new(),
        None => farm(url),
    };
    let chain = |url: &str| match url.strip_prefix("https://good.test/") {
        Some(path) => {
            let page: usize = path.parse().unwrap_or(0);
            let next = (page < 1000).then(|| format!("/{}", page + 1));
            next.into_iter().chain(["https://h0.farm.test/".to_owned()]).collect()
        }
        None => farm(url),
    };
    for good in [&wide as &dyn Fn(&str) -> Vec<String>, &chain] {
        for (delay, latency, workers) in [(1000, 100, 2048), (0, 20, 2048), (0, 20, 8), (1000, 100, 8)] {
            let mut options = options();
            options.politeness.host_delay = Duration::from_millis(delay);
            let fetchers = Fetchers { count: workers, latency, most: 6000 };
            let visits = crawl(&options, &["https://good.test/"], &fetchers, &|url| Some(good(url)));
            let last = visits.iter().rposition(|(_, url)| url.contains("good.test")).unwrap();
            println!("{delay} ms between pages, {workers} fetchers: the last good page is number {last}");
            assert_eq!(count(&visits, "good.test"), 1001);
        }
    }
}

/// A hub that leads to so many blogs, of some posts each, and to pages of its own.
fn hub(url: &str, blogs: usize, pages: usize) -> Vec<String> {
    if url == "https://hub.test/" {
        let blogs = (0..blogs).map(|blog| format!("https://b{blog}.blogs.test/"));
        return blogs.chain((1..pages).map(|page| format!("/{page}"))).collect();
    }
    let is_first = url.ends_with(".blogs.test/");
    (1..6).filter(|_| is_first).map(|post| format!("/{post}")).collect()
}

#[test]
fn blogs_of_one_domain_lose_nothing_and_go_at_full_speed_once_they_are_alone() {
    let fetchers = Fetchers { count: 2048, latency: 100, most: usize::MAX };
    let visits = crawl(&options(), &["https://hub.test/"], &fetchers, &|url| Some(hub(url, 400, 50)));
    assert_eq!((count(&visits, "hub.test"), count(&visits, "blogs.test")), (50, 2400));
    let last_of_hub = visits.iter().filter(|(_, url)| url.contains("hub.test")).map(|(at, _)| *at).max().unwrap();
    let (last, _) = visits.last().unwrap();
    // A robots.txt and six pages, with 1.1 seconds from each to the next.
    assert!((last - last_of_hub) < 9000, "{last_of_hub}, {last}");
    // Nothing else is there from the second page on: nobody waits.
    let visits = crawl(&options(), &["https://hub.test/"], &fetchers, &|url| Some(hub(url, 400, 1)));
    let first_pages: BTreeSet<u64> =
        visits.iter().filter(|(_, url)| url.ends_with("blogs.test/")).map(|(at, _)| *at).collect();
    assert_eq!((count(&visits, "blogs.test"), first_pages.len()), (2400, 1), "{first_pages:?}");
}

#[test]
fn hosts_of_seeds_wait_for_no_other_domain() {
    let seeds: Vec<String> = (0..400).map(|blog| format!("https://b{blog}.blogs.test/")).collect();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).chain(["https://hub.test/"]).collect();
    let fetchers = Fetchers { count: 2048, latency: 100, most: usize::MAX };
    let visits = crawl(&options(), &seeds, &fetchers, &|url| Some(hub(url, 0, 500)));
    assert!(visits.iter().filter(|(_, url)| url.contains("blogs.test")).all(|(at, _)| *at < 9000));
    assert_eq!((count(&visits, "hub.test"), count(&visits, "blogs.test")), (500, 2400));
}

/// Where fetchers are few, a domain with a hundred known hosts has as many turns as one with a single host.
#[test]
fn known_hosts_share_the_turns_of_their_domain_where_fetchers_are_few() {
    let mut options = options();
    options.politeness.host_delay = Duration::ZERO;
    options.traps.domain_lead = 10;
    let web = |url: &str| {
        if url == "https://hub.test/" {
            let blogs = (0..100).map(|blog| format!("https://b{blog}.blogs.test/"));
            return Some(blogs.chain(["https://other.test/".to_owned()]).collect());
        }
        if url == "https://other.test/" {
            return Some((0..1000).map(|page| format!("/{page}")).collect());
        }
        let is_first = url.ends_with(".blogs.test/");
        Some((1..20).filter(|_| is_first).map(|post| format!("/{post}")).collect())
    };
    let visits = crawl(&options, &["https://hub.test/"], &Fetchers { count: 1, latency: 1, most: 800 }, &web);
    let (other, blogs) = (count(&visits, "other.test"), count(&visits, "blogs.test"));
    println!("{other} of one host, {blogs} of a hundred");
    assert!(other > 300 && blogs > 300, "{other}, {blogs}");
    // Host by host.
    options.traps.domain_lead = 0;
    let visits = crawl(&options, &["https://hub.test/"], &Fetchers { count: 1, latency: 1, most: 800 }, &web);
    assert!(count(&visits, "other.test") < 30);
}

/// A web of a few domains, whose pages lead anywhere; some hosts do not answer, or do so late.
fn anywhere(seed: u64) -> impl Fn(&str) -> Option<Vec<String>> {
    move |url: &str| {
        let number = url.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let number = number ^ (number >> 29);
        let host = url.split('/').nth(2).unwrap();
        let of_host = host.bytes().fold(seed, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
        let links = |nth: u64| {
            let to = number.wrapping_mul(nth * 2 + 1) >> 17;
            format!("https://h{}.d{}.test/{}", to / 7 % 23, to % 3, to / 200 % 5)
        };
        (of_host % 11 != 0).then(|| (0..number % 6).map(links).collect())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever gives way has its turn in the end, and each page has one.
    #[test]
    fn nothing_is_lost_by_giving_way(
        seed in any::<u64>(),
        lead in 0..8u32,
        connections in 1..3u8,
        delay in prop::sample::select(vec![0, 50, 2000, 20_000]),
        count in 1..40usize,
        by_group in any::<bool>(),
    ) {
        let mut options = options();
        options.traps.domain_lead = lead;
        options.politeness.host_delay = Duration::from_millis(delay);
        options.politeness.connections_per_host = connections;
        options.politeness.host_failures = 2;
        if by_group {
            let group = options.rules.groups.entry("some".to_owned()).or_default();
            group.hosts = vec!["*.d1.test".to_owned(), "h1.d2.test".to_owned()];
        }
        let web = anywhere(seed);
        let seeds = ["https://h0.d0.test/", "https://h1.d1.test/", "https://h2.d2.test/", "https://h3.d0.test/0"];
        let visits = crawl(&options, &seeds, &Fetchers { count, latency: 30, most: usize::MAX }, &web);
        // What a crawl without turns has.
        options.traps.domain_lead = 0;
        let plain = crawl(&options, &seeds, &Fetchers { count: 1, latency: 1, most: usize::MAX }, &web);
        let pages = |visits: &Visits| visits.iter().map(|(_, url)| url.clone()).collect::<BTreeSet<_>>();
        prop_assert_eq!(pages(&visits), pages(&plain));
    }
}

/// The last that was found goes first, by host; what is out, and what is tried again, keeps its place.
#[test]
fn the_last_goes_first_where_a_rule_says_so() {
    let mut options = FrontierOptions::default();
    options.order = QueueOrder::Lifo;
    let rule = HostRule { order: Some(QueueOrder::Fifo), ..HostRule::default() };
    options.rules.hosts.insert("b.example".to_owned(), rule);
    (options.politeness.robots, options.politeness.host_delay) = (false, Duration::ZERO);
    let mut now = Timestamp::from_micros(0);
    let mut frontier = Frontier::new(&options).unwrap();
    for (host, page) in [("a", 1), ("b", 1), ("a", 2), ("b", 2)] {
        frontier.seed(&format!("http://{host}.example/{page}"), now).unwrap();
    }
    let (mut asked, mut came) = (Vec::new(), 3..5);
    let next = |frontier: &mut Frontier, now: &mut Timestamp| loop {
        match frontier.next(*now).unwrap() {
            Next::Wait(until) => *now = until,
            Next::Fetch(lease) => break Some(lease),
            _ => break None,
        }
    };
    while let Some(lease) = next(&mut frontier, &mut now) {
        let is_new = !asked.contains(&lease.url().to_owned());
        asked.push(lease.url().to_owned());
        if let Some(page) = came.next() {
            // While the page is out, and so after it, if it is tried again.
            frontier.seed(&format!("http://a.example/{page}"), now).unwrap();
        }
        let status = if is_new && lease.url().ends_with("a.example/2") { 503 } else { 200 };
        frontier.complete(lease, Outcome::Response { status, retry_after: None }, now).unwrap();
    }
    let of = |host: &str| {
        let pages = asked.iter().filter_map(|url| url.strip_prefix(&format!("http://{host}.example/")));
        pages.map(|page| page.parse().unwrap()).collect::<Vec<u8>>()
    };
    assert_eq!((of("a"), of("b")), (vec![2, 2, 4, 3, 1], vec![1, 2]));
}
