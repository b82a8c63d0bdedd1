//! Leases that end, and what comes for them: in time, late, twice, and after a restart.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crawler_frontier::frontier::{
    Completion, Frontier, FrontierError, FrontierOptions, HostAnswer, LeaseKind, LeaseToken, Next, Outcome, Reply,
    Timestamp,
};
use crawler_frontier::gate::ScopeKind;
use crawler_frontier::job::checkpoint::JobJournal;

const TIMEOUT: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

fn options() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    (options.politeness.robots, options.scope.kind) = (false, ScopeKind::Any);
    options.lease_timeout = Some(TIMEOUT);
    options
}

fn start() -> Timestamp {
    Timestamp::from_micros(1_126_000_000_000_000)
}

fn open(directory: &Path, options: &FrontierOptions, now: Timestamp) -> Frontier<JobJournal> {
    Frontier::open(directory, options, now).expect("a job")
}

/// The URL and the token of the next lease, as another process gets them.
fn lent(frontier: &mut Frontier<JobJournal>, now: Timestamp) -> (String, LeaseToken) {
    let Next::Fetch(lease) = frontier.next(now).unwrap() else { panic!("it is due") };
    frontier.flush(now).unwrap();
    (lease.url().to_owned(), lease.token().expect("leases end").to_string().parse().expect("its text"))
}

fn page() -> Outcome {
    Outcome::Response { status: 200, retry_after: None }
}

fn is_over(result: &Result<Completion, FrontierError>) -> bool {
    matches!(result, Err(FrontierError::LeaseOver(_)))
}

#[test]
fn what_is_out_at_a_kill_is_out_afterwards_and_comes_back() {
    for has_checkpoint in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let mut frontier = open(directory.path(), &options(), start());
        for seed in ["https://a.example/1", "https://a.example/2", "https://b.example/"] {
            frontier.seed(seed, start()).unwrap();
        }
        let ((url, a), (_, b)) = (lent(&mut frontier, start()), lent(&mut frontier, start()));
        frontier.complete_token(b, page(), start()).unwrap();
        frontier.flush(start()).unwrap();
        if has_checkpoint {
            frontier.checkpoint().unwrap();
        }
        drop(frontier);

        let later = start() + 10 * SECOND;
        let mut frontier = open(directory.path(), &options(), later);
        assert_eq!(frontier.statistics().leased, 1);
        let next = frontier.next(later).unwrap();
        assert!(
            matches!(next, Next::Wait(until) if until == start() + TIMEOUT),
            "its host is asked nothing else: {next:?}"
        );
        assert_eq!(frontier.redeem(a).unwrap().url(), url);
        // This one was completed before the kill, and its client did not get the answer.
        assert_eq!(frontier.complete_token(b, page(), later).unwrap(), Completion::Done);
        for _ in 0..2 {
            assert_eq!(frontier.complete_token(a, page(), later).unwrap(), Completion::Done);
        }
        assert_eq!(frontier.statistics().completed, 2);
        assert_eq!(lent(&mut frontier, later + SECOND).0, "https://a.example/2");
    }
}

#[test]
fn what_is_late_after_a_restart_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut frontier = open(directory.path(), &options(), start());
    frontier.seed("https://a.example/", start()).unwrap();
    let (url, token) = lent(&mut frontier, start());
    // It lives, and says so; and then no more.
    let later = start() + 50 * SECOND;
    assert_eq!(frontier.extend_token(token, later).unwrap(), later + TIMEOUT);
    frontier.flush(later).unwrap();
    drop(frontier);

    // A run without the option keeps what the run before has promised.
    let mut plain = options();
    plain.lease_timeout = None;
    let mut frontier = open(directory.path(), &plain, later);
    assert_eq!(frontier.expire(start() + TIMEOUT).unwrap(), 0);
    assert_eq!(frontier.statistics().leased, 1);
    drop(frontier);

    let too_late = later + TIMEOUT;
    let mut frontier = open(directory.path(), &options(), too_late);
    assert_eq!(frontier.expire(too_late).unwrap(), 1);
    assert!(is_over(&frontier.complete_token(token, page(), too_late)));
    assert_eq!((frontier.statistics().completed, frontier.statistics().expired), (0, 1));
    let (again, other) = lent(&mut frontier, too_late + SECOND);
    assert_eq!(again, url);
    assert!(other > token);
    assert!(is_over(&frontier.complete_token(token, page(), too_late)), "its page is out under another token");
    assert_eq!(frontier.complete_token(other, page(), too_late).unwrap(), Completion::Done);
}

#[test]
fn a_robots_txt_is_still_out_after_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = options();
    options.politeness.robots = true;
    let mut frontier = open(directory.path(), &options, start());
    for page in ["https://a.example/", "https://a.example/private/"] {
        frontier.seed(page, start()).unwrap();
    }
    let (url, token) = lent(&mut frontier, start());
    assert_eq!(url, "https://a.example/robots.txt");
    drop(frontier);

    let later = start() + 5 * SECOND;
    let mut frontier = open(directory.path(), &options, later);
    assert!(matches!(frontier.next(later).unwrap(), Next::Wait(until) if until == start() + TIMEOUT));
    assert_eq!(frontier.redeem(token).unwrap().kind(), LeaseKind::Robots);
    let mut reply = Reply::from(200);
    reply.body = b"User-agent: *\nDisallow: /private/";
    assert_eq!(frontier.answer_token(token, &reply, later).unwrap(), Completion::Done);
    // Nothing depends on a second answer.
    assert!(is_over(&frontier.answer_token(token, &reply, later)));
    let (url, token) = lent(&mut frontier, later + SECOND);
    assert_eq!(url, "https://a.example/");
    frontier.complete_token(token, page(), later + SECOND).unwrap();
    assert!(matches!(frontier.next(later + 2 * SECOND).unwrap(), Next::Drained), "the other is disallowed");
}

/// A power cut takes the records of leases that are out already.
#[test]
fn no_lease_has_the_number_of_one_whose_record_is_lost() {
    let (directory, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut frontier = open(directory.path(), &options(), start());
    (0..100).for_each(|page| _ = frontier.seed(&*format!("https://h{page}.example/"), start()).unwrap());
    frontier.flush(start()).unwrap();
    let all = copy.path().join("job");
    fs::create_dir_all(all.join("frontier")).unwrap();
    for folder in ["", "frontier"] {
        for file in fs::read_dir(directory.path().join(folder)).unwrap().map(Result::unwrap) {
            if file.file_type().unwrap().is_file() {
                fs::copy(file.path(), all.join(folder).join(file.file_name())).unwrap();
            }
        }
    }
    let lost: Vec<_> = (0..100).map(|_| lent(&mut frontier, start()).1).collect();
    drop(frontier);

    let later = start() + Duration::from_millis(1);
    let mut frontier = open(&all, &options(), later);
    assert!(matches!(frontier.complete_token(lost[0], page(), later), Err(FrontierError::ForeignLease)));
    let later = later + SECOND;
    let out: Vec<_> = (0..100).map(|_| lent(&mut frontier, later).1).collect();
    for token in lost {
        assert!(!out.contains(&token));
        assert!(is_over(&frontier.complete_token(token, page(), later)));
    }
    assert_eq!(frontier.statistics().completed, 0);
}

#[test]
fn answers_are_remembered_for_the_next_16384_leases() {
    let mut frontier = Frontier::new(&options()).unwrap();
    let now = start();
    let mut completed = Vec::new();
    for page in 0..=16_384 {
        frontier.seed(&*format!("https://h{page}.example/"), now).unwrap();
        let Next::Fetch(lease) = frontier.next(now).unwrap() else { panic!("it is due") };
        let token = lease.token().unwrap();
        frontier.complete_token(token, self::page(), now).unwrap();
        completed.push(token);
    }
    assert!(is_over(&frontier.complete_token(completed[0], page(), now)));
    assert!(completed[1..].iter().all(|token| frontier.complete_token(*token, page(), now).is_ok()));
    assert_eq!(frontier.statistics().completed, 16_385);
}

#[test]
fn answers_are_remembered_over_restarts_whenever_these_are() {
    let directory = tempfile::tempdir().unwrap();
    let mut now = start();
    let mut completed = Vec::new();
    for restart in 0..40 {
        now = now + Duration::from_millis(restart % 19);
        let mut frontier = open(directory.path(), &options(), now);
        for page in 0..5 {
            frontier.seed(&*format!("https://h{restart}-{page}.example/"), now).unwrap();
            let (_, token) = lent(&mut frontier, now);
            frontier.complete_token(token, self::page(), now).unwrap();
            completed.push(token);
        }
        for token in &completed {
            assert_eq!(frontier.complete_token(*token, self::page(), now).unwrap(), Completion::Done, "{token}");
        }
        frontier.flush(now).unwrap();
    }
    assert_eq!(open(directory.path(), &options(), now).statistics().completed, 200);
}

/// A page on which each worker dies is given up in the end, if its tries count.
#[test]
fn a_page_whose_leases_end_is_given_up_if_that_counts() {
    let mut options = options();
    options.counts_expired = true;
    let mut frontier = Frontier::new(&options).unwrap();
    let mut now = start();
    frontier.seed("https://a.example/", now).unwrap();
    for attempt in 1..=options.politeness.attempts {
        let Next::Fetch(lease) = frontier.next(now).unwrap() else { panic!("it is tried again") };
        assert_eq!(lease.attempt(), attempt);
        now = now + TIMEOUT;
        assert!(matches!(frontier.next(now).unwrap(), Next::Wait(until) if until == now + SECOND), "its host rests");
        now = now + SECOND;
    }
    let Next::GiveUp(lease) = frontier.next(now).unwrap() else { panic!("nobody completes it") };
    assert!(lease.trouble().unwrap().to_string().contains("its leases ended"), "{:?}", lease.trouble());
    frontier.complete(lease, Outcome::GivenUp, now).unwrap();
    assert!(matches!(frontier.next(now).unwrap(), Next::Drained));
    assert_eq!((frontier.statistics().unreachable, frontier.statistics().expired), (1, 3));
}

/// A caller sleeps until something is due, and no call tells that a lease will be taken back.
#[test]
fn the_next_deadline_is_due() {
    let directory = tempfile::tempdir().unwrap();
    let mut frontier = open(directory.path(), &options(), start());
    frontier.seed("https://a.example/", start()).unwrap();
    let (_, token) = lent(&mut frontier, start());
    assert_eq!(frontier.due(start()), Some(start() + TIMEOUT));
    frontier.extend_token(token, start() + SECOND).unwrap();
    assert_eq!(frontier.due(start()), Some(start() + TIMEOUT + SECOND));
    frontier.complete_token(token, page(), start()).unwrap();
    assert_eq!(frontier.due(start()), None);
}

#[test]
fn a_lease_that_lasts_no_time_is_refused() {
    let mut options = options();
    options.lease_timeout = Some(Duration::from_micros(999));
    let error = Frontier::new(&options).expect_err("refused").to_string();
    assert!(error.contains("lease_timeout") && error.contains("at least a millisecond"), "{error}");
}

/// Its host is asked again at once, and nothing that it answered counts twice. Without a token the page is asked for again.
#[test]
fn a_page_in_hand_at_a_kill_is_in_hand_afterwards_if_it_has_a_token() {
    for (timeout, has_checkpoint) in [(None, false), (None, true), (Some(TIMEOUT), false), (Some(TIMEOUT), true)] {
        let directory = tempfile::tempdir().unwrap();
        let mut options = options();
        (options.lease_timeout, options.politeness.host_bytes) = (timeout, Some(100));
        let mut frontier = open(directory.path(), &options, start());
        for seed in ["https://a.example/1", "https://a.example/2"] {
            frontier.seed(seed, start()).unwrap();
        }
        let Next::Fetch(mut lease) = frontier.next(start()).unwrap() else { panic!("it is due") };
        let mut answer = HostAnswer::new(503, start());
        answer.bytes = 99;
        frontier.answered(&mut lease, answer, start()).unwrap();
        frontier.flush(start()).unwrap();
        if has_checkpoint {
            frontier.checkpoint().unwrap();
        }
        let token = lease.token();
        drop((frontier, lease));

        let later = start() + 20 * SECOND;
        let mut frontier = open(directory.path(), &options, later);
        let statistics = frontier.statistics();
        let has_token = timeout.is_some();
        assert_eq!((statistics.leased, statistics.in_hand), (has_token.into(), has_token.into()));
        assert_eq!(frontier.failing_hosts(1)[0].failures, 1, "what the host answered is kept");
        let Next::Wait(due) = frontier.next(later).unwrap() else { panic!("its host rests after a restart") };
        let Next::Fetch(next) = frontier.next(due).unwrap() else { panic!("its host is free") };
        assert_eq!(next.url(), if has_token { "https://a.example/2" } else { "https://a.example/1" });
        if let Some(token) = token {
            let failed = || Outcome::Response { status: 503, retry_after: None };
            let completion = frontier.complete_token(token, failed(), due).unwrap();
            assert!(matches!(completion, Completion::Retry(_)));
            assert_eq!(frontier.complete_token(token, failed(), due).unwrap(), completion);
            assert_eq!(frontier.failing_hosts(1)[0].failures, 1);
            assert_eq!(frontier.top_hosts(1)[0].bytes, 99);
        }
    }
}
