//! The URLs of the comparison: URLs that are inserted, URLs that are only queried, and the links of a list in their order, with repeats.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde::Serialize;

use super::super::super::command_error::CommandError;
use super::super::super::lines::next_line;
use crate::address::{Canonicalizer, FingerprintKey};
use crate::cli::command_error::Exit;
use crate::report::figures::{bytes, thousands};

/// Borrowed keys to measure with.
pub(super) struct Workload<'a, K: ?Sized> {
    /// Distinct keys that are inserted. Contenders are sized for their number.
    pub(super) shown: &'a [Box<K>],
    /// Distinct keys that are not inserted.
    pub(super) others: &'a [Box<K>],
    /// Indexes into `shown`, in the order in which the keys came, repeats included; empty if each came once.
    pub(super) stream: &'a [usize],
}

impl<K: ?Sized> Clone for Workload<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: ?Sized> Copy for Workload<'_, K> {}

/// URLs, by their canonical keys.
#[derive(Debug)]
pub(super) struct List {
    pub(super) source: Source,
    shown: Vec<Box<str>>,
    others: Vec<Box<str>>,
    stream: Vec<usize>,
}

/// The origin of the URLs, and how many there are of each kind.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Source {
    /// The file; `null` if all are generated.
    pub(super) file: Option<String>,
    /// Lines of the file.
    pub(super) lines: u64,
    /// Lines that are not a URL.
    pub(super) refused: u64,
    /// Distinct URLs.
    pub(super) distinct: u64,
    /// Lines that repeat an earlier URL.
    pub(super) repeats: u64,
    /// Distinct URLs that are inserted.
    pub(super) shown: u64,
    /// Distinct URLs of the file that are only queried.
    pub(super) held_out: u64,
    /// Generated URLs that are queried too.
    pub(super) generated: u64,
    /// Lines whose URL is inserted.
    pub(super) stream: u64,
}

/// The least number of expected false positives that makes a rate measurable, and the most URLs that are generated for
/// it.
const FALSE_POSITIVES: f64 = 100.0;
const MAX_GENERATED: u64 = 1_000_000;

impl List {
    /// Reads the distinct URLs of a file, one per line, and splits them into halves: one is inserted, the other held
    /// out. A URL's hash decides, so all its repeats fall into the same half.
    pub(super) fn read(path: &Path, canonicalizer: &Canonicalizer, lowest_rate: f64) -> Result<Self, CommandError> {
        let cannot = |error| CommandError::cannot(Exit::Usage, "read", path)(error);
        let mut input = BufReader::new(File::open(path).map_err(cannot)?);
        let mut room = Room::new();
        let mut places: HashMap<Box<str>, usize> = HashMap::new();
        let (mut line, mut stream) = (Vec::new(), Vec::new());
        let (mut lines, mut refused) = (0, 0);
        while next_line(&mut input, &mut line).map_err(cannot)? {
            lines += 1;
            let url = std::str::from_utf8(&line).ok().and_then(|text| canonicalizer.canonicalize(text).ok());
            let Some(url) = url else {
                refused += 1;
                continue;
            };
            let known = places.get(url.key()).copied();
            stream.push(known.unwrap_or(places.len()));
            if known.is_none() {
                room.take(url.key().len())?;
                places.insert(url.key().into(), places.len());
            }
        }
        let distinct = places.len() as u64;
        let repeats = stream.len() as u64 - distinct;
        let mut urls: Vec<_> = places.into_iter().collect();
        urls.sort_unstable_by_key(|&(_, place)| place);
        let (mut shown, mut others) = (Vec::new(), Vec::new());
        let places: Vec<_> = urls
            .into_iter()
            .map(|(url, _)| {
                let is_shown = HALVES.fingerprint(&url).bits() & 1 == 0;
                if is_shown { &mut shown } else { &mut others }.push(url);
                is_shown.then(|| shown.len() - 1)
            })
            .collect();
        if shown.is_empty() {
            return Err(CommandError::new(Exit::Usage, format!("{}: too few URLs to compare with", path.display())));
        }
        let stream: Vec<_> = stream.into_iter().filter_map(|place: usize| places[place]).collect();
        let held_out = others.len() as u64;
        let generated = wanted(lowest_rate).saturating_sub(held_out);
        generate(0..generated, &mut others, &mut room)?;
        let source = Source {
            file: Some(path.display().to_string()),
            lines,
            refused,
            distinct,
            repeats,
            shown: shown.len() as u64,
            held_out,
            generated,
            stream: stream.len() as u64,
        };
        Ok(Self { source, shown, others, stream })
    }

    /// Generates this many URLs, always the same.
    pub(super) fn generated(urls: u64, lowest_rate: f64) -> Result<Self, CommandError> {
        let (mut shown, mut others, mut room) = (Vec::new(), Vec::new(), Room::new());
        let generated = wanted(lowest_rate).max(urls);
        // Checked for all at once, so that a list that is too long is refused before the work.
        Room { left: room.left }.take_all(urls.saturating_add(generated), address(urls).len())?;
        generate(0..urls, &mut shown, &mut room)?;
        generate(urls..urls + generated, &mut others, &mut room)?;
        let source = Source {
            file: None,
            lines: 0,
            refused: 0,
            distinct: urls,
            repeats: 0,
            shown: urls,
            held_out: 0,
            generated,
            stream: 0,
        };
        Ok(Self { source, shown, others, stream: Vec::new() })
    }

    /// The whole list.
    pub(super) fn workload(&self) -> Workload<'_, str> {
        Workload { shown: &self.shown, others: &self.others, stream: &self.stream }
    }
}

/// The key of the hash that assigns a URL to a half; the filters use another one.
const HALVES: FingerprintKey = FingerprintKey::from_u64(0x5eed_11f7);

/// How many URLs that were not inserted to query.
fn wanted(lowest_rate: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is bounded next")]
    let wanted = (FALSE_POSITIVES / lowest_rate).ceil() as u64;
    wanted.min(MAX_GENERATED)
}

fn generate(numbers: std::ops::Range<u64>, to: &mut Vec<Box<str>>, room: &mut Room) -> Result<(), CommandError> {
    for number in numbers {
        let url = address(number);
        room.take(url.len())?;
        to.push(url.into());
    }
    Ok(())
}

/// A canonical key in a top-level domain that no real list can contain (RFC 6761, section 6.4).
fn address(number: u64) -> String {
    let (site, section) = (number % 997, number / 997 % 100);
    format!("https://www.example-{site}.invalid/catalogue/{section}/page-{number}.html")
}

/// Memory that is left for URLs.
struct Room {
    left: u64,
}

/// Bytes per URL beyond its text, in the list and in the largest contender: a set of strings that has just doubled.
const BYTES_PER_URL: u64 = 200;

impl Room {
    /// Three quarters of the available memory; of 4 GiB if the system does not say.
    fn new() -> Self {
        let available = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
            line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
        });
        Self { left: available.map_or(4 << 30, |kib| kib << 10) / 4 * 3 }
    }

    fn take(&mut self, length: usize) -> Result<(), CommandError> {
        self.take_all(1, length)
    }

    fn take_all(&mut self, urls: u64, length: usize) -> Result<(), CommandError> {
        let wanted = urls.saturating_mul(2 * length as u64 + BYTES_PER_URL);
        self.left = self.left.checked_sub(wanted).ok_or_else(|| {
            let (urls, wanted, left) = (thousands(urls), bytes(wanted), bytes(self.left));
            CommandError::new(
                Exit::Usage,
                format!("{urls} more URLs take {wanted} to compare, and only {left} are left"),
            )
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fmt::Write as _;

    use super::*;
    use crate::address::KeyRules;

    #[test]
    fn a_list_is_halved_by_url() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("urls");
        let mut text = "no url\n".to_owned();
        for link in 0..3000 {
            writeln!(text, "HTTP://a.org/{}#part-{link}", link % 1000).unwrap();
        }
        std::fs::write(&path, text).unwrap();
        let list = List::read(&path, &Canonicalizer::new(&KeyRules::default()), 0.1).unwrap();
        let source = &list.source;
        assert_eq!((source.lines, source.refused, source.distinct, source.repeats), (3001, 1, 1000, 2000));
        assert_eq!(source.shown + source.held_out, 1000);
        assert!((400..600).contains(&source.shown), "{} of 1000", source.shown);
        assert_eq!(source.stream, 3 * source.shown);
        assert_eq!(source.generated, 1000 - source.held_out, "a hundred false positives at 0.1");
        let all: HashSet<_> = list.shown.iter().chain(&list.others).collect();
        assert_eq!(all.len() as u64, source.shown + 1000);
        let first: Vec<_> = list.stream[..list.shown.len()].to_vec();
        assert_eq!(first, (0..list.shown.len()).collect::<Vec<_>>(), "in the order of the list");
    }

    #[test]
    fn generated_urls_are_canonical_and_distinct() {
        let list = List::generated(2000, 0.01).unwrap();
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        let all: HashSet<_> = list.shown.iter().chain(&list.others).collect();
        assert_eq!((list.shown.len(), all.len()), (2000, 2000 + 10_000));
        assert!(all.iter().all(|url| canonicalizer.canonicalize(url).unwrap().key() == &***url));
    }

    #[test]
    fn more_than_the_memory_is_refused_at_once() {
        let failure = List::generated(1 << 60, 0.01).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        assert!(failure.messages[0].contains("left"), "{:?}", failure.messages);
    }
}
