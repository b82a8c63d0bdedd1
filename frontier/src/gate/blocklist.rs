//! Blocklists: hosts and URLs that are never requested, from lists that others maintain.
//!
//! Such lists have millions of entries, and hardly any link is on one. So a filter is asked first, and a link that it takes for listed is
//! looked up on disk, as browsers do with lists of harmful URLs: the [verified layout](crate::seen::Layout::Verified). Five million entries
//! take 12 MB of memory and 40 MB of disk. A link costs a lookup for its URL and one for each label of its host, and none if its answer is
//! cached from another page.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use super::OptionError;
use crate::address::{CanonicalUrl, Canonicalizer, FingerprintKey, TextLines};
use crate::seen::{Layout, SeenError, SeenOptions, SeenSet, Sighting};

/// The option that names the lists.
const OPTION: &str = "scope.blocklists";
/// The filter's rate of false positives. Memory is dear here, and a read of the disk for one link in a thousand is not.
const RATE: f64 = 1e-3;
/// The set's shards. Each holds some four files open.
const SHARDS: usize = 4;

/// The entries of some lists. The lists are read when the gate is made: a changed list takes effect at the next start.
pub struct Blocklist {
    /// Hosts by their names, and URLs by their keys: no key is a host's name, since it begins with a scheme.
    set: SeenSet,
    /// Random, so that the author of a list cannot choose entries that collide. The set is never saved, so the key need not be, either.
    key: FingerprintKey,
    files: Vec<PathBuf>,
    canonicalizer: Canonicalizer,
    entries: u64,
    /// A hash of all entries, whatever their order.
    digest: u64,
    unread: u64,
    first_unread: Option<String>,
}

impl fmt::Debug for Blocklist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocklist").field("files", &self.files).field("entries", &self.entries).finish_non_exhaustive()
    }
}

impl Blocklist {
    /// Reads the lists twice: the first time, their lines are counted. `None` if there are no lists. The entries go into unnamed files in
    /// this directory, or, if it does not exist, in the directory for temporary files.
    ///
    /// Costs a few microseconds an entry.
    ///
    /// # Errors
    /// If a list or the disk cannot be read or written, or there is no memory. A line that names nothing is no error;
    /// [`unread`](Self::unread) counts it.
    pub(super) fn read(
        files: &[PathBuf],
        canonicalizer: &Canonicalizer,
        directory: Option<&Path>,
    ) -> Result<Option<Self>, OptionError> {
        if files.is_empty() {
            return Ok(None);
        }
        let mut lines = 0;
        walk(files, canonicalizer, |_| lines += 1)?;
        let key = FingerprintKey::random();
        let directory =
            directory.filter(|directory| directory.is_dir()).map_or_else(std::env::temp_dir, Path::to_owned);
        let set = SeenSet::new(&SeenOptions {
            layout: Layout::Verified,
            capacity: lines.max(1),
            false_positive_rate: RATE,
            shards: SHARDS,
            key,
            directory: Some(directory),
            ..SeenOptions::default()
        })?;
        let (files, canonicalizer) = (files.to_vec(), canonicalizer.clone());
        let mut list = Self { set, key, files, canonicalizer, entries: 0, digest: 0, unread: 0, first_unread: None };
        list.fill()?;
        Ok(Some(list))
    }

    /// The second reading: it inserts each entry into the set. A line that was added to a file since the first reading counts, too. At the
    /// end it checks that the disk has worked throughout.
    fn fill(&mut self) -> Result<(), OptionError> {
        let Self { set, key, files, canonicalizer, entries, digest, unread, first_unread } = self;
        let same_everywhere = FingerprintKey::from_u64(0);
        walk(files, canonicalizer, |line| {
            if let Ok(named) = BlockEntry::of_line(line.text, canonicalizer) {
                let new = named.iter().filter(|entry| set.insert(key.fingerprint(entry.text())) == Sighting::New);
                for entry in new {
                    *entries += 1;
                    *digest = digest.wrapping_add(same_everywhere.fingerprint(entry.text()).bits());
                }
            } else {
                *unread += 1;
                first_unread.get_or_insert_with(|| line.to_string());
            }
        })?;
        self.check().map_err(|error| refused(&self.files[0], &error))
    }

    /// Whether a list names this URL, its host, or a parent of its host. It takes one lookup for each label of the host and one for the URL.
    /// One lookup in a thousand reads a page from disk.
    pub(crate) fn blocks(&self, url: &CanonicalUrl) -> bool {
        let holds = |text: &str| self.set.contains(self.key.fingerprint(text));
        above(url.host()).any(holds) || holds(url.key())
    }

    /// Which line blocks this URL: `list.txt:17`. For `explain` alone: it reads all lists, a few seconds for a million entries. `None` if
    /// they have changed since.
    pub(super) fn line(&self, url: &CanonicalUrl) -> Option<String> {
        let mut found = None;
        let is_it = |entry: &BlockEntry| match entry {
            BlockEntry::Host(host) => above(url.host()).any(|above| above == host),
            BlockEntry::Url(key) => key == url.key(),
        };
        walk(&self.files, &self.canonicalizer, |line| {
            let names = |line: &Line<'_>| {
                BlockEntry::of_line(line.text, &self.canonicalizer).is_ok_and(|named| named.iter().any(is_it))
            };
            if found.is_none() && names(&line) {
                found = Some(format!("{}:{}", line.file.display(), line.number));
            }
        })
        .ok()?;
        found
    }

    /// Distinct entries, hosts and URLs together, over all lists.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// A hash of the entries, the same in every process.
    pub(super) fn digest(&self) -> u64 {
        self.digest
    }

    /// How many lines name neither a host nor a URL, and the first such line with its place; `None` if all could be read.
    pub fn unread(&self) -> Option<(u64, &str)> {
        self.first_unread.as_deref().map(|first| (self.unread, first))
    }

    /// Memory that the filter takes, in bytes; the entries themselves are on disk, at 8 bytes each.
    pub fn bytes(&self) -> u64 {
        self.set.bytes()
    }

    /// Checks that the disk has worked so far. If it fails, the filter's answer stands: some URLs are taken for listed.
    pub(super) fn check(&self) -> Result<(), SeenError> {
        self.set.check()
    }
}

/// A host, and the hosts above it: `a.b.c`, `b.c`, `c`. An entry blocks everything below it, so a host is blocked if any of these is an
/// entry; the last is a whole top-level domain, which some lists name.
fn above(host: &str) -> impl Iterator<Item = &str> {
    let further = host.match_indices('.').map(|(at, _)| &host[at + 1..]);
    std::iter::once(host).chain(further).filter(|host| !host.is_empty())
}

/// A line of a list, cut at the longest URL that the crawl takes.
struct Line<'a> {
    file: &'a Path,
    number: u64,
    text: &'a str,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {:?}", self.file.display(), self.number, self.text.chars().take(80).collect::<String>())
    }
}

/// Shows each line of each list, in the order of the lists: `explain` names the first line that blocks a URL. A line that is too long for a
/// URL, or is not UTF-8, is shown as far as it is text.
fn walk(files: &[PathBuf], canonicalizer: &Canonicalizer, mut show: impl FnMut(Line<'_>)) -> Result<(), OptionError> {
    for path in files {
        let mut read = || -> io::Result<()> {
            let mut lines = TextLines::new(BufReader::new(File::open(path)?), canonicalizer.max_bytes());
            while let Some(line) = lines.next()? {
                show(Line { file: path, number: line.number, text: &String::from_utf8_lossy(line.kept) });
            }
            Ok(())
        };
        read().map_err(|error| refused(path, &error))?;
    }
    Ok(())
}

/// The error for the gate's options: the file, and the system's error.
fn refused(path: &Path, error: &dyn fmt::Display) -> OptionError {
    OptionError::Option { option: OPTION, value: path.display().to_string(), reason: error.to_string() }
}

/// A host or a URL that a line names.
#[derive(Clone, Debug, PartialEq, Eq)]
enum BlockEntry {
    /// A host, and all hosts below it.
    Host(String),
    /// The key of a URL: only this URL.
    Url(String),
}

/// A line that names neither a host nor a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unread;

impl BlockEntry {
    /// The entries of a line: none of a blank line or a comment, several of a line of a hosts file, two of a URL without its scheme.
    ///
    /// | line | what it blocks |
    /// |---|---|
    /// | `example.org`, `.example.org`, `*.example.org`, `\|\|example.org^` | the host and all below it |
    /// | `0.0.0.0 a.example b.example` | both, as in a hosts file; names without a dot are this machine's own |
    /// | `https://example.org/a?b` | this URL |
    /// | `example.org/a?b` | this URL, by http and https |
    fn of_line(line: &str, canonicalizer: &Canonicalizer) -> Result<Vec<Self>, Unread> {
        let line = line.trim();
        if line.starts_with('!') {
            return Ok(Vec::new());
        }
        // A word that starts with `#` is a comment; a URL's fragment follows the URL without a blank.
        let words: Vec<&str> = line.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
        match words[..] {
            [] => Ok(Vec::new()),
            [word] => Self::of_word(word, canonicalizer),
            [address, ref names @ ..] if address.parse::<IpAddr>().is_ok() => {
                let foreign = names.iter().filter(|name| name.contains('.') && name.parse::<IpAddr>().is_err());
                foreign.map(|name| Self::host(name, canonicalizer)).collect()
            }
            _ => Err(Unread),
        }
    }

    /// The entries of a line's only word: a URL, a host with or without the marks of the list's own format, or a URL without its scheme.
    fn of_word(word: &str, canonicalizer: &Canonicalizer) -> Result<Vec<Self>, Unread> {
        let url = |text: &str| {
            canonicalizer.canonicalize(text).map(|url| Self::Url(url.key().to_owned())).map_err(|_| Unread)
        };
        if word.contains("://") {
            return Ok(vec![url(word)?]);
        }
        let name = match word.strip_prefix("||") {
            Some(name) => name.strip_suffix('^').ok_or(Unread)?,
            None => word.strip_prefix("*.").or(word.strip_prefix('.')).unwrap_or(word),
        };
        if name.contains('/') {
            return ["http", "https"].iter().map(|scheme| url(&format!("{scheme}://{name}"))).collect();
        }
        Ok(vec![Self::host(name, canonicalizer)?])
    }

    /// The host of this name or address, as URLs spell it: in lower case, in punycode.
    fn host(name: &str, canonicalizer: &Canonicalizer) -> Result<Self, Unread> {
        let is_name = !name.contains(['/', '?', '#', '@', '*', '^', '$', '\\']);
        let url =
            is_name.then(|| canonicalizer.canonicalize(&format!("http://{name}/")).ok()).flatten().ok_or(Unread)?;
        let has_port = url.origin().len() > "http://".len() + url.host().len();
        if has_port { Err(Unread) } else { Ok(Self::Host(url.host().to_owned())) }
    }

    /// Its text in the set. It is unambiguous: URLs have a scheme, and hosts have none.
    fn text(&self) -> &str {
        match self {
            Self::Host(text) | Self::Url(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::KeyRules;

    #[test]
    fn lines_of_the_lists_that_there_are() {
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        let texts = |line: &str| {
            let entries = BlockEntry::of_line(line, &canonicalizer).ok()?;
            Some(entries.iter().map(BlockEntry::text).collect::<Vec<_>>().join(" "))
        };
        for (line, entries) in [
            ("", Some("")),
            ("  \t ", Some("")),
            ("# a comment", Some("")),
            ("#another", Some("")),
            ("! a comment", Some("")),
            ("Example.ORG", Some("example.org")),
            ("example.org  # why", Some("example.org")),
            ("example.org.", Some("example.org")),
            (".example.org", Some("example.org")),
            ("*.example.org", Some("example.org")),
            ("||example.org^", Some("example.org")),
            ("bücher.example", Some("xn--bcher-kva.example")),
            ("zip", Some("zip")),
            ("192.0.2.7", Some("192.0.2.7")),
            ("[2001:db8::7]", Some("[2001:db8::7]")),
            ("0.0.0.0 a.example\tB.example # both", Some("a.example b.example")),
            (":: a.example", Some("a.example")),
            ("127.0.0.1 localhost", Some("")),
            ("0.0.0.0 0.0.0.0", Some("")),
            ("https://example.org/a?b#c", Some("https://example.org/a?b")),
            ("HTTP://Example.org", Some("http://example.org/")),
            ("example.org/a", Some("http://example.org/a https://example.org/a")),
            ("two words", None),
            ("example.org:8080", None),
            ("||example.org^$third-party", None),
            ("||example.org", None),
            ("@@||example.org^", None),
            ("example.org##.banner", None),
            ("ad*.example.org", None),
            ("ftp://example.org/", None),
            ("a..b^c", None),
        ] {
            assert_eq!(texts(line).as_deref(), entries, "{line:?}");
        }
    }
}
