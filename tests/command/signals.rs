//! How the command takes signals.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::ran::{Ran, crawler};
use crate::tmux;
use crate::until;

/// A directory to run the command in.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        // A test under nohup hands an ignored SIGHUP on.
        let mut command = Command::new("env");
        command
            .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_crawler")])
            .args(arguments)
            .current_dir(&self.0)
            .stdin(Stdio::null());
        command
    }
}

/// A host that takes connections and never answers.
struct Silent(std::net::TcpListener);

impl Silent {
    fn new() -> Self {
        Self(std::net::TcpListener::bind("127.0.0.1:0").unwrap())
    }

    /// Starts a crawl of it, and waits until it is asked.
    fn crawl(&self, desk: &Desk, flags: &[&str]) -> (std::process::Child, std::net::TcpStream) {
        let url = format!("http://{}/", self.0.local_addr().unwrap());
        let mut command = desk.command(&[&[&*url, "--allow-private-addresses"], flags].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut asked = self.0.accept().unwrap().0;
        asked.read_exact(&mut [0]).unwrap();
        (child, asked)
    }
}

fn send(signal: &str, to: &std::process::Child) {
    assert!(Command::new("kill").args([signal, &to.id().to_string()]).status().unwrap().success());
}

#[test]
fn the_first_signal_drains() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let (desk, silent) = (Desk::new(), Silent::new());
        let (mut child, mut asked) = silent.crawl(&desk, &[]);
        send(signal, &child);
        let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.contains("stopping"), "{line}");
        // The request in flight is finished: its answer is waited for, and taken.
        asked.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(code));
        assert!(ran.out.contains("\nStopped on request. "), "{}", ran.out);
        let full = Ran::from(desk.command(&["stats", "crawl", "--errors"]).output().unwrap());
        assert!(full.out.contains("status 404"), "{}", full.out);
    }
}

#[test]
fn the_second_signal_stops_now_and_there_is_a_report() {
    let (desk, silent) = (Desk::new(), Silent::new());
    let (mut child, asked) = silent.crawl(&desk, &[]);
    send("-INT", &child);
    let mut line = String::new();
    std::io::BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    send("-TERM", &child);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "by the first");
    assert!(ran.out.contains("\nStopped on request. ") && !ran.out.contains("timeout"), "{}", ran.out);
    drop(asked);
}

/// Without a terminal, SIGHUP is how a log that was moved away is let go.
#[test]
fn other_signals_end_nothing_and_one_opens_the_log_anew() {
    let (desk, silent) = (Desk::new(), Silent::new());
    let (mut child, asked) = silent.crawl(&desk, &["--log-file", "log.txt"]);
    std::fs::rename(desk.path().join("log.txt"), desk.path().join("log.1.txt")).unwrap();
    for signal in ["-USR1", "-USR2", "-HUP"] {
        send(signal, &child);
    }
    while !desk.path().join("log.txt").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        std::thread::yield_now();
    }
    for signal in ["-INT", "-INT"] {
        send(signal, &child);
    }
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    assert!(std::fs::read_to_string(desk.path().join("log.txt")).unwrap().contains("stopping"));
    drop(asked);
}

/// The unit's own command line, and its own ways to reload and to stop.
#[test]
fn the_service_of_the_runbook_starts_reloads_and_stops() {
    let page = include_str!("../../docs/runbook.md");
    let unit = page.split_once("```ini\n").unwrap().1.split_once("```").unwrap().0;
    let value = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).unwrap();
    let (desk, silent) = (Desk::new(), Silent::new());
    let url = format!("http://{}/", silent.0.local_addr().unwrap());
    std::fs::write(desk.path().join("seeds.txt"), url).unwrap();
    std::fs::write(desk.path().join("crawler.toml"), "fetch.allow_private_addresses = true\n").unwrap();
    let (program, arguments) = value("ExecStart").split_once(' ').unwrap();
    assert!(program.ends_with("/crawler"), "{program}");
    let arguments: Vec<_> = arguments.split(' ').collect();
    let mut command = desk.command(&arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut asked = silent.0.accept().unwrap().0;
    asked.read_exact(&mut [0]).unwrap();
    std::fs::rename(desk.path().join("news.log"), desk.path().join("news.log.1")).unwrap();
    let reload = value("ExecReload").split(' ').collect::<Vec<_>>();
    let ["/bin/kill", signal, "$MAINPID"] = reload[..] else { panic!("{reload:?}") };
    send(signal, &child);
    let log = || std::fs::read_to_string(desk.path().join("news.log")).unwrap_or_default();
    until::until("its log is opened anew", || {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        desk.path().join("news.log").exists().then_some(())
    });
    send("-TERM", &child);
    until::until("it stops", || log().contains("stopping").then_some(()));
    asked.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(value("SuccessExitStatus").parse().unwrap()), "{}", ran.err);
    assert!(log().lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{}", log());
    assert!(desk.path().join("news/report.json").exists());
    // Another start mends none of these.
    let prevented = value("RestartPreventExitStatus").split(' ').map(|code| code.parse::<u8>().unwrap());
    std::fs::write(desk.path().join("crawler.toml"), "fetch.no_such_key = 1\n").unwrap();
    let wrong = desk.command(&arguments).output().unwrap().status.code();
    assert!(prevented.into_iter().any(|code| wrong == Some(code.into())), "{wrong:?}");
}

/// A terminal that is closed, or a connection to it that breaks.
#[test]
fn the_end_of_its_terminal_drains() {
    let (desk, silent) = (Desk::new(), Silent::new());
    let url = format!("http://{}/", silent.0.local_addr().unwrap());
    let command = format!("{} {url} --allow-private-addresses --log-file log.txt", env!("CARGO_BIN_EXE_crawler"));
    let Some(tmux) = tmux::Tmux::start(desk.path(), 100, &command) else { return };
    let mut asked = silent.0.accept().unwrap().0;
    asked.read_exact(&mut [0]).unwrap();
    drop(tmux);
    // Answered earlier, it would go on to a page that is never answered.
    let log = || std::fs::read_to_string(desk.path().join("log.txt")).unwrap();
    until::until("it stops", || log().contains("stopping").then_some(()));
    let _ = asked.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    let report = desk.path().join("crawl/report.json");
    until::until("it has ended", || report.exists().then_some(()));
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    assert_eq!((&report["finish"], &report["robots"]["statuses"]["404"]), (&"stopped".into(), &1.into()), "{report}");
}

/// Shells start what they run beside with SIGINT ignored, until it is listened for.
#[test]
fn a_page_that_is_said_to_be_shown_ends_at_a_signal() {
    let place = tempfile::tempdir().unwrap();
    let crawl = ["--simulate", "http://www.simulated.test/", "--max-pages", "1", "--job", "job"];
    assert!(crawler(&place, crawl).output().unwrap().status.success());
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' INT; exec \"$0\" dashboard job --listen 127.0.0.1:0", env!("CARGO_BIN_EXE_crawler")]);
    let mut page = shell.current_dir(&place).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(page.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains(" is shown at http://"), "{said}");
    // At once: to start another process takes longer than what was to be mended.
    rustix::process::kill_process(rustix::process::Pid::from_child(&page), rustix::process::Signal::INT).unwrap();
    assert!(until::until("it ends", || page.try_wait().unwrap()).success());
}
