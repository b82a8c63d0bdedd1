//! The sources as text: which files exist, which part of them is code, where their unit tests begin.

use std::fs;
use std::path::{Path, PathBuf};

/// A Rust file.
pub(crate) struct Source {
    /// From the package's directory, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    /// The text with comments and literals replaced by blanks, so that offsets and lines are the same.
    pub(crate) code: String,
}

impl Source {
    /// All files of the two crates.
    pub(crate) fn all() -> Vec<Self> {
        let sources: Vec<_> = ["frontier/src", "src"].into_iter().flat_map(Self::below).collect();
        assert!(sources.len() > 30, "the sources are where they are looked for");
        sources
    }

    /// All files below a folder of the package, by path.
    pub(crate) fn below(folder: &str) -> Vec<Self> {
        let mut sources = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(package().join(&folder)).unwrap() {
                let entry = entry.unwrap();
                let path = format!("{folder}/{}", entry.file_name().into_string().unwrap());
                if entry.file_type().unwrap().is_dir() {
                    folders.push(path);
                } else if entry.path().extension().is_some_and(|extension| extension == "rs") {
                    sources.push(Self::new(&path, &fs::read_to_string(entry.path()).unwrap()));
                }
            }
        }
        sources.sort_by(|a, b| a.path.cmp(&b.path));
        sources
    }

    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned(), code: blank(text) }
    }

    /// The floor it is on; `None` for the crate's own files.
    pub(crate) fn floor(&self) -> Option<&str> {
        let (floor, _) = self.inner()?.split_once('/')?;
        Some(floor)
    }

    /// Its path from the source folder of its crate; `None` for a test, a bench or an example.
    pub(crate) fn inner(&self) -> Option<&str> {
        self.path.strip_prefix("frontier/").unwrap_or(&self.path).strip_prefix("src/")
    }

    /// Where the unit tests begin: at the start of a file or folder named `tests`; the end of the text if there are
    /// none.
    pub(crate) fn tests(&self) -> usize {
        if self.inner().is_some() && (self.path.contains("/tests/") || self.path.ends_with("/tests.rs")) {
            return 0;
        }
        let tests = self.code.find("\n#[cfg(test)]\nmod tests {").map(|at| at + 1);
        tests.unwrap_or(self.code.len())
    }

    /// Offsets at which the code names this path's first segment, as `segment::` or `use segment;`.
    pub(crate) fn names<'a>(&'a self, segment: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.code.match_indices(segment).map(|(at, _)| at).filter(move |&at| {
            let (before, after) = (&self.code[..at], &self.code[at + segment.len()..]);
            let starts = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
            starts && (after.starts_with("::") || before.ends_with("use ") && after.starts_with([';', ' ']))
        })
    }

    pub(crate) fn place(&self, offset: usize) -> String {
        format!("{}:{}", self.path, self.code[..offset].matches('\n').count() + 1)
    }
}

/// The package to examine. `CRAWLER_TREE` names another checkout, to compare the figures of two.
fn package() -> PathBuf {
    std::env::var_os("CRAWLER_TREE").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).to_owned(), PathBuf::from)
}

/// Only the code: comments, strings and characters become blanks, at the same offsets.
fn blank(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    while let Some(first) = text[code.len()..].chars().next() {
        let rest = &text[code.len()..];
        let word = code.ends_with(|c: char| c.is_alphanumeric() && c != 'b' || c == '_');
        let hidden = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            '"' => quoted(rest),
            'r' if !word => raw(rest),
            '\'' if rest[1..].starts_with('\\') => rest[3..].find('\'').map_or(0, |at| at + 4),
            // A lifetime has no second quote.
            '\'' => rest[1..].char_indices().nth(1).filter(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 2),
            _ => 0,
        };
        for c in rest[..hidden].chars() {
            code.push_str(if c == '\n' { "\n" } else { &"    "[..c.len_utf8()] });
        }
        if hidden == 0 {
            code.push(first);
        }
    }
    code
}

/// The length of the quoted string that this begins with.
fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            c => escaped = c == '\\' && !escaped,
        }
    }
    rest.len()
}

/// The length of the raw string that this begins with; 0 if it begins with none.
fn raw(rest: &str) -> usize {
    let opening = rest[1..].trim_start_matches('#');
    let hashes = rest.len() - 1 - opening.len();
    let Some(inner) = opening.strip_prefix('"') else { return 0 };
    let end = format!("\"{}", "#".repeat(hashes));
    inner.find(&end).map_or(rest.len(), |at| hashes + 2 + at + end.len())
}

#[test]
fn only_code_is_left() {
    let blank = |text| blank(text).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(blank("a // b\nc /* d */ e ///f"), "a c e");
    assert_eq!(blank(r#"let a = "b \" // c" + d"#), "let a = + d");
    assert_eq!(blank("(r\"\\\", br##\"\"# c\"##, r#type, for\"e\")"), "( , b , r#type, for )");
    assert_eq!(blank(r"('a', '\'', '\u{e9}', '\\', b'\n', &'static str, '/')"), "( , , , , b , &'static str, )");
    assert_eq!(super::source::blank("é \"é\n\" b").len(), "é \"é\n\" b".len());
}
