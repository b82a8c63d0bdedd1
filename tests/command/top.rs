//! `crawler top` and the socket that it looks in by, with the real command, in tmux where a terminal is needed.
//!
//! Without tmux these tests say so and pass; `.ci/run` installs it and sets `NO_SKIPS`, so that they are not skipped there.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::browser::{THEIRS, two_that_are_not_asked};
use crate::loopback::{Loopback, response};
use crate::tmux::Tmux;
use crate::until::until;

const CRAWLER: &str = env!("CARGO_BIN_EXE_crawler");

/// A crawl of a simulated web that takes minutes, into `job`; it ends with this.
struct Crawling {
    process: Child,
    desk: TempDir,
}

impl Crawling {
    fn begin() -> Self {
        let desk = TempDir::new().unwrap();
        let command = simulated(desk.path(), Path::new("job"), &[]);
        Self::run(desk, command)
    }

    fn resume(desk: TempDir) -> Self {
        let mut command = Command::new(CRAWLER);
        command.args(["resume", "job", "--no-progress"]).current_dir(&desk).stdin(Stdio::null()).stdout(Stdio::null());
        Self::run(desk, command)
    }

    fn run(desk: TempDir, mut command: Command) -> Self {
        let process = command.stderr(Stdio::null()).spawn().unwrap();
        let crawling = Self { process, desk };
        until("it listens", || UnixStream::connect(crawling.socket()).is_ok().then_some(()));
        crawling
    }

    fn socket(&self) -> PathBuf {
        self.desk.path().join("job/live.sock")
    }

    fn connect(&self) -> BufReader<UnixStream> {
        let stream = UnixStream::connect(self.socket()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        BufReader::new(stream)
    }

    /// As `kill -9`.
    fn kill(mut self) -> TempDir {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        std::mem::replace(&mut self.desk, TempDir::new().unwrap())
    }
}

impl Drop for Crawling {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn simulated(desk: &Path, job: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(CRAWLER);
    command.args(["--simulate", "http://www.simulated.test/", "--no-progress", "--job"]).arg(job).args(flags);
    command.env("CRAWLER_POLITENESS_HOST_DELAY", "100ms").current_dir(desk).stdin(Stdio::null()).stdout(Stdio::null());
    command.envs([("CRAWLER_SIMULATE_HOSTS", "40"), ("CRAWLER_SIMULATE_PAGES", "20000")]);
    command
}

fn ask(peer: &mut BufReader<UnixStream>, question: &str) -> Value {
    peer.get_mut().write_all(format!("{question}\n").as_bytes()).unwrap();
    let mut answer = String::new();
    peer.read_line(&mut answer).unwrap();
    serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{question}: {error}: {answer}"))
}

#[test]
fn a_line_is_a_question_and_a_line_its_answer() {
    let crawling = Crawling::begin();
    let mode = fs::symlink_metadata(crawling.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "nobody else");
    let mut peer = crawling.connect();
    let look = ask(&mut peer, "look");
    assert_eq!((&look["state"], &look["is_steered"]), (&"running".into(), &true.into()));
    assert!(look["report"]["urls"]["found"].is_u64());
    let found = until("hosts are known", || {
        let hosts = ask(&mut peer, "hosts name test");
        (hosts["found"].as_u64() > Some(5)).then_some(hosts)
    });
    let names: Vec<_> = found["hosts"].as_array().unwrap().iter().map(|host| host["host"].as_str().unwrap()).collect();
    assert!(names.is_sorted(), "{names:?}");
    let most = ask(&mut peer, "hosts requests");
    let requests = |host: &Value| std::cmp::Reverse(host["requests"].as_u64());
    assert!(most["hosts"].as_array().unwrap().is_sorted_by_key(requests), "{most}");
    assert_eq!(ask(&mut peer, "hosts queued no such")["found"], 0);
    let explained = ask(&mut peer, "explain http://www.simulated.test/");
    assert!(explained["text"].as_str().unwrap().contains("robots.txt"), "{explained}");
    assert_eq!(ask(&mut peer, "pause")["state"], "paused");
    assert_eq!(ask(&mut crawling.connect(), "look")["job"], "job", "several look at once");
    assert_eq!(ask(&mut peer, "resume")["state"], "running");
    for nonsense in ["", "hosts backwards", "LOOK", "stop please"] {
        assert!(ask(&mut peer, nonsense)["error"].is_string(), "{nonsense}");
    }
    peer.get_mut().write_all(b"explain \xff\n").unwrap();
    let mut answer = String::new();
    peer.read_line(&mut answer).unwrap();
    assert!(answer.contains("not UTF-8"), "{answer}");
    assert_eq!(ask(&mut peer, "look")["is_steered"], true, "it goes on");
}

#[test]
fn peers_and_their_questions_are_bounded() {
    let crawling = Crawling::begin();
    let mut long = crawling.connect();
    long.get_mut().write_all(&[b'x'; 9000]).unwrap();
    let mut answer = String::new();
    // It may close before it has read everything, which resets the connection. Its answer comes first.
    let _ = long.read_to_string(&mut answer);
    assert!(answer.contains("at most 8192 bytes") && answer.ends_with('\n'), "{answer}");
    drop(long);
    // A peer may be refused before it has asked, while the one before still counts.
    let look = || {
        let mut peer = crawling.connect();
        peer.get_mut().write_all(b"look\n").ok()?;
        let mut answer = String::new();
        peer.read_line(&mut answer).ok()?;
        answer.contains("running").then_some(peer)
    };
    let mut peers: Vec<_> = (0..8).map(|_| until("there is room", look)).collect();
    let mut refused = String::new();
    crawling.connect().read_line(&mut refused).unwrap();
    assert!(refused.contains("8 watchers are connected already"), "{refused}");
    assert_eq!(ask(&mut peers[0], "look")["state"], "running", "who is there stays");
    drop(peers);
    until("there is room again", look);
}

#[test]
fn a_socket_that_was_left_is_replaced_and_the_last_one_takes_it_away() {
    let crawling = Crawling::begin();
    let desk = crawling.kill();
    let socket = desk.path().join("job/live.sock");
    assert!(fs::symlink_metadata(&socket).unwrap().file_type().is_socket(), "a kill leaves it");
    UnixStream::connect(&socket).unwrap_err();
    let mut crawling = Crawling::resume(desk);
    assert_eq!(ask(&mut crawling.connect(), "stop")["state"], "stopping");
    assert_eq!(crawling.process.wait().unwrap().code(), Some(130));
    assert!(!crawling.socket().exists(), "it is gone with the crawl");
}

#[test]
fn a_socket_that_cannot_be_is_a_warning_and_the_crawl_goes_on() {
    let desk = TempDir::new().unwrap();
    let run = |job: &Path, flags: &[&str]| {
        let output = simulated(desk.path(), job, flags).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        said
    };
    let long = desk.path().join("x".repeat(120));
    let said = run(&long, &["--max-pages", "3"]);
    let named = format!("cannot listen at {}", long.join("live.sock").display());
    assert!(said.contains(&named) && said.contains("dashboard.socket = false"), "{said}");
    // A file of somebody's is not removed.
    let job = desk.path().join("job");
    run(&job, &["--max-pages", "3"]);
    fs::write(job.join("live.sock"), "mine").unwrap();
    let said = run(&job, &["--max-pages", "6"]);
    assert!(said.contains("something else has this name"), "{said}");
    assert_eq!(fs::read_to_string(job.join("live.sock")).unwrap(), "mine");
    fs::remove_file(job.join("live.sock")).unwrap();
    let other = desk.path().join("off.toml");
    fs::write(&other, "[dashboard]\nsocket = false\n").unwrap();
    let listener = UnixListener::bind(job.join("live.sock")).unwrap();
    run(&job, &["--max-pages", "9", "--config", other.to_str().unwrap()]);
    assert!(job.join("live.sock").exists(), "who does not listen takes nothing away");
    drop(listener);
}

/// Runs `crawler top` without a terminal.
fn without_terminal(job: &Path) -> (Option<i32>, String) {
    let output = Command::new(CRAWLER).arg("top").arg(job).stdin(Stdio::null()).output().unwrap();
    assert!(output.stdout.is_empty());
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn without_a_terminal_or_a_job_it_says_so() {
    let desk = TempDir::new().unwrap();
    let (code, said) = without_terminal(&desk.path().join("nothing"));
    assert!(code == Some(5) && said.contains("nothing"), "{code:?} {said}");
    simulated(desk.path(), Path::new("job"), &["--max-pages", "3"]).status().unwrap();
    let (code, said) = without_terminal(&desk.path().join("job"));
    assert!(code == Some(2) && said.contains("needs a terminal") && said.contains("crawler stats "), "{said}");
}

#[test]
fn a_crawl_is_watched_paused_and_stopped_in_a_terminal() {
    let crawling = Crawling::begin();
    let Some(tmux) = Tmux::start(crawling.desk.path(), 80, &format!("{CRAWLER} top job")) else { return };
    let screen = tmux.shows("http://www.simulated.test");
    assert!(screen.contains("running") && screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    tmux.shows("in flight");
    let mut peer = crawling.connect();
    tmux.press(&["p"]);
    tmux.shows("job  paused");
    assert_eq!(ask(&mut peer, "look")["state"], "paused", "the crawl says so too");
    let still = until("nothing is in flight", || {
        let look = ask(&mut peer, "look");
        (look["report"]["urls"]["in_flight"] == 0).then(|| look["report"]["pages"]["requests"].as_u64())
    });
    tmux.press(&["p"]);
    tmux.shows("job  running");
    until("it goes on", || (ask(&mut peer, "look")["report"]["pages"]["requests"].as_u64() > still).then_some(()));
    tmux.press(&["s"]);
    tmux.shows("most requests first");
    tmux.press(&["/", "www.simulated", "Enter"]);
    tmux.shows("with `www.simulated`: 1,");
    // A screen may be looked at while half of it is drawn.
    tmux.shows_what("in the list, and chosen", |screen| screen.matches("http://www.simulated.test").count() == 2);
    tmux.press(&["e"]);
    tmux.shows("Errors");
    tmux.press(&["Escape"]);
    tmux.press(&["u", "http://www.simulated.test/", "Enter"]);
    tmux.shows("Explained");
    tmux.press(&["Escape"]);
    tmux.press(&["x"]);
    tmux.shows("Stop the crawl?");
    tmux.press(&["n"]);
    tmux.shows("q quit");
    tmux.press(&["x"]);
    tmux.press(&["y"]);
    tmux.shows("job  stopped");
    tmux.press(&["q"]);
    tmux.shows("left with 0");
}

#[test]
fn hosts_that_sleep_or_have_spent_their_budgets_are_shown() {
    let web = Loopback::serve(|_| response("404 Not Found", b""));
    let desk = two_that_are_not_asked();
    let mut command = Command::new(CRAWLER);
    command.args(THEIRS).args(["--job", "job", "--no-progress"]).current_dir(&desk).stdin(Stdio::null());
    command.env("CRAWLER_FETCH_RESOLVE_ALL_TO", web.address.to_string()).stdout(Stdio::null());
    let crawling = Crawling::run(desk, command);
    let mut peer = crawling.connect();
    for (state, host, why) in [
        ("asleep", "http://night.test", "is not asked outside its hours"),
        ("spent", "http://used.test", "its budget is spent (max_pages, max_bytes)"),
    ] {
        let told = until(state, || {
            let told = ask(&mut peer, &format!("hosts name {state}"));
            (told["found"] == 1).then_some(told)
        });
        let row = &told["hosts"][0];
        assert_eq!((&row["host"], &row["state"]), (&host.into(), &state.into()), "{told}");
        assert!(row["why"].as_str().unwrap().starts_with(why), "{told}");
    }
    let asleep = ask(&mut peer, "hosts name asleep");
    let due = Duration::from_micros(asleep["hosts"][0]["due_in_us"].as_u64().unwrap());
    assert!(due > Duration::from_secs(8 * 3600), "{asleep}");
    let Some(tmux) = Tmux::start(crawling.desk.path(), 120, &format!("{CRAWLER} top job")) else { return };
    let screen = tmux.shows("night.test");
    let line = |host: &str| screen.lines().find(|line| line.contains(host)).unwrap_or_default();
    assert!(line("http://night.test").contains("asleep"), "{screen}");
    assert!(line("http://used.test").contains("spent "), "{screen}");
}

#[test]
fn a_job_that_was_killed_or_has_ended_is_shown_as_it_stands() {
    let crawling = Crawling::begin();
    let top = format!("NO_COLOR=1 sh -c 'echo $$ >pid; exec {CRAWLER} top job'");
    let Some(tmux) = Tmux::start(crawling.desk.path(), 120, &top) else { return };
    tmux.shows("job  running");
    let desk = crawling.kill();
    tmux.shows("not running, to be resumed");
    tmux.press(&["p"]);
    tmux.shows("no crawl is running");
    // A resumed crawl is shown again.
    let crawling = Crawling::resume(desk);
    tmux.shows("job  running");
    // 39 and 49 are the terminal's own colors.
    let shown = tmux.run(&["capture-pane", "-p", "-e"]).replace("\u{1b}[39m", "").replace("\u{1b}[49m", "");
    assert!(["\u{1b}[3", "\u{1b}[4", "\u{1b}[9"].iter().all(|color| !shown.contains(color)), "NO_COLOR: {shown:?}");
    // A signal gives the terminal back.
    let pid = fs::read_to_string(crawling.desk.path().join("pid")).unwrap();
    let killed = Command::new("kill").arg(pid.trim()).status().unwrap();
    assert!(killed.success());
    tmux.shows("left with 143");
    drop(crawling);
}
