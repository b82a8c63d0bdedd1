//! Pages and hosts that fail: how often they are tried, and when they are given up.

use std::collections::BTreeMap;
use std::time::Duration;

use crawler_frontier::frontier::{Completion, Failure, Frontier, FrontierOptions, Next, Outcome};
use crawler_frontier::gate::Refusal;

use super::{Page, Visit, Web, lease, path, plain, refused, secs, visits};

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
fn a_host_that_this_run_can_never_ask_is_given_up_at_once() {
    for failure in [Failure::Address, Failure::NoAuthorities, Failure::Port] {
        let web = Web::of([("/", "")]).with("/robots.txt", Page::Dead(failure));
        let (frontier, seen) = web.crawl(&FrontierOptions::default(), &["/"]);
        assert_eq!(seen, visits(&[(0, "/robots.txt"), (0, &format!("{failure} /"))]));
        assert_eq!((refused(&frontier), frontier.statistics().unreachable), (vec![], 1));
    }
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
