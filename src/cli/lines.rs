//! Commands that answer each line of standard input with one line: `crawler canonicalize` and `crawler robots`.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;

use super::command_error::{CommandError, Exit};
use super::crew::Crew;
use super::line_block::LineBlock;
use super::output::{Safe, print};
use super::settings::AllSettings;
use crate::address::{Canonicalizer, KeyRules};
use crate::driver::canonicalize_line;
use crate::frontier::Robots;

/// `crawler canonicalize`: key, tab, wire URL; or `error`, tab, reason.
pub(super) fn canonicalize(settings: &AllSettings, base: Option<&str>) -> Result<(), CommandError> {
    let frontier = &settings.crawl.frontier;
    let canonicalizer = Canonicalizer::new(&frontier.keys).with_max_bytes(frontier.traps.url_bytes);
    let base = base.map(|base| canonicalizer.base(base)).transpose();
    let base = base.map_err(CommandError::of(Exit::Usage, "--base"))?;
    let answer = move |block: &LineBlock, answers: &mut Vec<u8>| {
        answers.clear();
        for line in block.lines() {
            let line = line.text(canonicalizer.max_bytes());
            canonicalize_line(line, answers, &canonicalizer, base.as_ref()).expect("a vector takes what it is given");
        }
    };
    print(|out| {
        let written = Crew::new().run(io::stdin(), answer, |_, answers| {
            out.write_all(answers)?;
            out.flush()
        });
        written.map(drop)
    })
}

/// `crawler robots`: `allowed` or `disallowed`, tab, the rule that decided; or `error`, tab, reason.
pub(super) fn robots(file: &Path, agent: &str) -> Result<(), CommandError> {
    let mut body = Vec::new();
    let read = File::open(file).and_then(|file| file.take(Robots::MAX_BYTES as u64).read_to_end(&mut body));
    read.map_err(CommandError::cannot(Exit::Failed, "read", file))?;
    let robots = Robots::parse(&body, agent);
    let canonicalizer = Canonicalizer::new(&KeyRules::default());
    print(|out| {
        let mut input = io::stdin().lock();
        let mut line = Vec::new();
        while next_line(&mut input, &mut line)? {
            let answer = match std::str::from_utf8(&line) {
                Ok(text) => rule_line(&robots, &canonicalizer, text),
                Err(_) => "error\tnot UTF-8".to_owned(),
            };
            writeln!(out, "{}", Safe(&answer))?;
        }
        Ok(())
    })
}

/// Bytes of a line that are read. No URL is that long; the rest of a longer line is skipped.
const MAX_LINE: usize = 1 << 20;

/// Replaces `line` by the next line without its end, cut one byte after [`MAX_LINE`]; returns whether there was one.
pub(super) fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let mut read = input.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    } else if read > MAX_LINE {
        read += input.skip_until(b'\n')?;
    }
    Ok(read > 0)
}

/// One line of `crawler robots`: for a URL or a path, `allowed` or `disallowed`, a tab, and the rule that decided or
/// `-`; for any other line `error`, a tab, and the reason. Without a line end.
///
/// The wire form is matched, as a crawl would request it; the URL's host is ignored.
fn rule_line(robots: &Robots, canonicalizer: &Canonicalizer, line: &str) -> String {
    let line = line.trim();
    let url = match line.strip_prefix('/') {
        // Any host will do: only the path matters.
        Some(path) => canonicalizer.canonicalize(&format!("http://robots.invalid/{path}")),
        None => canonicalizer.canonicalize(line),
    };
    match url {
        Ok(url) => {
            let ruling = robots.ruling(url.path_and_query());
            let verdict = if ruling.allowed { "allowed" } else { "disallowed" };
            format!("{verdict}\t{}", ruling.rule.unwrap_or("-"))
        }
        Err(error) => format!("error\t{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::KeyRules;

    #[test]
    fn lines_lose_their_ends_and_nothing_else() {
        let long = "a".repeat(MAX_LINE + 5);
        let mut input = io::Cursor::new(format!("a\r\n\n \nb\r\r\n{long}\nc"));
        let mut line = Vec::new();
        let mut lines = Vec::new();
        while next_line(&mut input, &mut line).unwrap() {
            lines.push((String::from_utf8_lossy(&line[..line.len().min(2)]).into_owned(), line.len()));
        }
        let expected = [("a", 1), ("", 0), (" ", 1), ("b\r", 2), ("aa", MAX_LINE + 1), ("c", 1)];
        assert_eq!(lines, expected.map(|(start, length)| (start.to_owned(), length)));
    }

    #[test]
    fn each_line_is_answered_with_the_rule_that_decided() {
        let robots = Robots::parse("User-agent: *\nDisallow: /a b/Ü\nAllow: /a b/Ü/c\n".as_bytes(), "crawler");
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        for (line, expected) in [
            ("http://example.org/a b/Ü/d", "disallowed\tDisallow: /a b/Ü"),
            ("https://example.org:8080/a%20b/%c3%9c/c?d#e", "allowed\tAllow: /a b/Ü/c"),
            ("/a b/Ü", "disallowed\tDisallow: /a b/Ü"),
            ("//a b/Ü\r\n", "allowed\t-"),
            ("http://example.org", "allowed\t-"),
            ("/x/../a b/Ü", "disallowed\tDisallow: /a b/Ü"),
        ] {
            assert_eq!(rule_line(&robots, &canonicalizer, line), expected, "{line}");
        }
        for line in ["", "a/b", "mailto:a@example.org", "http://[1"] {
            assert!(rule_line(&robots, &canonicalizer, line).starts_with("error\t"), "{line}");
        }
    }
}
