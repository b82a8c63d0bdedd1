//! Named queues: the unit of politeness is what an embedder says, and no more the host.

use std::time::Duration;

use crawler_frontier::address::{HostKey, QueueError};
use crawler_frontier::frontier::{
    Completion, Failure, Frontier, FrontierOptions, HostAnswer, HostGroup, HostRule, Href, Lease, LeaseKind, Next,
    Outcome, Reply, Timestamp,
};
use crawler_frontier::gate::{DropRule, Found, Refusal, ScopeKind};

const SECOND: Duration = Duration::from_secs(1);
const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

fn options() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    options
}

/// No robots.txt for queues.
fn plain() -> FrontierOptions {
    let mut options = options();
    options.rules.hosts.insert("@*".to_owned(), HostRule { robots: Some(false), ..HostRule::default() });
    options
}

/// A frontier with these URLs, each in the queue that is named before it; `-` is that of its host.
fn frontier(options: &FrontierOptions, urls: &[&str]) -> Frontier {
    let mut frontier = Frontier::new(options).unwrap();
    for url in urls {
        seed(&mut frontier, url, NOW);
    }
    frontier
}

fn seed(frontier: &mut Frontier, url: &str, now: Timestamp) {
    let (queue, url) = url.split_once(' ').unwrap();
    let href = Href::from(url);
    let href = if queue == "-" { href } else { href.queue(queue).unwrap() };
    assert_eq!(frontier.seed(href, now).unwrap(), None, "{url}");
}

fn lease(frontier: &mut Frontier, now: Timestamp) -> Lease {
    match frontier.next(now).unwrap() {
        Next::Fetch(lease) => lease,
        next => panic!("a lease, not {next:?}"),
    }
}

/// The queue, the URL without `https://` and the second of each request, until nothing is left. `answer` says what comes.
fn drain(frontier: &mut Frontier, mut answer: impl FnMut(&Lease) -> Outcome) -> Vec<String> {
    let (mut now, mut asked) = (NOW, Vec::new());
    for _ in 0..1000 {
        match frontier.next(now).unwrap() {
            Next::Fetch(lease) => {
                asked.push(format!("{} {}", named(&lease), now.since(NOW).as_secs()));
                let outcome = answer(&lease);
                frontier.complete(lease, outcome, now).unwrap();
            }
            Next::GiveUp(lease) => {
                asked.push(format!("{} given up", named(&lease)));
                frontier.complete(lease, Outcome::GivenUp, now).unwrap();
            }
            Next::Wait(until) => now = until,
            Next::Busy => panic!("nothing is out"),
            Next::Drained => return asked,
        }
    }
    panic!("it does not end: {asked:?}");
}

fn named(lease: &Lease) -> String {
    format!("{} {}", lease.queue().unwrap_or("-"), lease.url().trim_start_matches("https://"))
}

fn ok(lease: &Lease) -> Outcome {
    Outcome::response(lease, if lease.kind() == LeaseKind::Robots { 404 } else { 200 }, b"")
}

fn key(name: &str) -> HostKey {
    HostKey::of_queue(name).unwrap()
}

#[test]
fn pages_of_two_hosts_in_one_queue_rest_as_those_of_one_host() {
    let pages = ["q https://a.example/1", "q https://b.example/2", "q https://a.example/3"];
    let mut frontier = frontier(&plain(), &pages);
    assert_eq!(drain(&mut frontier, ok), ["q a.example/1 0", "q b.example/2 1", "q a.example/3 2"]);
    assert_eq!(frontier.statistics().hosts, 1, "no host has a clock");
}

#[test]
fn two_queues_of_one_host_and_the_host_itself_have_clocks_of_their_own() {
    let mut options = plain();
    options.politeness.robots = false;
    let pages = ["q https://a.example/1", "q https://a.example/2", "r https://a.example/3", "- https://a.example/4"];
    let mut frontier = frontier(&options, &pages);
    let asked = drain(&mut frontier, ok);
    assert_eq!(asked, ["q a.example/1 0", "r a.example/3 0", "- a.example/4 0", "q a.example/2 1"]);
    assert_eq!(frontier.statistics().hosts, 3);
}

#[test]
fn a_name_is_checked_where_it_is_given() {
    for name in ["", "*", "a\nb", "a ", &"x".repeat(65)] {
        let error: QueueError = Href::from("https://a.example/").queue(name).unwrap_err();
        assert!(error.to_string().ends_with("no blanks around it, and is not *"), "{error}");
    }
    // Names that look like something else are names.
    let names = ["https://a.example", "a.example", "@q", "*.example", "Ä ö"];
    let mut frontier = Frontier::new(&plain()).unwrap();
    for (page, name) in names.into_iter().enumerate() {
        let url = format!("https://a.example/{page}");
        assert_eq!(frontier.seed(Href::from(&url).queue(name).unwrap(), NOW).unwrap(), None);
    }
    let leases = names.map(|_| lease(&mut frontier, NOW));
    assert_eq!(leases.each_ref().map(|lease| lease.queue().unwrap()), names);
    assert!(leases.iter().all(|lease| lease.origin() == "https://a.example"));
    assert_eq!(frontier.seed("https://a.example/x", NOW).unwrap(), None);
    assert_eq!(lease(&mut frontier, NOW).queue(), None);
}

#[test]
fn the_origin_of_a_lease_is_as_the_key_has_it() {
    let mut frontier = frontier(&plain(), &["q https://A.example.:8443/x"]);
    let page = lease(&mut frontier, NOW);
    assert_eq!((page.url(), page.origin()), ("https://a.example.:8443/x", "https://a.example:8443"));
}

#[test]
fn a_queue_that_fails_is_retired_and_the_host_is_not() {
    let mut options = plain();
    options.politeness.robots = false;
    options.politeness.host_failures = 2;
    let pages = ["q https://a.example/1", "q https://b.example/2", "- https://a.example/3", "- https://b.example/4"];
    let mut frontier = frontier(&options, &pages);
    let fails = |lease: &Lease| match lease.queue() {
        Some(_) => Outcome::Failed(Failure::Connect.into()),
        None => ok(lease),
    };
    let asked = drain(&mut frontier, fails);
    assert_eq!(
        asked,
        [
            "q a.example/1 0",
            "- a.example/3 0",
            "- b.example/4 0",
            "q a.example/1 10",
            "q a.example/1 given up",
            "q b.example/2 given up"
        ]
    );
    let queue = frontier.queue_statistics(&key("q"), NOW).unwrap().expect("it is known");
    assert_eq!((queue.failures, queue.is_retired, queue.requests), (2, true, 2));
    assert_eq!(frontier.statistics().retired_hosts, 1);
    assert_eq!(frontier.ask_again(NOW + 100 * SECOND).unwrap(), 2);
    assert_eq!(drain(&mut frontier, ok).len(), 2);
    assert_eq!(frontier.statistics().unreachable, 0);
}

#[test]
fn a_host_that_is_retired_says_nothing_of_a_queue() {
    let mut options = plain();
    options.politeness.robots = false;
    options.politeness.host_failures = 1;
    let mut frontier = frontier(&options, &["- https://a.example/1", "q https://a.example/2"]);
    let fails = |lease: &Lease| match lease.queue() {
        Some(_) => ok(lease),
        None => Outcome::Failed(Failure::Connect.into()),
    };
    assert_eq!(drain(&mut frontier, fails), ["- a.example/1 0", "q a.example/2 0", "- a.example/1 given up"]);
}

#[test]
fn a_retry_after_holds_for_the_queue_alone() {
    let mut frontier = frontier(&plain(), &["q https://a.example/1", "r https://a.example/2", "q https://b.example/3"]);
    let mut is_first = true;
    let answer = |lease: &Lease| {
        let status = if std::mem::take(&mut is_first) { 503 } else { 200 };
        let mut reply = Outcome::response(lease, status, b"");
        if let Outcome::Response { retry_after, .. } = &mut reply {
            *retry_after = (status == 503).then_some(30 * SECOND);
        }
        reply
    };
    let asked = drain(&mut frontier, answer);
    assert_eq!(asked, ["q a.example/1 0", "r a.example/2 0", "q a.example/1 30", "q b.example/3 31"]);
}

#[test]
fn pages_go_by_the_robots_txt_of_their_urls_and_the_queue_asks_for_it() {
    let pages = ["q https://a.example/1", "q https://b.example/no", "q https://b.example/2", "q https://a.example/no"];
    let mut frontier = frontier(&options(), &pages);
    let answer = |lease: &Lease| match lease.kind() {
        LeaseKind::Robots => {
            assert!(lease.is_own_robots());
            Outcome::response(lease, 200, b"User-agent: *\nDisallow: /no\n")
        }
        _ => ok(lease),
    };
    let asked = drain(&mut frontier, answer);
    assert_eq!(asked, ["q a.example/robots.txt 0", "q a.example/1 1", "q b.example/robots.txt 2", "q b.example/2 3"]);
    assert_eq!(frontier.gate().refusals().of(Refusal::Robots), 2);
    // The file is there for whoever comes: another queue, and the host.
    seed(&mut frontier, "r https://a.example/3", NOW);
    seed(&mut frontier, "- https://b.example/4", NOW);
    assert_eq!(drain(&mut frontier, answer), ["r a.example/3 0", "- b.example/4 0"]);
}

#[test]
fn no_robots_txt_by_a_rule_of_the_queue() {
    let mut options = options();
    options.rules.hosts.insert("@q".to_owned(), HostRule { robots: Some(false), ..HostRule::default() });
    let mut frontier = frontier(&options, &["q https://a.example/1", "r https://a.example/2"]);
    let asked = drain(&mut frontier, ok);
    assert_eq!(asked, ["q a.example/1 0", "r a.example/robots.txt 0", "r a.example/2 1"]);
}

#[test]
fn a_crawl_delay_follows_the_pages_of_its_origin() {
    let pages = ["q https://a.example/1", "q https://b.example/2", "q https://a.example/3"];
    let mut frontier = frontier(&options(), &pages);
    let answer = |lease: &Lease| match lease.url() {
        "https://a.example/robots.txt" => Outcome::response(lease, 200, b"User-agent: *\nCrawl-delay: 7\n"),
        _ => ok(lease),
    };
    let asked = drain(&mut frontier, answer);
    let expected = [
        "q a.example/robots.txt 0",
        "q a.example/1 7",
        "q b.example/robots.txt 14",
        "q b.example/2 15",
        "q a.example/3 16",
    ];
    assert_eq!(asked, expected);
    assert_eq!(frontier.next(NOW + 16 * SECOND).unwrap().lease(), None);
}

/// What is lent, for a comparison.
trait Lent {
    fn lease(&self) -> Option<&str>;
}

impl Lent for Next {
    fn lease(&self) -> Option<&str> {
        match self {
            Next::Fetch(lease) | Next::GiveUp(lease) => Some(lease.url()),
            _ => None,
        }
    }
}

#[test]
fn a_stale_robots_txt_is_asked_for_again_and_each_is_good_for_a_page() {
    for (ttl, files) in [(SECOND / 2, 4), (3 * SECOND, 2)] {
        let mut options = options();
        options.politeness.robots_ttl = ttl;
        let pages: Vec<String> = (0..4).map(|page| format!("q https://a.example/{page}")).collect();
        let mut frontier = frontier(&options, &pages.iter().map(String::as_str).collect::<Vec<_>>());
        let asked = drain(&mut frontier, ok);
        let robots = asked.iter().filter(|asked| asked.contains("robots.txt")).count();
        assert_eq!((asked.len() - robots, robots), (4, files), "{asked:?}");
    }
}

#[test]
fn a_robots_txt_that_cannot_be_had_counts_for_the_queue() {
    let mut options = options();
    options.politeness.host_failures = 2;
    let mut frontier = frontier(&options, &["q https://a.example/1", "q https://b.example/2"]);
    let fails = |lease: &Lease| match lease.kind() {
        LeaseKind::Robots => Outcome::response(lease, 500, b""),
        _ => ok(lease),
    };
    let asked = drain(&mut frontier, fails);
    let expected =
        ["q a.example/robots.txt 0", "q a.example/robots.txt 10", "q a.example/1 given up", "q b.example/2 given up"];
    assert_eq!(asked, expected);
    // The host is as it was.
    seed(&mut frontier, "- https://a.example/3", NOW);
    assert_eq!(drain(&mut frontier, ok), ["- a.example/robots.txt 0", "- a.example/3 1"]);
}

#[test]
fn a_robots_txt_that_moved_is_followed_by_the_queue_or_waited_for() {
    let pages = ["q https://a.example/1", "q https://b.example/2", "- https://c.example/3"];
    let mut frontier = frontier(&options(), &pages);
    let answer = |lease: &Lease| match lease.url() {
        "https://a.example/robots.txt" => Outcome::Moved { to: "https://a.example/r".to_owned() },
        "https://b.example/robots.txt" => Outcome::Moved { to: "https://c.example/r".to_owned() },
        "https://c.example/r" => {
            assert_eq!((lease.queue(), lease.for_other()), (None, Some("@q")));
            Outcome::response(lease, 200, b"User-agent: *\nDisallow: /2\n")
        }
        _ => ok(lease),
    };
    let asked = drain(&mut frontier, answer);
    let expected = [
        "q a.example/robots.txt 0",
        "- c.example/robots.txt 0",
        "q a.example/r 1",
        "- c.example/3 1",
        "q a.example/1 2",
        "q b.example/robots.txt 3",
        "- c.example/r 4",
    ];
    assert_eq!(asked, expected);
    assert_eq!(frontier.gate().refusals().of(Refusal::Robots), 1, "by the rules that were found there");
}

#[test]
fn rules_are_by_name_and_none_of_a_host_fits_a_queue() {
    let mut options = plain();
    let rule = |seconds: u32| HostRule { host_delay: Some(seconds * SECOND), ..HostRule::default() };
    for (name, seconds) in [("@slow", 5), ("@*", 2), ("*.example", 9), ("slow", 9)] {
        options.rules.hosts.insert(name.to_owned(), HostRule { robots: Some(false), ..rule(seconds) });
    }
    let mut frontier = Frontier::new(&options).unwrap();
    for name in ["slow", "other", "a.example"] {
        for page in 0..2 {
            let url = format!("https://a.example/{name}/{page}");
            frontier.seed(Href::from(&url).queue(name).unwrap(), NOW).unwrap();
        }
        let delay = frontier.queue_statistics(&key(name), NOW).unwrap().map(|queue| queue.delay);
        assert_eq!(delay, Some(if name == "slow" { 5 * SECOND } else { 2 * SECOND }), "{name}");
    }
    assert_eq!(drain(&mut frontier, ok).last().map(String::as_str), Some("slow a.example/slow/1 5"));
}

#[test]
fn what_a_queue_has_not_is_refused_in_its_rule() {
    for (name, rule, message) in [
        (
            "@q",
            HostRule { one_server: Some(true), ..HostRule::default() },
            "hosts.\"@q\".one_server = : is for hosts: a queue has neither ports nor depths",
        ),
        (
            "@*",
            HostRule { max_depth: Some(1), ..HostRule::default() },
            "hosts.\"@*\".max_depth = : is for hosts: a queue has neither ports nor depths",
        ),
        (
            "@",
            HostRule::default(),
            "hosts.\"@\" = @: is no host's name; a name may begin with *., and has no scheme, port or path; a queue's begins with @",
        ),
    ] {
        let mut options = options();
        options.rules.hosts.insert(name.to_owned(), rule);
        assert_eq!(Frontier::new(&options).unwrap_err().to_string(), message);
    }
}

#[test]
fn queues_and_hosts_may_share_the_clock_of_a_group() {
    let mut options = plain();
    options.politeness.robots = false;
    let hosts = ["@q", "@r", "b.example"].map(str::to_owned).to_vec();
    // What is for hosts alone does not hold for the queues of a group.
    let each = HostRule { one_server: Some(true), ..HostRule::default() };
    let group = HostGroup { hosts, delay: Some(3 * SECOND), each, ..HostGroup::default() };
    options.rules.groups.insert("g".to_owned(), group);
    let pages = ["q https://a.example/1", "r https://a.example/2", "- https://b.example/3", "- https://a.example/4"];
    let mut frontier = frontier(&options, &pages);
    let asked = drain(&mut frontier, ok);
    assert_eq!(asked, ["q a.example/1 0", "- a.example/4 0", "r a.example/2 3", "- b.example/3 6"]);
}

#[test]
fn a_queue_may_have_several_connections_and_asks_for_robots_txt_alone() {
    let mut options = options();
    let rule = HostRule { connections_per_host: Some(2), host_delay: Some(Duration::ZERO), ..HostRule::default() };
    options.rules.hosts.insert("@q".to_owned(), rule);
    let pages = ["q https://a.example/1", "q https://a.example/2", "q https://b.example/3", "q https://b.example/4"];
    let mut frontier = frontier(&options, &pages);
    let done = |frontier: &mut Frontier, lease: Lease| {
        let outcome = ok(&lease);
        frontier.complete(lease, outcome, NOW).unwrap();
    };
    let robots = lease(&mut frontier, NOW);
    assert_eq!(named(&robots), "q a.example/robots.txt");
    assert!(matches!(frontier.next(NOW).unwrap(), Next::Busy));
    done(&mut frontier, robots);
    let (one, two) = (lease(&mut frontier, NOW), lease(&mut frontier, NOW));
    assert_eq!([named(&one), named(&two)], ["q a.example/1", "q a.example/2"]);
    done(&mut frontier, one);
    assert!(matches!(frontier.next(NOW).unwrap(), Next::Busy), "the rules of b are not known, and a page is out");
    done(&mut frontier, two);
    let robots = lease(&mut frontier, NOW);
    assert_eq!(named(&robots), "q b.example/robots.txt");
    done(&mut frontier, robots);
    let (one, two) = (lease(&mut frontier, NOW), lease(&mut frontier, NOW));
    assert_eq!([named(&one), named(&two)], ["q b.example/3", "q b.example/4"]);
    done(&mut frontier, one);
    done(&mut frontier, two);
    assert!(matches!(frontier.next(NOW).unwrap(), Next::Drained));
}

#[test]
fn the_two_ends_of_a_lease_are_the_queues() {
    let mut frontier = frontier(&plain(), &["q https://a.example/1", "q https://b.example/2"]);
    let mut first = lease(&mut frontier, NOW);
    frontier.answered(&mut first, HostAnswer::new(200, NOW), NOW).unwrap();
    let Next::Wait(until) = frontier.next(NOW).unwrap() else { panic!("the queue rests") };
    assert_eq!(until, NOW + SECOND);
    let second = lease(&mut frontier, until);
    for page in [first, second] {
        let outcome = ok(&page);
        assert_eq!(frontier.complete(page, outcome, until).unwrap(), Completion::Done);
    }
    assert!(matches!(frontier.next(until).unwrap(), Next::Drained));
    let queue = frontier.queue_statistics(&key("q"), NOW).unwrap().expect("it is known");
    assert_eq!((queue.requests, queue.due), (2, until + SECOND));
}

#[test]
fn a_redirect_keeps_its_queue_and_a_link_does_not_inherit_it() {
    let mut frontier = frontier(&plain(), &["q https://a.example/1"]);
    let page = lease(&mut frontier, NOW);
    let mut reply = Reply::from(302);
    reply.location = Some("https://b.example/2");
    frontier.answer(page, &reply, NOW).unwrap();
    let page = lease(&mut frontier, NOW + SECOND);
    assert_eq!(named(&page), "q b.example/2");
    let mut reply = Reply::from(302);
    // The same page, at another spelling of its key.
    reply.location = Some("/2?utm_source=x");
    frontier.answer(page, &reply, NOW + SECOND).unwrap();
    let page = lease(&mut frontier, NOW + 2 * SECOND);
    assert_eq!(named(&page), "q b.example/2?utm_source=x");
    let mut reply = Reply::from(200);
    reply.links = vec![Href::from("/3"), Href::from("/4").queue("r").unwrap(), Href::from("/5").queue("q").unwrap()];
    frontier.answer(page, &reply, NOW + 2 * SECOND).unwrap();
    let asked = drain(&mut frontier, ok);
    assert_eq!(
        asked,
        ["- b.example/robots.txt 0", "r b.example/4 0", "- b.example/3 1", "q b.example/5 3"],
        "from the time of the test on"
    );
}

#[test]
fn a_page_is_scheduled_and_visited_again_in_its_queue() {
    let mut frontier = Frontier::new(&plain()).unwrap();
    let href = Href::from("https://a.example/1").queue("q").unwrap();
    assert_eq!(frontier.schedule(href, NOW + 10 * SECOND).unwrap(), None);
    let Next::Wait(until) = frontier.next(NOW).unwrap() else { panic!("it waits for its time") };
    let page = lease(&mut frontier, until);
    assert_eq!(named(&page), "q a.example/1");
    frontier.schedule_again(&page, until + 10 * SECOND).unwrap();
    let outcome = ok(&page);
    frontier.complete(page, outcome, until).unwrap();
    let page = lease(&mut frontier, until + 11 * SECOND);
    assert_eq!(named(&page), "q a.example/1");
    // A page that breaks waits for its next try, in its queue.
    let outcome = Outcome::response(&page, 500, b"");
    let Completion::Retry(at) = frontier.complete(page, outcome, until + 11 * SECOND).unwrap() else {
        panic!("it is tried again")
    };
    let page = lease(&mut frontier, at + SECOND);
    assert_eq!((named(&page), page.attempt()), ("q a.example/1".to_owned(), 2));
}

#[test]
fn a_budget_is_the_queues() {
    let mut options = plain();
    options
        .rules
        .hosts
        .insert("@q".to_owned(), HostRule { robots: Some(false), max_pages: Some(1), ..HostRule::default() });
    let pages = ["q https://a.example/1", "q https://b.example/2", "r https://a.example/3"];
    let mut frontier = frontier(&options, &pages);
    assert_eq!(drain(&mut frontier, ok), ["q a.example/1 0", "r a.example/3 0"]);
    assert_eq!(frontier.gate().refusals().of(Refusal::HostPages), 1);
    let spent: Vec<_> = frontier.spent_hosts(9).iter().map(|host| host.host.to_string()).collect();
    assert_eq!(spent, ["@q"]);
}

#[test]
fn what_others_asked_counts_for_the_queue_that_is_named() {
    let mut frontier = frontier(&plain(), &["q https://a.example/1", "r https://a.example/2"]);
    let image = Href::from("https://c.example/logo.png").queue("q").unwrap();
    frontier.host_was_asked(image, NOW).unwrap();
    assert_eq!(drain(&mut frontier, ok), ["r a.example/2 0", "q a.example/1 1"]);
    frontier.host_was_asked(Href::from("https://c.example/x").queue("new").unwrap(), NOW + 5 * SECOND).unwrap();
    seed(&mut frontier, "new https://c.example/", NOW + 5 * SECOND);
    assert!(matches!(frontier.next(NOW + 5 * SECOND).unwrap(), Next::Wait(until) if until == NOW + 6 * SECOND));
}

#[test]
fn queues_are_listed_by_their_names() {
    let mut frontier = frontier(&plain(), &["q https://a.example/1", "q https://b.example/2", "- https://a.example/3"]);
    let page = lease(&mut frontier, NOW);
    assert_eq!(page.queue(), Some("q"));
    let queues: Vec<_> = frontier
        .queues(NOW)
        .map(|(host, queue)| (host.as_str().to_owned(), host.queue().map(str::to_owned), queue.waiting, queue.lent))
        .collect();
    let expected = [("@q".to_owned(), Some("q".to_owned()), 1, 1), ("https://a.example".to_owned(), None, 1, 0)];
    assert_eq!(queues, expected);
    assert_eq!(frontier.queue_statistics(&key("none"), NOW).unwrap(), None);
    assert_eq!(frontier.queue_statistics(&key("q"), NOW).unwrap().map(|queue| queue.waiting), Some(1));
}

#[test]
fn a_queue_is_dropped_by_its_name_and_a_host_in_all_queues() {
    let pages = ["q https://a.example/1", "q https://b.example/2", "r https://a.example/3", "r https://b.example/4"];
    let mut frontier = frontier(&plain(), &pages);
    frontier.drop_queue("q", NOW).unwrap();
    assert_eq!(frontier.statistics().queued, 2, "at once");
    let url = Href::from("https://c.example/5");
    assert_eq!(frontier.seed(url.queue("q").unwrap(), NOW).unwrap(), Some(Refusal::Dropped));
    let found = Found::seed(frontier.gate().canonicalizer().canonicalize("https://c.example/6").unwrap());
    assert_eq!(frontier.gate().check(&found.clone().with_queue("q").unwrap()), Err(Refusal::Dropped));
    assert_eq!(frontier.gate().check(&found), Ok(()));
    frontier.drop_host("a.example", NOW).unwrap();
    assert_eq!(drain(&mut frontier, ok), ["r b.example/4 0"]);
    assert!(frontier.undo_drop(&DropRule::Queue("q".to_owned()), NOW).unwrap());
    assert_eq!(drain(&mut frontier, ok), ["q b.example/2 0"], "the host is still dropped");
    assert!(frontier.undo_drop(&DropRule::Host("a.example".to_owned()), NOW).unwrap());
    assert_eq!(drain(&mut frontier, ok), ["q a.example/1 1", "r a.example/3 1"]);
    assert!(frontier.drop_queue("*", NOW).is_err());
}

#[test]
fn an_explanation_goes_by_the_queue() {
    let mut options = options();
    options.politeness.host_failures = 1;
    let mut frontier = frontier(&options, &["q https://a.example/1"]);
    let robots = lease(&mut frontier, NOW);
    let outcome = Outcome::response(&robots, 200, b"User-agent: *\nDisallow: /no\n");
    frontier.complete(robots, outcome, NOW).unwrap();
    let href = Href::from("https://a.example/no");
    let explanation = frontier.explain_request(href.queue("q").unwrap(), NOW).unwrap().to_string();
    assert!(explanation.contains("\n  queue        q\n"), "{explanation}");
    assert!(explanation.contains("\n  robots.txt   disallows it: Disallow: /no"), "{explanation}");
    assert!(explanation.contains("\n  host         @q: due 1970-01-01T00:16:41"), "{explanation}");
    let of_host = frontier.explain_request(href, NOW).unwrap().to_string();
    assert!(!of_host.contains("queue   "), "{of_host}");
    let page = lease(&mut frontier, NOW + SECOND);
    frontier.complete(page, Outcome::Failed(Failure::Connect.into()), NOW + SECOND).unwrap();
    let href = Href::from("https://a.example/2").queue("q").unwrap();
    let explanation = frontier.explain_request(href, NOW).unwrap();
    assert!(explanation.to_string().contains("@q: unreachable"), "{explanation}");
}

#[test]
fn addresses_are_no_clocks_of_queues() {
    let mut options = plain();
    options.politeness.address_delay = Some(60 * SECOND);
    let mut frontier = frontier(&options, &["q https://a.example/1", "r https://a.example/2"]);
    let address = ["192.0.2.1".parse().unwrap()];
    for _ in 0..2 {
        let mut page = lease(&mut frontier, NOW);
        assert!(!page.counts_by_address());
        let resolved = frontier.resolved(&mut page, &address, NOW).unwrap();
        assert_eq!(resolved, crawler_frontier::frontier::Resolved::Connect);
        let outcome = ok(&page);
        frontier.complete(page, outcome, NOW).unwrap();
    }
    assert_eq!(frontier.statistics().addresses, 0);
}

#[test]
fn lists_show_a_queue_as_any_host() {
    let mut frontier = frontier(&plain(), &["q https://a.example/1", "- https://a.example/2"]);
    let asked = drain(&mut frontier, |lease| {
        let status = if lease.kind() == LeaseKind::Robots { 404 } else { 200 };
        Outcome::response(lease, status, b"")
    });
    assert_eq!(asked.len(), 3);
    let top: Vec<_> = frontier.top_hosts(9).iter().map(|host| (host.host.to_string(), host.requests)).collect();
    assert_eq!(top, [("https://a.example".to_owned(), 2), ("@q".to_owned(), 1)]);
}
