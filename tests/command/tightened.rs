//! Rules that change between two runs reach what waits: by the real command, judged by what the server was asked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use tempfile::TempDir;

use crate::outputs;
use crate::ran::Ran;
use crate::random::Random;
use crate::site::{Page, Site};
use crate::until::until;

/// Two hosts on one server, distinguished by their paths, and a directory for the crawl's job.
struct Desk {
    site: Site,
    directory: TempDir,
}

const SEED: &str = "http://a.test/";

impl Desk {
    fn new() -> Self {
        Self::of(8)
    }

    /// With this many pages of each kind.
    fn of(count: u32) -> Self {
        let mut links = String::new();
        let mut pages: Vec<(&'static str, Page)> = Vec::new();
        let numbered = |text: &str, number: u32| -> &'static str { format!("{text}{number}").leak() };
        for number in 0..count {
            for (host, path) in [("a.test", "/library/"), ("a.test", "/other/"), ("b.test", "/b/")] {
                let path = numbered(path, number);
                links.extend(["<a href='http://", host, path, "'>x</a>"]);
                pages.push((path, Page::of(&format!("text of {path} <a href='{path}/deep'>y</a>"))));
                let deep: &'static str = format!("{path}/deep").leak();
                pages.push((deep, Page::of(&format!("the end of {path}"))));
            }
            let path: &'static str = format!("/file{number}.txt").leak();
            links.extend(["<a href='", path, "'>z</a>"]);
            pages.push((path, Page::of("a file")));
        }
        pages.push(("/", Page::of(&links)));
        let desk = Self { site: Site::serve(pages), directory: TempDir::new().unwrap() };
        fs::write(desk.directory.path().join("list.txt"), "b.test\n").unwrap();
        fs::write(desk.directory.path().join("host.toml"), "[hosts.\"b.test\"]\nmax_depth = 0\n").unwrap();
        desk
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let settings = [
            ("SCOPE_KIND", "any"),
            ("SCOPE_MAX_DEPTH", "9"),
            ("POLITENESS_HOST_DELAY", "1ms"),
            ("OUTPUT_PROGRESS", "false"),
            ("SEEN_CAPACITY", "5000"),
        ];
        self.site.command(self.directory.path(), arguments, &settings)
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    /// A crawl in the background, with this delay after each page.
    fn start(&self, delay: &str, flags: &[&str]) -> Child {
        let mut command = self.command(&[&[SEED, "--job", "job"], flags].concat());
        command.env("CRAWLER_POLITENESS_HOST_DELAY", delay);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn drop(&self, flags: &[&str]) -> Ran {
        let ran = self.run(&[&["drop", "job"], flags].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran
    }

    fn crawl(&self, flags: &[&str]) -> Ran {
        let ran = self.run(&[&[SEED, "--job", "job"], flags].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran
    }

    /// The paths that were asked for since this was called last.
    fn asked(&self) -> Vec<String> {
        self.site.asked().into_iter().map(|asked| asked.path).collect()
    }

    fn explained(&self, url: &str) -> String {
        self.run(&["explain", url, "--job", "job"]).out
    }

    /// How often each page has a record.
    fn recorded(&self) -> BTreeMap<String, u32> {
        outputs::recorded(&self.directory.path().join("job"))
    }

    /// The URLs that are listed as refused for this reason.
    fn skipped(&self, reason: &str) -> BTreeSet<String> {
        let text = fs::read_to_string(self.directory.path().join("job/skipped.jsonl")).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        lines.filter(|line| line["reason"] == reason).map(|line| line["url"].as_str().unwrap().to_owned()).collect()
    }

    fn report(&self) -> serde_json::Value {
        outputs::report(&self.directory.path().join("job"))
    }
}

/// All pages of the site, by their keys.
fn everything() -> BTreeMap<String, u32> {
    let mut all = BTreeMap::from([(SEED.to_owned(), 1)]);
    for number in 0..8 {
        for host_and_path in ["a.test/library/", "a.test/other/", "b.test/b/"] {
            for deep in ["", "/deep"] {
                all.insert(format!("http://{host_and_path}{number}{deep}"), 1);
            }
        }
        all.insert(format!("http://a.test/file{number}.txt"), 1);
    }
    all
}

/// Whether a path is a text file's.
fn is_text(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "txt")
}

/// A rule's flag, the reason of its refusals, the refused paths, and one refused URL.
type Rule = (&'static [&'static str], &'static str, fn(&str) -> bool, &'static str);

const RULES: [Rule; 5] = [
    (&["--exclude", "/library/"], "excluded", |path| path.starts_with("/library/"), "http://a.test/library/7"),
    (&["--blocklist", "list.txt"], "blocked", |path| path.starts_with("/b/"), "http://b.test/b/7"),
    (&["--reject-ext", "txt"], "rejected_extension", is_text, "http://a.test/file7.txt"),
    (&["--depth", "0"], "too_deep", |path| path != "/", "http://a.test/other/7"),
    (&["--config", "host.toml"], "too_deep", |path| path.starts_with("/b/"), "http://b.test/b/7"),
];

#[test]
fn a_rule_that_is_tightened_refuses_what_waits_and_looser_ones_bring_it_back() {
    for (flags, reason, refuses, example) in RULES {
        let desk = Desk::new();
        desk.crawl(&["--max-pages", "3"]);
        desk.asked();
        let ran = desk.crawl(&[flags, &["--skipped"]].concat());
        let asked = desk.asked();
        let against: Vec<_> = asked.iter().filter(|path| refuses(path)).collect();
        assert!(against.is_empty(), "{flags:?}: {against:?}\n{}", ran.err);
        assert!(ran.err.contains("refused by today's rules") && ran.err.contains(reason), "{flags:?}: {}", ran.err);
        let explained = desk.explained(example);
        assert!(explained.starts_with(&format!("refused: {reason} (")), "{flags:?}: {explained}");
        let (report, recorded) = (desk.report(), desk.recorded());
        let urls = &report["urls"];
        let refused: u64 = urls["refused"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(urls["found"].as_u64().unwrap(), urls["admitted"].as_u64().unwrap() + refused, "{urls}");
        assert_eq!(urls["admitted"].as_u64().unwrap(), recorded.values().map(|times| u64::from(*times)).sum::<u64>());
        let refused = urls["refused"][reason].as_u64().unwrap();
        let listed = desk.skipped(reason);
        assert!(refused >= 7 && listed.len() as u64 == refused && listed.contains(example), "{urls}: {listed:?}");

        // The rules of old bring them back, each once.
        let ran = desk.crawl(&[]);
        assert!(ran.err.contains("that were refused wait again"), "{flags:?}: {}", ran.err);
        let found_by_refused_pages = |key: &String| key.ends_with("/deep");
        let (recorded, all) = (desk.recorded(), everything());
        let missing: Vec<_> = all.keys().filter(|key| !recorded.contains_key(*key)).collect();
        assert!(missing.iter().all(|key| found_by_refused_pages(key)), "{flags:?}: {missing:?}");
        assert!(recorded.values().all(|times| *times == 1), "{flags:?}: {recorded:?}");
        assert_eq!(desk.report()["finish"], "drained");
    }
}

#[test]
fn a_host_that_is_refused_is_not_even_asked_for_its_robots_txt_and_rules_that_stay_say_nothing() {
    let desk = Desk::new();
    desk.crawl(&["--max-pages", "1"]);
    let ran = desk.crawl(&["--blocklist", "list.txt", "--max-pages", "2"]);
    assert!(ran.err.contains("8 URLs that wait are refused by today's rules: 8 blocked"), "{}", ran.err);
    let again = desk.crawl(&["--blocklist", "list.txt"]);
    assert!(!again.err.contains("today's rules"), "{}", again.err);
    // The list is another, though its name is not.
    fs::write(desk.directory.path().join("list.txt"), "c.test\n").unwrap();
    let ran = desk.crawl(&["--blocklist", "list.txt"]);
    assert!(ran.err.contains("8 URLs that were refused wait again"), "{}", ran.err);
    assert_eq!(desk.recorded(), everything());
}

#[test]
fn a_scope_of_another_kind_judges_what_waits_by_the_seeds() {
    let desk = Desk::new();
    desk.crawl(&["--max-pages", "1"]);
    desk.asked();
    let ran = desk.crawl(&["--scope", "host"]);
    assert!(ran.err.contains("8 URLs that wait are refused by today's rules: 8 out_of_scope"), "{}", ran.err);
    assert!(!desk.asked().iter().any(|path| path.starts_with("/b/")));
    let ran = desk.crawl(&["--scope", "domain", "--add", "http://b.test/"]);
    assert!(ran.err.contains("8 URLs that were refused wait again"), "{}", ran.err);
    let (mut recorded, all) = (desk.recorded(), everything());
    // The other host's front page is the same, and has its own files.
    recorded.retain(|key, _| all.contains_key(key));
    assert_eq!(recorded, all);
}

#[test]
fn what_is_dropped_of_a_stopped_job_is_not_asked_until_it_is_taken_back() {
    let desk = Desk::new();
    desk.crawl(&["--max-pages", "1"]);
    desk.asked();
    desk.drop(&["--host", "b.test", "--urls", "/library/"]);
    assert_eq!(desk.drop(&[]).out, "host b.test\nurls /library/\n");
    let ran = desk.crawl(&[]);
    assert!(ran.err.contains("16 URLs that wait are refused by today's rules: 16 dropped"), "{}", ran.err);
    let asked = desk.asked();
    assert!(!asked.iter().any(|path| path.starts_with("/b/") || path.starts_with("/library/")), "{asked:?}");
    let explained = desk.explained("http://b.test/b/3");
    assert!(explained.starts_with("refused: dropped (dropped: host b.test)"), "{explained}");
    desk.drop(&["--host", "b.test", "--urls", "/library/", "--undo"]);
    assert_eq!(desk.drop(&[]).out, "");
    desk.crawl(&[]);
    assert_eq!(desk.recorded(), everything());
    for (flags, words) in [
        (&["--undo"][..], "--undo wants what is taken back"),
        (&["--host", "a/b"], "expected a host such as example.org"),
        (&["--urls", "("], "unclosed group"),
    ] {
        let ran = desk.run(&[&["drop", "job"], flags].concat());
        assert!(ran.code == Some(2) && ran.err.contains(words), "{flags:?}: {}", ran.err);
    }
    fs::write(desk.directory.path().join("job/dropped.txt"), "host a.test\nhosts b.test\n").unwrap();
    let ran = desk.run(&[SEED, "--job", "job"]);
    assert!(ran.code != Some(0) && ran.err.contains("dropped.txt:2: "), "{}", ran.err);
}

/// One request may be in flight when the rule arrives.
#[cfg(unix)]
#[test]
fn a_crawl_that_runs_asks_nothing_more_of_a_host_that_is_dropped_and_a_kill_changes_nothing() {
    let desk = Desk::of(60);
    let mut child = desk.start("20ms", &["--exclude", "/deep"]);
    let is_of_b = |path: &String| path.starts_with("/b/");
    let mut before = Vec::new();
    until("the host is asked", || {
        before.extend(desk.asked());
        (before.iter().filter(|path| is_of_b(path)).count() >= 3).then_some(())
    });
    let ran = desk.drop(&["--host", "b.test"]);
    assert!(ran.err.contains("no more requests are sent to it"), "{}", ran.err);
    before.extend(desk.asked());
    let mut after = Vec::new();
    until("the other host is asked", || {
        after.extend(desk.asked());
        (after.len() >= 10).then_some(())
    });
    assert!(after.iter().filter(|path| is_of_b(path)).count() <= 1, "{after:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    desk.asked();

    let mut child = desk.start("20ms", &["--exclude", "/deep"]);
    let mut after = Vec::new();
    until("it goes on", || {
        after.extend(desk.asked());
        (after.len() >= 10).then_some(())
    });
    assert!(!after.iter().any(is_of_b), "{after:?}");
    desk.drop(&["--host", "b.test", "--undo"]);
    until("the host is asked again", || desk.asked().iter().any(is_of_b).then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    desk.crawl(&["--exclude", "/deep"]);
    let mut all: Vec<String> = vec![SEED.to_owned()];
    for number in 0..60 {
        for path in ["a.test/library/", "a.test/other/", "b.test/b/"] {
            all.push(format!("http://{path}{number}"));
        }
        all.push(format!("http://a.test/file{number}.txt"));
    }
    let recorded = desk.recorded();
    assert!(recorded.values().all(|times| *times == 1), "{recorded:?}");
    assert_eq!(recorded.into_keys().collect::<std::collections::BTreeSet<_>>(), all.into_iter().collect());
}

/// Each run has a name of its own, so that the server knows which of them asked; and one more rule than the run before, until the last has none.
#[cfg(unix)]
#[test]
fn rules_that_are_tightened_under_kills_hold_from_each_restart_on() {
    type Tightened<'a> = (&'a [&'a str], fn(&str) -> bool);
    let rules: [Tightened<'_>; 8] = [
        (&["--exclude", "/library/[0-4]"], |path| path.strip_prefix("/library/").is_some_and(|of| of < "5")),
        (&["--exclude", "/other/1"], |path| path.starts_with("/other/1")),
        (&["--reject-ext", "txt"], is_text),
        (&["--exclude", "/b/[02468]+$"], |path| {
            path.strip_prefix("/b/").is_some_and(|of| of.bytes().all(|digit| b"02468".contains(&digit)))
        }),
        (&["--exclude", "/library/"], |path| path.starts_with("/library/")),
        (&["--blocklist", "list.txt"], |path| path.starts_with("/b/")),
        (&["--depth", "1"], |path| path.ends_with("/deep")),
        (&["--exclude", "/other/[3-9]"], |path| path.strip_prefix("/other/").is_some_and(|of| of >= "3")),
    ];
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2 {
        let desk = Desk::of(100);
        desk.crawl(&["--max-pages", "1", "--user-agent", "first"]);
        let mut order: Vec<usize> = (0..rules.len()).collect();
        for at in 0..order.len() {
            let other = usize::try_from(random.below(order.len() as u64)).unwrap();
            order.swap(at, other);
        }
        let mut flags: Vec<&str> = Vec::new();
        let mut said = Vec::new();
        let mut asked = Vec::new();
        for run in 0..=rules.len() {
            if let Some(&rule) = run.checked_sub(1).and_then(|rule| order.get(rule)) {
                flags.extend(rules[rule].0);
            }
            let name = format!("run{run}");
            let mut child = desk.start("1ms", &[&flags[..], &["--user-agent", &name]].concat());
            // Each other run is killed after some requests, however slow the machine is; the others may be killed before their first.
            if run % 2 == 0 {
                until("it asks, or has nothing left to ask", || {
                    asked.extend(desk.site.asked());
                    let of_run = asked.iter().filter(|asked| asked.agent.as_deref() == Some(name.as_str())).count();
                    (of_run >= 8 || child.try_wait().unwrap().is_some()).then_some(())
                });
            }
            // When a crash comes is what this is about.
            sleep(Duration::from_millis(60 + random.below(240)));
            child.kill().unwrap();
            child.wait().unwrap();
            said.push(order[..run].to_vec());
        }
        desk.crawl(&["--user-agent", "last"]);
        let mut asked_of_all = 0;
        asked.extend(desk.site.asked());
        for asked in asked {
            let agent = asked.agent.unwrap_or_default();
            let Some(run) = agent.strip_prefix("run").and_then(|run| run.parse::<usize>().ok()) else { continue };
            let against = said[run].iter().find(|rule| rules[**rule].1(&asked.path));
            assert!(against.is_none(), "{agent} asked {} against {:?}", asked.path, against.map(|rule| rules[*rule].0));
            asked_of_all += 1;
        }
        assert!(asked_of_all > 20, "{asked_of_all} requests over all kills");
        let recorded = desk.recorded();
        assert!(recorded.values().all(|times| *times == 1), "{recorded:?}");
        let missing =
            |path: &str| (0..100).filter(|number| !recorded.contains_key(&format!("http://{path}{number}"))).count();
        assert_eq!(["a.test/library/", "a.test/other/", "b.test/b/"].map(missing), [0; 3]);
    }
}
