//! The frontier in a loop of one's own: what a reply leads to, and what travels with a URL.

use std::collections::BTreeMap;
use std::time::Duration;

use crawler_frontier::address::AddressError;
use crawler_frontier::frontier::{
    Completion, Failure, Frontier, FrontierError, FrontierOptions, Href, Journal, Lease, LeaseKind, Next, Outcome,
    Reply, Timestamp,
};
use crawler_frontier::gate::{Refusal, ScopeKind};

const START: Timestamp = Timestamp::from_micros(0);

fn options() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.politeness.host_delay = Duration::ZERO;
    options.politeness.robots = false;
    options.scope.kind = ScopeKind::Any;
    options
}

/// The next lease, whenever that is.
fn lease(frontier: &mut Frontier<impl Journal>, now: &mut Timestamp) -> Option<Lease> {
    loop {
        match frontier.next(*now).unwrap() {
            Next::Fetch(lease) | Next::GiveUp(lease) => return Some(lease),
            Next::Wait(until) => *now = until,
            Next::Busy | Next::Drained => return None,
        }
    }
}

fn first<'a>(text: &'a str, metadata: &'a str) -> Href<'a> {
    let mut href = Href::from(text).metadata(metadata).unwrap();
    href.priority = Some(0);
    href
}

fn linking<'a>(status: u16, links: &[&'a str]) -> Reply<'a> {
    let mut reply = Reply::from(status);
    reply.links = links.iter().copied().map(Href::from).collect();
    reply
}

fn moved(status: u16, location: &str) -> Reply<'_> {
    let mut reply = Reply::from(status);
    reply.location = Some(location);
    reply
}

/// Everything that is queued, in its order, each page empty.
fn drain(frontier: &mut Frontier<impl Journal>) -> Vec<(String, Vec<u8>)> {
    let (mut now, mut pages) = (START, Vec::new());
    while let Some(lease) = lease(frontier, &mut now) {
        pages.push((lease.url().to_owned(), lease.metadata().to_vec()));
        frontier.answer(lease, &Reply::from(200), now).unwrap();
    }
    pages
}

fn urls(frontier: &mut Frontier<impl Journal>) -> Vec<String> {
    drain(frontier).into_iter().map(|(url, _)| url).collect()
}

#[test]
fn a_reply_leads_to_the_links_of_its_page() {
    let mut frontier = Frontier::new(&options()).unwrap();
    let mut now = START;
    frontier.seed("https://a.example/dir/", now).unwrap();
    let page = lease(&mut frontier, &mut now).unwrap();
    let mut reply = Reply::from(200);
    reply.base_href = Some("/base/");
    reply.links = ["x", "y", "http://[", "x#again"].map(Href::from).into();
    reply.links[1].nofollow = true;
    assert_eq!(frontier.answer(page, &reply, now).unwrap(), Completion::Done);
    let refusals = frontier.gate().refusals();
    assert_eq!([Refusal::Nofollow, Refusal::Malformed, Refusal::Seen].map(|why| refusals.of(why)), [1, 1, 1]);
    assert_eq!(urls(&mut frontier), ["https://a.example/base/x"]);
}

#[test]
fn what_is_not_to_be_followed_is_counted_and_an_error_page_has_no_links() {
    for (status, nofollow, refused) in [(200, true, 2), (404, false, 0), (500, false, 0)] {
        let mut options = options();
        options.politeness.attempts = 1;
        let mut frontier = Frontier::new(&options).unwrap();
        let mut now = START;
        frontier.seed("https://a.example/", now).unwrap();
        let page = lease(&mut frontier, &mut now).unwrap();
        let mut reply = linking(status, &["/x", "/y"]);
        reply.nofollow = nofollow;
        frontier.answer(page, &reply, now).unwrap();
        assert_eq!(frontier.gate().refusals().of(Refusal::Nofollow), refused, "{status}");
        assert_eq!(frontier.gate().found(), 1 + refused);
        assert!(lease(&mut frontier, &mut now).is_none(), "{status}");
    }
}

#[test]
fn a_redirect_is_followed_by_the_frontier() {
    let mut frontier = Frontier::new(&options()).unwrap();
    let mut now = START;
    let mut seed = Href::from("https://a.example/").metadata("mine").unwrap();
    seed.priority = Some(9);
    frontier.seed(seed, now).unwrap();
    // To its own key: the same page, at once. A status that is none does not lead anywhere.
    let page = lease(&mut frontier, &mut now).unwrap();
    let mut reply = moved(301, "/?utm_source=x");
    reply.links.push("/not-a-link".into());
    assert!(matches!(frontier.answer(page, &reply, now).unwrap(), Completion::Retry(_)));
    let page = lease(&mut frontier, &mut now).unwrap();
    assert_eq!((page.url(), page.metadata()), ("https://a.example/?utm_source=x", &b"mine"[..]));
    // To another page: that is found, and this one is done.
    let reply = moved(302, "https://b.example/");
    assert_eq!(frontier.answer(page, &reply, now).unwrap(), Completion::Done);
    let page = lease(&mut frontier, &mut now).unwrap();
    assert_eq!((page.url(), page.metadata()), ("https://b.example/", &b"mine"[..]));
    assert!(format!("{page:?}").contains("redirects: 2,"), "{page:?}");
    assert_eq!(frontier.answer(page, &moved(200, "/x"), now).unwrap(), Completion::Done);
    assert!(lease(&mut frontier, &mut now).is_none());
}

#[test]
fn a_robots_txt_is_read_wherever_it_is_and_asked_for_again_when_its_host_says_so() {
    let mut options = options();
    options.politeness.robots = true;
    let mut frontier = Frontier::new(&options).unwrap();
    let mut now = START;
    frontier.seed("https://a.example/no", now).unwrap();
    let robots = lease(&mut frontier, &mut now).unwrap();
    let mut busy = linking(503, &["/not-a-page"]);
    busy.retry_after = Some(Duration::from_secs(77));
    assert_eq!(frontier.answer(robots, &busy, now).unwrap(), Completion::Retry(START + Duration::from_secs(77)));
    let robots = lease(&mut frontier, &mut now).unwrap();
    frontier.answer(robots, &moved(301, "https://b.example/robots.txt"), now).unwrap();
    let robots = lease(&mut frontier, &mut now).unwrap();
    assert_eq!((robots.url(), robots.kind()), ("https://b.example/robots.txt", LeaseKind::Robots));
    let mut reply = Reply::from(200);
    reply.body = b"User-agent: *\nDisallow: /no";
    frontier.answer(robots, &reply, now).unwrap();
    assert!(lease(&mut frontier, &mut now).is_none());
    assert_eq!((frontier.gate().refusals().of(Refusal::Robots), frontier.gate().found()), (1, 1));
}

#[test]
fn a_text_that_is_no_url_is_the_same_error_in_every_call() {
    let mut frontier = Frontier::new(&options()).unwrap();
    for (text, is_malformed) in [("a.example", true), ("ftp://a.example/", false)] {
        let canonicalizer = frontier.gate().canonicalizer().clone();
        let error = canonicalizer.canonicalize(text).unwrap_err();
        assert_eq!(matches!(error, AddressError::Malformed(_)), is_malformed);
        let errors = [
            frontier.seed(text, START).unwrap_err(),
            frontier.schedule(text, START).unwrap_err(),
            frontier.forget(text).unwrap_err(),
        ];
        for other in errors {
            assert!(matches!(&other, FrontierError::Address(address) if *address == error), "{other:?}");
        }
        if !is_malformed {
            let base = canonicalizer.base("https://b.example/").unwrap();
            assert_eq!(frontier.gate().join(&base, text).unwrap_err(), error);
        }
    }
    assert_eq!(frontier.gate().found(), 1, "the link alone was found on a page");
}

#[test]
fn a_priority_of_ones_own_goes_before_depth() {
    let mut frontier = Frontier::new(&options()).unwrap();
    let mut now = START;
    frontier.seed("https://a.example/", now).unwrap();
    let page = lease(&mut frontier, &mut now).unwrap();
    let mut reply = linking(200, &["/last", "/second", "/first"]);
    (reply.links[0].priority, reply.links[2].priority) = (Some(255), Some(0));
    frontier.answer(page, &reply, now).unwrap();
    let mut third = Href::from("https://a.example/third");
    third.priority = Some(7);
    frontier.seed(third, now).unwrap();
    let order = ["/first", "/second", "/third", "/last"].map(|path| format!("https://a.example{path}"));
    assert_eq!(urls(&mut frontier), order);
}

/// Through a real job, with a checkpoint and without: tries, a spelling, a schedule, a failed host and the end of the process.
#[test]
fn metadata_comes_back_whatever_happens_to_its_url() {
    for checkpoint in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let mut options = options();
        options.politeness.backoff = Duration::ZERO;
        options.politeness.host_failures = 1;
        let mut now = START;
        let mut frontier = Frontier::open(directory.path(), &options, now).unwrap();
        let pages = ["plain", "retried", "moved", "again", "scheduled", "down", "lent"];
        let text = |page: &str| format!("https://{page}.example/");
        for page in pages.into_iter().filter(|page| *page != "scheduled") {
            frontier.seed(first(&text(page), page), now).unwrap();
        }
        frontier.schedule(first(&text("scheduled"), "scheduled"), now).unwrap();
        let mut held = Vec::new();
        let mut last = BTreeMap::new();
        // Each once, and some of them come back.
        for _ in pages {
            let lease = lease(&mut frontier, &mut now).unwrap();
            let page = String::from_utf8(lease.metadata().to_vec()).unwrap();
            assert_eq!(lease.url(), text(&page));
            let reply = match &*page {
                "retried" => Reply::from(500),
                "moved" => moved(301, "/?utm_source=x"),
                "down" => {
                    frontier.complete(lease, Outcome::Failed(Failure::Connect.into()), now).unwrap();
                    continue;
                }
                "lent" => {
                    held.push(lease);
                    continue;
                }
                "again" => {
                    frontier.schedule_again(&lease, now + Duration::from_secs(3600)).unwrap();
                    Reply::from(200)
                }
                _ => linking(200, &["/child"]),
            };
            frontier.answer(lease, &reply, now).unwrap();
        }
        if checkpoint {
            frontier.checkpoint().unwrap();
        }
        frontier.flush(now).unwrap();
        drop((frontier, held));
        let mut frontier = Frontier::open(directory.path(), &options, now).unwrap();
        // A restart asks a retired host only where somebody says so.
        frontier.ask_again(now).unwrap();
        while let Some(lease) = lease(&mut frontier, &mut now) {
            let page = String::from_utf8(lease.metadata().to_vec()).unwrap();
            last.insert(lease.url().to_owned(), page);
            frontier.answer(lease, &Reply::from(200), now).unwrap();
        }
        let mut expected: BTreeMap<_, _> =
            ["retried", "again", "down", "lent"].map(|page| (text(page), page.to_owned())).into();
        expected.insert("https://moved.example/?utm_source=x".to_owned(), "moved".to_owned());
        // Links do not inherit it.
        expected.insert("https://plain.example/child".to_owned(), String::new());
        expected.insert("https://scheduled.example/child".to_owned(), String::new());
        assert_eq!(last, expected, "checkpoint: {checkpoint}");
    }
}

/// Priorities are any numbers: as many as there are front queues are kept exactly, whatever was in use before.
#[test]
fn priorities_of_any_number_go_in_their_order() {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    (options.politeness.robots, options.politeness.host_delay) = (false, Duration::ZERO);
    let now = Timestamp::from_micros(0);
    let mut frontier = Frontier::new(&options).unwrap();
    for round in 0..3 {
        let mut priorities: Vec<i64> =
            (0..254).map(|number: i64| (number * 7919 % 254 - 127) << (20 * round)).collect();
        for priority in &priorities {
            let url = format!("http://a.example/{round}/{priority}");
            let mut href = Href::from(&url);
            href.priority = Some(*priority);
            frontier.seed(href, now).unwrap();
        }
        priorities.sort_unstable();
        for priority in priorities {
            let Next::Fetch(lease) = frontier.next(now).unwrap() else { panic!("all wait") };
            assert_eq!((lease.priority(), lease.url()), (priority, &*format!("http://a.example/{round}/{priority}")));
            frontier.complete(lease, Outcome::Response { status: 200, retry_after: None }, now).unwrap();
        }
    }
    assert_eq!(frontier.statistics().shared_priorities, 0);
    // One beyond all front queues goes with the closest.
    for priority in 0..257 {
        let url = format!("http://a.example/{priority}");
        let mut href = Href::from(&url);
        href.priority = Some(priority * 100);
        frontier.seed(href, now).unwrap();
    }
    assert_eq!(frontier.statistics().shared_priorities, 1);
}
