//! The commands of the README, the guide, the reference and the runbook: each runs in a shell, as it is written, against a site over TLS. Only
//! names of hosts, ports, and a lease's token are others. A first line of output without numbers must come as it is shown.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use crate::ran::{crawler, set};
use crate::trust::{pem, serve_tls};
use crate::until::until;
use crate::{loopback, visitors};

/// What no test runs here, by its beginning, and where it is run.
const ELSEWHERE: &[(&str, &str)] = &[
    ("cargo test", "what runs this"),
    ("cargo install", "nowhere: it builds all once more"),
    ("sudo apt-get install nats-server", "nowhere: it changes the machine"),
    ("nats-server ", "tests/cluster"),
    ("crawler --seeds seeds.txt --cluster ", "tests/cluster"),
    ("crawler merge node1/ ", "tests/cluster, since it merges a cluster's jobs alone"),
    ("crawler https://example.org/ --proxy http:", "tests/command/proxy"),
    ("crawler https://example.org/ --proxy env", "tests/command/proxy"),
    ("PROXY=", "tests/command/proxy"),
    ("crawler top ", "tests/command/top.rs, since it wants a terminal"),
    ("wb-manager ", "nowhere: it is pywb's"),
];
/// What goes on until it is stopped, besides what has `&` at its end or `^C` below it.
const ENDLESS: &[&str] =
    &["crawler dashboard ", "crawler simulate ", "tail -f ", "crawler https://example.org/ --job watch/ "];
/// What ends with another code than 0.
const CODES: &[(&str, i32)] = &[("crawler broken news/ --check", 6)];
/// What is cut short: a comparison queries a million URLs of each filter.
const SHORTER: &[(&str, &str)] = &[("crawler seen compare ", " --rates 1e-2")];
/// Commands that read a job. If a block does not make it before, it is there already.
const READERS: [&str; 10] =
    ["broken", "cdxj", "dashboard", "drop", "explain", "export", "resume", "retry", "stats", "unmet"];

/// A command, and the first line that is shown below it.
struct Shown {
    command: String,
    output: Option<String>,
}

/// The blocks of commands on a page, each with the settings that its part of the page shows before.
fn blocks(page: &str) -> Vec<(String, Vec<Shown>)> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
    let (mut blocks, mut settings) = (Vec::new(), "");
    for block in text.split("\n```").skip(1) {
        match block.strip_prefix("toml\n") {
            Some(shown) => settings = shown,
            None if block.contains("\n#") => settings = "",
            None => {}
        }
        let Some(block) = block.strip_prefix("console\n") else { continue };
        let mut commands: Vec<Shown> = Vec::new();
        for line in block.lines() {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push(Shown { command: command.to_owned(), output: None }),
                (None, Some(last)) if last.command.ends_with('|') => last.command += line,
                (None, Some(last)) => _ = last.output.get_or_insert_with(|| line.to_owned()),
                (None, None) => {}
            }
        }
        blocks.push((settings.to_owned(), commands));
    }
    blocks
}

/// Answers as a small site does: some pages, one of which robots.txt denies, one that is gone, and the keys that were printed last.
fn answer(path: &str, printed: &str) -> Vec<u8> {
    let links = "<title>T</title><a href=/about>About us</a> <a href=/private/a>p</a> <a href=/blog/1>b</a> <a href=/gone>g</a>";
    let map = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>https://www.site.test/about</loc></url></urlset>";
    let (status, kind, body) = match path {
        "/" => ("200 OK", "text/html", links),
        "/robots.txt" => {
            ("200 OK", "text/plain", "User-agent: *\nDisallow: /private/\nContent-Usage: /blog/ train-ai=n\n")
        }
        "/sitemap.xml" => ("200 OK", "application/xml", map),
        "/.well-known/http-message-signatures-directory" => {
            ("200 OK", "application/http-message-signatures-directory+json", printed)
        }
        "/about" => ("200 OK", "text/html", "hello"),
        "/gone" => ("404 Not Found", "text/html", ""),
        _ => ("200 OK", "text/html", "<title>T</title><article><p class=offer><b class=price>12</b></p></article>"),
    };
    loopback::response(&format!("{status}\r\nContent-Type: {kind}"), body.as_bytes())
}

/// A shell in a directory of its own, in which the commands of one block run.
struct Shell {
    place: TempDir,
    settings: Vec<(String, String)>,
    /// Names and ports of the page, and what stands for them here.
    others: Vec<(String, String)>,
    printed: Arc<Mutex<String>>,
    /// Whether the site has been asked since the last command began.
    is_asked: Arc<AtomicBool>,
    running: Vec<Child>,
}

impl Shell {
    fn open(settings: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
        let urls: Vec<_> = (0..100).map(|number| format!("https://www.site.test/{number}\n")).collect();
        write("urls.txt", &urls.concat());
        for name in ["seeds.txt", "found.txt", "more.txt"] {
            write(name, "https://www.site.test/\n");
        }
        write("access.log", "a\na\n");
        write("ads.txt", "||ads.test^\n");
        write("page.html", "<h2><a href=/b>b</a></h2>");
        write("crawler.toml", settings);
        fs::create_dir(place.path().join("seeds")).unwrap();
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/simulated.txt");
        fs::copy(seeds, place.path().join("seeds/simulated.txt")).unwrap();
        // The reader's own.
        write("fetch", "#!/bin/sh\nexec cat\n");
        assert!(Command::new("chmod").arg("+x").arg(place.path().join("fetch")).status().unwrap().success());
        let printed: Arc<Mutex<String>> = Arc::default();
        let is_asked: Arc<AtomicBool> = Arc::default();
        let (keys, asks) = (Arc::clone(&printed), Arc::clone(&is_asked));
        let site = serve_tls("wildcard", None, move |request, _| {
            asks.store(true, Ordering::Relaxed);
            answer(&visitors::path(request), &keys.lock().unwrap())
        });
        let [calls, filters, page] = [(); 3].map(|()| visitors::nobody());
        let settings = set([
            ("FETCH_RESOLVE_ALL_TO", site.to_string()),
            ("FETCH_CA_FILES", pem("wildcard-authority.pem").to_str().unwrap().to_owned()),
            ("POLITENESS_HOST_DELAY", "0s".to_owned()),
            ("CRAWL_MAX_PAGES", "30".to_owned()),
        ]);
        let others = [
            ("cargo run --release --", "crawler".to_owned()),
            ("example.org", "www.site.test".to_owned()),
            ("bot.example", "bot.site.test".to_owned()),
            ("crawler serve", format!("crawler serve --listen {calls}")),
            ("localhost:7071", calls.to_string()),
            ("127.0.0.1:6379", filters.to_string()),
            ("redis-cli", format!("redis-cli -p {}", filters.port())),
            ("127.0.0.1:8080", page.to_string()),
        ];
        let others = others.map(|(shown, here)| (shown.to_owned(), here)).to_vec();
        Self { place, settings: settings.collect(), others, printed, is_asked, running: Vec::new() }
    }

    fn here(&self, shown: &str) -> String {
        self.others.iter().fold(shown.to_owned(), |text, (shown, here)| text.replace(shown, here))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn output(&self) -> String {
        ["out", "err"].map(|name| fs::read_to_string(self.file(name)).unwrap_or_default()).concat()
    }

    fn command(&self, script: &str) -> Command {
        let mut command = Command::new("bash");
        let own = Path::new(env!("CARGO_BIN_EXE_crawler")).parent().unwrap();
        let paths = [self.place.path(), own].into_iter().map(Path::to_owned);
        let system = std::env::var_os("PATH").unwrap();
        let paths = paths.chain(std::env::split_paths(&system));
        command.args(["-c", script]).current_dir(self.place.path()).env("PATH", std::env::join_paths(paths).unwrap());
        // All that it starts gets the signals.
        command.envs(self.settings.iter().cloned()).stdin(Stdio::null()).process_group(0);
        if script.contains("simulate") {
            command.env_remove("CRAWLER_FETCH_RESOLVE_ALL_TO");
        }
        command.stdout(File::create(self.file("out")).unwrap()).stderr(File::create(self.file("err")).unwrap());
        command
    }

    /// Makes the jobs that this command reads.
    fn prepare(&self, script: &str) {
        let mut words = script.split_whitespace().skip_while(|word| *word != "crawler").skip(1);
        if !words.next().is_some_and(|word| READERS.contains(&word)) {
            return;
        }
        for job in words.filter(|word| word.ends_with('/') && !word.contains("://") && !self.file(word).exists()) {
            let crawl = ["https://www.site.test/", "--links", "--visits", "--warc", "--job", job];
            let made = crawler(self.place.path(), crawl).envs(self.settings.iter().cloned()).output().unwrap();
            assert!(made.status.success(), "{job}: {made:?}");
        }
    }

    /// Runs a command as it is shown.
    fn run(&mut self, Shown { command: shown, output }: &Shown) {
        let has = |list: &[&str]| list.iter().any(|begin| shown.starts_with(begin));
        let script = shown.split(" #").next().unwrap().trim_end();
        let longer = SHORTER.iter().find(|(begin, _)| shown.starts_with(begin)).map_or("", |(_, more)| more);
        let is_beside = script.ends_with('&');
        let is_stopped = output.as_ref().is_some_and(|line| line.starts_with("^C"));
        let script = self.here(script.trim_end_matches('&')) + longer;
        let tool = script.split_whitespace().find(|word| !word.contains('=')).unwrap();
        if ["curl", "file", "redis-cli"].contains(&tool) && Command::new(tool).arg("--version").output().is_err() {
            assert!(std::env::var_os("NO_SKIPS").is_none(), "no {tool}");
            return println!("skipped, since {tool} is missing: {shown}");
        }
        self.prepare(&script);
        self.is_asked.store(false, Ordering::Relaxed);
        let before = self.output();
        // The token of the page is that of another day.
        let token = before.split("\"token\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        let mut command = self.command(&script.replace("6a4b20c1d00001-0", token));
        if is_stopped {
            // It does not end before, and the next run waits no longer.
            command.env("CRAWLER_POLITENESS_HOST_DELAY", "2s");
        }
        if !is_beside && !is_stopped && !has(ENDLESS) {
            let code = command.status().unwrap().code();
            let expected = CODES.iter().find(|(begin, _)| shown.starts_with(begin)).map_or(0, |(_, code)| *code);
            assert_eq!(code, Some(expected), "{shown}\n{}", self.output());
        } else {
            self.running.push(command.spawn().unwrap());
            let is_crawl = script.contains(" --job ") && !is_beside;
            until(&script, || {
                let ended = self.running.last_mut().unwrap().try_wait().unwrap();
                assert!(ended.is_none(), "{shown}\n{}", self.output());
                let has_begun =
                    if is_crawl { self.is_asked.load(Ordering::Relaxed) } else { !self.output().is_empty() };
                has_begun.then_some(())
            });
            if !is_beside {
                let child = self.running.last_mut().unwrap();
                signal("-INT", child);
                until("it ends", || child.try_wait().unwrap());
                self.running.pop();
            }
        }
        let told = self.output();
        let line = output.as_deref().filter(|line| !line.contains(|c: char| c.is_ascii_digit() || c == '^'));
        assert!(line.is_none_or(|line| told.contains(&self.here(line))), "{shown}\nshows {line:?}, and it is\n{told}");
        *self.printed.lock().unwrap() = fs::read_to_string(self.file("out")).unwrap();
        println!("{shown}");
    }
}

/// Sends a signal to all that a command has started.
fn signal(name: &str, child: &Child) {
    let _ = Command::new("kill").args([name, "--", &format!("-{}", child.id())]).status();
}

impl Drop for Shell {
    fn drop(&mut self) {
        for child in &mut self.running {
            signal("-KILL", child);
            let _ = child.wait();
        }
    }
}

/// Runs what these pages show, at least so many commands.
fn run_all(pages: impl IntoIterator<Item = String>, least: usize) {
    let mut commands = 0;
    for (settings, block) in pages.into_iter().flat_map(|page| blocks(&page)) {
        let mut shell = Shell::open(&settings);
        for shown in block {
            commands += 1;
            match ELSEWHERE.iter().find(|(begin, _)| shown.command.starts_with(begin)) {
                Some((_, place)) => println!("{}: run by {place}", shown.command),
                None => shell.run(&shown),
            }
        }
    }
    assert!(commands >= least, "{commands}");
}

fn guide() -> impl Iterator<Item = String> {
    let pages = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide")).unwrap();
    pages.map(|page| format!("docs/guide/{}", page.unwrap().file_name().into_string().unwrap()))
}

#[test]
fn commands_of_the_readme_run() {
    run_all(["README.md".to_owned()], 6);
}

#[test]
fn commands_of_the_guide_run() {
    run_all(guide(), 34);
}

#[test]
fn commands_of_the_reference_and_the_runbook_run() {
    run_all(["docs/reference.md", "docs/runbook.md"].map(str::to_owned), 37);
}

#[test]
fn exceptions_are_of_commands_that_are_shown() {
    let pages = guide().chain(["README.md", "docs/reference.md", "docs/runbook.md"].map(str::to_owned));
    let commands: Vec<_> = pages.flat_map(|page| blocks(&page)).flat_map(|(_, block)| block).collect();
    let begins = ELSEWHERE.iter().chain(SHORTER).map(|(begin, _)| *begin);
    for begin in begins.chain(ENDLESS.iter().copied()).chain(CODES.iter().map(|(begin, _)| *begin)) {
        assert!(commands.iter().any(|shown| shown.command.starts_with(begin)), "{begin}");
    }
}
