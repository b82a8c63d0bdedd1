//! URLs that are found again with a better priority move up.

use std::path::Path;
use std::time::Duration;

use crawler_frontier::driver::{LinkUrl, Links};
use crawler_frontier::frontier::{Frontier, FrontierOptions, Href, Journal, Next, Outcome, QueueOrder, WaitingUrl};
use crawler_frontier::gate::{Admission, Found, ScopeKind, Via};
use crawler_frontier::job::JobJournal;

use crate::moves::{HOST, NOW, drain, pages};

fn options() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    (options.politeness.robots, options.politeness.host_delay) = (false, Duration::ZERO);
    options.move_up = true;
    options
}

fn href(url: &str, priority: i64) -> Href<'_> {
    let mut href = Href::from(url);
    href.priority = Some(priority);
    href
}

/// Pages of the host, each with its priority.
fn find(frontier: &mut Frontier<impl Journal>, pages: &[(&str, i64)]) {
    for (page, priority) in pages {
        let url = format!("{HOST}/{page}");
        frontier.seed(href(&url, *priority), NOW).unwrap();
    }
}

#[test]
fn what_is_found_again_with_a_better_priority_goes_after_all_others_of_it() {
    let again = [("c", 1), ("a", 7), ("b", 4), ("d", 5), ("b", 2)];
    for (is_on, order, expected) in [
        (true, QueueOrder::Fifo, [("e", 1), ("c", 1), ("b", 2), ("a", 5), ("d", 5)]),
        (true, QueueOrder::Lifo, [("c", 1), ("e", 1), ("b", 2), ("d", 5), ("a", 5)]),
        (false, QueueOrder::Fifo, [("e", 1), ("a", 5), ("b", 5), ("c", 5), ("d", 5)]),
    ] {
        let mut options = options();
        (options.move_up, options.order) = (is_on, order);
        let mut frontier = Frontier::new(&options).unwrap();
        find(&mut frontier, &[("a", 5), ("b", 5), ("c", 5), ("d", 5), ("e", 1)]);
        find(&mut frontier, &again);
        // B moved twice.
        assert_eq!(frontier.statistics().moved_up, if is_on { 3 } else { 0 });
        assert_eq!(drain(&mut frontier, NOW), pages(&expected));
    }
}

#[test]
fn what_is_out_was_tried_or_waits_for_a_time_keeps_its_priority() {
    let mut frontier = Frontier::new(&options()).unwrap();
    find(&mut frontier, &[("a", 5), ("b", 6), ("c", 7)]);
    frontier.schedule(href("https://a.example/later", 9), NOW + Duration::from_secs(9)).unwrap();
    let Next::Fetch(a) = frontier.next(NOW).unwrap() else { panic!("it is due") };
    find(&mut frontier, &[("a", 1), ("later", 1), ("c", 2)]);
    assert_eq!(frontier.statistics().moved_up, 1);
    frontier.complete(a, Outcome::Released, NOW).unwrap();
    assert_eq!(drain(&mut frontier, NOW), pages(&[("c", 2), ("a", 5), ("b", 6)]));
    find(&mut frontier, &[("a", 1)]);
    let later = NOW + Duration::from_secs(10);
    assert_eq!(drain(&mut frontier, later), pages(&[("later", 9)]), "a is done, and stays so");
    assert_eq!(frontier.statistics().moved_up, 1);
}

/// The same URL, with the same identity, in another queue than it was found for.
#[test]
fn it_moves_in_the_queue_in_which_it_waits() {
    let mut frontier = Frontier::new(&options()).unwrap();
    let at = |queue, priority, identity| {
        let href = href("https://a.example/api", priority);
        href.queue(queue).unwrap().identity(identity).unwrap()
    };
    for (queue, priority, identity) in [("one", 5, b"1"), ("one", 4, b"2"), ("two", 3, b"1")] {
        frontier.seed(at(queue, priority, identity), NOW).unwrap();
    }
    let Next::Fetch(first) = frontier.next(NOW).unwrap() else { panic!("it is due") };
    assert_eq!((first.queue(), first.identity().map(|it| it.bytes().to_vec())), (Some("one"), Some(b"1".to_vec())));
    assert_eq!((first.priority(), frontier.statistics().moved_up), (3, 1));
}

fn open(directory: &Path, move_up: bool) -> Frontier<JobJournal> {
    let mut options = options();
    options.move_up = move_up;
    Frontier::open(directory, &options, NOW).unwrap()
}

/// The journal has the moves, whether the next run moves any or not; and that run finds the places of what waits.
#[test]
fn a_restart_has_the_same_order_and_goes_on() {
    for (has_checkpoint, goes_on) in [(false, false), (false, true), (true, true)] {
        let directory = tempfile::tempdir().unwrap();
        let mut frontier = open(directory.path(), true);
        find(&mut frontier, &[("a", 5), ("b", 5), ("c", 5)]);
        find(&mut frontier, &[("c", 1)]);
        frontier.flush(NOW).unwrap();
        if has_checkpoint {
            frontier.checkpoint().unwrap();
        }
        drop(frontier);
        let mut frontier = open(directory.path(), goes_on);
        assert_eq!(frontier.statistics().moved_up, 0, "in this run");
        find(&mut frontier, &[("b", 0), ("c", 3)]);
        let expected = if goes_on { [("b", 0), ("c", 1), ("a", 5)] } else { [("c", 1), ("a", 5), ("b", 5)] };
        assert_eq!(drain(&mut frontier, NOW), pages(&expected));
    }
}

/// A link that was answered lately is answered from a cache, by its text.
#[test]
fn a_known_link_moves_its_page_up_too() {
    let mut frontier = Frontier::new(&options()).unwrap();
    let (page, base) = frontier.gate().canonicalizer().page(HOST).unwrap();
    frontier.seed(page.wire(), NOW).unwrap();
    let linked = |frontier: &mut Frontier, depth, hrefs: &[&str]| {
        let (gate, mut links) = (frontier.gate().clone(), Links::new(depth, None));
        for href in hrefs {
            let _ = links.add(&gate, &mut LinkUrl::new(&base, href), false);
        }
        for admitted in gate.admit_links(links).0 {
            frontier.submit(admitted, NOW).unwrap();
        }
    };
    linked(&mut frontier, 5, &["/a", "/b", "/c"]);
    // Neither is better; the third time the cache knows it.
    linked(&mut frontier, 5, &["/b"]);
    linked(&mut frontier, 9, &["/b"]);
    linked(&mut frontier, 3, &["/c", "/b"]);
    assert_eq!(drain(&mut frontier, NOW), pages(&[("", 0), ("b", 3), ("c", 3), ("a", 5)]));
    assert_eq!(frontier.statistics().moved_up, 2);
}

#[test]
fn a_page_that_was_made_worse_moves_up_again() {
    let mut frontier = Frontier::new(&options()).unwrap();
    find(&mut frontier, &[("a", 5), ("b", 6)]);
    let name = |frontier: &Frontier, page: &str| {
        let url = frontier.gate().canonicalizer().canonicalize(&format!("{HOST}/{page}")).unwrap();
        WaitingUrl::from(url.fingerprint(frontier.gate().fingerprint_key()))
    };
    let a = name(&frontier, "a");
    let done = frontier.reprioritize([(a, 9), (name(&frontier, "none"), 1)], NOW).unwrap();
    assert_eq!((done.moved, done.unknown), (1, 1));
    find(&mut frontier, &[("a", 7), ("b", 8)]);
    assert_eq!(frontier.statistics().moved_up, 1);
    assert_eq!(drain(&mut frontier, NOW), pages(&[("b", 6), ("a", 7)]));
}

/// The gate may be asked by other threads for long before the frontier is.
#[test]
fn what_the_frontier_is_not_asked_for_is_bounded_and_counted() {
    let mut frontier = Frontier::new(&options()).unwrap();
    find(&mut frontier, &[("a", 5)]);
    let url = frontier.gate().canonicalizer().canonicalize("https://a.example/a").unwrap();
    let found = |priority| Found { via: Via::Link, priority: Some(priority), ..Found::seed(url.clone()) };
    for number in 0..70_000 {
        assert!(matches!(frontier.gate().admit(found(4 + i64::from(number < 65_536))), Admission::Refused(_)));
    }
    assert_eq!(frontier.statistics().not_looked_at, 70_000 - (1 << 16));
    assert_eq!(drain(&mut frontier, NOW), pages(&[("a", 5)]));
}
