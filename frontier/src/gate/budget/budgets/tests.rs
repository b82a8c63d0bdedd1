//! Budgets against pages that bring something new, and pages that do not.

use proptest::prelude::*;

use super::*;

const HOST: &str = "a.example";

fn budgets(change: impl FnOnce(&mut TrapLimits)) -> Budgets {
    let mut limits = TrapLimits::default();
    (limits.shape_budget, limits.section_budget, limits.host_budget) = (10, 40, 100);
    (limits.domain_budget, limits.session_budget, limits.budget_growth) = (5, 5, 2);
    change(&mut limits);
    Budgets::new(&limits, FingerprintKey::from_u64(7)).unwrap()
}

fn print(number: u64) -> Fingerprint {
    FingerprintKey::from_u64(9).fingerprint_bytes(&number.to_le_bytes())
}

/// A page is done with this content; 0 is an error.
fn done(budgets: &Budgets, host: &str, path: &str, says: u64) -> PageNovelty {
    let page = FingerprintKey::from_u64(1).fingerprint(&format!("{host}{path}"));
    let content = (says > 0).then(|| Content { page, body: print(says), words: None, text: None });
    let (yielded, _) = budgets.recognize((host, path), path, content.map_or(PageEvidence::Nothing, PageEvidence::Page));
    budgets.note(host, &yielded);
    yielded.novelty
}

#[test]
fn a_calendar_spends_its_budget_and_nothing_else_does() {
    let budgets = budgets(|_| {});
    (0..10).for_each(|page| {
        assert_eq!(done(&budgets, HOST, &format!("/docs/page-{page}"), 100 + page), PageNovelty::Fresh);
    });
    assert_eq!(done(&budgets, HOST, "/month/1", 1), PageNovelty::Fresh);
    // One fresh page lets the budget grow by two.
    for month in 2..14 {
        assert_eq!(done(&budgets, HOST, &format!("/month/{month}"), 1), PageNovelty::Same);
        assert_eq!(budgets.judge(HOST, "/month/99"), Ok(()));
    }
    done(&budgets, HOST, "/month/14", 1);
    assert_eq!(budgets.judge(HOST, "/month/99"), Err(Refusal::BarrenShape));
    let (_, rule) = budgets.rule(HOST, "/month/99").unwrap();
    assert_eq!(rule, "traps.shape_budget = 10: a.example/month/# brought nothing new 13 times, something 1 times");
    for path in ["/docs/page-99", "/month/may", "/month", "/"] {
        assert_eq!(budgets.judge(HOST, path), Ok(()), "{path}");
    }
    assert_eq!(budgets.judge("b.example", "/month/99"), Ok(()));
}

#[test]
fn a_million_products_are_no_trap() {
    let budgets = budgets(|_| {});
    // Every second one is gone.
    (0..20_000).for_each(|number| _ = done(&budgets, HOST, &format!("/item?id={number}"), number / 2 * (number % 2)));
    assert_eq!(budgets.judge(HOST, "/item?id=1000000"), Ok(()));
}

#[test]
fn sections_and_hosts_have_budgets_of_their_own() {
    let budgets = budgets(|_| {});
    let words = |number: u64| [number / 26, number % 26].map(|digit| char::from(b'a' + u8::try_from(digit).unwrap()));
    (0..40).map(words).for_each(|[a, b]| _ = done(&budgets, HOST, &format!("/maze/{a}{b}/"), 0));
    assert_eq!(budgets.judge(HOST, "/maze/room"), Ok(()));
    done(&budgets, HOST, "/maze/last", 0);
    assert_eq!(budgets.judge(HOST, "/maze/room"), Err(Refusal::BarrenSection));
    assert_eq!(budgets.judge(HOST, "/other/room"), Ok(()));
    (0..60).map(words).for_each(|[a, b]| _ = done(&budgets, HOST, &format!("/{a}/{b}"), 0));
    assert_eq!(budgets.judge(HOST, "/other/room"), Err(Refusal::BarrenHost));
    let without = super::tests::budgets(|limits| limits.host_budget = 0);
    (0..200).map(words).for_each(|[a, b]| _ = done(&without, HOST, &format!("/{a}/{b}"), 0));
    assert_eq!(without.judge(HOST, "/other/room"), Ok(()));
}

#[test]
fn a_domain_whose_hosts_say_the_same_gets_no_further_ones() {
    let budgets = budgets(|_| {});
    for number in 0..20 {
        done(&budgets, &format!("h{number}.wild.example"), "/", 1);
        // A public suffix is no domain. Private suffixes count as public here: their blogs do not count for one another.
        done(&budgets, &format!("h{number}.blogspot.com"), "/", 1);
        done(&budgets, &format!("h{number}.co.uk"), "/", 1);
    }
    assert_eq!(budgets.judge("new.wild.example", "/"), Err(Refusal::BarrenDomain));
    assert_eq!(budgets.judge("h3.wild.example", "/further"), Ok(()), "it is known");
    for host in ["new.blogspot.com", "new.co.uk", "new.example"] {
        assert_eq!(budgets.judge(host, "/"), Ok(()), "{host}");
    }
}

#[test]
fn filters_that_combine_are_asked_where_they_lead() {
    let [one, again] = [0, 1].map(|_| budgets(|limits| limits.parameter_sets = 4));
    let go = |path: &str, says: u64, leads: bool| {
        let (page, body) = (FingerprintKey::from_u64(1).fingerprint(path), print(says));
        let (mut yielded, _) =
            one.recognize((HOST, path), path, PageEvidence::Page(Content { page, body, words: None, text: None }));
        if leads {
            yielded.set_leads();
        }
        one.note(HOST, &yielded);
        again.remember(HOST, &yielded);
        again.note(HOST, &yielded);
    };
    let set = |bits: u64| -> String {
        let names = (0..8).filter(|bit| bits & 1 << bit != 0);
        let names: Vec<_> = names.map(|bit| char::from(b'a' + bit).to_string()).collect();
        format!("/list?{}", names.join("=1&"))
    };
    let sets: Vec<String> = (1..256_u64).filter(|bits| bits.count_ones() > 2).map(set).collect();
    // Threads of a forum have few sets, and bring nothing but their own text.
    (0..500).for_each(|thread| go(&format!("/view?f={}&t={thread}&start=0", thread % 7), 10_000 + thread, false));
    // The first four sets are not judged. Of the others, one in three leads on: more than enough.
    (0..60).for_each(|nth| go(&sets[nth], 1 + nth as u64, nth.is_multiple_of(3)));
    assert_eq!(one.judge(HOST, &sets[100]), Ok(()));
    for nth in 60..160 {
        assert_eq!(one.judge(HOST, &sets[0]), Ok(()), "{nth}");
        go(&sets[nth], 1 + nth as u64, false);
        if one.is_any_spent() {
            break;
        }
    }
    for budgets in [&one, &again] {
        assert_eq!(
            budgets.judge(HOST, &sets[0]),
            Err(Refusal::BarrenCombination),
            "the first ones are of the same list"
        );
        assert_eq!(budgets.judge(HOST, &sets[200]), Err(Refusal::BarrenCombination));
        assert_eq!(budgets.judge(HOST, "/list?a=1&a=2"), Err(Refusal::BarrenCombination), "a name again");
        for path in ["/list?a=1&b=1", "/list", "/view?f=1&t=501&start=0", "/other?a&b&c"] {
            assert_eq!(budgets.judge(HOST, path), Ok(()), "{path}");
        }
        assert_eq!(budgets.judge("b.example", &sets[0]), Ok(()));
        let (_, rule) = budgets.rule(HOST, &sets[0]).unwrap();
        assert!(rule.starts_with("traps.parameter_sets = 4: a.example/list?... brought nothing new"), "{rule}");
    }
    // When it leads on again, its budget grows again.
    (0..40).for_each(|nth| go(&sets[200], 900 + nth, true));
    assert_eq!(one.judge(HOST, &sets[0]), Ok(()));
    // With a repeated name no sets are needed.
    (0..12).for_each(|nth| go(&format!("/menu?f={nth}&f=x"), 2000 + nth, false));
    assert_eq!(one.judge(HOST, "/menu?f=x&f=y"), Err(Refusal::BarrenCombination));
    let without = budgets(|limits| limits.parameter_sets = 0);
    assert_eq!(without.recognize((HOST, &sets[0]), &sets[0], PageEvidence::NewRedirect).0.combined, None);
}

#[test]
fn ids_are_sessions_where_pages_are_the_same_without_them() {
    let budgets = budgets(|_| {});
    let in_session = |id: u64, page: u64| format!("/s/7a{:010x}/page-{page}", id * 0x9e37_79b9);
    (0..9).for_each(|page| _ = done(&budgets, HOST, &in_session(page, page), 10 + page));
    assert_eq!(budgets.judge(HOST, &in_session(99, 3)), Ok(()));
    (0..6)
        .for_each(|page| assert_eq!(done(&budgets, HOST, &in_session(50 + page, page), 10 + page), PageNovelty::Same));
    assert_eq!(budgets.judge(HOST, &in_session(99, 3)), Err(Refusal::KnownSession));
    assert_eq!(budgets.judge(HOST, &in_session(99, 77)), Ok(()), "a page that is not known");
    // If pages differ by id, each brings something of its own.
    (0..50).for_each(|id| _ = done(&budgets, "b.example", &in_session(id, 1), 1000 + id));
    assert_eq!(budgets.judge("b.example", &in_session(99, 1)), Ok(()));
}

/// A page whose URL has an id is done: under a title of its own it says `text`, and its links have a new id or not.
fn done_under_title(budgets: &Budgets, path: &str, text: u64, renews_id: bool) -> PageNovelty {
    let page = FingerprintKey::from_u64(1).fingerprint(path);
    let content = Content { page, body: page, words: Some(page), text: Some(print(text)) };
    let (mut yielded, _) = budgets.recognize((HOST, path), path, PageEvidence::Page(content));
    if renews_id && yielded.may_renew_id() {
        yielded.set_renews_id();
    }
    budgets.note(HOST, &yielded);
    yielded.novelty
}

#[test]
fn sessions_are_told_under_titles() {
    let in_session = |id: u64, page: u64| format!("/s/7a{:010x}/page-{page}", (id + 1) * 0x9e37_79b9);
    let repeats = |text: fn(u64) -> u64, renews_id: bool| {
        let budgets = budgets(|_| {});
        for id in 0..4 {
            for page in 0..40 {
                let path = in_session(40 * id + page, page);
                assert_eq!(done_under_title(&budgets, &path, text(page), renews_id), PageNovelty::Fresh);
            }
        }
        budgets.judge(HOST, &in_session(999, 3))
    };
    assert_eq!(repeats(|page| page, true), Err(Refusal::KnownSession));
    assert_eq!(repeats(|page| page, false), Ok(()), "links that stay under their id, or have many");
    assert_eq!(repeats(|_| 0, true), Ok(()), "one text on all pages");
}

#[test]
fn a_page_is_no_duplicate_of_itself() {
    let one = budgets(|_| {});
    let content =
        |page, body, words| Content { page: print(page), body: print(body), words: Some(print(words)), text: None };
    let url = |page: Fingerprint| Some(page.bits().to_string());
    let recognize = |of: &Budgets, content: Content| {
        of.recognize((HOST, "/"), &content.page.bits().to_string(), PageEvidence::Page(content))
    };
    let (first, of_first) = recognize(&one, content(1, 10, 20));
    let (near, of_near) = recognize(&one, content(2, 11, 20));
    let (same, of_same) = recognize(&one, content(3, 10, 20));
    assert_eq!([of_first, of_near, of_same].map(|of| of.map(String::from)), [None, url(print(1)), url(print(1))]);
    let recognize = |of: &Budgets, content: Content| recognize(of, content).0;
    assert_eq!(
        [first, near, same].map(|yielded| yielded.novelty),
        [PageNovelty::Fresh, PageNovelty::Near, PageNovelty::Same]
    );
    // Their records are replayed, and each page is fetched again.
    let again = budgets(|_| {});
    for yielded in [first, near, same] {
        again.remember(HOST, &yielded);
    }
    for budgets in [&one, &again] {
        assert_eq!(recognize(budgets, content(1, 10, 20)).novelty, PageNovelty::Fresh);
        assert_eq!(recognize(budgets, content(2, 11, 20)).novelty, PageNovelty::Near);
        assert_eq!(recognize(budgets, content(3, 10, 20)).novelty, PageNovelty::Same);
        assert_eq!(recognize(budgets, content(1, 12, 20)).novelty, PageNovelty::Fresh, "it has changed");
    }
}

#[test]
fn a_way_to_a_new_url_is_fresh_and_opens_no_host() {
    let (one, again) = (budgets(|_| {}), budgets(|_| {}));
    let go = |host: &str, path: &str, brings| {
        let (yielded, _) = one.recognize((host, path), path, brings);
        one.note(host, &yielded);
        again.remember(host, &yielded);
        again.note(host, &yielded);
    };
    // Each name leads to another one, or to https: that is nothing new for its domain.
    for host in 0..6 {
        go(&format!("h{host}.wild.example"), "/", PageEvidence::NewRedirect);
        go(&format!("h{host}.wild.example"), "/", PageEvidence::Nothing);
    }
    // Old names of pages lead to new ones, most of which were not found before.
    for page in 0..40 {
        go(
            HOST,
            &format!("/node/{page}"),
            if page % 3 == 0 { PageEvidence::NewRedirect } else { PageEvidence::Nothing },
        );
        go(HOST, &format!("/reply?to={page}"), PageEvidence::Nothing);
    }
    for budgets in [&one, &again] {
        assert_eq!(budgets.judge("x.wild.example", "/"), Err(Refusal::BarrenDomain));
        assert_eq!(budgets.judge(HOST, "/node/77"), Ok(()));
        assert_eq!(budgets.judge(HOST, "/reply?to=77"), Err(Refusal::BarrenShape));
    }
}

#[test]
fn a_mirror_is_recognized_by_what_a_seed_said_first() {
    const SEED: &str = "seed.example";
    let budgets = budgets(|limits| (limits.mirror_budget, limits.shape_budget) = (5, 0));
    budgets.add_original("https://seed.example");
    let canonicalizer = crate::address::Canonicalizer::new(&crate::address::KeyRules::default());
    let is_known = |url: &str, found: &str| {
        let url = canonicalizer.canonicalize(url).unwrap();
        budgets.is_known_mirror(&url, |key| key == found)
    };
    let is_mirror = |host: &str| is_known(&format!("http://{host}/x?a=1"), "https://seed.example/x?a=1");
    // For half the pages the copy came first: these count neither for it nor against it.
    for page in 0..11 {
        assert!(!is_mirror("copy.example"), "{page}");
        let path = format!("/page-{page}");
        let hosts = if page % 2 == 0 { [SEED, "copy.example"] } else { ["copy.example", SEED] };
        assert_eq!(hosts.map(|host| done(&budgets, host, &path, 1 + page)), [PageNovelty::Fresh, PageNovelty::Same]);
    }
    assert!(is_mirror("copy.example"));
    assert!(!is_known("http://copy.example/x", "https://seed.example/y"), "it was not found there");
    assert!(!is_mirror(SEED) && !is_mirror("b.example"));
    let expected = "traps.mirror_budget = 5: copy.example said what a seed's host says at the same path 6 times, something else 0 times";
    assert_eq!(budgets.mirror_rule("copy.example").as_deref(), Some(expected));
    // Pages that differ count against its being a mirror, and an error does not count.
    (0..6).for_each(|page| _ = done(&budgets, "copy.example", &format!("/page-{page}"), 0));
    assert!(is_mirror("copy.example"));
    assert_eq!(
        done(&budgets, "copy.example", "/page-1", 2),
        PageNovelty::Fresh,
        "it is asked for again, and was the first"
    );
    assert!(is_mirror("copy.example"));
    assert_eq!(done(&budgets, SEED, "/page-500", 500), PageNovelty::Fresh);
    assert_eq!(done(&budgets, "copy.example", "/page-500", 99), PageNovelty::Fresh);
    assert!(!is_mirror("copy.example"));
    // If the copy's pages come first, the seed's pages are duplicates, but its host is not blamed.
    for page in 1000..1300 {
        let hosts = ["copy.example", SEED].map(|host| done(&budgets, host, &format!("/page-{page}"), page));
        assert_eq!(hosts, [PageNovelty::Fresh, PageNovelty::Same]);
    }
    assert_eq!(budgets.judge(SEED, "/page-0"), Ok(()));
    // With this many seeds, mirrors are not looked for.
    (0..70).for_each(|number| budgets.add_original(&format!("https://s{number}.example")));
    (0..50).for_each(|page| _ = done(&budgets, "copy.example", "/page-0", 1 + page % 3));
    assert!(!is_mirror("copy.example"));
}

/// A page is done with this content, here and where its record is replayed. Returns the first page with the content.
fn done_at(url: &str, says: u64, [live, read]: [&Budgets; 2], relays: bool) -> Option<String> {
    let (host, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).unwrap();
    let content =
        Content { page: FingerprintKey::from_u64(1).fingerprint(url), body: print(says), words: None, text: None };
    let (mut yielded, first) = live.recognize((host, &format!("/{path}")), url, PageEvidence::Page(content));
    yielded.relays = relays && yielded.may_relay();
    live.note(host, &yielded);
    read.remember(host, &yielded);
    read.note(host, &yielded);
    first.map(String::from)
}

#[test]
fn a_set_at_a_few_places_is_no_trap_and_one_at_many_is() {
    const PAGES: u64 = 30;
    let version = |number: u64, budgets: [&Budgets; 2]| {
        let url = |page: u64| format!("http://{HOST}/docs/v{number}/part/page-{page}");
        (0..PAGES).map(|page| done_at(&url(page), 1 + page, budgets, false)).collect::<Vec<_>>()
    };
    let [few, few_read, many, many_read] = [3, 3, 8, 8]
        .map(|copies| budgets(|limits| (limits.host_budget, limits.section_budget, limits.copies) = (0, 0, copies)));
    for number in 1..=7 {
        version(number, [&few, &few_read]);
        let firsts = version(number, [&many, &many_read]);
        let expected = (number > 1).then(|| format!("http://{HOST}/docs/v1/part/page-0"));
        assert_eq!(firsts[0], expected);
    }
    for budgets in [&few, &few_read] {
        assert_eq!(budgets.judge(HOST, "/docs/v8/part/page-1"), Err(Refusal::BarrenShape));
    }
    // After a resume the first page is not known. The next one with the same text stands in for it, and is not called the first.
    let [none, again] = [2, 3].map(|number| version(number, [&many_read, &many]));
    assert!(none.iter().chain(&again).all(Option::is_none));
    (4..=9).for_each(|number| _ = version(number, [&many_read, &many]));
    for budgets in [&many, &many_read] {
        assert_eq!(budgets.judge(HOST, "/docs/v9/part/page-1"), Ok(()));
    }
    (10..=20).for_each(|number| _ = version(number, [&many_read, &many]));
    assert_eq!(many_read.judge(HOST, "/docs/v9/part/page-1"), Err(Refusal::BarrenShape));
}

#[test]
fn seeds_may_say_what_other_seeds_say_and_others_may_not() {
    let budgets = budgets(|limits| (limits.host_budget, limits.section_budget) = (0, 0));
    let host = |number: u64| format!("h{number}.docs.example");
    (0..70).for_each(|number| budgets.add_original(&format!("https://{}", host(number))));
    for number in 0..75 {
        for page in 0..60 {
            done_at(&format!("http://{}/page-{page}", host(number)), 1 + page, [&budgets; 2], false);
        }
    }
    (0..70).for_each(|number| assert_eq!(budgets.judge(&host(number), "/page-70"), Ok(()), "{number}"));
    (70..75).for_each(|number| {
        assert_eq!(budgets.judge(&host(number), "/page-70"), Err(Refusal::BarrenShape), "{number}");
    });
    (75..80).for_each(|number| _ = done_at(&format!("http://{}/", host(number)), 1, [&budgets; 2], false));
    assert_eq!(budgets.judge(&host(99), "/"), Err(Refusal::BarrenDomain));
    budgets.add_original("https://h99.docs.example");
    assert_eq!(budgets.judge(&host(99), "/"), Ok(()), "a seed's host needs no budget of its domain");
}

#[test]
fn hosts_that_lead_to_hosts_of_their_domain_alone_are_barren_for_it() {
    let [live, read] = [0, 1].map(|_| budgets(|_| {}));
    for number in 0..40 {
        let url = |domain: &str| format!("http://h{number}.{domain}.example/");
        done_at(&url("ring"), 1000 + number, [&live, &read], number % 4 > 0);
        done_at(&url("farm"), 2000 + number, [&live, &read], true);
    }
    for budgets in [&live, &read] {
        assert_eq!(budgets.judge("new.farm.example", "/"), Err(Refusal::BarrenDomain));
        assert_eq!(budgets.judge("h3.farm.example", "/further"), Ok(()), "it is known");
        assert_eq!(budgets.judge("new.ring.example", "/"), Err(Refusal::BarrenDomain));
    }
    for number in 0..20 {
        done_at(&format!("http://r{number}.ring.example/"), 3000 + number, [&live, &read], false);
    }
    assert_eq!(live.judge("new.ring.example", "/"), Ok(()), "one page in three brings something");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    /// Only hosts in doubt are judged. The rules that `explain` shows are looked up for every host.
    #[test]
    fn whoever_is_not_in_doubt_has_spent_nothing(pages in proptest::collection::vec((0_usize..8, 0_usize..6, 0_u64..4), 1..300)) {
        const HOSTS: [&str; 8] =
            [HOST, "b.example", "1.wild.test", "2.wild.test", "3.wild.test", "4.wild.test", "5.wild.test", "6.wild.test"];
        const PATHS: [&str; 6] =
            ["/", "/month/7", "/maze/room/7", "/s/3f9a17c2/page", "/list?a=1&b=1&c=1", "/list?a=1&a=2"];
        let budgets = budgets(|limits| {
            (limits.shape_budget, limits.section_budget, limits.host_budget) = (3, 6, 12);
            (limits.domain_budget, limits.mirror_budget, limits.session_budget) = (2, 2, 2);
        });
        budgets.add_original("https://a.example");
        for (number, (host, path, says)) in pages.into_iter().enumerate() {
            done(&budgets, HOSTS[host], &PATHS[path].replace('7', &number.to_string()), says);
        }
        let evidence = budgets.evidence.get().unwrap();
        for host in HOSTS.into_iter().chain(["new.wild.test", "new.test"]) {
            for path in PATHS {
                let spent = budgets.rule(host, path).map(|(refusal, _)| refusal);
                prop_assert_eq!(budgets.judge(host, path).err(), spent, "{} {}", host, path);
            }
            let mirrored = evidence.of(budgets.key_of(Kind::Mirror, host, ""));
            prop_assert_eq!(budgets.mirror(host).is_some(), mirrored.is_beyond(2, 2), "{}", host);
        }
    }
}
