//! Mistakes at the command line, each explained; and commands that print anywhere, without a home or a terminal.

use std::fs;

use super::{Desk, Ran};

/// Arguments, exit code, what standard error says.
type Row = (&'static [&'static str], i32, &'static str);

/// None of them reaches a network: all URLs are of this machine, and refused.
const SLIPS: &[Row] = &[
    (&[], 2, "nothing to crawl: give URLs or --seeds FILE"),
    (&[""], 2, "neither a URL nor a command"),
    (&[" "], 2, "neither a URL nor a command"),
    (&["-"], 2, "--seeds -"),
    (&["crawl"], 2, "neither a URL nor a command"),
    (&["resmue"], 2, "did you mean `resume`?"),
    (&["empty.txt"], 2, "--seeds empty.txt"),
    (&["resume"], 5, "crawl holds no job"),
    (&["resume", "none"], 5, "none holds no job"),
    (&["resume", "dir"], 5, "dir holds no job"),
    (&["resume", "file"], 5, "Not a directory"),
    (&["resume", "dir", "http://127.0.0.1/"], 2, "unexpected argument"),
    (&["stats"], 5, "crawl holds no job"),
    (&["report"], 5, "crawl holds no job"),
    (&["retry"], 5, "crawl holds no job"),
    (&["top"], 5, "crawl holds no job"),
    (&["dashboard"], 5, "crawl holds no job"),
    (&["export"], 5, "crawl holds no job"),
    (&["repair"], 5, "crawl holds no job"),
    (&["config", "--include", "("], 2, "--include: scope.include"),
    (&["config", "--seen-rate", "2"], 2, "--seen-rate"),
    (&["config", "--user-agent", "é"], 2, "--user-agent"),
    (&["config", "--keep-status", "many"], 2, "--keep-status"),
    (&["config", "--simulate", "--simulate-pages", "0"], 2, "--simulate-pages"),
    (&["--simulate", "http://127.0.0.1:9/", "--job", "real"], 3, "1 seeds refused"),
    (&["stats", "none"], 5, "none holds no job"),
    (&["stats", "file"], 5, "Not a directory"),
    (&["explain"], 2, "<URL>"),
    (&["explain", "http://127.0.0.1/"], 5, "crawl holds no job"),
    (&["explain", "http://127.0.0.1/", "--job", "dir"], 5, "dir holds no job"),
    (&["help", "nothing"], 2, "there is no help for"),
    (&["--seeds"], 2, "a value is required"),
    (&["--seeds", "none.txt"], 2, "cannot read the seeds none.txt"),
    (&["--seeds", "dir"], 2, "cannot read the seeds dir: is a directory"),
    (&["--seeds", "-", "--seeds", "-"], 2, "standard input can be read only once"),
    (&["--seeds", "empty.txt", "--job", "empty"], 3, "there was no seed"),
    (&["--seeds", "bad.txt", "--job", "bad"], 3, "2 seeds refused"),
    (&["--seeds", "crlf.txt", "--job", "crlf"], 3, "private_address"),
    (&["--seeds", "bom.txt", "--job", "bom"], 3, "private_address"),
    (&["ftp://127.0.0.1/", "--job", "ftp"], 3, "scheme `ftp` is not crawled"),
    (&["http://127.0.0.1:8080/", "--job", "private"], 3, "--allow-private-addresses"),
    (&["http://127.0.0.1:6667/", "--job", "port"], 3, "blocked_port"),
    (&["http://127.0.0.1/", "--job", "file"], 5, "Not a directory"),
    (&["http://127.0.0.1/", "--job", "full"], 5, "full/note is not part of a job"),
    (&["http://127.0.0.1/", "--job", ""], 2, "expected a path"),
    (&["http://127.0.0.1/", "--job", "file/below"], 5, "Not a directory"),
    (&["http://127.0.0.1/", "--max-pages", "0"], 2, "--max-pages: crawl.max_pages = 0: no page would be fetched"),
    (&["http://127.0.0.1/", "--max-pages", "-1"], 2, "expected a count"),
    (&["http://127.0.0.1/", "--max-pages", "1.5"], 2, "expected a count"),
    (&["http://127.0.0.1/", "--max-pages", "1e99"], 2, "expected a count"),
    (&["http://127.0.0.1/", "--max-duration", "0s"], 2, "no time would be left"),
    (&["http://127.0.0.1/", "--max-duration=-5s"], 2, "expected a duration"),
    (&["http://127.0.0.1/", "--max-duration", "5"], 2, "expected a duration with its unit"),
    (&["http://127.0.0.1/", "--workers", "0"], 2, "--workers"),
    (&["http://127.0.0.1/", "--workers", "99999999999999999999"], 2, "--workers"),
    (&["http://127.0.0.1/", "--depth", "-1"], 2, "expected a count"),
    (&["http://127.0.0.1/", "--depth", "99999999999"], 2, "below 2^32"),
    (&["http://127.0.0.1/", "--scope", "hosts"], 2, "'host'"),
    (&["http://127.0.0.1/", "--include", "("], 2, "--include: scope.include"),
    (&["http://127.0.0.1/", "--add", "--overwrite"], 2, "--add: job.add = true: there is no job to add to"),
    (&["http://127.0.0.1/", "--detph", "3"], 2, "'--depth'"),
    (&["http://127.0.0.1/", "--max-depth", "3"], 2, "'--depth N'"),
    (&["http://127.0.0.1/", "--limit=3"], 2, "'--max-pages N'"),
    (&["http://127.0.0.1/", "--threads", "3"], 2, "'--workers N'"),
    (&["http://127.0.0.1/", "--resume"], 2, "'crawler resume JOB'"),
    (&["http://127.0.0.1/", "--force"], 2, "'--overwrite'"),
    (&["http://127.0.0.1/", "--delay", "3s"], 2, "'--host-delay TIME'"),
    (&["http://127.0.0.1/", "--timeout", "3s"], 2, "CRAWLER_FETCH_TOTAL_TIMEOUT=30s"),
    (&["resume", "dir", "--threads", "3"], 2, "'--workers N'"),
    (&["http://127.0.0.1/", "-c", "none.toml"], 2, "cannot read none.toml"),
    (&["http://127.0.0.1/", "-c", "dir"], 2, "cannot read dir"),
    (
        &["http://127.0.0.1/", "-c", "slip.toml"],
        2,
        "slip.toml:2:1: unknown key `crawl.max_page`; did you mean `crawl.max_pages`?",
    ),
    (&["http://127.0.0.1/", "-o", "none/records.jsonl"], 2, "cannot write none/records.jsonl"),
    (&["http://127.0.0.1/", "stats"], 2, "a command stands alone"),
    (&["http://127.0.0.1/", "-q", "-v"], 2, "cannot be used with"),
    (&["http://127.0.0.1/", "--user-agent", "é"], 2, "--user-agent"),
    (&["http://127.0.0.1/", "--seen-rate", "2"], 2, "--seen-rate"),
    (&["http://127.0.0.1/", "--shards", "3"], 2, "--shards"),
    (&["config", "extra"], 2, "neither a URL nor a command"),
    (&["canonicalize", "--base", "a"], 2, "--base"),
    (&["robots", "none.txt", "--agent", "a"], 1, "cannot read none.txt"),
    (&["completions", "tcsh"], 2, "possible values"),
    (&["seen"], 2, "Commands"),
    (&["seen", "info", "none"], 1, "cannot read none"),
    (&["seen", "info", "dir"], 5, "dir holds no job"),
    (&["seen", "plan", "--urls", "0"], 2, "a count above 0"),
    (&["seen", "remove", "dir"], 2, "dir is a directory"),
];

#[test]
fn slips_are_told_and_nothing_is_printed_as_data() {
    let desk = Desk::new();
    for directory in ["dir", "full"] {
        fs::create_dir(desk.at(directory)).unwrap();
    }
    desk.write("file", "x")
        .write("full/note", "mine")
        .write("empty.txt", "")
        .write("bad.txt", "mailto:a@b\r\nx y z\r\n");
    desk.write("crlf.txt", "# mine\r\nhttp://127.0.0.1/\r\n").write("bom.txt", "\u{feff}http://127.0.0.1/");
    desk.write("slip.toml", "[crawl]\nmax_page = 3\n");
    for (arguments, code, words) in SLIPS {
        let ran = desk.run(*arguments);
        assert!(ran.code == Some(*code) && ran.err.contains(words), "{arguments:?}: {:?} {}", ran.code, ran.err);
        // A crawl of nothing has a report, which is data.
        assert!(*code == 3 || ran.out.is_empty(), "{arguments:?}: {}", ran.out);
        assert!(!ran.err.contains("panicked") && !ran.err.contains('\x1b'), "{arguments:?}: {}", ran.err);
    }
    assert!(!desk.at("crawl").exists(), "no slip has made the default directory");
}

#[test]
fn what_prints_prints_without_a_home_a_terminal_or_an_error() {
    let desk = Desk::new();
    for arguments in [
        &["--help"][..],
        &["-h"],
        &["--version"],
        &["help"],
        &["help", "resume"],
        &["help", "seen", "build"],
        &["config"],
    ] {
        let mut command = desk.command(arguments);
        command.env_clear().env("TERM", "dumb").env("NO_COLOR", "1");
        let ran = Ran::from(command.output().unwrap());
        ran.says(0, &[]);
        assert!(!ran.out.is_empty() && ran.err.is_empty() && !ran.out.contains('\x1b'), "{arguments:?}: {}", ran.err);
    }
    let ran = desk.run(["http://127.0.0.1:8080/", "--host-delay=1ms"]);
    assert!(ran.code == Some(3) && !ran.err.contains('\x1b'), "{ran:?}");
}
