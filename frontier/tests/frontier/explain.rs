//! "Why was this URL not fetched?": each verdict, in a world made for it.

use std::time::Duration;

use crawler_frontier::address::FingerprintKey;
use crawler_frontier::driver::Receipt;
use crawler_frontier::frontier::{Frontier, Next, Outcome, Verdict};
use crawler_frontier::gate::{Admission, Found, ScopeKind};
use crawler_frontier::job::OpenOptions;
use crawler_frontier::seen::{Layout, Sighting};

use crate::explained::{World, cut_world};

const ROBOTS: &str = "User-agent: *\nDisallow: /private/\nCrawl-delay: 5\n";

#[test]
fn the_rule_that_refuses_is_named() {
    let mut world = World::new(|options| {
        options.scope.exclude = vec!["no-such".to_owned(), r"\.zip$".to_owned()];
        options.scope.include = vec!["/a".to_owned(), "/b".to_owned()];
        options.traps.path_segments = 4;
        options.traps.segment_repeats = 2;
    });
    world.seed("https://example.org/");
    world.says("https://example.com/a", "refused: out_of_scope (scope.kind = host)");
    world.says("https://example.org/a.zip", r"refused: excluded (scope.exclude = \.zip$)");
    world.says("https://example.org/c", "refused: not_included (scope.include = /a or /b)");
    world.says("https://example.org/a/1/2/3/4", "refused: path_too_deep (traps.path_segments = 4)");
    world.says("https://example.org/a/a/a", "refused: repeated_segments (traps.segment_repeats = 2)");
    world.says("https://example.org/a", "never found, or only where links are not followed");
}

#[test]
fn who_is_found_too_deep_may_never_be_remembered() {
    let mut world = World::new(|options| options.scope.max_depth = Some(0));
    world.seed("https://example.org/");
    world.says("https://example.org/a", "refused: too_deep (scope.max_depth = 0)");
    let mut world = World::new(|options| options.scope.max_depth = Some(1));
    world.seed("https://example.org/");
    world.says(
        "https://example.org/a",
        "never found, or only where links are not followed, or deeper than max_depth = 1",
    );
}

#[test]
fn a_seed_may_lie_where_no_link_may_lead() {
    let mut world = World::new(|options| {
        options.scope.kind = ScopeKind::Page;
        options.traps.segment_repeats = 1;
    });
    world.seed("https://example.org/a/a");
    let kept = world.kept("https://example.org/a/a");
    assert_eq!((kept.scope.refusal, kept.trap.refusal), (None, None));
    assert!(matches!(kept.verdict(), Verdict::Waiting { .. }));
}

#[test]
fn to_be_explained_is_not_to_be_found() {
    let mut world = World::of("https://example.org/");
    let (found, refused) = (world.frontier.gate().found(), world.frontier.gate().refusals());
    for _ in 0..2 {
        assert_eq!(world.live("https://example.org/a").sighting, Sighting::New);
        let live = world.live("https://example.com/").to_string();
        assert!(live.contains("host         nothing of it was admitted"), "{live}");
    }
    assert_eq!((world.frontier.gate().found(), world.frontier.gate().refusals()), (found, refused));
    world.seed("https://example.org/a");
    assert_eq!(world.live("https://example.org/a").sighting, Sighting::Seen);
}

#[test]
fn who_waits_is_told_until_when_and_for_whom() {
    let mut world = World::of("https://example.org/");
    assert_eq!(world.verdict("https://example.org/"), "waiting: its host may be asked, for robots.txt first, now");
    let web = [("https://example.org/robots.txt", Some(ROBOTS)), ("https://example.org/", Some("/a /b?y=1&x=2 /c"))];
    world.answer(&web, 2);
    let kept = world.kept("https://example.org/b?x=2&y=1");
    // Five seconds for robots.txt, five for the page.
    let due = "1970-01-01T00:00:11.000Z";
    assert_eq!(
        kept.verdict().to_string(),
        format!("waiting: 1 more of its host go first; its host may be asked at {due}")
    );
    let host = format!(
        "\n  host         https://example.org: due {due}, delay 5s, 3 queued, 0 failures in a row, shares the clock of its IP address\n"
    );
    assert!(kept.to_string().contains(&host), "{kept}");
    let admitted = "a link, depth 1, found on https://example.org/; queued behind 1, tried 0 times\n";
    assert!(kept.to_string().contains(admitted), "{kept}");
    let live = world.live("https://example.org/b").to_string();
    assert!(live.contains(&host), "{live}");
}

#[test]
fn who_is_scheduled_is_told_until_when() {
    let mut world = World::of("https://example.org/");
    world.answer(&[("https://example.org/robots.txt", Some(ROBOTS)), ("https://example.org/", Some(""))], 2);
    let at = world.now + Duration::from_millis(99_500);
    for url in ["https://example.org/", "https://example.org/private/a"] {
        assert_eq!(world.frontier.schedule(url, at).unwrap(), None);
        assert_eq!(world.verdict(url), "scheduled: not before 1970-01-01T00:01:45.500Z");
    }
    world.checkpoint();
    // The latest admission is told.
    let kept = world.kept("https://example.org/");
    assert!(matches!(kept.verdict(), Verdict::Scheduled { at: told } if told == at));
    assert!(kept.to_string().contains("; scheduled, not before 1970-01-01T00:01:45.500Z"), "{kept}");
    assert!(kept.to_string().contains(", 0 queued, "), "{kept}");
    // Its time has come, and nobody has asked for it yet: once somebody has, it is queued.
    world.now = at + Duration::from_secs(1);
    assert!(matches!(world.kept("https://example.org/").verdict(), Verdict::Scheduled { .. }));
    world.answer(&[], 1);
    assert_eq!(world.verdict("https://example.org/"), "fetched, or given up: tried once, and its record was not kept");
}

#[test]
fn who_failed_waits_with_its_tries() {
    let mut world = World::of("https://example.org/");
    world.answer(&[("https://example.org/robots.txt", Some("")), ("https://example.org/", None)], 2);
    let verdict = world.verdict("https://example.org/");
    assert!(verdict.starts_with("waiting: its host may be asked at "), "{verdict}");
    assert!(verdict.ends_with("; it failed: connect"), "{verdict}");
    let kept = world.kept("https://example.org/").to_string();
    assert!(kept.contains(", 1 failures in a row") && !kept.contains("unreachable"), "{kept}");
}

#[test]
fn robots_refuse_by_their_line_before_and_after_the_turn() {
    let mut world = World::of("https://example.org/");
    let web = [("https://example.org/robots.txt", Some(ROBOTS)), ("https://example.org/", Some("/private/a /b"))];
    world.answer(&web, 2);
    let disallowed = "not fetched: robots.txt disallows it: Disallow: /private/";
    assert_eq!(world.verdict("https://example.org/private/a"), disallowed);
    world.answer(&web, 1);
    assert_eq!(world.verdict("https://example.org/private/a"), disallowed);
    let never = world.verdict("https://example.org/private/b");
    assert_eq!(never, format!("never found, or only where links are not followed; it would be {disallowed}"));
    world.checkpoint();
    let kept = world.kept("https://example.org/private/a");
    assert_eq!(kept.verdict().to_string(), disallowed, "rules that only the journal has");
    let robots = "robots.txt   disallows it: Disallow: /private/; fetched again from 1970-01-02T00:00:01.000Z\n";
    assert!(kept.to_string().contains(robots), "{kept}");
    let live = world.live("https://example.org/private/a").to_string();
    assert!(live.contains(robots), "{live}");
}

#[test]
fn robots_that_are_ignored_refuse_nothing() {
    let mut world = World::new(|options| options.politeness.robots = false);
    world.seed("https://example.org/private/");
    let kept = world.kept("https://example.org/private/").to_string();
    assert!(kept.contains("robots.txt   ignored, by politeness.robots\n"), "{kept}");
    assert_eq!(world.verdict("https://example.org/private/"), "waiting: its host may be asked now");
}

#[test]
fn an_unreachable_host_is_told_with_its_failures() {
    let mut world = World::new(|options| options.politeness.patience = Duration::from_secs(9999));
    world.seed("https://example.org/");
    world.answer(&[("https://example.org/robots.txt", None)], 8);
    let unreachable =
        "not fetched: https://example.org is unreachable, failed 8 times in a row: connect; a resume asks it again";
    assert_eq!(world.verdict("https://example.org/"), unreachable);
    // Given up, and found later.
    let Next::GiveUp(lease) = world.frontier.next(world.now).unwrap() else { panic!("its host is retired") };
    world.frontier.complete(lease, Outcome::GivenUp, world.now).unwrap();
    assert_eq!(world.verdict("https://example.org/"), unreachable);
    assert_eq!(world.frontier.seed("https://example.org/late", world.now).unwrap(), None);
    world.checkpoint();
    assert_eq!(world.verdict("https://example.org/late"), unreachable);
    // Asked again, both wait.
    assert_eq!(world.frontier.ask_again(world.now).unwrap(), 1);
    let waiting = world.verdict("https://example.org/");
    assert!(
        waiting.starts_with("waiting: 1 more of its host go first; its host may be asked, for robots.txt first, at "),
        "{waiting}"
    );
}

#[test]
fn who_is_done_has_a_record_or_not() {
    let mut world = World::of("https://example.org/");
    world.answer(&[("https://example.org/robots.txt", Some("")), ("https://example.org/", Some(""))], 2);
    let done = "fetched, or given up: tried once, and its record was not kept";
    assert_eq!(world.verdict("https://example.org/"), done);
    world.checkpoint();
    assert_eq!(world.verdict("https://example.org/"), done);
}

#[test]
fn who_is_seen_without_an_admission_may_be_lost_to_the_filter() {
    let mut world = World::of("https://example.org/");
    let found = Found::seed(world.url("https://example.org/a"));
    // Remembered, and never submitted: to the journal, as good as taken for seen by mistake.
    assert!(matches!(world.frontier.gate().admit(found), Admission::Admitted(_)));
    world.checkpoint();
    for of in [world.live("https://example.org/a"), world.kept("https://example.org/a")] {
        let verdict = of.verdict().to_string();
        assert!(verdict.starts_with("seen already, or taken for seen by the filter (chance "), "{verdict}");
        assert!(of.false_positive_rate.is_some_and(|rate| rate < 1e-4), "{:?}", of.false_positive_rate);
        assert_eq!(of.shard, world.frontier.gate().seen().shard_of(of.fingerprint));
    }
}

#[test]
fn an_exact_seen_set_is_hardly_suspected() {
    let mut world = World::new(|options| options.seen.layout = Layout::Exact);
    world.seed("https://example.org/");
    let found = Found::seed(world.url("https://example.org/a"));
    assert!(matches!(world.frontier.gate().admit(found), Admission::Admitted(_)));
    world.checkpoint();
    let hardly = "seen already, or taken for seen by the filter (chance less than 1e-9)";
    assert_eq!(world.live("https://example.org/a").verdict().to_string(), hardly);
    let kept = world.verdict("https://example.org/a");
    assert!(kept.starts_with("seen already") && kept.contains("1e-9"), "{kept}");
}

/// Pages done long ago, in a journal whose oldest part is gone.
#[test]
fn a_journal_that_was_cut_says_so() {
    let mut world = cut_world();
    let kept = world.kept("https://example.org/");
    assert!(kept.to_string().contains("journal      not admitted in what is left of it"), "{kept}");
    let verdict = kept.verdict().to_string();
    let cut = "seen already, in a part of the journal that is gone, or taken for seen by the filter (chance ";
    assert!(verdict.starts_with(cut), "{verdict}");
}

#[test]
fn what_a_crash_took_of_the_output_is_told() {
    let mut world = World::of("https://example.org/");
    world.answer(&[("https://example.org/robots.txt", Some(""))], 1);
    world.now = world.now + Duration::from_secs(9);
    let Next::Fetch(lease) = world.frontier.next(world.now).unwrap() else { panic!("it is due") };
    let outcome = Outcome::response(&lease, 200, &[]);
    let receipts = [("pages.jsonl", Receipt::of(b"{}\n", 0))];
    world.frontier.complete_with(lease, outcome, &receipts, world.now).unwrap();
    let verdict = world.verdict("https://example.org/");
    assert!(verdict.contains("its record is missing"), "{verdict}");
    let World { directory, job, options, frontier, now } = world;
    drop(frontier);
    let open = OpenOptions::default();
    let frontier = Frontier::open_with(&directory.path().join("job"), &options, &open, |_, _| false, now).unwrap();
    let mut world = World { directory, job, options, frontier, now };
    let verdict = world.verdict("https://example.org/");
    assert!(verdict.starts_with("waiting: its host may be asked "), "{verdict}");
}

#[test]
fn the_whole_explanation_is_text() {
    let mut world = World::of("https://example.org/");
    world.answer(&[("https://example.org/robots.txt", Some(ROBOTS)), ("https://example.org/", Some("/a"))], 2);
    let text = world.kept("https://example.org/a?utm_source=x").to_string();
    let fingerprint = world.url("https://example.org/a").fingerprint(FingerprintKey::from_u64(7)).bits();
    let shard = world.live("https://example.org/a").shard;
    let journal = text.lines().find(|line| line.starts_with("  journal")).unwrap();
    let expected = [
        "waiting: its host may be asked at 1970-01-01T00:00:11.000Z".to_owned(),
        "  url          https://example.org/a?utm_source=x".to_owned(),
        "  key          https://example.org/a".to_owned(),
        format!("  fingerprint  {fingerprint:016x}"),
        "  scope        passes (scope.kind = host: a seed opened it)".to_owned(),
        "  traps        passes".to_owned(),
    ];
    assert_eq!(text.lines().take(6).collect::<Vec<_>>(), expected);
    assert!(text.contains(&format!("\n  filter       seen, says shard {shard}, which takes ")), "{text}");
    assert!(
        text.contains("\n  robots.txt   allows it: no line matches; fetched again from 1970-01-02T00:00:01.000Z\n"),
        "{text}"
    );
    assert!(
        text.contains("\n  host         https://example.org: due 1970-01-01T00:00:11.000Z, delay 5s, 1 queued, 0 failures in a row, shares the clock of its IP address\n"),
        "{text}"
    );
    assert!(journal.starts_with("  journal      admitted at "), "{text}");
    assert!(
        journal.ends_with(": a link, depth 1, found on https://example.org/; queued behind 0, tried 0 times"),
        "{text}"
    );
}
