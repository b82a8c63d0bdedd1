//! What sites prefer their pages to be used for: the cases of the drafts and of real files, the files with and without such lines, and
//! what a frontier with a purpose does with them.
//!
//! Sections are of draft-ietf-aipref-attach (A), draft-ietf-aipref-vocab (V), RFC 9651 (S) and RFC 9309 (R), as of August 2026; C is
//! contentsignals.org.

use std::fmt::Write;

use crawler_frontier::frontier::{
    Frontier, FrontierOptions, LeaseKind, Next, Outcome, Preferences, Purpose, Robots, Timestamp,
};
use proptest::prelude::*;

use crate::explained::World;

/// What a header says.
#[test]
fn a_statement_is_a_dictionary() {
    let cases = [
        ("V 6", "train-ai=y, search=n", "search=n, train-ai=y"),
        ("V 6.1", "train-ai=n", "train-ai=n"),
        ("V 6.1: labels are case sensitive", "Train-AI=n", ""),
        ("V 6.4.1: an upper-case key spoils all of it", "train-ai=n, Search=n", ""),
        ("V 6.2: preferences too", "train-ai=N", ""),
        ("V 6.2", "train-ai=no, search=yes", ""),
        ("V 6.4", "", ""),
        ("V 6.4", "   ", ""),
        ("V 6.4: no token", "train-ai", ""),
        ("V 6.4: a boolean", "train-ai=?0", ""),
        ("V 6.4: a string", "train-ai=\"n\"", ""),
        ("V 6.4: a list", "train-ai=(n)", ""),
        ("V 6.4: a number", "train-ai=0, search=n", "search=n"),
        ("V 6.4.1: the last value counts", "train-ai=y, train-ai=n", "train-ai=n"),
        ("V 6.4.1", "train-ai=n, train-ai=y", "train-ai=y"),
        ("V 6.4.1: the draft's example", "train-ai=y, train-ai, search=n, search=\"n\"", ""),
        ("V 6.4.2: the draft's example", "train-ai;allow=n, train-ai=y", "train-ai=y"),
        ("V 6.4.2: the draft's example has an empty parameter", "train-ai;has;parameters=\"?\";", ""),
        ("V 6.4.2", "train-ai=n;exceptions=\"a, b\";x, search=y", "search=y, train-ai=n"),
        ("V 6.3: unknown labels are ignored", "bots=n, train-ai=n, tdm=y", "train-ai=n"),
        ("V 5: ai-input is no label of it", "ai-input=n, ai-train=n", ""),
        (
            "V 6.3: of every type",
            "a=1, b=-1.5, c=\"x\\\"\", d=:aGk=:, e=@1659578233, f=%\"f%c3%bc\", train-ai=n",
            "train-ai=n",
        ),
        ("S 4.2.2: tabs around commas", "train-ai=n\t,\t search=y  ", "search=y, train-ai=n"),
        ("S 4.2.2: no comma at the end", "train-ai=n,", ""),
        ("S 4.2.2: none at the start", ", train-ai=n", ""),
        ("S 4.2.2: no semicolons between members", "train-ai=n; search=n", "train-ai=n"),
        ("S 4.2.2: no blanks alone", "train-ai=n search=n", ""),
        ("S 4.2: blanks around the whole", "  train-ai=n", "train-ai=n"),
        ("S 4.2.2: none around =", "train-ai = n", ""),
        ("S 4.2.3.3: keys begin with a letter", "1=n, train-ai=n", ""),
        ("S 4.2.4: 15 digits", "a=123456789012345, train-ai=n", "train-ai=n"),
        ("S 4.2.4: not 16", "a=1234567890123456, train-ai=n", ""),
        ("S 4.2.5: a string ends", "a=\"x, train-ai=n", ""),
        ("S 4.2.6: tokens hold more", "train-ai=n/a", ""),
        ("S 4.2.1.2: lists", "a=(1 \"b\";c d);e=f, train-ai=n", "train-ai=n"),
        ("S 4.2.1.2: that end", "a=(1, train-ai=n", ""),
        ("S 4.2: ASCII alone", "train-ai=n, ü=n", ""),
    ];
    for (section, value, expected) in cases {
        assert_eq!(Preferences::of_usage(value.as_bytes()).to_string(), expected, "{section}: {value:?}");
    }
}

/// What a file says of a path to the agent `crawler`.
#[test]
fn a_file_says_it_by_group_and_path() {
    const DRAFT: &str = "User-Agent: *\nAllow: /\nDisallow: /never/\nContent-Usage: train-ai=n\n\
        Content-Usage: /ai-ok/ train-ai=y\n\nUser-Agent: ExampleBot\nAllow: /\nContent-Usage: train-ai=y\n";
    const MANAGED: &str =
        "User-agent: *\nContent-Signal: search=yes,ai-train=no\nAllow: /\n\nUser-agent: Amazonbot\nDisallow: /\n";
    let cases = [
        ("A 3.5", DRAFT, "/test", "train-ai=n"),
        ("A 3.5: what cannot be crawled has none", DRAFT, "/never/test", ""),
        ("A 3.5", DRAFT, "/ai-ok/test", "train-ai=y"),
        ("A 3.1: the path is a prefix", DRAFT, "/ai-ok", "train-ai=n"),
        ("A 1.2", "User-Agent: *\nAllow: /\nContent-Usage: train-ai=n\n", "/", "train-ai=n"),
        ("A 3: other groups are for others", "User-agent: other\nContent-Usage: train-ai=n\n", "/", ""),
        (
            "R 2.2.1: our own group alone",
            "User-agent: crawler\nAllow: /\nUser-agent: *\nContent-Usage: train-ai=n\n",
            "/",
            "",
        ),
        ("R 2.2.1", "User-agent: *\nAllow: /\nUser-agent: Crawler\nContent-Usage: train-ai=n\n", "/", "train-ai=n"),
        (
            "R 2.2.1: groups of one agent are one",
            "User-agent: *\nContent-Usage: train-ai=n\nUser-agent: x\nAllow: /\nUser-agent: *\nContent-Usage: search=y\n",
            "/",
            "search=y, train-ai=n",
        ),
        (
            "A 3: such a line is a rule and ends the agents",
            "User-agent: *\nContent-Usage: train-ai=y\nUser-agent: x\nContent-Usage: train-ai=n\n",
            "/",
            "train-ai=y",
        ),
        (
            "A 3.1: order says nothing",
            "User-agent: *\nContent-Usage: /a/ train-ai=y\nDisallow: /b\nContent-Usage: train-ai=n\n",
            "/a/b",
            "train-ai=y",
        ),
        (
            "A 3.1: the longest alone counts",
            "User-agent: *\nContent-Usage: search=n\nContent-Usage: /a train-ai=n\n",
            "/a",
            "train-ai=n",
        ),
        (
            "A 3.1: equal paths apply separately",
            "User-agent: *\nContent-Usage: /a train-ai=y\nContent-Usage: /a train-ai=n\n",
            "/a",
            "train-ai=n",
        ),
        (
            "V 5.1: each purpose by itself",
            "User-agent: *\nContent-Usage: /a train-ai=n\nContent-Usage: /a search=y, train-ai=y\n",
            "/a",
            "search=y, train-ai=n",
        ),
        (
            "A 3.1: equal paths, none",
            "User-agent: *\nContent-Usage: train-ai=y\nContent-Usage: train-ai=n, search=y\n",
            "/a",
            "search=y, train-ai=n",
        ),
        (
            "A 3.1: a longer path that says nothing of it",
            "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /a search=y\n",
            "/a",
            "search=y",
        ),
        ("A 3.2: a path alone", "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /a\n", "/a", ""),
        (
            "A 3.2: a line that cannot be parsed",
            "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /a Train-AI=y\n",
            "/a",
            "",
        ),
        ("A 3.2: blanks", "User-agent: *\n  content-usage \t:\t /a \t train-ai=n  \n", "/ab", "train-ai=n"),
        ("A 3.2: CR", "User-agent: *\rContent-Usage: train-ai=n\r", "/", "train-ai=n"),
        ("A 3.2: a comment", "User-agent: *\nContent-Usage: train-ai=n # not for you\n", "/", "train-ai=n"),
        ("A 3.2: a path begins with a slash", "User-agent: *\nContent-Usage: a/ train-ai=n\n", "/a/", ""),
        ("A 3.1: percent-encoding", "User-agent: *\nContent-Usage: /a%20b train-ai=n\n", "/a b/c", "train-ai=n"),
        (
            "A 3.1: as in Allow and Disallow",
            "User-agent: *\nContent-Usage: /%7Ejoe train-ai=n\n",
            "/~joe",
            "train-ai=n",
        ),
        ("R 2.2.3: a star", "User-agent: *\nContent-Usage: /*.pdf$ train-ai=n\n", "/a.pdf", "train-ai=n"),
        ("R 2.2.3: an end", "User-agent: *\nContent-Usage: /*.pdf$ train-ai=n\n", "/a.pdf?x", ""),
        (
            "R 2.2.3: an end and no star",
            "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /$ train-ai=y\n",
            "/",
            "train-ai=y",
        ),
        ("R 2.2.2: robots.txt itself", "User-agent: *\nContent-Usage: train-ai=n\n", "/robots.txt", "train-ai=n"),
        ("A 3: before any group", "Content-Usage: train-ai=n\nUser-agent: *\nAllow: /\n", "/", ""),
        ("A 3.2: no colon", "User-agent: *\nContent-Usage train-ai=n\n", "/", "train-ai=n"),
        (
            "C",
            "User-Agent: *\nContent-Signal: ai-train=no, search=yes, ai-input=yes\nAllow: /\n",
            "/",
            "search=y, ai-input=y, train-ai=n",
        ),
        ("C: as front ends write it", MANAGED, "/", "search=y, train-ai=n"),
        (
            "C: no blanks, any case",
            "user-agent: *\ncontent-signal: Search=YES,AI-Train=No\n",
            "/",
            "search=y, train-ai=n",
        ),
        ("C: neither grants nor restricts", "User-agent: *\nContent-Signal: search=yes\n", "/", "search=y"),
        ("C: unknown values", "User-agent: *\nContent-Signal: search=maybe, ai-train=n, ai_train=no\n", "/", ""),
        ("C: a comment is none", "User-agent: *\n# Content-Signal: ai-train=no\nAllow: /\n", "/", ""),
        ("C: with a path", "User-agent: *\nContent-Signal: /blog/ ai-train=no\n", "/blog/1", "train-ai=n"),
        ("C: with a path", "User-agent: *\nContent-Signal: /blog/ ai-train=no\n", "/shop", ""),
        ("C: twice", "User-agent: *\nContent-Signal: ai-train=yes, ai-train=no\n", "/", "train-ai=n"),
        ("C: the plural is meant", "User-agent: *\nContent-Signals: ai-train=no\n", "/", "train-ai=n"),
        (
            "V 5.1: both vocabularies",
            "User-agent: *\nContent-Signal: ai-train=yes, ai-input=no\nContent-Usage: train-ai=n\n",
            "/",
            "ai-input=n, train-ai=n",
        ),
        (
            "V 5.1: each by its own longest path",
            "User-agent: *\nContent-Signal: ai-train=no\nContent-Usage: /a train-ai=y\n",
            "/a",
            "train-ai=n",
        ),
        (
            "R 2.2.4: a sitemap between",
            "User-agent: *\nSitemap: http://a/\nContent-Usage: train-ai=n\n",
            "/",
            "train-ai=n",
        ),
        ("R 2.5: an empty file", "", "/", ""),
    ];
    for (section, file, path, expected) in cases {
        let robots = Robots::parse(file.as_bytes(), "crawler");
        assert_eq!(robots.preferences(path).to_string(), expected, "{section}: {file:?} {path}");
        for purpose in Purpose::ALL {
            let line = robots.preference_line(path, purpose);
            assert_eq!(line.is_some(), robots.preferences(path).of(purpose).is_some(), "{section}: {line:?}");
        }
    }
}

#[test]
fn the_line_that_decides_is_shown() {
    let file = "User-agent: *\nContent-Usage: /a search=y, train-ai=y\nContent-usage: /a train-ai=n\x1b\ncontent-signal: AI-Train=no";
    let robots = Robots::parse(file.as_bytes(), "crawler");
    for (purpose, line) in [
        (Purpose::Search, Some("Content-Usage: /a search=y, train-ai=y")),
        (Purpose::TrainAi, Some("Content-Signal: AI-Train=no")),
        (Purpose::AiInput, None),
    ] {
        assert_eq!(robots.preference_line("/a", purpose), line);
    }
}

/// A file of the shapes that sites publish, by its number: with lines that state preferences, or the same file without them.
fn published(number: u64, stated: bool) -> String {
    const AGENTS: [&str; 8] =
        ["*", "Googlebot", "crawler", "GPTBot", "CCBot", "Bingbot", "Crawler/1.0", "ClaudeBot, crawler"];
    const PATHS: [&str; 14] = [
        "/",
        "/wp-admin/",
        "/wp-admin/admin-ajax.php",
        "/*?s=",
        "/search",
        "/cart",
        "/*.pdf$",
        "/blog/",
        "",
        "/a",
        "/a/b",
        "/$",
        "/*/feed/",
        "*/print",
    ];
    const STATEMENTS: [&str; 8] = [
        "Content-Signal: search=yes,ai-train=no",
        "Content-Signal: ai-train=no, search=yes, ai-input=yes",
        "Content-Usage: train-ai=n",
        "Content-Usage: /blog/ train-ai=y",
        "content-usage: /a search=n, train-ai=n",
        "Content-Signal: /search ai-input=no",
        "Content-Usage: broken==",
        "Content-Signal:",
    ];
    // SplitMix64.
    let mut state = number;
    let mut draw = move |most: usize| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ mixed >> 31) % most as u64).unwrap()
    };
    let mut file = String::new();
    let state_some = |file: &mut String, draw: &mut dyn FnMut(usize) -> usize| {
        // Drawn in either case, so that both files have the same rules.
        for _ in 0..draw(3) {
            let line = STATEMENTS[draw(STATEMENTS.len())];
            if stated {
                writeln!(file, "{line}").unwrap();
            }
        }
    };
    if draw(4) == 0 {
        file.push_str("# As a condition of accessing this website, you agree to the content signals:\n");
        state_some(&mut file, &mut draw);
    }
    for _ in 0..=draw(4) {
        for _ in 0..=draw(2) {
            writeln!(file, "User-agent: {}", AGENTS[draw(AGENTS.len())]).unwrap();
            if draw(5) == 0 {
                state_some(&mut file, &mut draw);
            }
        }
        for _ in 0..draw(6) {
            let rule = if draw(3) == 0 { "Allow" } else { "Disallow" };
            writeln!(file, "{rule}: {}", PATHS[draw(PATHS.len())]).unwrap();
            state_some(&mut file, &mut draw);
        }
        if draw(5) == 0 {
            writeln!(file, "Crawl-delay: {}", draw(20)).unwrap();
        }
        if draw(2) == 0 {
            file.push('\n');
        }
    }
    if draw(3) == 0 {
        file.push_str("Sitemap: https://example.org/sitemap.xml\n");
    }
    file
}

/// Asserts that two files let the same be fetched, at the same pace.
fn same_rules(with: &str, without: &str) {
    for agent in ["crawler", "GPTBot", "nobody"] {
        let [with, without] = [with, without].map(|file| Robots::parse(file.as_bytes(), agent));
        assert_eq!(with.crawl_delay(), without.crawl_delay());
        for path in [
            "/",
            "/a",
            "/a/b/c",
            "/blog/1",
            "/x.pdf",
            "/search?s=1",
            "/wp-admin/admin-ajax.php",
            "/x/feed/",
            "/z/print",
        ] {
            assert_eq!(with.ruling(path), without.ruling(path), "{agent} {path}");
        }
    }
    assert_eq!(Robots::sitemaps_of(with.as_bytes()), Robots::sitemaps_of(without.as_bytes()));
}

#[test]
fn four_thousand_files_let_the_same_be_fetched_with_and_without_such_lines() {
    let mut stating = 0;
    for number in 0..4000 {
        let (with, without) = (published(number, true), published(number, false));
        same_rules(&with, &without);
        stating += usize::from(!Robots::parse(with.as_bytes(), "crawler").preferences("/a").is_unknown());
        assert!(Robots::parse(without.as_bytes(), "crawler").preferences("/a").is_unknown());
    }
    assert!(stating > 400, "{stating} of the files state something");
}

/// A statement after each line of a file; and the paths of its rules, as URLs have them.
fn stated_after_each_line(file: &[u8]) -> (Vec<u8>, Vec<String>) {
    const STATEMENTS: [&str; 4] = [
        "Content-Usage: train-ai=n",
        "Content-Signal: search=yes, ai-train=no",
        "Content-Usage: /a search=n",
        "Content-Signal:",
    ];
    let (mut with, mut paths) = (Vec::new(), vec!["/".to_owned(), "/a".to_owned()]);
    for (number, line) in file.split(|byte| matches!(byte, b'\n' | b'\r')).enumerate() {
        with.extend_from_slice(line);
        if !line.is_empty() {
            with.extend_from_slice(format!("\n{}", STATEMENTS[number % STATEMENTS.len()]).as_bytes());
        }
        with.push(b'\n');
        let line = String::from_utf8_lossy(line);
        let rule = line.split_once(':').filter(|(name, _)| name.trim().to_ascii_lowercase().ends_with("allow"));
        let path = rule.map(|(_, path)| path.trim().replace('*', "x").replace('$', ""));
        paths.extend(path.filter(|path| path.starts_with('/')));
    }
    (with, paths)
}

/// `ROBOTS_FILES=DIR cargo test -p crawler-frontier --test frontier preferences -- --include-ignored --nocapture`: real files, such as those
/// in the sources of Python's `protego`.
#[test]
#[ignore = "reads the files of a folder, ROBOTS_FILES"]
fn real_files_let_the_same_be_fetched_with_statements() {
    let mut folders =
        vec![std::path::PathBuf::from(std::env::var_os("ROBOTS_FILES").expect("ROBOTS_FILES names a folder"))];
    let (mut files, mut stating, mut cut, mut answers) = (0, 0, 0, 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
                continue;
            }
            let mut without = std::fs::read(&entry).unwrap();
            let (mut with, mut paths) = stated_after_each_line(&without);
            while with.len() > Robots::MAX_BYTES {
                without.truncate(without.len() / 2);
                (with, paths) = stated_after_each_line(&without);
                cut += 1;
            }
            files += 1;
            let lines = without.to_ascii_lowercase();
            let says = |line: &[u8]| line.starts_with(b"content-usage") || line.starts_with(b"content-signal");
            stating += usize::from(lines.split(|byte| matches!(byte, b'\n' | b'\r')).any(says));
            for agent in ["crawler", "GPTBot", "Googlebot", "nobody"] {
                let [with, without] = [&with, &without].map(|file| Robots::parse(file, agent));
                assert_eq!(with.crawl_delay(), without.crawl_delay(), "{}", entry.display());
                for path in &paths {
                    assert_eq!(with.ruling(path), without.ruling(path), "{}: {agent} {path}", entry.display());
                }
                answers += paths.len();
            }
        }
    }
    println!("{files} files ({cut} halved, {stating} with statements of their own), {answers} answers, all the same");
    assert!(files > 0);
}

proptest! {
    #[test]
    fn any_file_lets_the_same_be_fetched_without_such_lines(
        lines in prop::collection::vec("(?i)(user-agent: ?(\\*|crawler|x)|(dis)?allow: ?/[ab*$]{0,3}|content-(usage|signal): ?(/[ab]{0,2} )?(train-ai=[yn]|ai-train=no|))", 0..12),
    ) {
        let is_stating = |line: &&String| line.to_ascii_lowercase().starts_with("content-");
        let without: Vec<_> = lines.iter().filter(|line| !is_stating(line)).cloned().collect();
        same_rules(&lines.join("\n"), &without.join("\n"));
    }

    #[test]
    fn any_bytes_are_a_statement(value in prop::collection::vec(any::<u8>(), 0..40), text in "[a-z=,;()\"?%:@*0-9. -]{0,30}") {
        for value in [&value[..], text.as_bytes()] {
            let said = Preferences::of_usage(value).and(Preferences::of_signal(value));
            // What it writes, it reads, but for the purpose that AIPREF has no word for.
            let read = Preferences::of_usage(said.to_string().as_bytes());
            for purpose in [Purpose::Search, Purpose::TrainAi] {
                prop_assert_eq!(read.of(purpose), said.of(purpose));
            }
        }
    }

    #[test]
    fn the_most_restrictive_counts_in_any_order(a in 0u8..27, b in 0u8..27) {
        let of = |code: u8| Purpose::ALL.into_iter().enumerate().fold(Preferences::default(), |said, (place, purpose)| {
            match code / 3u8.pow(u32::try_from(place).unwrap()) % 3 {
                0 => said,
                answer => said.with(purpose, answer == 1),
            }
        });
        let (both, other) = (of(a).and(of(b)), of(b).and(of(a)));
        prop_assert_eq!(both, other);
        for purpose in Purpose::ALL {
            let (a, b) = (of(a).of(purpose), of(b).of(purpose));
            let expected = if a == Some(false) || b == Some(false) { Some(false) } else { a.or(b) };
            prop_assert_eq!(both.of(purpose), expected);
        }
    }
}

/// How many URLs were refused for each reason.
type Refused = Vec<(&'static str, u64)>;

/// The pages that are lent of `/ /a /ai/b`, each with what its lease says, and the reasons for the others.
fn lent(purpose: Option<Purpose>, file: &str) -> (Vec<(String, String)>, Refused) {
    let mut options = FrontierOptions::default();
    options.politeness.purpose = purpose;
    let mut frontier = Frontier::new(&options).unwrap();
    let mut now = Timestamp::default();
    for path in ["/", "/a", "/ai/b"] {
        frontier.seed(&format!("https://example.org{path}"), now).unwrap();
    }
    let mut pages = Vec::new();
    loop {
        match frontier.next(now).unwrap() {
            Next::Fetch(lease) => {
                let body = if lease.kind() == LeaseKind::Robots { file.as_bytes() } else { b"" };
                if lease.kind() == LeaseKind::Page {
                    pages
                        .push((lease.url()["https://example.org".len()..].to_owned(), lease.preferences().to_string()));
                }
                let outcome = Outcome::response(&lease, 200, body);
                frontier.complete(lease, outcome, now).unwrap();
            }
            Next::Wait(until) => now = until,
            Next::Busy => unreachable!("all leases are back"),
            Next::Drained => break,
            Next::GiveUp(_) => unreachable!("nothing is given up"),
        }
    }
    let refused = frontier.gate().refusals();
    (pages, refused.iter().filter(|(_, urls)| *urls > 0).map(|(refusal, urls)| (refusal.name(), urls)).collect())
}

#[test]
fn a_purpose_that_is_denied_is_refused_and_nothing_else() {
    let file = "User-agent: *\nContent-Signal: search=yes\nContent-Usage: /a train-ai=n";
    let page = |path: &str, said: &str| (path.to_owned(), said.to_owned());
    let all = [page("/", "search=y"), page("/a", "search=y, train-ai=n"), page("/ai/b", "search=y, train-ai=n")];
    for purpose in [None, Some(Purpose::Search), Some(Purpose::AiInput)] {
        assert_eq!(lent(purpose, file), (all.to_vec(), vec![]), "{purpose:?}");
    }
    let (pages, refused) = lent(Some(Purpose::TrainAi), file);
    assert_eq!((pages, refused), (all[..1].to_vec(), vec![("preference", 2)]));
    let both = "User-agent: *\nContent-Usage: train-ai=n\nDisallow: /a";
    let (pages, refused) = lent(Some(Purpose::TrainAi), both);
    assert_eq!(
        (pages, refused),
        (vec![], vec![("preference", 1), ("robots", 2)]),
        "what is disallowed is refused for that"
    );
}

#[test]
fn who_asks_is_told_the_line() {
    let mut world = World::new(|options| options.politeness.purpose = Some(Purpose::TrainAi));
    world.seed("https://example.org/");
    let file = "User-agent: *\nContent-Usage: /ai/ search=y, train-ai=n\n";
    world.answer(&[("https://example.org/robots.txt", Some(file)), ("https://example.org/", Some(""))], 2);
    let said = "never found, or only where links are not followed; it would be refused: preference: \
        the site denies it for train-ai: Content-Usage: /ai/ search=y, train-ai=n";
    world.says("https://example.org/ai/b", said);
    let kept = world.kept("https://example.org/ai/b").to_string();
    assert!(
        kept.contains("allows search: Content-Usage: /ai/ search=y, train-ai=n; denies train-ai: Content"),
        "{kept}"
    );
}
