//! The frontier as a user meets it: invented webs, crawled in no time.

mod failures;
mod robots_txt;

use std::collections::BTreeMap;
use std::time::Duration;

use crawler_frontier::address::HostKey;
use crawler_frontier::frontier::{
    Completion, Failure, Frontier, FrontierError, FrontierOptions, Lease, Next, Outcome, Timestamp,
};
use crawler_frontier::gate::{Refusal, ScopeKind};

/// Pages and what they link to; what is not there is a 404.
#[derive(Clone, Debug, Default)]
struct Web {
    pages: BTreeMap<String, Page>,
}

#[derive(Clone, Debug)]
enum Page {
    Links(String),
    /// As many tries that find no connection, then its links.
    Late(u32, String),
    Redirect(String),
    /// Robots rules.
    Text(String),
    /// As many 5xx, then nothing but a good end.
    Broken(u16, u32),
    /// As many good ends, then nothing but 5xx.
    Fading(u32),
    Dead(Failure),
}

/// What was asked for, and when.
type Visit = (u64, String);

impl Web {
    /// Links are separated by spaces; paths are those of `https://a.example`.
    fn of<const N: usize>(pages: [(&str, &str); N]) -> Self {
        let links = |(path, links): (&str, &str)| (absolute(path), Page::Links(links.to_owned()));
        Self { pages: pages.into_iter().map(links).collect() }
    }

    fn with(mut self, path: &str, page: Page) -> Self {
        self.pages.insert(absolute(path), page);
        self
    }

    /// One fetcher, that takes no time; until it is drained, or a year is over.
    fn crawl(mut self, options: &FrontierOptions, seeds: &[&str]) -> (Frontier, Vec<Visit>) {
        let mut now = secs(0);
        let mut frontier = Frontier::new(options).unwrap();
        for seed in seeds {
            frontier.seed(&absolute(seed), now).unwrap();
        }
        let mut visits = Vec::new();
        loop {
            match frontier.next(now).unwrap() {
                Next::Fetch(lease) => {
                    visits.push((now.as_micros() / 1_000_000, path(lease.url())));
                    let outcome = self.answer(&mut frontier, &lease, now);
                    frontier.complete(lease, outcome, now).unwrap();
                }
                Next::GiveUp(lease) => {
                    let trouble = lease.trouble().unwrap().failure;
                    visits.push((now.as_micros() / 1_000_000, format!("{trouble} {}", path(lease.url()))));
                    frontier.complete(lease, Outcome::GivenUp, now).unwrap();
                }
                Next::Wait(until) => now = until,
                Next::Busy => panic!("nothing is lent out"),
                Next::Drained => break,
            }
            assert!(now < secs(365 * 86_400), "it ends");
        }
        let statistics = frontier.statistics();
        assert_eq!(statistics.completed, frontier.gate().admitted());
        (frontier, visits)
    }

    fn answer(&mut self, frontier: &mut Frontier, lease: &Lease, now: Timestamp) -> Outcome {
        match self.pages.get_mut(lease.url()) {
            None => Outcome::response(lease, 404, b""),
            Some(Page::Links(links) | Page::Late(0, links)) => {
                frontier.links(lease, links.split_whitespace(), now).unwrap();
                Outcome::response(lease, 200, b"")
            }
            Some(Page::Redirect(location)) => frontier.redirect(lease, 301, location, now).unwrap(),
            Some(Page::Late(times, _)) => {
                *times -= 1;
                Outcome::Failed(Failure::Connect.into())
            }
            Some(Page::Text(text)) => Outcome::response(lease, 200, text.as_bytes()),
            Some(Page::Broken(_, 0)) => Outcome::response(lease, 200, b""),
            Some(Page::Fading(0)) => Outcome::response(lease, 502, b""),
            Some(Page::Fading(times)) => {
                *times -= 1;
                Outcome::response(lease, 200, b"")
            }
            Some(Page::Broken(status, times)) => {
                *times -= 1;
                Outcome::response(lease, *status, b"")
            }
            Some(Page::Dead(failure)) => Outcome::Failed((*failure).into()),
        }
    }
}

fn path(url: &str) -> String {
    url.replace("https://a.example", "")
}

fn absolute(path: &str) -> String {
    if path.starts_with('/') { format!("https://a.example{path}") } else { path.to_owned() }
}

const fn secs(seconds: u64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

fn visits(expected: &[(u64, &str)]) -> Vec<Visit> {
    expected.iter().map(|&(at, url)| (at, url.to_owned())).collect()
}

/// No robots.txt; a second between two requests to a host.
fn plain() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.politeness.robots = false;
    options
}

fn refused(frontier: &Frontier) -> Vec<(&'static str, u64)> {
    let counts = frontier.gate().refusals();
    counts.iter().filter(|&(_, count)| count > 0).map(|(refusal, count)| (refusal.name(), count)).collect()
}

fn lease(frontier: &mut Frontier, now: Timestamp) -> Lease {
    match frontier.next(now).unwrap() {
        Next::Fetch(lease) => lease,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_site_is_crawled_breadth_first_a_page_a_second_each_once() {
    let web = Web::of([("/", "a b"), ("/a", "deep / b a#x"), ("/b", "a missing"), ("/deep", "../")]);
    let (frontier, seen) = web.crawl(&FrontierOptions::default(), &["/"]);
    let pages = [(0, "/robots.txt"), (1, "/"), (2, "/a"), (3, "/b"), (4, "/deep"), (5, "/missing")];
    assert_eq!(seen, visits(&pages));
    assert_eq!(refused(&frontier), [("seen", 5)]);
    assert_eq!(frontier.gate().found(), 10);
}

#[test]
fn hosts_take_turns_and_none_waits_for_another() {
    let web = Web::of([
        ("/", "https://b.example/ https://c.example/ 1 2"),
        ("https://b.example/", "1 2"),
        ("https://c.example/", "1"),
    ]);
    let mut options = plain();
    options.scope.kind = ScopeKind::Any;
    let (_, seen) = web.crawl(&options, &["/"]);
    let expected = [
        (0, "/"),
        (0, "https://b.example/"),
        (0, "https://c.example/"),
        (1, "/1"),
        (1, "https://b.example/1"),
        (1, "https://c.example/1"),
        (2, "/2"),
        (2, "https://b.example/2"),
    ];
    assert_eq!(seen, visits(&expected));
}

#[test]
fn a_host_with_a_better_url_goes_first_among_those_that_are_due() {
    let mut options = plain();
    options.scope.kind = ScopeKind::Any;
    let mut frontier = Frontier::new(&options).unwrap();
    frontier.seed("https://a.example/", secs(0)).unwrap();
    let a = lease(&mut frontier, secs(0));
    frontier.links(&a, ["https://b.example/deep", "https://c.example/deep"], secs(0)).unwrap();
    // Both are due, b before c; then the user wants something of c.
    frontier.seed("https://c.example/", secs(0)).unwrap();
    let c = lease(&mut frontier, secs(0));
    assert_eq!(c.url(), "https://c.example/");
    assert_eq!(lease(&mut frontier, secs(0)).url(), "https://b.example/deep");
    assert!(matches!(frontier.next(secs(0)).unwrap(), Next::Busy), "c's other page waits for c");
    let outcome = Outcome::response(&c, 200, b"");
    frontier.complete(c, outcome, secs(3)).unwrap();
    assert!(matches!(frontier.next(secs(3)).unwrap(), Next::Wait(until) if until == secs(4)));
    assert_eq!(lease(&mut frontier, secs(4)).url(), "https://c.example/deep");
}

#[test]
fn redirects_are_links_and_take_their_turn_at_their_own_host() {
    let mut options = plain();
    options.scope.kind = ScopeKind::Any;
    let web = Web::of([("/", "/moved"), ("https://b.example/new", "")])
        .with("/moved", Page::Redirect("https://b.example/new".into()));
    let (frontier, seen) = web.crawl(&options, &["/"]);
    assert_eq!(seen, visits(&[(0, "/"), (1, "/moved"), (1, "https://b.example/new")]));
    assert_eq!(frontier.statistics().completed, 3);
}

#[test]
fn a_seed_that_redirects_takes_the_scope_along_and_a_link_does_not() {
    let web = Web::of([("https://www.a.example/", "/inside /away"), ("https://www.a.example/inside", "")])
        .with("/", Page::Redirect("https://www.a.example/".into()))
        .with("https://www.a.example/away", Page::Redirect("https://elsewhere.example/".into()));
    let (frontier, seen) = web.crawl(&plain(), &["/"]);
    let www = |path: &str| format!("https://www.a.example{path}");
    assert_eq!(seen, [(0, "/".into()), (0, www("/")), (1, www("/inside")), (2, www("/away"))]);
    assert_eq!(refused(&frontier), [("out_of_scope", 1)]);
}

#[test]
fn a_page_that_moves_to_its_own_key_is_fetched_there_ten_times_at_most() {
    // The tracking parameter is no part of the key.
    let web = Web::of([("/?utm_source=1", "")]).with("/", Page::Redirect("/?utm_source=1".into()));
    let (frontier, seen) = web.crawl(&plain(), &["/"]);
    assert_eq!(seen, visits(&[(0, "/"), (1, "/?utm_source=1")]));
    assert_eq!(frontier.statistics().completed, 1);
    let web = Web::of([])
        .with("/", Page::Redirect("/?utm_source=1".into()))
        .with("/?utm_source=1", Page::Redirect("/".into()));
    let (frontier, seen) = web.crawl(&plain(), &["/"]);
    assert_eq!(seen.len(), 11);
    assert_eq!(refused(&frontier), [("too_many_redirects", 1)]);
    assert_eq!((frontier.statistics().completed, frontier.gate().found()), (1, 2));
}

#[test]
fn an_outcome_of_the_wrong_kind_opens_no_door() {
    let mut frontier = Frontier::new(&FrontierOptions::default()).unwrap();
    frontier.seed("https://a.example/", secs(0)).unwrap();
    let robots = lease(&mut frontier, secs(0));
    let bare = Outcome::Response { status: 200, retry_after: None };
    assert_eq!(frontier.complete(robots, bare, secs(0)).unwrap(), Completion::Retry(secs(10)), "where are the rules?");
    let robots = lease(&mut frontier, secs(10));
    let gone = Outcome::Response { status: 404, retry_after: None };
    assert_eq!(frontier.complete(robots, gone, secs(10)).unwrap(), Completion::Done);
    let page = lease(&mut frontier, secs(11));
    let elsewhere = Outcome::Moved { to: "https://b.example/".into() };
    assert_eq!(frontier.complete(page, elsewhere, secs(11)).unwrap(), Completion::Done);
    assert_eq!(refused(&frontier), [("out_of_scope", 1)], "another host's robots.txt and clock were not asked");
}

#[test]
fn a_chain_of_redirects_ends_too() {
    let hop = |web: Web, hop| web.with(&format!("/{hop}"), Page::Redirect(format!("/{}", hop + 1)));
    let (frontier, seen) = (0..100).fold(Web::default(), hop).crawl(&plain(), &["/0"]);
    assert_eq!(seen.len(), 11);
    assert_eq!(refused(&frontier), [("too_many_redirects", 1)]);
}

#[test]
fn what_was_released_goes_next_and_the_clock_is_as_it_was() {
    let mut frontier = Frontier::new(&plain()).unwrap();
    frontier.seed("https://a.example/1", secs(0)).unwrap();
    frontier.seed("https://a.example/2", secs(0)).unwrap();
    let first = lease(&mut frontier, secs(7));
    assert!(matches!(frontier.complete(first, Outcome::Released, secs(8)), Ok(Completion::Retry(at)) if at <= secs(7)));
    let again = lease(&mut frontier, secs(8));
    assert_eq!((again.url(), again.attempt()), ("https://a.example/1", 1));
}

#[test]
fn a_lease_knows_where_its_url_comes_from() {
    let mut frontier = Frontier::new(&plain()).unwrap();
    frontier.seed("https://a.example/", secs(0)).unwrap();
    let seed = lease(&mut frontier, secs(0));
    frontier.links(&seed, ["x"], secs(0)).unwrap();
    assert_eq!((seed.depth(), seed.referrer()), (0, None));
    let outcome = Outcome::response(&seed, 200, b"");
    frontier.complete(seed, outcome, secs(0)).unwrap();
    let link = lease(&mut frontier, secs(1));
    assert_eq!((link.depth(), link.referrer()), (1, Some("https://a.example/")));
}

#[test]
fn a_lease_of_another_frontier_changes_nothing() {
    let mut one = Frontier::new(&plain()).unwrap();
    let mut other = Frontier::new(&plain()).unwrap();
    one.seed("https://a.example/", secs(0)).unwrap();
    other.seed("https://a.example/", secs(0)).unwrap();
    let mine = lease(&mut one, secs(0));
    let _held = lease(&mut other, secs(0));
    let before = other.statistics();
    let outcome = Outcome::response(&mine, 200, b"");
    let error = other.complete(mine, outcome, secs(0)).unwrap_err();
    assert!(matches!(error, FrontierError::ForeignLease), "{error}");
    assert_eq!(other.statistics(), before);
}

#[test]
fn a_seed_that_is_no_url_says_why() {
    let mut frontier = Frontier::new(&plain()).unwrap();
    let error = frontier.seed("ftp://a.example/", secs(0)).unwrap_err();
    assert!(error.to_string().contains("ftp"), "{error}");
    assert_eq!(frontier.seed("https://a.example/", secs(0)).unwrap(), None);
    assert_eq!(frontier.seed("https://a.example/#again", secs(0)).unwrap(), Some(Refusal::Seen));
}

#[test]
fn a_crawl_of_ten_hours_takes_no_time() {
    let links: Vec<String> = (0..36_000).map(|page| format!("/{page}")).collect();
    let (_, seen) = Web::of([("/", &*links.join(" "))]).crawl(&plain(), &["/"]);
    assert_eq!(seen.last().unwrap().0, 36_000);
}

#[test]
fn a_rest_counts_from_when_the_host_was_done() {
    let mut options = FrontierOptions::default();
    options.politeness.robots = false;
    options.politeness.host_delay = Duration::from_secs(10);
    let next_after = |answered_at: Option<u64>, completed_at: u64| {
        let mut frontier = Frontier::new(&options).unwrap();
        frontier.seed("https://a.example/1", secs(0)).unwrap();
        frontier.seed("https://a.example/2", secs(0)).unwrap();
        let Next::Fetch(mut lease) = frontier.next(secs(0)).unwrap() else { panic!("the first") };
        if let Some(at) = answered_at {
            lease.answered(secs(at), Duration::ZERO, 0);
        }
        let outcome = Outcome::response(&lease, 200, b"");
        frontier.complete(lease, outcome, secs(completed_at)).unwrap();
        frontier.next(secs(completed_at)).unwrap()
    };
    assert!(matches!(next_after(None, 4), Next::Wait(until) if until == secs(14)));
    assert!(matches!(next_after(Some(3), 4), Next::Wait(until) if until == secs(13)));
    // Read for longer than the rest.
    assert!(matches!(next_after(Some(3), 13), Next::Fetch(_)));
    // A clock that runs ahead holds nobody up.
    assert!(matches!(next_after(Some(99), 4), Next::Wait(until) if until == secs(14)));
}

#[test]
fn each_host_says_what_it_waits_for() {
    let (mut options, now) = (plain(), secs(1000));
    options.politeness.backoff = Duration::from_secs(9);
    let mut frontier = Frontier::new(&options).unwrap();
    let key = HostKey::of_origin("https://a.example");
    assert_eq!(frontier.queue_statistics(&key, now).unwrap(), None);
    for url in ["https://a.example/1", "https://a.example/2", "https://b.example/"] {
        assert_eq!(frontier.seed(url, now).unwrap(), None);
    }
    let Next::Fetch(lease) = frontier.next(now).unwrap() else { panic!("a host is due") };
    let there = frontier.queue_statistics(&key, now).unwrap().unwrap();
    assert_eq!((there.waiting, there.lent, there.failures, there.requests), (1, 1, 0, 0));
    frontier.complete(lease, Outcome::Failed(Failure::Connect.into()), now).unwrap();
    let there = frontier.queue_statistics(&key, now).unwrap().unwrap();
    assert_eq!((there.waiting, there.lent, there.failures, there.requests), (2, 0, 1, 1));
    assert_eq!((there.due, there.is_retired), (now + Duration::from_secs(9), false));
    let all: Vec<_> = frontier.queues(now).map(|(host, queue)| (host.host(), queue.waiting, queue.failures)).collect();
    assert_eq!(all, [("a.example", 2, 1), ("b.example", 1, 0)]);
}
