//! Budgets of hosts, and the hours in which they may be asked: by the real command, judged by what the server was asked.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use tempfile::TempDir;

use crate::outputs;
use crate::ran::Ran;
use crate::random::Random;
use crate::site::{Page, Site};
#[cfg(unix)]
use crate::until::until;

/// Two hosts on one server, distinguished by their paths, and a directory for the crawl's job.
struct Desk {
    site: Site,
    directory: TempDir,
    pages: usize,
}

const SEEDS: [&str; 2] = ["http://a.test/a/0", "http://b.test/b/0"];

impl Desk {
    /// This many pages on each host. The first page links to the others.
    fn of(pages: usize) -> Self {
        let mut all: Vec<(&'static str, Page)> = Vec::new();
        for host in ["a", "b"] {
            let mut links = String::new();
            for number in 1..pages {
                links.extend([format!("<a href='/{host}/{number}'>x</a> ").as_str()]);
                let path: &'static str = format!("/{host}/{number}").leak();
                let word: String = number.to_string().bytes().map(|digit| char::from(digit + b'a' - b'0')).collect();
                all.push((path, Page::of(&format!("{word} {host} {}", word.repeat(900 / word.len())))));
            }
            all.push((format!("/{host}/0").leak(), Page::of(&links)));
        }
        Self { site: Site::serve(all), directory: TempDir::new().unwrap(), pages }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let settings = [
            ("SCOPE_KIND", "host"),
            ("POLITENESS_HOST_DELAY", "0s"),
            ("OUTPUT_PROGRESS", "false"),
            ("SEEN_CAPACITY", "5000"),
        ];
        self.site.command(self.directory.path(), arguments, &settings)
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    fn crawl(&self, flags: &[&str]) -> Ran {
        let ran = self.run(&[&SEEDS, &["--job", "job"], flags].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran
    }

    /// How many pages of each host were asked for since this was called last; neither robots.txt nor sitemaps.
    fn asked(&self) -> [usize; 2] {
        let asked: Vec<String> = self.site.asked().into_iter().map(|asked| asked.path).collect();
        ["/a/", "/b/"].map(|host| asked.iter().filter(|path| path.starts_with(host)).count())
    }

    fn explained(&self, url: &str) -> String {
        self.run(&["explain", url, "--job", "job"]).out
    }

    /// How often each page has a record.
    fn recorded(&self) -> BTreeMap<String, u32> {
        outputs::recorded(&self.directory.path().join("job"))
    }

    /// Takes away the last record that a killed run has written, as a power cut does: the journal still has it. `before`: the bytes of
    /// earlier runs. Returns the bytes that are left.
    #[cfg(unix)]
    fn lose_last_record(&self, before: usize) -> usize {
        let path = self.directory.path().join("job/pages.jsonl");
        let text = fs::read_to_string(&path).unwrap_or_default();
        // A crawl that is at its end has made a checkpoint, and what that confirms cannot be lost.
        if text.lines().count() >= 2 * 40 {
            return text.len();
        }
        let whole = text.rfind('\n').unwrap_or_default();
        let left = text[..whole].rfind('\n').map_or(0, |end| end + 1).max(before.min(text.len()));
        if left < text.len() {
            fs::write(&path, &text[..left]).unwrap();
        }
        left
    }

    fn report(&self) -> serde_json::Value {
        outputs::report(&self.directory.path().join("job"))
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.directory.path().join(name), text).unwrap();
    }

    /// Each page has one record, and nothing is left out.
    fn assert_all_is_there(&self) {
        let recorded = self.recorded();
        assert!(recorded.values().all(|times| *times == 1), "{recorded:?}");
        assert_eq!(recorded.len(), 2 * self.pages);
        let urls = &self.report()["urls"];
        assert_eq!((&urls["refused"]["host_pages"], &urls["refused"]["host_bytes"]), (&0.into(), &0.into()));
        assert!(urls["left_out"].is_null(), "{urls}");
    }
}

#[test]
fn a_host_has_so_many_pages_and_the_others_wait_for_a_run_that_allows_more() {
    for connections in ["1", "4"] {
        let desk = Desk::of(30);
        let flags = ["--connections-per-host", connections];
        let ran = desk.crawl(&[&flags[..], &["--host-pages", "5"]].concat());
        assert_eq!(desk.asked(), [5, 5]);
        let urls = &desk.report()["urls"];
        assert_eq!(urls["refused"]["host_pages"], 50, "{urls}");
        assert_eq!(urls["left_out"], serde_json::json!({"http://a.test": 25, "http://b.test": 25}));
        assert_eq!(
            (&urls["fetched"], &urls["admitted"], &urls["queued"]),
            (&10.into(), &12.into(), &0.into()),
            "{urls}"
        );
        for words in [
            "Left out, since budgets of hosts are spent: 50 URLs.",
            "host_pages: 50, by politeness.host_pages, or max_pages in [hosts] and [groups]",
            "http://a.test",
        ] {
            assert!(ran.out.contains(words), "{words}\n{}", ran.out);
        }
        let explained = desk.explained("http://a.test/a/29");
        assert!(
            explained.starts_with("refused: host_pages (politeness.host_pages = 5: the host has had"),
            "{explained}"
        );
        assert!(explained.contains("set aside as host_pages"), "{explained}");

        // The same again asks nothing.
        desk.crawl(&[&flags[..], &["--host-pages", "5"]].concat());
        assert_eq!(desk.asked(), [0, 0]);

        // One host may have more.
        desk.write("more.toml", "[hosts.\"a.test\"]\nmax_pages = 12\n");
        let ran = desk.crawl(&[&flags[..], &["--host-pages", "5", "--config", "more.toml"]].concat());
        assert_eq!(desk.asked(), [7, 0]);
        assert!(ran.err.contains("25 URLs that were refused wait again"), "{}", ran.err);
        let urls = &desk.report()["urls"];
        assert_eq!(urls["left_out"], serde_json::json!({"http://a.test": 18, "http://b.test": 25}));
        let explained = desk.explained("http://a.test/a/29");
        assert!(explained.contains("max_pages by a rule of its host = 12"), "{explained}");

        // A budget of bytes may refuse pages that a budget of pages allows.
        let ran = desk.crawl(&[&flags[..], &["--host-bytes", "1kB"]].concat());
        assert_eq!(desk.asked(), [0, 0], "{}", ran.err);
        assert_eq!(desk.report()["urls"]["refused"]["host_bytes"], 43);

        let ran = desk.crawl(&flags);
        assert!(ran.err.contains("43 URLs that were refused wait again"), "{}", ran.err);
        assert_eq!(desk.asked(), [18, 25]);
        desk.assert_all_is_there();
    }
}

#[test]
fn a_host_has_so_many_bytes_and_one_response_more() {
    let desk = Desk::of(30);
    desk.crawl(&["--host-bytes", "5kB"]);
    // The first has about 700 bytes of links, the others 920 each.
    assert_eq!(desk.asked(), [6, 6]);
    let urls = &desk.report()["urls"];
    assert_eq!((&urls["refused"]["host_bytes"], &urls["refused"]["host_pages"]), (&48.into(), &0.into()));
    let explained = desk.explained("http://b.test/b/29");
    assert!(explained.starts_with("refused: host_bytes (politeness.host_bytes = 5000"), "{explained}");
    desk.crawl(&["--host-bytes", "unlimited"]);
    desk.assert_all_is_there();
}

#[test]
fn a_group_shares_its_budget() {
    for (connections, delay) in [("1", "0s"), ("4", "0s"), ("2", "20ms")] {
        let desk = Desk::of(20);
        let group = |budget: &str| {
            format!(
                "[groups.\"all\"]\nhosts = [\"*.test\"]\ndelay = \"{delay}\"\nconnections = {connections}\n{budget}\n"
            )
        };
        desk.write("group.toml", &group("max_pages = 9"));
        let flags = ["--connections-per-host", connections, "--config", "group.toml"];
        let ran = desk.crawl(&flags);
        let asked: usize = desk.asked().iter().sum();
        assert_eq!(asked, 9, "{}", ran.err);
        assert_eq!(desk.recorded().len(), 9);
        let url = if desk.recorded().contains_key("http://a.test/a/19") {
            "http://b.test/b/19"
        } else {
            "http://a.test/a/19"
        };
        let explained = desk.explained(url);
        assert!(explained.starts_with("refused: host_pages (max_pages of group all = 9"), "{explained}");
        desk.write("group.toml", &group("max_pages = 1000\nmax_bytes = \"unlimited\""));
        desk.crawl(&flags);
        desk.assert_all_is_there();
    }
}

#[cfg(unix)]
#[test]
fn what_a_host_has_had_is_kept_over_kills() {
    let desk = Desk::of(120);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let flags = ["--host-pages", "40", "--connections-per-host", "2"];
    let mut asked = [0, 0];
    let (kills, mut written) = (6, 0);
    for _ in 0..kills {
        let mut command = desk.command(&[&SEEDS, &["--job", "job"], &flags[..]].concat());
        command.env("CRAWLER_POLITENESS_HOST_DELAY", "4ms").stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // When a crash comes is what this is about.
        sleep(Duration::from_millis(50 + random.below(150)));
        child.kill().unwrap();
        child.wait().unwrap();
        written = desk.lose_last_record(written);
        let more = desk.asked();
        asked = [asked[0] + more[0], asked[1] + more[1]];
    }
    desk.crawl(&flags);
    let more = desk.asked();
    asked = [asked[0] + more[0], asked[1] + more[1]];
    let recorded = desk.recorded();
    for (host, asked) in ["http://a.test", "http://b.test"].into_iter().zip(asked) {
        let pages = recorded.iter().filter(|(url, _)| url.starts_with(host)).map(|(_, times)| *times).sum::<u32>();
        assert_eq!(pages, 40, "{host}");
        // Pages that were leased, or not yet on disk, at the kill are fetched again.
        assert!((40..=40 + 20 * kills).contains(&asked), "{host} was asked {asked} times");
    }
    let urls = &desk.report()["urls"];
    assert_eq!((&urls["refused"]["host_pages"], &urls["queued"]), (&160.into(), &0.into()), "{urls}");
    desk.crawl(&[]);
    desk.assert_all_is_there();
}

#[test]
fn a_budget_of_nothing_is_refused_and_the_others_are_read_back() {
    let desk = Desk::of(2);
    for (file, words) in [
        ("[hosts.\"a.test\"]\nmax_pages = 0\n", "max_pages"),
        ("[groups.\"g\"]\nhosts = [\"a.test\"]\nmax_bytes = 0\n", "max_bytes"),
        ("[politeness]\nhost_pages = 0\n", "politeness.host_pages"),
    ] {
        desk.write("bad.toml", file);
        let ran = desk.run(&["config", "--config", "bad.toml"]);
        assert!(
            ran.code == Some(2) && ran.err.contains(words) && ran.err.contains("is at least 1"),
            "{file}: {}",
            ran.err
        );
    }
    let text = "[hosts.\"a.test\"]\nmax_pages = 12_000\nmax_bytes = \"2GiB\"\n\n[groups.\"g\"]\nhosts = [\"b.test\"]\nmax_pages = \"unlimited\"\n";
    desk.write("good.toml", text);
    let shown = desk.run(&["config", "--config", "good.toml"]).out;
    for line in
        ["max_pages = 12_000", "max_bytes = \"2GiB\"", "max_pages = \"unlimited\"", "host_pages = \"unlimited\""]
    {
        assert!(shown.lines().any(|of| of.starts_with(line)), "{line}\n{shown}");
    }
}

/// A window of an hour that begins in this many hours, by the machine's clock.
fn hours_in(ahead: u64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() / 3600;
    format!("{:02}:00-{:02}:00", (now + ahead) % 24, (now + ahead + 1) % 24)
}

#[cfg(unix)]
#[test]
fn a_crawl_whose_hosts_all_sleep_says_so_and_waits() {
    let desk = Desk::of(5);
    let hours = hours_in(6);
    let mut command = desk.command(&[&SEEDS[..], &["--job", "job", "--hours", &hours]].concat());
    let log = desk.directory.path().join("log.txt");
    let mut child = command.stdout(Stdio::null()).stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
    until("it says that it waits", || {
        let told = fs::read_to_string(&log).unwrap();
        told.contains("all 2 hosts that are left are outside their hours: the crawl waits until ").then_some(())
    });
    let hosts = desk.run(&["explain", "http://b.test/b/0", "--job", "job"]);
    assert!(hosts.out.contains(&format!("when its hours begin ({hours})")), "{}{}", hosts.out, hosts.err);
    assert!(child.try_wait().unwrap().is_none(), "it does not end");
    assert!(desk.site.asked().is_empty(), "not even for robots.txt");
    child.kill().unwrap();
    child.wait().unwrap();
    // Now both may be requested, one of them by its own rule.
    desk.write("now.toml", "[hosts.\"b.test\"]\nhours = \"always\"\n");
    let now = format!("{}-{}", &hours_in(23)[..5], &hours_in(1)[6..]);
    desk.crawl(&["--hours", &now, "--config", "now.toml"]);
    desk.assert_all_is_there();
}

#[test]
fn hours_that_are_none_are_refused_with_file_and_key() {
    let desk = Desk::of(2);
    for hours in ["22:00-22:00", "22-6", "22:00-06:00 Europe/Berlin"] {
        desk.write("bad.toml", &format!("[groups.\"g\"]\nhosts = [\"a.test\"]\nhours = \"{hours}\"\n"));
        let ran = desk.run(&["config", "--config", "bad.toml"]);
        for words in ["bad.toml", "hours", hours, "begin and end at different times", "zones have no names"] {
            assert!(ran.code == Some(2) && ran.err.contains(words), "{hours}, {words}: {}", ran.err);
        }
        let ran = desk.run(&["http://a.test/", "--hours", hours]);
        assert!(ran.code == Some(2) && ran.err.contains("--hours"), "{}", ran.err);
    }
    desk.write("good.toml", "[hosts.\"a.test\"]\nhours = \"22:00-06:00+02:00\"\n");
    let shown = desk.run(&["config", "--config", "good.toml"]).out;
    assert!(shown.contains("hours = \"22:00-06:00 +02:00\""), "{shown}");
}
