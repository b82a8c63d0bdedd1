//! The frontier as a user meets it: invented webs, crawled in no time.

use std::collections::BTreeMap;
use std::time::Duration;

use crawler_frontier::frontier::{
    Completion, Failure, Frontier, FrontierError, FrontierOptions, Lease, LeaseKind, Next, Outcome, Timestamp,
    Validators,
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
fn robots_txt_says_what_and_how_often() {
    let web = Web::of([("/", "open private/a private/b")])
        .with("/robots.txt", Page::Text("User-agent: *\nDisallow: /private/\nCrawl-delay: 5".into()));
    let (frontier, seen) = web.crawl(&FrontierOptions::default(), &["/"]);
    assert_eq!(seen, visits(&[(0, "/robots.txt"), (5, "/"), (10, "/open")]));
    assert_eq!(refused(&frontier), [("robots", 2)]);
    assert_eq!(frontier.gate().admitted(), 2, "what robots.txt disallows is refused, not admitted");
    let host = &frontier.top_hosts(1)[0];
    assert_eq!((host.delay, host.requests, host.queued), (Duration::from_secs(5), 3, 0));
}

#[test]
fn a_crawl_delay_is_honored_up_to_a_limit() {
    let slow = Page::Text("User-agent: crawler\nCrawl-delay: 86400".into());
    let (_, seen) = Web::of([("/", "")]).with("/robots.txt", slow).crawl(&FrontierOptions::default(), &["/"]);
    assert_eq!(seen, visits(&[(0, "/robots.txt"), (300, "/")]));
}

#[test]
fn a_robots_txt_that_cannot_be_had_now_disallows_everything_until_it_can() {
    let web = Web::of([("/", "")]).with("/robots.txt", Page::Broken(503, 2));
    let (_, seen) = web.crawl(&FrontierOptions::default(), &["/"]);
    assert_eq!(seen, visits(&[(0, "/robots.txt"), (10, "/robots.txt"), (30, "/robots.txt"), (31, "/")]));
}

#[test]
fn a_robots_txt_is_followed_through_five_redirects() {
    let hops = |count: u32| {
        let web = Web::of([("/", "")]).with("/robots.txt", Page::Redirect("/hop1".into()));
        let hop = |web: Web, hop| web.with(&format!("/hop{hop}"), Page::Redirect(format!("/hop{}", hop + 1)));
        let web = (1..count).fold(web, hop);
        web.with(&format!("/hop{count}"), Page::Text("User-agent: *\nDisallow: /".into()))
    };
    let (frontier, seen) = hops(5).crawl(&FrontierOptions::default(), &["/"]);
    assert_eq!(refused(&frontier), [("robots", 1)]);
    assert_eq!(seen.last(), Some(&(5, "/hop5".to_owned())));
    let (frontier, seen) = hops(6).crawl(&FrontierOptions::default(), &["/"]);
    assert_eq!(refused(&frontier), [], "further than that it is as good as missing");
    assert_eq!(seen.last(), Some(&(6, "/".to_owned())));
}

/// Hosts whose robots.txt is on another one, by their number, and what was asked of that one: when, and what.
fn led_elsewhere(hosts: usize, to: impl Fn(usize) -> String, there: &[(&str, Page)]) -> (Frontier, Vec<Visit>) {
    led_elsewhere_by(&FrontierOptions::default(), hosts, to, there)
}

fn led_elsewhere_by(
    options: &FrontierOptions,
    hosts: usize,
    to: impl Fn(usize) -> String,
    there: &[(&str, Page)],
) -> (Frontier, Vec<Visit>) {
    let mut web = Web::default();
    let mut seeds = Vec::new();
    for host in 0..hosts {
        let at = |path: &str| format!("https://h{host}.example{path}");
        web = web.with(&at("/robots.txt"), Page::Redirect(to(host))).with(&at("/"), Page::Links(String::new()));
        seeds.extend([at("/"), at("/private")]);
    }
    let web = there.iter().fold(web, |web, (url, page)| web.with(url, page.clone()));
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let (frontier, visits) = web.crawl(options, &seeds);
    (frontier, visits.into_iter().filter(|(_, url)| url.contains("z.example")).collect())
}

fn are_a_second_apart(visits: &[Visit]) -> bool {
    visits.windows(2).all(|pair| pair[1].0 > pair[0].0)
}

const Z: &str = "https://z.example/robots.txt";

fn keeps_private() -> Page {
    Page::Text("User-agent: *\nDisallow: /private".to_owned())
}

#[test]
fn a_host_that_many_robots_txt_lead_to_is_asked_once_for_all_of_them() {
    let (frontier, asked) = led_elsewhere(20, |_| Z.to_owned(), &[(Z, keeps_private())]);
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(refused(&frontier), [("robots", 20)], "each has its rules");
    // And once more in a chain, whose last hop is shared too.
    let there = [("https://y.example/r", Page::Redirect(Z.to_owned())), (Z, keeps_private())];
    let (frontier, asked) = led_elsewhere(20, |_| "https://y.example/r".to_owned(), &there);
    assert_eq!((asked.len(), refused(&frontier)), (1, vec![("robots", 20)]));
}

#[test]
fn a_host_that_robots_txt_lead_to_is_asked_by_its_own_clock() {
    let there: Vec<_> = (0..20).map(|host| (format!("https://z.example/{host}"), keeps_private())).collect();
    let there: Vec<_> = there.iter().map(|(url, page)| (url.as_str(), page.clone())).collect();
    let (frontier, asked) = led_elsewhere(20, |host| format!("https://z.example/{host}"), &there);
    assert_eq!(asked.len(), 20);
    assert!(are_a_second_apart(&asked), "{asked:?}");
    assert_eq!(refused(&frontier), [("robots", 20)]);
    let host = frontier.top_hosts(1).remove(0);
    assert_eq!(
        (host.host.as_str(), host.requests),
        ("https://z.example", 20),
        "they count for the host that was asked"
    );
}

#[test]
fn a_host_with_pages_of_its_own_goes_on_beside_the_robots_txt_that_others_have_there() {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    let links: Vec<_> = (0..5).map(|page| format!("https://z.example/p{page}")).collect();
    let mut web = Web::default().with("https://z.example/", Page::Links(links.join(" "))).with(Z, keeps_private());
    let mut seeds = vec!["https://z.example/".to_owned()];
    for host in 0..5 {
        let robots = Page::Redirect(if host < 3 { Z.to_owned() } else { format!("https://z.example/r{host}") });
        web = web.with(&format!("https://h{host}.example/robots.txt"), robots);
        seeds.push(format!("https://h{host}.example/"));
    }
    for connections in [1, 4] {
        options.politeness.connections_per_host = connections;
        let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
        let (_, visits) = web.clone().crawl(&options, &seeds);
        let asked: Vec<_> = visits.into_iter().filter(|(_, url)| url.contains("z.example")).collect();
        // Its own once more: this journal has no texts of rules that others could take.
        assert_eq!(asked.len(), 1 + 1 + 5 + 2 + 1, "{asked:?}");
        assert!(are_a_second_apart(&asked), "{asked:?}");
    }
}

#[test]
fn a_host_that_a_blocklist_names_is_not_asked_for_the_robots_txt_of_others() {
    let mut list = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut list, b"z.example\n").unwrap();
    let mut options = FrontierOptions::default();
    options.scope.blocklists = vec![list.path().to_owned()];
    let (frontier, asked) = led_elsewhere_by(&options, 20, |_| Z.to_owned(), &[(Z, keeps_private())]);
    assert_eq!(asked, []);
    assert_eq!((frontier.statistics().completed, refused(&frontier)), (40, vec![]), "as if there were none");
}

#[test]
fn a_host_that_is_down_holds_up_what_is_led_to_it_no_longer_than_a_host_of_its_own() {
    for failure in [Failure::Connect, Failure::Dns, Failure::Timeout] {
        let (frontier, asked) = led_elsewhere(20, |_| Z.to_owned(), &[(Z, Page::Dead(failure))]);
        assert!(asked.len() <= 16, "once for all of them, each time: {}", asked.len());
        assert!(asked.windows(2).all(|pair| pair[1].0 >= pair[0].0 + 10), "{asked:?}");
        assert_eq!(frontier.statistics().unreachable, 40);
    }
}

#[test]
fn robots_txt_of_its_own_origin_and_of_its_https_are_asked_for_as_before() {
    for to in ["https://a.example/robots.txt", "http://a.example/r"] {
        let web =
            Web::default().with("http://a.example/robots.txt", Page::Redirect(to.to_owned())).with(to, keeps_private());
        let (frontier, visits) =
            web.crawl(&FrontierOptions::default(), &["http://a.example/", "http://a.example/private"]);
        assert_eq!(visits.iter().map(|visit| visit.0).collect::<Vec<_>>(), [0, 1, 2], "{visits:?}");
        assert_eq!(refused(&frontier), [("robots", 1)]);
    }
}

#[test]
fn robots_txt_is_fetched_again_when_it_is_stale_and_each_time_serves_a_page() {
    let mut options = FrontierOptions::default();
    options.politeness.robots_ttl = Duration::from_secs(2);
    let web = Web::of([("/", "1 2 3 4")]);
    let (_, seen) = web.clone().crawl(&options, &["/"]);
    let expected = [
        (0, "/robots.txt"),
        (1, "/"),
        (2, "/robots.txt"),
        (3, "/1"),
        (4, "/robots.txt"),
        (5, "/2"),
        (6, "/robots.txt"),
    ];
    assert_eq!(seen[..7], visits(&expected));
    // Good for less time than the host rests.
    options.politeness.host_delay = Duration::from_secs(60);
    let (_, seen) = web.crawl(&options, &["/"]);
    assert_eq!(seen.len(), 10, "five pages: {seen:?}");
}

#[test]
fn ten_thousand_disallowed_urls_do_not_stop_the_other_hosts() {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    (options.seen.capacity, options.seen.false_positive_rate) = (10_000, 1e-9);
    let mut frontier = Frontier::new(&options).unwrap();
    for number in 0..10_000 {
        frontier.seed(&format!("https://a.example/{number}"), secs(0)).unwrap();
    }
    let robots = lease(&mut frontier, secs(0));
    let outcome = Outcome::response(&robots, 200, b"User-agent: *\nDisallow: /");
    frontier.complete(robots, outcome, secs(0)).unwrap();
    frontier.seed("https://b.example/", secs(0)).unwrap();
    // In one call some are dropped, then it is b's turn.
    let b = lease(&mut frontier, secs(1));
    assert_eq!(b.kind(), LeaseKind::Robots);
    let before = frontier.statistics().queued;
    assert!(matches!(frontier.next(secs(1)).unwrap(), Next::Wait(until) if until == secs(1)), "call again");
    let after = frontier.statistics().queued;
    assert!(after < before && before - after < 1000, "{before} {after}");
    while frontier.statistics().queued > 1 {
        assert!(matches!(frontier.next(secs(1)).unwrap(), Next::Wait(_) | Next::Busy));
    }
    assert_eq!(refused(&frontier), [("robots", 10_000)]);
}

#[test]
fn a_broken_page_waits_for_its_next_try_and_its_host_goes_on() {
    let web = Web::of([("/", "bad good other"), ("/good", ""), ("/other", "")]).with("/bad", Page::Broken(500, 9));
    let (frontier, seen) = web.crawl(&plain(), &["/"]);
    assert_eq!(
        seen,
        visits(&[(0, "/"), (1, "/bad"), (2, "/good"), (3, "/other"), (11, "/bad"), (31, "/bad")]),
        "a page's next try is 10 s later, then 20 s"
    );
    let statistics = frontier.statistics();
    assert_eq!((statistics.retries, statistics.completed, statistics.retired_hosts), (2, 4, 0));
    assert_eq!(frontier.top_hosts(1)[0].failures, 0);
}

#[test]
fn a_page_that_hangs_slows_its_host_and_does_not_stop_it() {
    let web =
        Web::of([("/", "slow good other"), ("/good", ""), ("/other", "")]).with("/slow", Page::Dead(Failure::Timeout));
    let (frontier, seen) = web.crawl(&plain(), &["/"]);
    let expected = [(0, "/"), (1, "/slow"), (11, "/good"), (12, "/other"), (13, "/slow"), (23, "/slow")];
    assert_eq!(seen, visits(&expected), "others go before its next try");
    assert_eq!((frontier.statistics().completed, frontier.statistics().retired_hosts), (4, 0));
}

#[test]
fn a_corner_of_broken_pages_is_no_broken_host() {
    let crawl = |pages: u32| {
        let links: Vec<String> = (0..pages).map(|page| format!("/{page}")).collect();
        let web = Web::of([("/", &*links.join(" "))]);
        let mut options = plain();
        options.politeness.attempts = 1;
        links.iter().fold(web, |web, path| web.with(path, Page::Broken(500, 9))).crawl(&options, &["/"])
    };
    // Each four that follow one another count as one failure, and slow the host.
    let (frontier, seen) = crawl(9);
    let times: Vec<u64> = seen.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [0, 1, 2, 3, 4, 14, 15, 16, 17, 37]);
    assert_eq!((frontier.statistics().retired_hosts, frontier.statistics().completed), (0, 10));
    // Eight times four: then nothing of it is worth another request, and what is left has a record all the same.
    let (mut frontier, seen) = crawl(40);
    let given_up = seen.iter().filter(|(_, url)| url.starts_with("server_error ")).count();
    assert_eq!((seen.len(), given_up), (41, 8));
    assert_eq!((frontier.statistics().retired_hosts, frontier.statistics().unreachable), (1, 8));
    assert!(frontier.top_hosts(1)[0].retired && refused(&frontier).is_empty());
    frontier.seed("https://a.example/later", secs(0)).unwrap();
    assert!(matches!(frontier.next(secs(1_000_000)).unwrap(), Next::GiveUp(_)), "and so has what is found later");
}

#[test]
fn good_pages_behind_many_broken_ones_are_asked_for() {
    let crawl = |robots: Page| {
        let (broken, good): (Vec<_>, Vec<_>) = (0..60).map(|page| (format!("/x/{page}"), format!("/y/{page}"))).unzip();
        let web = Web::of([("/", &*[broken.join(" "), good.join(" ")].join(" "))]).with("/robots.txt", robots);
        broken
            .iter()
            .fold(web, |web, path| web.with(path, Page::Broken(500, 9)))
            .crawl(&FrontierOptions::default(), &["/"])
    };
    let count = |seen: &[Visit], what: &str| seen.iter().filter(|(_, url)| url.starts_with(what)).count();
    // Its robots.txt is there, so the host is: it is asked after each four pages that broke.
    let (frontier, seen) = crawl(Page::Text(String::new()));
    assert_eq!((count(&seen, "/x/"), count(&seen, "/y/"), count(&seen, "/robots.txt")), (180, 60, 16));
    assert_eq!((frontier.statistics().retired_hosts, frontier.top_hosts(1)[0].failures), (0, 0));
    // A missing one says as much.
    let (_, seen) = crawl(Page::Links(String::new()));
    assert_eq!(count(&seen, "/y/"), 60);
    // With it nothing of the host is well, which is asked ever more seldom, and given up in the end. It answers, so it is no host
    // to lose patience with.
    let (frontier, seen) = crawl(Page::Fading(1));
    let robots: Vec<u64> = seen.iter().filter(|(_, url)| url == "/robots.txt").map(|(at, _)| *at).collect();
    assert_eq!(robots, [0, 15, 35, 75, 155, 315, 635, 1275]);
    assert_eq!((count(&seen, "/x/"), count(&seen, "/y/"), count(&seen, "server_error ")), (4, 0, 120));
    assert_eq!((frontier.statistics().retired_hosts, frontier.statistics().unreachable), (1, 120));
}

#[test]
fn a_host_that_is_down_is_tried_eight_times_while_others_are_crawled() {
    let links: Vec<String> = (0..2000).map(|page| format!("https://b.example/{page}")).collect();
    for failure in [Failure::Connect, Failure::Dns, Failure::NoSuchHost, Failure::Tls, Failure::Timeout] {
        let busy = Web::of([("https://b.example/", &*links.join(" "))]);
        let web = busy.with("/robots.txt", Page::Dead(failure));
        let (frontier, seen) = web.crawl(&FrontierOptions::default(), &["/", "/1", "https://b.example/"]);
        let robots: Vec<u64> = seen.iter().filter(|(_, url)| url == "/robots.txt").map(|(at, _)| *at).collect();
        assert_eq!(robots, [0, 10, 30, 70, 150, 310, 630, 1270], "first after seconds, then ever longer");
        // The page that cannot be fetched for want of robots.txt says so, one whose host is away says that.
        let name = if failure == Failure::Timeout { Failure::Robots } else { failure }.to_string();
        let given_up: Vec<_> = seen.iter().filter(|(_, url)| url.starts_with(&name)).cloned().collect();
        assert_eq!(given_up, visits(&[(1270, &format!("{name} /")), (1270, &format!("{name} /1"))]));
        assert_eq!(refused(&frontier), []);
        let statistics = frontier.statistics();
        assert_eq!((statistics.unreachable, statistics.retired_hosts, statistics.queued), (2, 1, 0));
        assert_eq!(statistics.completed, 2003);
    }
}

#[test]
fn where_only_failing_hosts_are_left_they_are_waited_for_a_minute() {
    let dead = |failure| Web::of([]).with("/", Page::Dead(failure));
    let (_, seen) = dead(Failure::Connect).crawl(&plain(), &["/", "/1"]);
    let expected = [(0, "/"), (10, "/"), (30, "/"), (30, "connect /"), (30, "connect /1")];
    assert_eq!(seen, visits(&expected), "the next would be at 70 s");
    // Whose name does not exist is not waited for.
    let (_, seen) = dead(Failure::NoSuchHost).crawl(&plain(), &["/", "/1"]);
    assert_eq!(seen, visits(&[(0, "/"), (0, "no_such_host /"), (0, "no_such_host /1")]));
    let mut patient = plain();
    patient.politeness.patience = Duration::from_secs(3600);
    let (frontier, seen) = dead(Failure::Connect).crawl(&patient, &["/"]);
    assert_eq!((seen.len(), frontier.statistics().unreachable), (9, 1), "eight tries in all");
}

#[test]
fn a_host_that_comes_back_is_crawled_as_if_nothing_had_been() {
    let web = Web::of([("/a", "")]).with("/", Page::Late(2, "/a".to_owned()));
    let (frontier, seen) = web.crawl(&plain(), &["/"]);
    assert_eq!(seen, visits(&[(0, "/"), (10, "/"), (30, "/"), (31, "/a")]));
    let statistics = frontier.statistics();
    assert_eq!((statistics.completed, statistics.unreachable, statistics.retired_hosts), (2, 0, 0));
    assert_eq!(frontier.top_hosts(1)[0].failures, 0);
}

#[test]
fn what_was_given_up_is_asked_for_again() {
    let web = Web::of([]).with("/", Page::Dead(Failure::Connect));
    let (mut frontier, _) = web.crawl(&plain(), &["/", "/1"]);
    assert_eq!((frontier.statistics().unreachable, frontier.statistics().completed), (2, 2));
    assert_eq!(frontier.seed("https://a.example/", secs(90)).unwrap(), Some(Refusal::Seen));
    assert_eq!(frontier.ask_again(secs(100)).unwrap(), 2);
    assert_eq!(frontier.ask_again(secs(100)).unwrap(), 0, "once");
    let statistics = frontier.statistics();
    assert_eq!((statistics.unreachable, statistics.queued, statistics.retired_hosts), (0, 2, 0));
    for (at, url) in [(100, "https://a.example/"), (101, "https://a.example/1")] {
        let page = lease(&mut frontier, secs(at));
        assert_eq!((page.url(), page.attempt(), page.trouble()), (url, 1, None));
        let outcome = Outcome::response(&page, 200, b"");
        frontier.complete(page, outcome, secs(at)).unwrap();
    }
    assert!(matches!(frontier.next(secs(200)).unwrap(), Next::Drained));
    assert_eq!((frontier.statistics().completed, frontier.gate().admitted()), (2, 2));
}

#[test]
fn a_host_that_is_forbidden_is_given_up_at_once() {
    let web = Web::of([("/", "")]).with("/robots.txt", Page::Dead(Failure::Address));
    let (frontier, seen) = web.crawl(&FrontierOptions::default(), &["/"]);
    assert_eq!(seen, visits(&[(0, "/robots.txt"), (0, "private_address /")]));
    assert_eq!((refused(&frontier), frontier.statistics().unreachable), (vec![], 1));
}

/// A robots.txt is had, and grows stale; then it is asked for again, and answered so.
fn refresh(outcome: impl Fn(&Lease) -> Outcome) -> (Frontier, Timestamp) {
    let mut options = FrontierOptions::default();
    options.politeness.robots_ttl = Duration::from_secs(100);
    let mut frontier = Frontier::new(&options).unwrap();
    for page in ["/1", "/2", "/3", "/private"] {
        frontier.seed(&absolute(page), secs(0)).unwrap();
    }
    let robots = lease(&mut frontier, secs(0));
    assert_eq!(robots.validators(), None, "nothing is known yet");
    let validators = Validators { etag: Some("\"x\"".into()), last_modified: None };
    let body = b"User-agent: *\nDisallow: /private".to_vec();
    let known = Outcome::Robots { status: 200, retry_after: None, body, validators: Some(Box::new(validators)) };
    frontier.complete(robots, known, secs(0)).unwrap();
    let page = lease(&mut frontier, secs(1));
    let fine = Outcome::response(&page, 200, b"");
    frontier.complete(page, fine, secs(1)).unwrap();
    let again = lease(&mut frontier, secs(101));
    assert_eq!((again.kind(), again.url()), (LeaseKind::Robots, "https://a.example/robots.txt"));
    assert_eq!(again.validators().and_then(|known| known.etag.as_deref()), Some("\"x\""));
    let outcome = outcome(&again);
    frontier.complete(again, outcome, secs(101)).unwrap();
    (frontier, secs(101))
}

#[test]
fn rules_that_are_known_stay_in_force_while_no_newer_ones_are_to_be_had() {
    let failures =
        [Failure::BadResponse, Failure::Incomplete, Failure::Timeout].map(|failure| Outcome::Failed(failure.into()));
    let statuses = [500, 503, 408, 425, 429].map(|status| Outcome::Response { status, retry_after: None });
    for outcome in failures.into_iter().chain(statuses) {
        let (mut frontier, now) = refresh(|_| outcome.clone());
        for url in ["https://a.example/2", "https://a.example/3"] {
            let now = now + Duration::from_secs(if url.ends_with('2') { 1 } else { 2 });
            let page = lease(&mut frontier, now);
            assert_eq!(page.url(), url, "{outcome:?}");
            let fine = Outcome::response(&page, 200, b"");
            frontier.complete(page, fine, now).unwrap();
        }
        assert!(matches!(frontier.next(now + Duration::from_secs(9)).unwrap(), Next::Drained));
        assert_eq!(refused(&frontier), [("robots", 1)], "the old rules");
        assert_eq!(frontier.statistics().retired_hosts, 0);
    }
}

#[test]
fn a_304_renews_the_rules() {
    let (mut frontier, now) = refresh(|lease| Outcome::response(lease, 304, b""));
    let page = lease(&mut frontier, now + Duration::from_secs(1));
    assert_eq!(page.url(), "https://a.example/2");
    let fine = Outcome::response(&page, 200, b"");
    frontier.complete(page, fine, now + Duration::from_secs(1)).unwrap();
    let page = lease(&mut frontier, now + Duration::from_secs(99));
    assert_eq!(page.url(), "https://a.example/3", "for as long as before");
    let fine = Outcome::response(&page, 200, b"");
    frontier.complete(page, fine, now + Duration::from_secs(99)).unwrap();
    frontier.seed("https://a.example/4", now).unwrap();
    let robots = lease(&mut frontier, now + Duration::from_secs(101));
    assert_eq!((robots.kind(), robots.validators().is_some()), (LeaseKind::Robots, true));
}

#[test]
fn rules_on_their_way_through_a_redirect_are_not_lost_with_it() {
    let (mut frontier, now) = refresh(|_| Outcome::Moved { to: "https://b.example/robots.txt".to_owned() });
    let now = now + Duration::from_secs(1);
    let hop = lease(&mut frontier, now);
    assert_eq!((hop.url(), hop.origin()), ("https://b.example/robots.txt", "https://b.example"));
    assert_eq!(hop.validators(), None, "others may wait for the whole of it");
    frontier.complete(hop, Outcome::Failed(Failure::BadResponse.into()), now).unwrap();
    assert!(matches!(frontier.next(now).unwrap(), Next::Wait(until) if until == now + Duration::from_secs(1)));
    let page = lease(&mut frontier, now + Duration::from_secs(1));
    assert_eq!(page.url(), "https://a.example/2");
}

#[test]
fn rules_that_nobody_could_renew_for_thirty_days_are_forgotten() {
    let (mut frontier, now) = refresh(|_| Outcome::Response { status: 500, retry_after: None });
    let page = lease(&mut frontier, now + Duration::from_secs(1));
    let fine = Outcome::response(&page, 200, b"");
    frontier.complete(page, fine, now + Duration::from_secs(1)).unwrap();
    let day = Duration::from_secs(86_400);
    for days in [20, 31] {
        let now = now + day * days;
        let robots = lease(&mut frontier, now);
        assert_eq!(robots.kind(), LeaseKind::Robots);
        frontier.complete(robots, Outcome::Response { status: 500, retry_after: None }, now).unwrap();
        let next = frontier.next(now + Duration::from_secs(1)).unwrap();
        if days == 20 {
            let Next::Fetch(page) = next else { panic!("by the old rules: {next:?}") };
            let fine = Outcome::response(&page, 200, b"");
            frontier.complete(page, fine, now + Duration::from_secs(1)).unwrap();
            frontier.seed("https://a.example/late", now).unwrap();
        } else {
            assert!(matches!(next, Next::Wait(until) if until == now + Duration::from_secs(10)), "{next:?}");
        }
    }
}

#[test]
fn a_304_that_nobody_asked_for_is_no_robots_txt() {
    let mut frontier = Frontier::new(&FrontierOptions::default()).unwrap();
    frontier.seed("https://a.example/", secs(0)).unwrap();
    let robots = lease(&mut frontier, secs(0));
    let outcome = Outcome::response(&robots, 304, b"");
    assert_eq!(frontier.complete(robots, outcome, secs(0)).unwrap(), Completion::Retry(secs(10)));
}

#[test]
fn a_fetcher_that_vanishes_is_not_held_against_the_host() {
    let web = Web::of([("/", "bad good"), ("/good", "")]).with("/bad", Page::Dead(Failure::Lost));
    let (frontier, seen) = web.crawl(&plain(), &["/"]);
    assert_eq!(seen, visits(&[(0, "/"), (1, "/bad"), (2, "/bad"), (3, "/bad"), (4, "/good")]));
    assert_eq!(frontier.top_hosts(1)[0].failures, 0);
}

/// Crawls twenty-one pages of a host that answers 429 where `is_too_often` says so of the seconds, the page and how often a 200 came. What
/// each page was answered last, and how often the host was asked.
fn crawl_limited(is_too_often: impl Fn(u64, &str, &[u64]) -> bool) -> (BTreeMap<String, String>, usize) {
    let mut frontier = Frontier::new(&plain()).unwrap();
    (0..21).for_each(|page| _ = frontier.seed(&format!("https://a.example/{page}"), secs(0)).unwrap());
    let (mut now, mut last, mut fine, mut asked) = (secs(0), BTreeMap::new(), Vec::new(), 0);
    loop {
        match frontier.next(now).unwrap() {
            Next::Fetch(lease) => {
                asked += 1;
                let (second, page) = (now.as_micros() / 1_000_000, path(lease.url()));
                let status = if is_too_often(second, &page, &fine) { 429 } else { 200 };
                if status == 200 {
                    fine.push(second);
                }
                let outcome = Outcome::response(&lease, status, b"");
                if frontier.complete(lease, outcome, now).unwrap() == Completion::Done {
                    last.insert(page, status.to_string());
                }
            }
            Next::GiveUp(lease) => {
                last.insert(path(lease.url()), lease.trouble().unwrap().failure.to_string());
                frontier.complete(lease, Outcome::GivenUp, now).unwrap();
            }
            Next::Wait(until) => now = until,
            Next::Busy => panic!("nothing is lent out"),
            Next::Drained => return (last, asked),
        }
        assert!(asked < 1000 && now < secs(86_400), "it ends");
    }
}

#[test]
fn a_host_that_is_asked_too_often_loses_no_page() {
    type Limit<'a> = &'a dyn Fn(u64, &[u64]) -> bool;
    // One in five seconds, one in a minute, and five in a minute.
    let too_soon = |now: u64, last: Option<&u64>, window: u64| last.is_some_and(|last| now - last < window);
    let limits: [Limit<'_>; 3] =
        [&|now, fine| too_soon(now, fine.last(), 5), &|now, fine| too_soon(now, fine.last(), 60), &|now, fine| {
            too_soon(now, fine.iter().rev().nth(4), 60)
        }];
    for (number, limit) in limits.into_iter().enumerate() {
        let (last, asked) = crawl_limited(|now, _, fine| limit(now, fine));
        assert!(last.len() == 21 && last.values().all(|status| status == "200"), "{number}: {last:?}");
        assert!(asked <= 4 * 21, "it slows down: {asked}");
    }
}

#[test]
fn a_host_that_always_says_429_keeps_its_pages_for_a_resume() {
    let (last, asked) = crawl_limited(|_, _, _| true);
    assert_eq!((last.len(), asked), (21, 8));
    assert!(last.values().all(|why| why == "refused"), "{last:?}");
}

#[test]
fn a_page_that_always_says_429_does_not_hold_up_the_others_of_its_host() {
    let (last, asked) = crawl_limited(|_, page, _| page == "/3");
    assert_eq!((last.len(), &*last["/3"]), (21, "refused"), "it waits for a resume: {last:?}");
    assert_eq!(last.values().filter(|status| *status == "200").count(), 20);
    assert_eq!(asked, 20 + 4 + 8, "four times before the others, and eight after them");
}

#[test]
fn retry_after_is_obeyed_up_to_a_day() {
    for status in [408, 425, 429, 503] {
        let mut frontier = Frontier::new(&plain()).unwrap();
        frontier.seed("https://a.example/", secs(0)).unwrap();
        let mut now = secs(0);
        // Shorter than the delay is the delay.
        for (asked, rest) in [(120, 120), (0, 1)] {
            let page = lease(&mut frontier, now);
            let outcome = Outcome::Response { status, retry_after: Some(Duration::from_secs(asked)) };
            let due = now + Duration::from_secs(rest);
            assert_eq!(frontier.complete(page, outcome, now).unwrap(), Completion::Retry(due), "{status}");
            now = due;
        }
        frontier.seed("https://a.example/other", now).unwrap();
        let page = lease(&mut frontier, now);
        let outcome = Outcome::Response { status, retry_after: Some(Duration::MAX) };
        let (done, due) = (frontier.complete(page, outcome, now).unwrap(), now + Duration::from_secs(86_400));
        // "Too often" takes no try away.
        assert_eq!(done, if status == 429 { Completion::Retry(due) } else { Completion::Done }, "the third try");
        assert!(matches!(frontier.next(now).unwrap(), Next::Wait(until) if until == due));
    }
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
fn hosts_that_fail_are_counted_while_they_do() {
    let mut frontier = Frontier::new(&plain()).unwrap();
    frontier.seed("https://a.example/", secs(0)).unwrap();
    let failing = |frontier: &Frontier| (frontier.statistics().failing_hosts, frontier.statistics().retired_hosts);
    let page = lease(&mut frontier, secs(0));
    assert_eq!(failing(&frontier), (0, 0));
    frontier.complete(page, Outcome::Failed(Failure::Connect.into()), secs(0)).unwrap();
    assert_eq!(failing(&frontier), (1, 0));
    let page = lease(&mut frontier, secs(10));
    assert_eq!(failing(&frontier), (1, 0), "while it is asked again");
    frontier.complete(page, Outcome::Failed(Failure::Address.into()), secs(10)).unwrap();
    assert_eq!(failing(&frontier), (0, 1));
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
