//! A crawl of a hostile site, watched on its live page, by `crawler top`, and in the terminal that runs it.

use std::io::Write;
use std::process::{Command, Stdio};
use std::{env, fs};

use serde_json::Value;
use tempfile::TempDir;

use crate::hostile_site::{self, SEED};
use crate::live::Live;
use crate::tame::is_tame;
use crate::tmux::Tmux;
use crate::until::until;

const CRAWLER: &str = env!("CARGO_BIN_EXE_crawler");
/// Slow enough to be watched.
const FLAGS: [&str; 12] = [
    SEED,
    "--job",
    "job",
    "--scope",
    "any",
    "--depth",
    "9",
    "--host-delay",
    "60ms",
    "--no-sitemaps",
    "--dashboard",
    "127.0.0.1:0",
];

fn watched(flags: &[&str]) -> Live {
    let site = hostile_site::serve();
    Live::start(TempDir::new().unwrap(), |command| {
        command.args(FLAGS).args(flags).env("CRAWLER_FETCH_RESOLVE_ALL_TO", site.address.to_string());
    })
}

/// The same text as read by Python's parsers. `None` if Python is not installed and `NO_SKIPS` is not set.
fn in_python(script: &str, text: &str) -> Option<String> {
    let mut python = Command::new("python3");
    let mut python = match python.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() {
        Ok(python) => python,
        Err(error) => {
            assert!(env::var_os("NO_SKIPS").is_none(), "python3: {error}");
            eprintln!("skipped: no python3 ({error})");
            return None;
        }
    };
    python.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "Python does not read it: {text}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The exposition format, strictly: a comment, or a name, quoted labels with three escapes, and a number.
const METRICS: &str = r##"
import re, sys
label = r'[a-z_]+="(?:[^"\\\n]|\\["\\n])*"'
sample = re.compile(r'[a-z_0-9]+(\{(' + label + r'(,' + label + r')*)?\})? [-+0-9.eE]+(NaN|Inf)?( [0-9.]+)?')
lines = sys.stdin.buffer.read().decode().split("\n")
assert lines[-2:] == ["# EOF", ""], lines[-2:]
wrong = [line for line in lines[:-1] if not line.startswith("# ") and not sample.fullmatch(line)]
assert not wrong, wrong
print(len(lines))
"##;

#[test]
fn the_live_page_tells_texts_as_texts() {
    let live = watched(&["--no-progress"]);
    let told = until("errors of pages and of robots.txt", || {
        let report = live.report();
        let are_told = |kind: &str| report[kind]["errors"].as_object().is_some_and(|errors| !errors.is_empty());
        (are_told("robots") && are_told("pages")).then(|| report["pages"]["examples"].to_string())
    });
    assert!(told.contains("<img src=x onerror=alert(1)>"), "the attack has come through, as a text: {told}");
    for path in ["/report.json", "/hosts", "/hosts?find=test"] {
        let answer = live.get(path);
        assert!(answer.status == 200 && answer.head.contains("application/json"), "{answer:?}");
        is_tame(path, &answer.body);
        serde_json::from_str::<Value>(&answer.body).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    let metrics = live.get("/metrics").body;
    is_tame("/metrics", &metrics);
    let lines = in_python(METRICS, &metrics);
    assert!(lines.is_none_or(|lines| lines.trim().parse::<u32>().unwrap() > 300));
    for path in ["/", "/report.html"] {
        let page = live.get(path);
        is_tame(path, &page.body);
        assert!(!page.body.contains("<img") && !page.body.contains("alert(1)<"), "{path}: {}", page.body);
        assert!(page.head.contains("content-security-policy: default-src 'none'"), "{}", page.head);
    }
    let url = "http://hostile.test/%1b[2J%C2%9B%E2%80%AE%3Cscript%3Ealert(1)%3C/script%3E";
    let explained = live.get(&format!("/explain?url={}", url.replace('%', "%25")));
    is_tame("/explain", &explained.body);
    let raw = live.get("/explain?url=http://hostile.test/%1b%5B2J%C2%9B%E2%80%AE%3Cscript%3E");
    is_tame("/explain of bytes", &raw.body);
    for answer in [explained, raw] {
        assert!(answer.head.contains("content-type: text/plain") && answer.head.contains("nosniff"), "{answer:?}");
    }
}

#[test]
fn a_terminal_obeys_the_crawler_alone() {
    let desk = TempDir::new().unwrap();
    let site = hostile_site::serve();
    let run = format!("{CRAWLER} {} -v --log-file log", FLAGS.join(" "));
    let set = format!("CRAWLER_FETCH_RESOLVE_ALL_TO={}", site.address);
    let Some(crawl) = Tmux::start(desk.path(), 120, &format!("{set} {run}")) else { return };
    let writes_to = |name| format!("cat >'{}'", desk.path().join(name).display());
    crawl.run(&["pipe-pane", &writes_to("written")]);
    crawl.shows("queued");
    let Some(top) = Tmux::start(desk.path(), 100, &format!("{CRAWLER} top job")) else { return };
    top.run(&["pipe-pane", &writes_to("top")]);
    top.shows("http://hostile.test");
    top.press(&["e"]);
    // The attack is shown, as a text.
    top.shows("onerror=alert(1)");
    top.press(&["Escape"]);
    top.press(&["u", "http://hostile.test/\u{202e}%1b[2J", "Enter"]);
    top.shows("Explained");
    top.press(&["q"]);
    top.shows("left with 0");
    crawl.press(&["C-c"]);
    crawl.shows("left with 130");
    for (name, terminal) in [("written", &crawl), ("top", &top)] {
        let written = fs::read(desk.path().join(name)).unwrap();
        assert!(written.len() > 1000, "{name}: {} bytes", written.len());
        // Both write commands of their own; these are the site's.
        for command in [&b"\x1b]0;owned"[..], b"\x07", b"\xc2\x9b", b"\xe2\x80\xae", b"\xe2\x81\xa6", b"\xff\xfe"] {
            let at = written.windows(command.len()).position(|bytes| bytes == command);
            let around = at.map(|at| String::from_utf8_lossy(&written[at.saturating_sub(200)..][..200]).into_owned());
            assert!(at.is_none(), "{name}: {command:?} behind {around:?}");
        }
        let title = terminal.run(&["display-message", "-p", "#{pane_title}"]);
        assert!(!title.contains("owned"), "{title}");
    }
    is_tame("the log", &fs::read_to_string(desk.path().join("log")).unwrap());
}
