//! `crawler seen uniq`, and the processing of lines that it shares with other commands: on all cores, in order.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use crawler::address::{Canonicalizer, KeyRules};
use crawler_frontier::driver::canonicalize_lines;
use tempfile::TempDir;

use crate::ran::{Ran, crawler};

fn start(directory: &TempDir, arguments: &str) -> Child {
    let mut command = crawler(directory, arguments.split_whitespace());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs a command on some lines. Returns its exit code, its output and its messages.
fn run_on(directory: &TempDir, arguments: &str, lines: &[u8]) -> (Option<i32>, Vec<u8>, String) {
    let mut child = start(directory, arguments);
    let mut input = child.stdin.take().unwrap();
    let output = thread::scope(|scope| {
        // A command that is refused does not read what it is given.
        scope.spawn(move || drop(input.write_all(lines)));
        child.wait_with_output().unwrap()
    });
    (output.status.code(), output.stdout, String::from_utf8(output.stderr).unwrap())
}

fn run(directory: &TempDir, arguments: &str, lines: &str) -> Ran {
    let (code, out, err) = run_on(directory, arguments, lines.as_bytes());
    Ran { code, out: String::from_utf8(out).unwrap(), err }
}

/// Its output, if it succeeded without a message.
fn ok(directory: &TempDir, arguments: &str, lines: &str) -> String {
    let ran = run(directory, arguments, lines);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{arguments}");
    ran.out
}

fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn new_lines_are_printed_as_they_came() {
    let dir = directory();
    assert_eq!(ok(&dir, "seen uniq --raw", "b\na\nb\n\na\n\n c\nc"), "b\na\n\n c\nc\n");
    let urls = "http://b.org/%7Eann?b=1&a=2\nHTTP://A.org:80\nhttp://b.org/~ann?a=2&b=1&utm_source=x\nhttp://a.org/\n";
    assert_eq!(ok(&dir, "seen uniq", urls), "http://b.org/%7Eann?b=1&a=2\nHTTP://A.org:80\n");
    let (code, out, _) = run_on(&dir, "seen uniq --raw", b"\xff\0\r\n\xfe\n\xff\0\n\xff\0\r\n");
    assert_eq!((code, &out[..]), (Some(0), &b"\xff\0\r\n\xfe\n"[..]), "line ends are no part of a line");
    assert_eq!(ok(&dir, "seen uniq", ""), "");
}

#[test]
fn a_file_remembers_from_run_to_run() {
    let dir = directory();
    assert_eq!(ok(&dir, "seen uniq known", "http://a.org/\nhttp://b.org/\n"), "http://a.org/\nhttp://b.org/\n");
    assert_eq!(ok(&dir, "seen uniq known", "http://c.org/\nhttp://b.org\n"), "http://c.org/\n");
    assert_eq!(ok(&dir, "seen query known", "http://c.org/\nhttp://d.org/\n"), "seen\nnew\n");
    // As any other filter in a file.
    ok(&dir, "seen uniq other", "http://d.org/\n");
    ok(&dir, "seen merge both known other", "");
    assert_eq!(ok(&dir, "seen uniq both", "http://a.org/\nhttp://d.org/\nhttp://e.org/\n"), "http://e.org/\n");
    let info = ok(&dir, "seen info both", "");
    assert!(info.starts_with("layout                      exact\n"), "{info}");
}

#[test]
fn a_dry_run_writes_nothing() {
    let dir = directory();
    assert_eq!(ok(&dir, "seen uniq --raw known --dry-run", "a\na\n"), "a\n");
    assert!(!dir.path().join("known").exists());
    ok(&dir, "seen uniq --raw known", "a\n");
    let before = std::fs::read(dir.path().join("known")).unwrap();
    assert_eq!(ok(&dir, "seen uniq --raw known --dry-run", "a\nb\n"), "b\n");
    assert_eq!(ok(&dir, "seen uniq --raw known --dry-run --count", "a\nb\nb\n"), "new\t1\nseen\t2\nerror\t0\n");
    assert!(std::fs::read(dir.path().join("known")).unwrap() == before);
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["known"]);
    let ran = run(&dir, "seen uniq --dry-run", "");
    assert!(ran.code == Some(2) && ran.err.contains("FILE"), "{}", ran.err);
}

/// A dry run prints URLs that a crawl has not seen. The crawl's filter does not change.
#[test]
fn a_job_is_only_read() {
    let dir = directory();
    let crawled = run(&dir, "--simulate --max-pages 20 --job job", "");
    assert_eq!(crawled.code, Some(0), "{}", crawled.err);
    let pages = std::fs::read_to_string(dir.path().join("job/pages.jsonl")).unwrap();
    let page: serde_json::Value = serde_json::from_str(pages.lines().next().unwrap()).unwrap();
    let lines = format!("{}\nhttp://unseen.example/\n", page["url"].as_str().unwrap());
    assert_eq!(ok(&dir, "seen uniq job --dry-run", &lines), "http://unseen.example/\n");
    let ran = run(&dir, "seen uniq job", &lines);
    assert!(ran.code == Some(2) && ran.out.is_empty(), "{}", ran.err);
    assert!(ran.err.contains("a job's filter is only read"), "{}", ran.err);
}

#[test]
fn a_line_that_is_new_is_there_at_once() {
    let dir = directory();
    for arguments in ["seen uniq", "seen uniq --raw known", "canonicalize", "seen query known"] {
        let mut child = start(&dir, arguments);
        let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        for url in ["http://a.org/", "http://b.org/"] {
            // Half a line does not count.
            input.write_all(&url.as_bytes()[..9]).unwrap();
            writeln!(input, "{}", &url[9..]).unwrap();
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            assert!(line.starts_with(url) || line == "seen\n" || line == "new\n", "{arguments}: {line}");
        }
        drop(input);
        assert_eq!(output.lines().count(), 0);
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn lines_that_have_no_key_are_told_and_left_out() {
    let dir = directory();
    let lines = "http://a.org/\nmailto:ann@a.org\n\nhttp://b.org/\n/c\nhttp://a.org/\n";
    let ran = run(&dir, "seen uniq known", lines);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), "http://a.org/\nhttp://b.org/\n"));
    let expected = "crawler: warning: line 2: scheme `mailto` is not crawled\n\
                    crawler: warning: line 3: not a URL: relative URL without a base\n\
                    crawler: warning: line 5: not a URL: relative URL without a base\n\
                    crawler: error: 3 of 6 lines were left out: no URLs; --raw takes any text\n";
    assert_eq!(ran.err, expected);
    // The printed lines are remembered all the same.
    let again = run(&dir, "seen uniq known --count", lines);
    assert_eq!((again.code, again.out.as_str()), (Some(1), "new\t0\nseen\t3\nerror\t3\n"));

    let ran = run(&dir, "seen uniq", &"no url\n".repeat(100_000));
    assert_eq!(ran.err.lines().count(), 22, "{}", ran.err);
    assert!(
        ran.err.ends_with("crawler: error: 100,000 of 100,000 lines were left out: no URLs; --raw takes any text\n")
    );
    let ran = run(&dir, "seen build built", &format!("{}http://a.org/\n", "no url\n".repeat(1000)));
    assert_eq!(ran.code, Some(1), "not all lines are in it");
    assert_eq!(ok(&dir, "seen query built", "http://a.org/\n"), "seen\n");
    assert!(ran.err.ends_with("1,001 lines, 1 new, 1,000 refused\n") && ran.err.lines().count() == 22, "{}", ran.err);
}

/// Both would write their filters, and one of the two would be lost.
#[test]
fn a_file_is_changed_by_one_command_at_a_time() {
    let dir = directory();
    let mut first = start(&dir, "seen uniq known --raw");
    let mut input = first.stdin.take().unwrap();
    input.write_all(b"a\n").unwrap();
    let mut printed = BufReader::new(first.stdout.take().unwrap());
    let mut line = String::new();
    // It has the file by now.
    printed.read_line(&mut line).unwrap();
    assert_eq!(line, "a\n");
    for other in ["seen uniq known --raw", "seen build known --raw --overwrite", "seen remove known --raw"] {
        let ran = run(&dir, other, "a\nb\n");
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{other}: {}", ran.err);
        assert!(ran.err.contains("known is being changed by another command: run one after the other"), "{}", ran.err);
    }
    assert_eq!(ok(&dir, "seen uniq known --raw --dry-run", ""), "", "who only reads need not wait");
    drop(input);
    assert!(first.wait().unwrap().success());
    assert_eq!(ok(&dir, "seen uniq known --raw", "a\nb\n"), "b\n");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");
}

/// Two long lines may differ at their ends: neither is taken for the other.
#[test]
fn a_line_that_is_too_long_is_left_out() {
    let dir = directory();
    let fits = "f".repeat((1 << 20) - 1);
    let long = "x".repeat(1 << 20);
    let lines = format!("a\n{long}1\n{fits}\n{long}2\nb\n{fits}\na\n");
    let ran = run(&dir, "seen uniq --raw", &lines);
    assert!(ran.code == Some(1) && ran.out == format!("a\n{fits}\nb\n"));
    let expected = "crawler: warning: line 2: 1048578 bytes long, the limit is 1048576\n\
                    crawler: warning: line 4: 1048578 bytes long, the limit is 1048576\n\
                    crawler: error: 2 of 7 lines were left out: too long\n";
    assert_eq!(ran.err, expected);
}

/// Nothing is lost: lines that the reader did not take are printed again next time.
#[test]
fn a_reader_that_leaves_is_no_error() {
    let dir = directory();
    ok(&dir, "seen uniq --raw known", "before\n");
    let lines = numbers(0..200_000);
    for (arguments, note) in [("seen uniq --raw", ""), ("seen uniq --raw known", "known is as it was")] {
        let mut child = start(&dir, arguments);
        let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let lines = lines.clone();
        let writer = thread::spawn(move || input.write_all(lines.as_bytes()).and_then(|()| input.write_all(b"end\n")));
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "0\n");
        drop(output);
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.err.is_empty()), (Some(0), note.is_empty()), "{}", ran.err);
        assert!(ran.err.contains(note), "{}", ran.err);
        drop(writer.join().unwrap());
    }
    assert_eq!(ok(&dir, "seen uniq --raw known", "before\n0\n"), "0\n");
}

/// It is printed, so it is remembered.
#[cfg(unix)]
#[test]
fn a_signal_keeps_what_was_printed() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let dir = directory();
        let mut child = start(&dir, "seen uniq --raw known");
        let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        input.write_all(b"ann\nbob\n").unwrap();
        let mut lines = String::new();
        output.read_line(&mut lines).unwrap();
        output.read_line(&mut lines).unwrap();
        assert_eq!(lines, "ann\nbob\n");
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        // The input is open still.
        assert_eq!(child.wait().unwrap().code(), Some(code));
        drop(input);
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, "");
        assert_eq!(ok(&dir, "seen uniq --raw known", "ann\nbob\ncid\n"), "cid\n");
    }
}

fn numbers(numbers: std::ops::Range<u32>) -> String {
    numbers.fold(String::new(), |mut text, number| {
        writeln!(text, "{number}").unwrap();
        text
    })
}

/// URLs, each many times and in many spellings. Some take long, and some are malformed.
fn urls(count: u64) -> String {
    let mut text = String::new();
    for number in 0..count {
        let random = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let page = random % (count / 3);
        match random >> 30 & 7 {
            0 => writeln!(text, "HTTP://Site-{}.example:80/%7epage/{page}?b=2&a={page}&utm_source=x#y", page % 7),
            1 => writeln!(text, "http://site-{}.example/~page/{page}?a={page}&b=2", page % 7),
            2 => writeln!(text, "no url {page}"),
            3 => writeln!(text, "http://site-{}.example/x/../{}/{page}", page % 7, "é".repeat((page % 50) as usize)),
            _ => writeln!(text, "http://site-{}.example/{page}\r", page % 7),
        }
        .unwrap();
    }
    text.pop();
    text
}

/// As one thread with a set of strings would do it.
#[test]
fn many_lines_come_in_order_and_once() {
    let dir = directory();
    let text = urls(60_000);
    let canonicalizer = Canonicalizer::new(&KeyRules::default());
    let (mut keys, mut lines) = (HashSet::new(), HashSet::new());
    let (mut expected, mut expected_raw, mut answers) = (String::new(), String::new(), String::new());
    for line in text.split('\n') {
        let stripped = line.strip_suffix('\r').unwrap_or(line);
        if lines.insert(stripped) {
            writeln!(expected_raw, "{line}").unwrap();
        }
        let Ok(url) = canonicalizer.canonicalize(stripped) else {
            answers.push_str("error\tnot a URL: relative URL without a base\n");
            continue;
        };
        answers.push_str("seen\n");
        if keys.insert(url.key().to_owned()) {
            writeln!(expected, "{line}").unwrap();
        }
    }
    let ran = run(&dir, "seen uniq known --expect-new 5k", &text);
    assert!(ran.code == Some(1) && ran.out == expected);
    assert!(ok(&dir, "seen uniq --raw", &text) == expected_raw);
    assert!(ok(&dir, "seen query known", &text) == answers);
    run(&dir, "seen build built --seen exact", &text);
    let counts =
        format!("new\t0\nseen\t{}\nerror\t{}\n", answers.matches("seen").count(), answers.matches("err").count());
    assert_eq!(ok(&dir, "seen query built --count", &text), counts);
}

/// The command on all cores, and the library on one.
#[test]
fn keys_are_printed_as_the_library_makes_them() {
    let dir = directory();
    let mut list = b"\xEF\xBB\xBFhttp://a.org/?b&a\r\n\n  \nhttp://a.org/\x1b[31m\n\xff\n".to_vec();
    list.extend(urls(20_000).as_bytes());
    list.extend(b"\n\xEF\xBB\xBFhttp://a.org/\n");
    list.resize(list.len() + (3 << 20), b'x');
    list.extend(b"\nhttp://a.org/z");
    let canonicalizer = Canonicalizer::new(&KeyRules::default());
    for (arguments, base) in [("canonicalize", None), ("canonicalize --base http://b.org/c/", Some("http://b.org/c/"))]
    {
        let base = base.map(|base| canonicalizer.base(base).unwrap());
        let mut expected = Vec::new();
        canonicalize_lines(&*list, &mut expected, &canonicalizer, base.as_ref()).unwrap();
        let (code, out, err) = run_on(&dir, arguments, &list);
        assert_eq!((code, err.as_str()), (Some(0), ""));
        assert!(out == expected, "{arguments}");
    }
}

#[test]
fn a_filter_that_cannot_be_read_or_written_is_told() {
    let dir = directory();
    std::fs::write(dir.path().join("known"), "no filter").unwrap();
    let ran = run(&dir, "seen uniq known --raw", "a\n");
    assert!(ran.code == Some(1) && ran.out.is_empty() && ran.err.contains("known: "), "{}", ran.err);
    assert_eq!(std::fs::read(dir.path().join("known")).unwrap(), b"no filter");
    let ran = run(&dir, "seen uniq nowhere/known --raw", "a\n");
    assert!(ran.code == Some(1) && ran.err.contains("cannot write nowhere/known: "), "{}", ran.err);
    assert!(!Path::new(&dir.path().join("nowhere")).exists());
    assert_eq!(run(&dir, "seen uniq --expect-new 0", "").code, Some(2));
}
