//! The pages of a job, each in a few bytes.

use std::io::{self, BufRead, BufReader};
use std::path::Path;

use ahash::RandomState;

use super::super::job_file::JobFile;
use crate::crawl::{PageChange, PageRecord};

/// The pages of a job by their keys: 64 bytes each, whatever the size of the records. If a page has several records,
/// the last one counts.
#[derive(Debug)]
pub(super) struct PageTable(Vec<Row>);

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    /// The hash of its key. Among a billion keys, two have the same hash with a chance of 10⁻²¹.
    key: u128,
    page: Compared,
}

/// The parts of a page that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Compared {
    /// The offset of its record.
    at: u64,
    /// 0 if there is none.
    status: u16,
    /// Hashes of the [`TEXTS`]; a change goes unnoticed with a chance of 2⁻³².
    texts: [u32; TEXTS.len()],
    bytes: u32,
    /// The body's digest if known, else 0.
    digest: u32,
    /// When its body was fetched, as a hash of that text. A page that was fetched again without a change has the time
    /// of its earlier visit.
    fetched: u32,
    /// If the page was fetched again and had changed: when its previous body was fetched; else 0.
    changed_since: u32,
}

/// The status of a page that has not changed since it was fetched; it has no body.
const NOT_MODIFIED: u16 = 304;

/// The parts of a page that are compared as texts.
const TEXTS: [&str; 4] = ["redirect", "content type", "title", "canonical"];

impl PageTable {
    /// Reads a file of page records.
    ///
    /// # Errors
    /// If it cannot be read, or a line of it is not a record: the error has the line's number.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let mut rows = Vec::new();
        each_page(path, |at, record| {
            rows.push(Row { key: hash_of_key(&record.key), page: Compared::of(at, record) });
            Ok(())
        })?;
        // The sort is stable, and of equal keys the first is kept.
        rows.reverse();
        rows.sort_by_key(|row| row.key);
        rows.dedup_by_key(|row| row.key);
        Ok(Self(rows))
    }

    /// The page with this key.
    pub(super) fn get(&self, key: &str) -> Option<&Compared> {
        let key = hash_of_key(key);
        self.0.binary_search_by_key(&key, |row| row.key).ok().map(|place| &self.0[place].page)
    }

    /// The page with this key, if its last record begins here.
    pub(super) fn last_at(&self, key: &str, at: u64) -> Option<&Compared> {
        self.get(key).filter(|page| page.at == at)
    }
}

impl Compared {
    fn of(at: u64, record: &PageRecord) -> Self {
        let texts = [&record.redirect, &record.content_type, &record.title, &record.canonical];
        let hash = |text: &Option<String>| text.as_ref().map_or(0, |text| low_half(hash(text)));
        let since = |change| record.recrawl.as_ref().filter(|recrawl| recrawl.change == change)?.since.as_ref();
        let fetched = since(PageChange::Unchanged).unwrap_or(&record.fetched_at);
        Self {
            at,
            status: record.status.filter(|_| record.error.is_none()).unwrap_or_default(),
            texts: texts.map(hash),
            bytes: low_half(record.bytes),
            digest: [&record.body_digest, &record.payload_digest].into_iter().find(|one| one.is_some()).map_or(0, hash),
            fetched: low_half(self::hash(fetched)),
            changed_since: since(PageChange::Changed).map_or(0, |since| low_half(self::hash(since))),
        }
    }

    /// Whether its server says that it does not exist.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.status, 404 | 410)
    }

    /// The differences in words; empty if there are none. Bodies are compared by their digests if both are known, else
    /// by their lengths and by what the second visit found. If either record is a 304, which has neither title nor
    /// body, the pages are the same if their bodies come from one fetch.
    pub(super) fn compare(&self, now: &Self) -> String {
        let mut what = Vec::new();
        if [self.status, now.status].contains(&NOT_MODIFIED) {
            // A page that was not modified exists.
            let [was, is] = [self, now].map(|page| if page.status == NOT_MODIFIED { 200 } else { page.status });
            return match self.fetched == now.fetched {
                true => String::new(),
                false if was != is => format!("status {} -> {}", status(was), status(is)),
                false => "body".to_owned(),
            };
        }
        if self.status != now.status {
            what.push(format!("status {} -> {}", status(self.status), status(now.status)));
        }
        let texts = self.texts.iter().zip(now.texts).zip(TEXTS);
        what.extend(texts.filter(|((was, is), _)| **was != *is).map(|(_, name)| name.to_owned()));
        if self.digest != 0 && now.digest != 0 {
            what.extend((self.digest != now.digest).then(|| "body".to_owned()));
        } else if self.bytes != now.bytes {
            what.push(format!("bytes {} -> {}", self.bytes, now.bytes));
        } else if now.changed_since == self.fetched {
            what.push("body".to_owned());
        }
        what.join(", ")
    }
}

fn status(status: u16) -> String {
    if status == 0 { "none".to_owned() } else { status.to_string() }
}

/// Calls `take` for each page record, with its offset. A line that is not whole yet is skipped.
pub(super) fn each_page(path: &Path, mut take: impl FnMut(u64, &PageRecord) -> io::Result<()>) -> io::Result<()> {
    let mut lines = BufReader::new(JobFile::open(path)?);
    let (mut line, mut at) = (Vec::new(), 0);
    for number in 1_u64.. {
        line.clear();
        let length = lines.read_until(b'\n', &mut line)?;
        if !line.ends_with(b"\n") {
            break;
        }
        let record: PageRecord =
            serde_json::from_slice(&line).map_err(|error| io::Error::other(format!("line {number}: {error}")))?;
        take(at, &record)?;
        at += length as u64;
    }
    Ok(())
}

/// For this process only: the hash is never written.
fn hash(text: &String) -> u64 {
    RandomState::with_seeds(1, 2, 3, 4).hash_one(text)
}

fn hash_of_key(key: &str) -> u128 {
    let half = |seed| u128::from(RandomState::with_seeds(seed, 2, 3, 4).hash_one(key));
    half(5) << 64 | half(6)
}

fn low_half(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or_default()
}
