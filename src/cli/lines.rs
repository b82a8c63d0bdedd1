//! Commands that answer each line of standard input with one line.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;

use super::command_error::CommandError;
use super::crew::Crew;
use super::exit::Exit;
use super::line_block::LineBlock;
use super::output::{Safe, print};
use super::robots::rule_line;
use super::settings::AllSettings;
use crate::address::{Canonicalizer, KeyRules, canonicalize_line};
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
