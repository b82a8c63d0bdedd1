//! When a robots.txt is fetched, and for how long its rules hold.

use std::time::Duration;

use crawler_frontier::frontier::{
    Completion, Failure, Frontier, FrontierOptions, Lease, LeaseKind, Next, Outcome, Timestamp, Validators,
};
use crawler_frontier::gate::ScopeKind;

use super::{Page, Visit, Web, absolute, lease, refused, secs, visits};

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
