//! What the gate lets in, and what it says about the rest.

use std::sync::atomic::{AtomicU32, Ordering};

use crawler_frontier::driver::{LinkUrl, Links, QueryEncoder};
use crawler_frontier::frontier::{Frontier, FrontierOptions};
use crawler_frontier::gate::{Admission, Found, Gate, OptionError, Refusal, ScopeKind, Via};
use proptest::prelude::*;
use proptest::sample::select;

fn found(gate: &Gate, url: &str, via: Via, depth: u32) -> Found {
    let mut found = Found::seed(gate.canonicalizer().canonicalize(url).unwrap());
    (found.via, found.depth) = (via, depth);
    found
}

/// `None` is admitted.
fn verdict(gate: &Gate, found: Found) -> Option<Refusal> {
    match gate.admit(found) {
        Admission::Admitted(_) => None,
        Admission::Refused(refusal) => Some(refusal),
    }
}

fn link(gate: &Gate, url: &str) -> Option<Refusal> {
    verdict(gate, found(gate, url, Via::Link, 1))
}

fn with(change: impl FnOnce(&mut FrontierOptions)) -> FrontierOptions {
    let mut options = FrontierOptions::default();
    change(&mut options);
    options
}

fn gate(seeds: &[&str], change: impl FnOnce(&mut FrontierOptions)) -> Frontier {
    let frontier = Frontier::new(&with(change)).unwrap();
    for seed in seeds {
        verdict(frontier.gate(), found(frontier.gate(), seed, Via::Seed, 0));
    }
    frontier
}

/// The URLs that are in scope of the seeds.
fn inside<'a>(kind: ScopeKind, seeds: &[&str], urls: &[&'a str]) -> Vec<&'a str> {
    let frontier = gate(seeds, |options| options.scope.kind = kind);
    urls.iter().copied().filter(|url| link(frontier.gate(), url).is_none()).collect()
}

#[test]
fn a_host_is_a_host_by_any_scheme_and_port() {
    let urls = [
        "https://a.example/x",
        "http://a.example/y",
        "https://A.EXAMPLE:8443/z",
        "https://a.example./w",
        "https://www.a.example/",
        "https://b.example/",
    ];
    assert_eq!(inside(ScopeKind::Host, &["https://a.example/"], &urls), urls[..4]);
}

#[test]
fn a_domain_is_what_one_can_register() {
    let urls = ["https://a.co.uk/x", "http://deep.www.a.co.uk/", "https://b.co.uk/", "https://co.uk/"];
    assert_eq!(inside(ScopeKind::Domain, &["https://www.a.co.uk/"], &urls), urls[..2]);
    // Addresses and bare names have none: they stand for themselves.
    let urls = ["http://127.0.0.1/x", "http://10.0.0.1/", "http://[::1]/x", "http://[::2]/", "http://localhost/x"];
    let seeds = ["http://127.0.0.1/", "http://[::1]/", "http://localhost/"];
    assert_eq!(inside(ScopeKind::Domain, &seeds, &urls), [urls[0], urls[2], urls[4]]);
}

#[test]
fn a_prefix_is_a_directory() {
    let urls = [
        "https://a.example/docs/",
        "https://a.example/docs/b/c?d=/",
        "http://a.example/docs/x",
        "https://a.example/docs",
        "https://a.example/docsearch",
        "https://a.example/",
        "https://a.example/?/docs/",
        "https://b.example/docs/",
    ];
    assert_eq!(inside(ScopeKind::Prefix, &["https://a.example/docs/index.html"], &urls), urls[..3]);
    assert_eq!(inside(ScopeKind::Prefix, &["https://a.example/docs/?next=/x/"], &urls), urls[..3]);
}

#[test]
fn a_page_is_the_seed_alone_and_any_is_everything() {
    let urls = ["https://a.example/x", "https://b.example/"];
    assert_eq!(inside(ScopeKind::Page, &["https://a.example/"], &urls), [""; 0]);
    assert_eq!(inside(ScopeKind::Any, &[], &urls), urls);
    let frontier = gate(&["https://a.example/"], |options| options.scope.kind = ScopeKind::Page);
    let moved = found(frontier.gate(), "https://www.a.example/", Via::Redirect, 0);
    assert_eq!(verdict(frontier.gate(), moved), None, "where the seed is now");
}

#[test]
fn exclude_binds_all_and_include_binds_links() {
    let frontier = gate(&["https://a.example/"], |options| {
        options.scope.include = vec!["/blog/".into(), r"\.html$".into()];
        options.scope.exclude = vec!["[?&]page=".into()];
    });
    let gate = frontier.gate();
    assert_eq!(gate.admitted(), 1, "the seed matches no include");
    assert_eq!(link(gate, "https://a.example/blog/1"), None);
    assert_eq!(link(gate, "https://a.example/x.html"), None);
    assert_eq!(link(gate, "https://a.example/shop/"), Some(Refusal::NotIncluded));
    assert_eq!(link(gate, "https://a.example/blog/?page=2"), Some(Refusal::Excluded));
    let seed = found(gate, "https://b.example/?page=2", Via::Seed, 0);
    assert_eq!(verdict(gate, seed), Some(Refusal::Excluded));
    assert_eq!(link(gate, "https://b.example/blog/"), Some(Refusal::OutOfScope), "an excluded seed opens nothing");
}

#[test]
fn what_was_too_deep_is_admitted_when_a_shorter_way_is_found() {
    let frontier = gate(&["https://a.example/"], |options| options.scope.max_depth = Some(2));
    let gate = frontier.gate();
    let at = |depth| verdict(gate, found(gate, "https://a.example/x", Via::Link, depth));
    assert_eq!([at(3), at(2), at(2)], [Some(Refusal::TooDeep), None, Some(Refusal::Seen)]);
}

#[test]
fn what_was_out_of_scope_is_admitted_once_a_seed_widens_it() {
    let frontier = gate(&["https://a.example/"], |_| {});
    let gate = frontier.gate();
    assert_eq!(link(gate, "https://b.example/x"), Some(Refusal::OutOfScope));
    // In one batch, the seed counts for the link before it, too.
    let batch = vec![found(gate, "https://b.example/x", Via::Link, 1), found(gate, "https://b.example/", Via::Seed, 0)];
    let admissions = gate.admit_batch(batch);
    assert!(admissions.iter().all(|admission| matches!(admission, Admission::Admitted(_))), "{admissions:?}");
}

/// Else the page would be the link's, and no seed, in each run after this one.
#[test]
fn a_seed_is_no_link_to_it_that_came_before_it_in_a_batch() {
    let frontier = gate(&["https://a.example/"], |_| {});
    let gate = frontier.gate();
    let seed = |text| found(gate, text, Via::Seed, 0);
    let batch = vec![
        found(gate, "https://b.example/", Via::Link, 3),
        seed("https://c.example/"),
        found(gate, "https://b.example/x", Via::Link, 3),
        seed("https://b.example/"),
    ];
    let answers = gate.admit_batch(batch).into_iter().map(|admission| match admission {
        Admission::Admitted(admitted) => Ok((admitted.found().url.key().to_owned(), admitted.found().via)),
        Admission::Refused(refusal) => Err(refusal),
    });
    let expected = [
        Err(Refusal::Seen),
        Ok(("https://c.example/".to_owned(), Via::Seed)),
        Ok(("https://b.example/x".to_owned(), Via::Link)),
        Ok(("https://b.example/".to_owned(), Via::Seed)),
    ];
    assert_eq!(answers.collect::<Vec<_>>(), expected);
}

#[test]
fn a_batch_is_answered_in_order_and_counted_once() {
    let frontier = gate(&["https://a.example/"], |_| {});
    let gate = frontier.gate();
    let urls = [
        "https://a.example/1",
        "https://b.example/",
        "https://a.example/1#x",
        "https://a.example/a/a/a/a",
        "https://a.example/2",
    ];
    let batch = urls.iter().map(|url| found(gate, url, Via::Link, 1)).collect();
    let verdicts = gate.admit_batch(batch).into_iter().map(|admission| match admission {
        Admission::Admitted(admitted) => Ok(admitted.found().url.wire().to_owned()),
        Admission::Refused(refusal) => Err(refusal),
    });
    let expected = [
        Ok(urls[0].into()),
        Err(Refusal::OutOfScope),
        Err(Refusal::Seen),
        Err(Refusal::RepeatedSegments),
        Ok(urls[4].into()),
    ];
    assert_eq!(verdicts.collect::<Vec<_>>(), expected);
    assert_eq!((gate.found(), gate.admitted(), gate.refusals().total()), (6, 3, 3));
}

#[test]
fn traps_are_for_links_and_come_after_the_scope() {
    let frontier = gate(&["https://a.example/a/a/a/a/"], |_| {});
    let gate = frontier.gate();
    assert_eq!(gate.admitted(), 1, "the user knows why");
    assert_eq!(link(gate, "https://a.example/b/b/b/b/"), Some(Refusal::RepeatedSegments));
    assert_eq!(link(gate, &format!("https://a.example{}", "/x/y/z".repeat(7))), Some(Refusal::PathTooDeep));
    assert_eq!(link(gate, "https://b.example/b/b/b/b/"), Some(Refusal::OutOfScope));
}

#[test]
fn a_text_that_is_no_page_is_counted() {
    let frontier = gate(&["https://a.example/"], |options| options.traps.url_bytes = 100);
    let gate = frontier.gate();
    let base = gate.canonicalizer().base("https://a.example/").unwrap();
    for (href, refusal) in [
        ("mailto:a@a.example", Refusal::UnsupportedScheme),
        ("http://[", Refusal::Malformed),
        (&*"x".repeat(100), Refusal::TooLong),
        ("/item/{{id}}", Refusal::Template),
    ] {
        assert_eq!(Refusal::from(&gate.join(&base, href).unwrap_err()), refusal);
        assert_eq!(gate.refusals().of(refusal), 1);
    }
    assert_eq!(gate.found(), 5);
}

#[test]
fn each_key_is_admitted_to_one_of_many_threads() {
    let frontier = gate(&["https://a.example/"], |options| options.seen.capacity = 100_000);
    let gate = frontier.gate();
    let admissions: Vec<AtomicU32> = (0..5_000).map(|_| AtomicU32::new(0)).collect();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let admissions = &admissions;
            scope.spawn(move || {
                let numbers = (0..5_000).map(|number| (number * 7 + thread * 613) % 5_000);
                let of = |number: usize| found(gate, &format!("https://a.example/{number}"), Via::Link, 1);
                let note = |number: usize, admission| {
                    if matches!(admission, Admission::Admitted(_)) {
                        admissions[number].fetch_add(1, Ordering::Relaxed);
                    }
                };
                if thread % 2 == 0 {
                    numbers.for_each(|number| note(number, gate.admit(of(number))));
                } else {
                    let numbers: Vec<_> = numbers.collect();
                    for numbers in numbers.chunks(100) {
                        let batch = numbers.iter().map(|&number| of(number)).collect();
                        numbers.iter().zip(gate.admit_batch(batch)).for_each(|(&number, answer)| note(number, answer));
                    }
                }
            });
        }
    });
    let twice = admissions.iter().filter(|count| count.load(Ordering::Relaxed) > 1).count();
    let never = admissions.iter().filter(|count| count.load(Ordering::Relaxed) == 0).count() as u64;
    assert_eq!(twice, 0);
    // The filter may take a few new ones for seen; it says so.
    assert!(never <= 5, "{never}");
    assert_eq!((gate.admitted(), gate.found()), (5_001 - never, 40_001));
}

#[test]
fn options_are_checked_and_say_what_is_wrong() {
    let error = |change: fn(&mut FrontierOptions)| Frontier::new(&with(change)).unwrap_err();
    for (error, begins) in [
        (error(|o| o.politeness.agent = String::new()), "politeness.agent = : is empty"),
        (error(|o| o.politeness.agent = "my bot/1.0".into()), "politeness.agent = my bot/1.0: may hold letters"),
        (error(|o| o.politeness.attempts = 0), "politeness.attempts = 0: is at least 1"),
        (error(|o| o.politeness.host_failures = 0), "politeness.host_failures = 0: is at least 1"),
        (error(|o| o.politeness.robots_ttl = std::time::Duration::ZERO), "politeness.robots_ttl = 0: is more than 0"),
        (error(|o| o.traps.url_bytes = 0), "traps.url_bytes = 0: is at least 1"),
        (error(|o| o.traps.path_segments = 1001), "traps.path_segments = 1001: is at most 1000"),
        (error(|o| o.traps.segment_repeats = 0), "traps.segment_repeats = 0: is at least 1"),
        (error(|o| o.seen.false_positive_rate = 1.5), "seen.false_positive_rate = 1.5"),
    ] {
        assert!(error.to_string().starts_with(begins), "{error}");
    }
}

#[test]
fn a_bad_pattern_is_shown_with_the_place() {
    let options = with(|options| options.scope.include = vec!["fine".into(), "a(b".into()]);
    let OptionError::Option { option, value, reason } = Frontier::new(&options).unwrap_err() else { panic!() };
    assert_eq!((option, &*value), ("scope.include", "a(b"));
    assert!(reason.contains("unclosed group") && reason.contains("\n     ^"), "{reason}");
    let options = with(|options| options.scope.exclude = vec![r"\w{1000}{1000}".into()]);
    let error = Frontier::new(&options).unwrap_err().to_string();
    assert!(error.starts_with(r"scope.exclude = \w{1000}{1000}: ") && error.contains("size limit"), "{error}");
}

/// A page: its URL, its depth, its links by their texts, each to be followed or not, and whether its queries are in UTF-8.
type Page = (&'static str, u32, Vec<(&'static str, bool)>, bool);

const PAGES: &[&str] = &[
    "http://a.example/",
    "http://a.example/b/c?d",
    "http://a.example/b/e",
    "https://a.example/b/",
    "http://b.example/b/c",
];

const HREFS: &[&str] = &[
    "",
    "?d",
    "?\u{e9}",
    "c",
    "./c?e",
    "../b/c",
    "/b/c",
    "//b.example/b/c",
    "http://a.example/b/c",
    "HTTP://c.example/",
    "http:c",
    "x/1",
    "y/y/y/y/y",
    "1/2/3/4/5",
    "mailto:a@a.example",
    "http://[",
    "long/long/long/long/long/long/long/long/long/long/long/long/long",
    "b/c?utm_source=x",
    " c\t",
];

fn page() -> impl Strategy<Value = Page> {
    let href = (select(HREFS), prop::bool::weighted(0.05));
    (select(PAGES), 1_u32..4, prop::collection::vec(href, 0..12), prop::bool::weighted(0.9))
}

/// The verdicts on a page's links one by one, as nobody would know them: new URLs, and how many were refused.
fn one_by_one(gate: &Gate, (url, depth, hrefs, in_utf8): &Page) -> Vec<String> {
    let base = gate.canonicalizer().base(url).unwrap().with_query_encoder(encoder(*in_utf8));
    let mut found = Vec::new();
    for &(href, nofollow) in hrefs {
        if nofollow {
            gate.refuse(Refusal::Nofollow);
        } else if let Ok(url) = gate.join(&base, href) {
            let mut link = Found::seed(url);
            (link.via, link.depth) = (Via::Link, *depth);
            found.push(link);
        }
    }
    let admitted = gate.admit_batch(found).into_iter().filter_map(|admission| match admission {
        Admission::Admitted(admitted) => Some(admitted.found().url.wire().to_owned()),
        Admission::Refused(_) => None,
    });
    admitted.collect()
}

fn together(gate: &Gate, (url, depth, hrefs, in_utf8): &Page) -> Vec<String> {
    let base = gate.canonicalizer().base(url).unwrap().with_query_encoder(encoder(*in_utf8));
    let mut links = Links::new(*depth, None);
    for &(href, nofollow) in hrefs {
        let _ = links.add(gate, &mut LinkUrl::new(&base, href), nofollow);
    }
    let found = (gate.found(), hrefs.len() as u64);
    let (admitted, refused) = gate.admit_links(links);
    assert_eq!(gate.found(), found.0 + found.1, "each link is counted once, when the gate has answered");
    assert_eq!(admitted.len() as u64 + refused.total(), found.1);
    admitted.iter().map(|admitted| admitted.found().url.wire().to_owned()).collect()
}

fn encoder(in_utf8: bool) -> Option<QueryEncoder> {
    (!in_utf8).then(|| QueryEncoder::new(|query| query.chars().map(|letter| letter as u8).collect::<Vec<_>>().into()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A model: what is known of links changes no verdict and no count, whatever page they stand on and however the scope widens.
    #[test]
    fn what_is_known_of_links_is_what_would_be_said_of_them(
        kind in select(&[ScopeKind::Any, ScopeKind::Domain, ScopeKind::Host, ScopeKind::Page, ScopeKind::Prefix][..]),
        max_depth in prop::option::of(1_u32..4),
        pages in prop::collection::vec((page(), select(&[None, None, None, Some("http://b.example/"), Some("http://c.example/b/")][..])), 1..12),
    ) {
        let gates = [(), ()].map(|()| gate(&["http://a.example/"], |options| {
            (options.scope.kind, options.scope.max_depth) = (kind, max_depth);
            (options.scope.exclude, options.scope.include) = (vec!["/x/".into()], vec!["/".into()]);
            (options.traps.path_segments, options.traps.url_bytes) = (4, 60);
        }));
        let [one, other] = [&gates[0], &gates[1]].map(Frontier::gate);
        for (page, seed) in &pages {
            prop_assert_eq!(one_by_one(one, page), together(other, page));
            prop_assert_eq!((one.admitted(), one.refusals()), (other.admitted(), other.refusals()));
            if let Some(seed) = seed {
                for gate in [one, other] {
                    verdict(gate, found(gate, seed, Via::Seed, 0));
                }
            }
        }
    }
}
