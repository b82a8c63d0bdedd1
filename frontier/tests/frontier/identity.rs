//! Requests that are more than a URL: with an identity of their own, and without a seen test.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use crawler_frontier::address::{Identity, IdentityError};
use crawler_frontier::driver::repair::{LineFormat, PageLine, look};
use crawler_frontier::driver::{LinkUrl, Links, Receipt};
use crawler_frontier::frontier::{
    Completion, Failure, Frontier, FrontierOptions, Href, Journal, Lease, Next, Outcome, Reply, Timestamp,
};
use crawler_frontier::gate::{Admission, DropRule, Found, Refusal, ScopeKind, SeenTest, Via};
use crawler_frontier::job::{Job, JobJournal, OpenOptions, RequestName, explain};
use crawler_frontier::seen::{Layout, Removal};

const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);
const API: &str = "https://a.example/api";

fn options() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    (options.politeness.robots, options.politeness.host_delay) = (false, Duration::ZERO);
    options.seen.layout = Layout::Exact;
    options
}

fn frontier() -> Frontier {
    Frontier::new(&options()).unwrap()
}

/// A request of the API, whose body is its identity too.
fn post(body: &str) -> Href<'_> {
    Href::from(API).metadata(body).unwrap().identity(body).unwrap()
}

/// The next page, at this time or when it is due.
fn lease(frontier: &mut Frontier<impl Journal>, now: &mut Timestamp) -> Lease {
    loop {
        match frontier.next(*now).unwrap() {
            Next::Fetch(lease) | Next::GiveUp(lease) => return lease,
            Next::Wait(until) => *now = (*now).max(until),
            next => panic!("{next:?}"),
        }
    }
}

/// Fetches all that is queued: URL and identity of each.
fn drain(frontier: &mut Frontier<impl Journal>) -> Vec<(String, Option<String>)> {
    let (mut asked, mut now) = (Vec::new(), NOW);
    while frontier.statistics().queued + frontier.statistics().scheduled > 0 {
        let lease = lease(frontier, &mut now);
        asked.push(named(&lease));
        let outcome = Outcome::response(&lease, 200, b"");
        frontier.complete(lease, outcome, now).unwrap();
    }
    asked
}

fn named(lease: &Lease) -> (String, Option<String>) {
    let identity = lease.identity().map(|identity| String::from_utf8_lossy(identity.bytes()).into_owned());
    (lease.url().to_owned(), identity)
}

fn asked(url: &str, identity: &str) -> (String, Option<String>) {
    (url.to_owned(), (!identity.is_empty()).then(|| identity.to_owned()))
}

#[test]
fn two_bodies_are_two_requests_and_two_urls_may_be_one() {
    let mut frontier = frontier();
    for (href, refusal) in [
        (post("red"), None),
        (post("blue"), None),
        (post("red"), Some(Refusal::Seen)),
        (Href::from("https://b.example/").identity("red").unwrap(), Some(Refusal::Seen)),
        (Href::from(API), None),
        (Href::from(API), Some(Refusal::Seen)),
    ] {
        assert_eq!(frontier.seed(href, NOW).unwrap(), refusal);
    }
    assert_eq!(drain(&mut frontier), [asked(API, "red"), asked(API, "blue"), asked(API, "")]);
    assert_eq!((frontier.gate().admitted(), frontier.gate().found()), (3, 6));
}

#[test]
fn an_identity_is_no_url_and_has_its_bounds() {
    let mut frontier = frontier();
    // A URL's key as an identity is not that URL.
    let href = Href::from(API).identity("https://a.example/").unwrap();
    assert_eq!(frontier.seed(href, NOW).unwrap(), None);
    assert_eq!(frontier.seed("https://a.example/", NOW).unwrap(), None);
    assert_eq!(frontier.seed(Href::from(API).identity(&[0; 64]).unwrap(), NOW).unwrap(), None);
    let refused: [IdentityError; 2] = [&[][..], &[0; 65]].map(|bytes| Href::from(API).identity(bytes).unwrap_err());
    assert_eq!(refused[0].to_string(), "an identity of 0 bytes: it must have 1 to 64; use the digest of a longer one");
    let url = frontier.gate().canonicalizer().canonicalize(API).unwrap();
    assert_eq!(Found::seed(url).with_identity(&[0; 65]).unwrap_err(), refused[1]);
}

#[test]
fn scope_traps_robots_and_politeness_go_by_the_url() {
    let mut options = options();
    options.scope.exclude = vec!["/no/".to_owned()];
    options.traps.url_bytes = 100;
    (options.politeness.robots, options.politeness.host_delay) = (true, Duration::from_secs(3));
    let mut frontier = Frontier::new(&options).unwrap();
    let excluded = Href::from("https://a.example/no/1").identity("one").unwrap().unconditional();
    assert_eq!(frontier.seed(excluded, NOW).unwrap(), Some(Refusal::Excluded));
    let long = format!("https://a.example/{}", "x".repeat(100));
    let long = Href::from(&long).identity("one").unwrap();
    assert!(frontier.seed(long, NOW).is_err());
    // Neither was remembered.
    assert_eq!(frontier.seed(post("one"), NOW).unwrap(), None);
    assert_eq!(frontier.seed(post("two"), NOW).unwrap(), None);
    let private = Href::from("https://a.example/private").identity("three").unwrap();
    assert_eq!(frontier.seed(private, NOW).unwrap(), None);
    let mut now = NOW;
    let robots = lease(&mut frontier, &mut now);
    let outcome = Outcome::response(&robots, 200, b"User-agent: *\nDisallow: /private");
    frontier.complete(robots, outcome, now).unwrap();
    for body in ["one", "two"] {
        let begun = now;
        let page = lease(&mut frontier, &mut now);
        assert_eq!((named(&page), now), (asked(API, body), begun + Duration::from_secs(3)));
        let outcome = Outcome::response(&page, 200, b"");
        frontier.complete(page, outcome, now).unwrap();
    }
    assert!(matches!(frontier.next(now + Duration::from_secs(3)).unwrap(), Next::Wait(_) | Next::Drained));
    assert_eq!(frontier.gate().refusals().of(Refusal::Robots), 1);
}

#[test]
fn the_seen_set_is_neither_asked_nor_told_or_only_told() {
    let mut frontier = frontier();
    let page = Href::from(API);
    for (href, refusal) in [
        (page.unconditional(), None),
        (page.unconditional(), None),
        (page, None),
        (page, Some(Refusal::Seen)),
        (page.unconditional(), None),
        (page.unconditional().and_remembered(), None),
        (post("red").unconditional().and_remembered(), None),
        (post("red"), Some(Refusal::Seen)),
        (post("red").unconditional(), None),
        (post("blue").unconditional(), None),
        (post("blue"), None),
    ] {
        assert_eq!(frontier.seed(href, NOW).unwrap(), refusal, "{href:?}");
    }
    assert_eq!(drain(&mut frontier).len(), 9);
    assert_eq!((frontier.gate().admitted(), frontier.gate().found()), (9, 11));
    assert_eq!(frontier.gate().seen().tests(), 6, "those that ask, and those that tell");
}

/// One by one, as a batch, and as the links of a page: the same verdicts.
#[test]
fn all_doors_of_the_gate_agree() {
    let verdicts = |act: &dyn Fn(&mut Frontier, Vec<Found>) -> Vec<u64>| {
        let mut frontier = frontier();
        let url = frontier.gate().canonicalizer().canonicalize(API).unwrap();
        let found = |identity: &str, seen_test, depth| {
            let found = Found { depth, via: Via::Link, seen_test, ..Found::seed(url.clone()) };
            if identity.is_empty() { found } else { found.with_identity(identity.as_bytes()).unwrap() }
        };
        let [asked, told, skipped] = [SeenTest::Asked, SeenTest::Told, SeenTest::Skipped];
        let tests = [skipped, asked, asked, told, skipped, asked, told, asked, skipped, told];
        let all = (0..).zip(tests).map(|(depth, test)| found(["", "red", "blue"][depth as usize / 2 % 3], test, depth));
        let all = all.collect();
        act(&mut frontier, all)
    };
    let admitted = |admissions: Vec<Admission>| {
        let depth = |admission| match admission {
            Admission::Admitted(admitted) => Some(u64::from(admitted.found().depth)),
            Admission::Refused(refusal) => {
                assert_eq!(refusal, Refusal::Seen);
                None
            }
        };
        admissions.into_iter().filter_map(depth).collect::<Vec<_>>()
    };
    let each =
        verdicts(&|frontier, found| admitted(found.into_iter().map(|found| frontier.gate().admit(found)).collect()));
    assert_eq!(each, [0, 1, 2, 3, 4, 5, 6, 8, 9]);
    assert_eq!(verdicts(&|frontier, found| admitted(frontier.gate().admit_batch(found))), each);
    let as_links = verdicts(&|frontier, found| {
        let (_, base) = frontier.gate().canonicalizer().page(API).unwrap();
        let mut links = Links::new(1, None);
        for found in found {
            links.add_found(frontier.gate(), &mut LinkUrl::new(&base, API), found).unwrap();
        }
        let (new, refused) = frontier.gate().admit_links(links);
        assert_eq!(refused.of(Refusal::Seen), 1);
        new.iter().map(|new| new.found().depth.into()).collect()
    });
    assert_eq!(as_links, each);
}

/// A 307 sends each body on. The requests are the same there, so none is taken for another, and none for itself.
#[test]
fn a_request_stays_itself_over_redirects() {
    let mut frontier = frontier();
    let mut now = NOW;
    let there = "https://b.example/api";
    for href in [post("red"), post("blue"), Href::from("https://a.example/").unconditional()] {
        frontier.seed(href, now).unwrap();
    }
    assert_eq!(frontier.seed(there, now).unwrap(), None);
    let mut arrived = Vec::new();
    while frontier.statistics().queued > 0 {
        let page = lease(&mut frontier, &mut now);
        if page.url() == there {
            arrived.push(named(&page));
        }
        let mut reply = Reply::from(if page.url() == there { 200 } else { 307 });
        reply.location = Some(there);
        frontier.answer(page, &reply, now).unwrap();
    }
    assert_eq!(arrived, [asked(there, ""), asked(there, "red"), asked(there, "blue"), asked(there, "")]);
    assert_eq!(frontier.seed(post("red"), now).unwrap(), Some(Refusal::Seen));

    // To another spelling of its own key.
    frontier.seed(post("green"), now).unwrap();
    let page = lease(&mut frontier, &mut now);
    let mut reply = Reply::from(301);
    reply.location = Some("/api?");
    assert!(matches!(frontier.answer(page, &reply, now).unwrap(), Completion::Retry(_)));
    assert_eq!(drain(&mut frontier), [asked("https://a.example/api?", "green")]);

    // A loop ends.
    frontier.seed(post("round").unconditional(), now).unwrap();
    for round in 0..=2 * u32::from(options().traps.redirects) {
        if frontier.statistics().queued == 0 {
            assert_eq!(round, 11);
            break;
        }
        let page = lease(&mut frontier, &mut now);
        let mut reply = Reply::from(302);
        reply.location = Some(if page.url() == API { there } else { API });
        frontier.answer(page, &reply, now).unwrap();
    }
    assert_eq!(frontier.statistics().queued, 0);
}

fn open(directory: &Path, now: Timestamp) -> Frontier<JobJournal> {
    let mut open = OpenOptions::default();
    open.journal.segment_bytes = 200;
    Frontier::open_with(directory, &options(), &open, |_, _| true, now).unwrap()
}

/// Whatever becomes of them between: later tries, a host that is given up and asked again, drops that are undone, visits again, restarts
/// from records and from checkpoints.
#[test]
fn identities_survive_all_that_befalls_a_page() {
    for with_checkpoints in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let mut now = NOW;
        let again = |frontier: Frontier<JobJournal>, now| {
            let mut frontier = frontier;
            if with_checkpoints {
                frontier.checkpoint().unwrap();
            }
            frontier.flush(now).unwrap();
            drop(frontier);
            open(directory, now)
        };
        let mut frontier = open(directory, now);
        let all = [asked(API, "red"), asked(API, "blue"), asked(API, "red"), asked(API, "")];
        frontier.seed(post("red"), now).unwrap();
        frontier.seed(post("blue"), now).unwrap();
        frontier.seed(post("red").unconditional(), now).unwrap();
        frontier.seed(Href::from(API).unconditional(), now).unwrap();
        frontier = again(frontier, now);
        let check_seen = |frontier: &mut Frontier<JobJournal>| {
            let now = NOW;
            assert_eq!(frontier.seed(post("red"), now).unwrap(), Some(Refusal::Seen));
            assert_eq!(frontier.seed(post("blue"), now).unwrap(), Some(Refusal::Seen));
            let fingerprint = |url: &str| frontier.gate().canonicalizer().canonicalize(url).unwrap();
            let fingerprint = fingerprint(API).fingerprint(frontier.gate().fingerprint_key());
            assert!(!frontier.gate().seen().contains(fingerprint), "it was not told");
        };
        check_seen(&mut frontier);

        // Each breaks once, and waits for its next try.
        for _ in 0..4 {
            let page = lease(&mut frontier, &mut now);
            let outcome = Outcome::response(&page, 500, b"");
            frontier.complete(page, outcome, now).unwrap();
        }
        frontier = again(frontier, now);
        check_seen(&mut frontier);

        // The host is dropped, and the drop is undone.
        now = now + Duration::from_secs(3600);
        let rule = DropRule::Host("a.example".to_owned());
        frontier.drop_by(rule.clone(), now).unwrap();
        assert!(matches!(frontier.next(now).unwrap(), Next::Drained));
        frontier = again(frontier, now);
        frontier.undo_drop(&rule, now).unwrap();
        assert!(matches!(frontier.next(now).unwrap(), Next::Wait(_) | Next::Fetch(_)));
        frontier = again(frontier, now);
        check_seen(&mut frontier);

        // It cannot be reached; it is given up, and asked again.
        let mut given_up = 0;
        while given_up < 4 {
            now = now + Duration::from_secs(3600);
            let page = lease(&mut frontier, &mut now);
            given_up += u32::from(page.trouble().is_some());
            let outcome =
                if page.trouble().is_some() { Outcome::GivenUp } else { Outcome::Failed(Failure::Connect.into()) };
            frontier.complete(page, outcome, now).unwrap();
        }
        frontier = again(frontier, now);
        assert_eq!(frontier.ask_again(now).unwrap(), 4);
        frontier = again(frontier, now);
        check_seen(&mut frontier);

        // Each is fetched, and visited again.
        for visit in 0..2 {
            let mut visited = Vec::new();
            for _ in 0..4 {
                now = now + Duration::from_secs(3600);
                let page = lease(&mut frontier, &mut now);
                visited.push(named(&page));
                if visit == 0 {
                    frontier.schedule_again(&page, now + Duration::from_secs(10 * 3600)).unwrap();
                }
                let outcome = Outcome::response(&page, 200, b"");
                frontier.complete(page, outcome, now).unwrap();
            }
            visited.sort();
            let mut all = all.to_vec();
            all.sort();
            assert_eq!(visited, all);
            frontier = again(frontier, now);
            check_seen(&mut frontier);
        }

        // One is forgotten.
        assert_eq!(frontier.forget(post("red")).unwrap(), Removal::Removed);
        frontier = again(frontier, now);
        assert_eq!(frontier.seed(post("blue"), now).unwrap(), Some(Refusal::Seen));
        assert_eq!(frontier.seed(post("red"), now).unwrap(), None);
        assert_eq!(frontier.retry(post("blue"), Via::Link, 3, now).unwrap(), None);
        frontier = again(frontier, now);
        assert_eq!(drain(&mut frontier), [asked(API, "red"), asked(API, "blue")]);
    }
}

#[test]
fn each_is_explained_by_url_identity_or_entry() {
    let directory = tempfile::tempdir().unwrap();
    let mut now = NOW;
    let mut frontier = open(directory.path(), now);
    frontier.seed(post("red"), now).unwrap();
    frontier.seed(post("red").unconditional(), now).unwrap();
    frontier.seed(post("blue"), now).unwrap();
    let first = lease(&mut frontier, &mut now);
    let position = first.position().unwrap();
    let outcome = Outcome::response(&first, 200, b"");
    frontier.complete(first, outcome, now).unwrap();
    frontier.flush(now).unwrap();
    let url = frontier.gate().canonicalizer().canonicalize(API).unwrap();
    let identity = |bytes: &'static str| RequestName::Identity(url.clone(), Identity::new(bytes).unwrap().to_buf());
    let job = Job::open_for_reading(directory.path()).unwrap();
    let questions = [
        RequestName::Url(url.clone()),
        identity("red"),
        identity("blue"),
        identity("green"),
        RequestName::Entry(position),
    ];
    let explained = explain(&job, &options(), questions, now).unwrap().explanations;
    let verdicts: Vec<_> = explained.iter().map(|of| of.verdict().name()).collect();
    assert_eq!(verdicts, ["not_found", "waiting", "waiting", "not_found", "no_record"]);
    let texts: Vec<_> = explained.iter().map(ToString::to_string).collect();
    assert!(texts[1].contains("\n  identity     726564\n"), "{}", texts[1]);
    assert!(texts[1].contains(", without asking or telling the filter; queued behind 0"), "{}", texts[1]);
    assert!(texts[2].contains("; queued behind 1"), "{}", texts[2]);
    assert!(texts[3].contains("  filter       new") && texts[4].contains("  filter       seen"), "{}", texts[3]);
    let live = frontier.explain_identity(&url, Identity::new("red").unwrap(), now).unwrap();
    assert_eq!((live.fingerprint, live.identity.as_ref()), (explained[1].fingerprint, explained[1].identity.as_ref()));

    let nowhere = RequestName::Entry(crawler_frontier::gate::Position::from_u64(3));
    let error = explain(&job, &options(), [nowhere], now).unwrap_err();
    assert_eq!(error.source().unwrap().to_string(), "the journal has no entry at 3");
}

/// A record is the URL and what was said of it.
struct Lines;

impl LineFormat for Lines {
    fn read(&self, line: &[u8]) -> Option<PageLine> {
        let url = std::str::from_utf8(line).ok()?.split_whitespace().next()?.to_owned();
        Some(PageLine {
            url,
            depth: 0,
            via: Via::Seed,
            admitted: 0,
            outputs: Vec::new(),
            revisit_of: None,
            bytes: 0,
            given_up: false,
        })
    }

    fn moved(&self, _: &[u8], _: &[(String, Receipt)]) -> Option<Vec<u8>> {
        None
    }

    fn files(&self, _: &Path, _: &str) -> std::io::Result<Vec<(u64, std::path::PathBuf)>> {
        Ok(Vec::new())
    }
}

#[test]
fn a_repair_takes_no_request_for_another() {
    let directory = tempfile::tempdir().unwrap();
    let mut now = NOW;
    let mut frontier = open(directory.path(), now);
    let bodies = ["red", "blue", "green"];
    for href in bodies.map(post).into_iter().chain([post("red").unconditional(), Href::from(API).unconditional()]) {
        frontier.seed(href, now).unwrap();
    }
    // The first two are done, and the record of the second is lost.
    let mut output = Vec::new();
    for _ in 0..2 {
        let page = lease(&mut frontier, &mut now);
        let record = format!("{API} {:?}\n", page.identity());
        let receipt = Receipt::of(record.as_bytes(), output.len() as u64);
        let outcome = Outcome::response(&page, 200, b"");
        frontier.complete_with(page, outcome, &[("pages.jsonl", receipt)], now).unwrap();
        output.extend_from_slice(record.as_bytes());
    }
    frontier.flush(now).unwrap();
    drop(frontier);
    let job = Job::resume(directory.path()).unwrap();
    let second = output.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    std::fs::write(job.pages_path(), &output[..second]).unwrap();
    let findings = look(&job, &options(), true, &Lines, &[]).unwrap();
    assert_eq!((findings.again, findings.from_records), (1, 0));
    findings.carry_out(&job, &Lines).unwrap();
    drop(job);
    let mut frontier = open(directory.path(), now);
    for body in bodies {
        assert_eq!(frontier.seed(post(body), now).unwrap(), Some(Refusal::Seen));
    }
    let left = [asked(API, "blue"), asked(API, "green"), asked(API, "red"), asked(API, "")];
    assert_eq!(drain(&mut frontier), left);
}
