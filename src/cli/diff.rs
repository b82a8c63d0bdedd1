//! `crawler diff`: how the pages and the numbers of two jobs differ; `crawler unmet`: which pages the later one did not
//! visit.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::time::Duration;

use ahash::RandomState;
use serde::Serialize;
use serde_json::Value;

use super::arguments::CommandLine;
use super::command_error::{CommandError, Exit};
use super::job_file::JobFile;
use super::layers::refused;
use super::output::{self, print};
use super::stats::report_of;
use crate::crawl::{CrawlError, KnownPages, PageChange, PageRecord};
use crate::job::Job;
use crate::report::figures::{bytes, duration, thousands, whole};
use crate::report::{Report, write_json};

/// How many pages differ in each way.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Counts {
    new: u64,
    changed: u64,
    gone: u64,
    unmet: u64,
    unchanged: u64,
}

/// The differences, for programs.
#[derive(Debug, Serialize)]
struct Differences {
    pages: Counts,
    /// By name: the old value, and the new one.
    numbers: BTreeMap<String, [Option<f64>; 2]>,
}

/// Prints how the second job differs from the first: in counts and numbers, as JSON too; or page by page.
pub(super) fn diff(line: &CommandLine, old: &Path, new: &Path, json: bool, pages: bool) -> Result<(), CommandError> {
    let open = |directory: &Path| Job::open_for_reading(directory).map_err(|error| refused(&error));
    let (old, new) = (open(old)?, open(new)?);
    let table = |job: &Job| {
        PageTable::read(&job.pages_path()).map_err(CommandError::cannot(Exit::Failed, "read", &job.pages_path()))
    };
    let (before, after) = (table(&old)?, table(&new)?);
    let mut counts = Counts::default();
    print(|out| {
        let mut show = |name: &str, url: &str, what: &str| {
            if pages { writeln!(out, "{name}\t{url}\t{what}") } else { Ok(()) }
        };
        each_page(&new.pages_path(), |at, record| {
            let Some(page) = after.last_at(&record.key, at) else { return Ok(()) };
            let (count, name, what) = match before.get(&record.key).map(|was| was.compare(page)) {
                None => (&mut counts.new, "new", String::new()),
                Some(what) if what.is_empty() => {
                    counts.unchanged += 1;
                    return Ok(());
                }
                Some(what) if page.is_gone() => (&mut counts.gone, "gone", what),
                Some(what) => (&mut counts.changed, "changed", what),
            };
            *count += 1;
            show(name, &record.url, &what)
        })?;
        each_page(&old.pages_path(), |at, record| {
            if before.last_at(&record.key, at).is_none() || after.get(&record.key).is_some() {
                return Ok(());
            }
            counts.unmet += 1;
            show("unmet", &record.url, "")
        })
    })?;
    if pages {
        return Ok(());
    }
    let numbers = moved(&report_of(line, &old)?, &report_of(line, &new)?);
    let Counts { new, changed, gone, unmet, unchanged } = counts;
    print(|out| {
        if json {
            let numbers = numbers.into_iter().map(|Moved { name, old, new }| (name, [old, new])).collect();
            return write_json(&Differences { pages: counts, numbers }, out);
        }
        for (name, count, says) in [
            ("new", new, "pages that the first job does not have"),
            ("changed", changed, "with another status, type, title, canonical URL, size or body"),
            ("gone", gone, "404 or 410 now"),
            ("unmet", unmet, "of the first job only: nothing led there, or the crawl ended first"),
            ("unchanged", unchanged, "as they were"),
        ] {
            writeln!(out, "{:>12}  {name:<9}  {says}", thousands(count))?;
        }
        writeln!(out)?;
        numbers.iter().filter(|one| one.is_shown()).try_for_each(|one| write_line(one, out))
    })
}

/// The pages of a job by their keys: 64 bytes each, whatever the size of the records. If a page has several records,
/// the last one counts.
#[derive(Debug)]
struct PageTable(Vec<Row>);

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    /// The hash of its key. Among a billion keys, two have the same hash with a chance of 10⁻²¹.
    key: u128,
    page: Compared,
}

/// The parts of a page that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Compared {
    /// The offset of its record.
    at: u64,
    /// 0 if there is none.
    status: u16,
    /// Hashes of the [`TEXTS`]; a change goes unnoticed with a chance of 2⁻³².
    texts: [u32; TEXTS.len()],
    bytes: u32,
    /// The body's digest if known, else 0.
    digest: u32,
    /// When its body was fetched, as a hash of the time's text. A page that was fetched again without a change has the time of its earlier
    /// visit.
    fetched: u32,
    /// When the previous body was fetched, if the page was fetched again and had changed; else 0.
    changed_since: u32,
}

/// The status of a response that says that the page has not changed since it was fetched; it has no body.
const NOT_MODIFIED: u16 = 304;

/// The parts of a page that are compared as texts.
const TEXTS: [&str; 4] = ["redirect", "content type", "title", "canonical"];

impl PageTable {
    /// Reads a file of page records.
    ///
    /// # Errors
    /// If it cannot be read, or a line of it is not a record: the error has the line's number.
    fn read(path: &Path) -> io::Result<Self> {
        let mut rows = Vec::new();
        each_page(path, |at, record| {
            rows.push(Row { key: hash_of_key(&record.key), page: Compared::of(at, record) });
            Ok(())
        })?;
        // The sort is stable, and of rows with equal keys the first is kept: the last record.
        rows.reverse();
        rows.sort_by_key(|row| row.key);
        rows.dedup_by_key(|row| row.key);
        Ok(Self(rows))
    }

    /// The page with this key.
    fn get(&self, key: &str) -> Option<&Compared> {
        let key = hash_of_key(key);
        self.0.binary_search_by_key(&key, |row| row.key).ok().map(|place| &self.0[place].page)
    }

    /// The page with this key, if its last record begins here.
    fn last_at(&self, key: &str, at: u64) -> Option<&Compared> {
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

    /// Whether its server says that the page does not exist.
    fn is_gone(&self) -> bool {
        matches!(self.status, 404 | 410)
    }

    /// The differences in words; empty if there are none. Bodies are compared by their digests if both are known,
    /// otherwise by their lengths and by whether the second visit found a change. A 304 has neither title nor body: if
    /// either record is one, the pages are the same if their bodies come from the same fetch.
    fn compare(&self, now: &Self) -> String {
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
fn each_page(path: &Path, mut take: impl FnMut(u64, &PageRecord) -> io::Result<()>) -> io::Result<()> {
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

/// A hash for this process only: it is never written.
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

/// A number that has changed.
#[derive(Clone, Debug, PartialEq)]
struct Moved {
    /// Its name, as in `crawler numbers`.
    name: String,
    /// Its old value, if it had one.
    old: Option<f64>,
    /// Its new value, if it has one.
    new: Option<f64>,
}

/// The numbers that people are shown; the others are in the JSON.
const SHOWN: [&str; 17] = [
    "elapsed_us",
    "urls.",
    "pages.requests",
    "pages.retries",
    "pages.wire_bytes",
    "pages.statuses.",
    "pages.errors.",
    "pages.first_byte.p50_us",
    "pages.first_byte.p99_us",
    "robots.requests",
    "duplicates.",
    "hosts.known",
    "hosts.unreachable",
    "politeness.violations",
    "seen.merged.inserted",
    "seen.merged.expected_lost",
    "cost.",
];

/// Parts whose numbers are not compared: a series for charts, the settings, the judgment of a simulated web, and
/// examples.
const LISTS: [&str; 5] = ["timeline", "settings", "simulated", "pages.examples", "robots.examples"];

/// The numbers that differ, by name, without those in [`LISTS`].
fn moved(old: &Report, new: &Report) -> Vec<Moved> {
    let mut all: std::collections::BTreeMap<String, (Option<f64>, Option<f64>)> = std::collections::BTreeMap::new();
    flatten(&value(old), String::new(), &mut |name, number| all.entry(name).or_default().0 = Some(number));
    flatten(&value(new), String::new(), &mut |name, number| all.entry(name).or_default().1 = Some(number));
    let differs = |(old, new): &(Option<f64>, Option<f64>)| old != new;
    let moved = all.into_iter().filter(|(_, two)| differs(two));
    moved.map(|(name, (old, new))| Moved { name, old, new }).collect()
}

impl Moved {
    /// Whether people are shown it.
    fn is_shown(&self) -> bool {
        SHOWN.iter().any(|shown| self.name.starts_with(shown))
    }
}

/// A line for people.
fn write_line(Moved { name, old, new }: &Moved, to: &mut dyn Write) -> io::Result<()> {
    let show = |number: &Option<f64>| number.map_or_else(|| "-".to_owned(), |number| figure(name, number));
    let change = match (old, new) {
        (Some(old), Some(new)) if *old > 0.0 => format!("{:+.1} %", (new / old - 1.0) * 100.0),
        _ => String::new(),
    };
    writeln!(to, "{name:<38} {:>13} {:>13} {change:>12}", show(old), show(new))
}

/// A number as people read it. Its name tells its unit.
fn figure(name: &str, number: f64) -> String {
    if name.ends_with("_us") {
        duration(Duration::from_secs_f64(number / 1e6))
    } else if name.ends_with("bytes") {
        bytes(whole(number))
    } else if number.fract() == 0.0 {
        thousands(whole(number))
    } else {
        format!("{number:.3}")
    }
}

fn value(report: &Report) -> Value {
    serde_json::to_value(report).expect("a report has keys that are texts")
}

fn flatten(value: &Value, name: String, take: &mut dyn FnMut(String, f64)) {
    if LISTS.contains(&&*name) {
        return;
    }
    match value {
        Value::Number(number) => take(name, number.as_f64().unwrap_or_default()),
        Value::Object(fields) => {
            for (key, value) in fields {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten(value, name, take);
            }
        }
        _ => {}
    }
}

/// Prints the keys of the old job's pages that the new job has not visited.
pub(super) fn unmet(old: &Path, new: &Path) -> Result<(), CommandError> {
    let scratch = std::env::temp_dir();
    let failed = |error: CrawlError| match error {
        CrawlError::Job(error) => refused(&error),
        error => CommandError::caused(Exit::ForeignJob, "no visits to compare", &error),
    };
    let [before, after] = [KnownPages::open(old, &scratch), KnownPages::open(new, &scratch)];
    let (before, after) = (before.map_err(failed)?, after.map_err(failed)?);
    for job in [&before, &after] {
        if let Some(offset) = job.damaged_at() {
            output::warn(&format!("{} is damaged at byte {offset}, and read up to there", job.path().display()));
        }
    }
    let mut lines = Vec::new();
    let unmet = before.unmet_by(&after, |key| writeln!(lines, "{key}"));
    unmet.map_err(CommandError::of(Exit::Failed, "cannot read the visits"))?;
    print(|out| out.write_all(&lines))
}
