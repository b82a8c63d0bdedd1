//! One frontier, many tasks: nobody waits in vain, and no lease is lost.

use std::time::Duration;

use crawler_frontier::frontier::{Completion, Failure, Frontier, FrontierOptions, Href, LeaseKind, Outcome, Reply};
use crawler_frontier::gate::{Found, Refusal};
use crawler_frontier::lending::{Clock, SharedFrontier};

fn options() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.politeness.robots = false;
    options.politeness.host_delay = Duration::ZERO;
    options.politeness.backoff = Duration::ZERO;
    options
}

fn shared() -> SharedFrontier {
    SharedFrontier::new(Frontier::new(&options()).unwrap(), Clock::start())
}

fn plant(frontier: &SharedFrontier, text: &str) {
    assert_eq!(frontier.seed(text).unwrap(), None, "{text} is new");
}

#[tokio::test]
async fn a_lease_that_is_dropped_is_tried_again() {
    let frontier = shared();
    plant(&frontier, "http://a.test/");
    for attempt in 1..=2 {
        let lease = frontier.lease().await.unwrap().unwrap();
        assert_eq!((lease.url(), lease.kind(), lease.attempt()), ("http://a.test/", LeaseKind::Page, attempt));
        drop(lease);
    }
    let lease = frontier.lease().await.unwrap().unwrap();
    let outcome = Outcome::Failed(Failure::BadResponse.into());
    assert_eq!(lease.complete(outcome).unwrap(), Completion::Done);
    assert!(frontier.lease().await.unwrap().is_none(), "drained");
}

#[tokio::test]
async fn what_comes_at_once_is_told_to_whoever_waits() {
    let frontier = shared();
    frontier.stay_open();
    let waits = tokio::spawn({
        let frontier = frontier.clone();
        async move { frontier.lease().await.unwrap().unwrap().url().to_owned() }
    });
    tokio::task::yield_now().await;
    let url = frontier.gate().canonicalizer().canonicalize("http://a.test/").unwrap();
    let batch = vec![Found::seed(url.clone()), Found::seed(url)];
    assert_eq!(frontier.admit_batch(batch).unwrap(), [None, Some(Refusal::Seen)]);
    assert_eq!(waits.await.unwrap(), "http://a.test/");
}

#[tokio::test]
async fn all_who_wait_are_served_or_sent_home() {
    let frontier = shared();
    (0..10).for_each(|host| plant(&frontier, &format!("http://h{host}.test/")));
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let frontier = frontier.clone();
            tokio::spawn(async move {
                let mut fetched = 0;
                while let Some(lease) = frontier.lease().await.unwrap() {
                    tokio::task::yield_now().await;
                    let outcome = Outcome::Response { status: 200, retry_after: None };
                    lease.complete(outcome).unwrap();
                    fetched += 1;
                }
                fetched
            })
        })
        .collect();
    let mut fetched = 0;
    for task in tasks {
        fetched += task.await.unwrap();
    }
    assert_eq!(fetched, 10);
}

#[tokio::test]
async fn waiting_for_a_lease_can_be_given_up() {
    let frontier = shared();
    plant(&frontier, "http://a.test/");
    let held = frontier.lease().await.unwrap().unwrap();
    for _ in 0..3 {
        let waited = tokio::time::timeout(Duration::from_millis(1), frontier.lease()).await;
        assert!(waited.is_err(), "the only host is busy");
    }
    drop(held);
    assert!(frontier.lease().await.unwrap().is_some(), "who gave up took nothing along");
}

#[tokio::test]
async fn a_shared_job_goes_on_with_the_links_that_its_replies_led_to() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::start();
    let open = || SharedFrontier::new(Frontier::open(directory.path(), &options(), clock.now()).unwrap(), clock);
    let frontier = open();
    assert_eq!(frontier.seed("http://a.test/").unwrap(), None);
    let lease = frontier.lease().await.unwrap().unwrap();
    let mut reply = Reply::from(200);
    reply.links = vec![Href::from("/b").metadata("mine").unwrap(), Href::from("/c")];
    reply.links[1].nofollow = true;
    assert_eq!(lease.answer(&reply).unwrap(), Completion::Done);
    frontier.checkpoint().unwrap();
    drop(frontier);
    let frontier = open();
    let lease = frontier.lease().await.unwrap().unwrap();
    assert_eq!((lease.url(), lease.metadata()), ("http://a.test/b", &b"mine"[..]));
    lease.complete(Outcome::Failed(Failure::BadResponse.into())).unwrap();
    assert!(frontier.lease().await.unwrap().is_none(), "drained");
    assert_eq!(frontier.statistics().completed, 2);
}
