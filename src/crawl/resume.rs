//! Begins or resumes a crawl that is kept in a job, and queues failed pages again for `crawler retry`.

use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::{self, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ahash::{AHashMap, RandomState};

use super::checkpointer::Checkpointer;
use super::counters::Counter;
use super::error::CrawlError;
use super::http::{AccessError, FetcherError};
use super::lock::lock;
use super::numbers::{Carried, NameCounts, Spent, SpentFile};
use super::observer::{read_totals, tally};
use super::options::CrawlOptions;
use super::records::{
    BegunOutputs, Bodies, EarlierBodies, EarlierOutputs, Output, OutputEnds, PageRecord, RecordKind, Sink, Writer,
    WriterThread, check_length, confirmed_bytes, open_if_there, record,
};
use super::run::Crawl;
use crate::driver::{PAGES, Receipt, newest_extra, own};
use crate::frontier::{Frontier, Timestamp};
use crate::gate::Via;
use crate::job::{FileError, Job, JobJournal, Opening};
use crate::lending::Clock;

/// What a crawl found in its job when it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resumed {
    /// Runs before this one; 0 if the job is new.
    pub runs: u64,
    /// Pages recorded before.
    pub pages: u64,
    /// URLs waiting.
    pub queued: u64,
    /// How many of them belong to hosts that could not be reached before, and are tried again.
    pub asked_again: u64,
    /// Records of the journal that were replayed after the checkpoint.
    pub replayed: u64,
    /// Bytes cut off the page records and kept in another file: records that the journal does not confirm, or half a record.
    pub cut: u64,
    /// The rules differ from the last run's: each waiting URL is judged again when its turn comes.
    pub rules_changed: bool,
    /// How far the clock had gone back when the job was opened, if that can be told. Scheduled URLs wait that much less.
    pub went_back: Option<Duration>,
    /// What was damaged, and how it was handled.
    pub damaged: Vec<String>,
}

impl Resumed {
    fn of(opening: &Opening, carried: &Carried) -> Self {
        let mut damaged: Vec<_> = opening.damaged.iter().map(ToString::to_string).collect();
        damaged.extend(opening.recovery.cut.as_ref().map(|cut| {
            format!("{}: {} bytes cut off at byte {}: {}", cut.path.display(), cut.bytes, cut.offset, cut.reason)
        }));
        Self {
            runs: carried.resumes,
            pages: carried.pages(),
            replayed: opening.recovery.records,
            rules_changed: opening.rules_changed && !opening.is_new,
            damaged,
            ..Self::default()
        }
    }
}

impl Crawl<JobJournal> {
    /// A crawl that is kept in a job. If the job was begun before, it continues where it stopped.
    ///
    /// With `output`, page records go to the job's own file (see [`writer`](Self::writer)), and a page is done only if its record is
    /// found there: no page is lost and none is written twice, whenever this process is killed.
    ///
    /// # Errors
    /// If an option is out of range, or one that the job's files depend on has changed; if the HTTP client cannot be built; if the job's
    /// files are damaged or do not belong together (nothing was changed then); if the file system refuses.
    pub fn open(options: &CrawlOptions, job: &Job, output: bool) -> Result<(Self, Resumed), CrawlError> {
        Self::open_outputs(options, job, output, &[])
    }

    /// As [`open`](Self::open) with output, and each page is also written to these outputs, exactly once to each.
    ///
    /// Each run of a job may name other outputs. An output that a run does not name continues when it is named again. If a kill left bytes
    /// at its end that no record describes, the next run cuts them off, whatever outputs it names; it also finishes the last file of a
    /// series.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open); if an output's name is not a valid file name in the job's directory, or is taken.
    pub fn open_with(
        options: &CrawlOptions,
        job: &Job,
        sinks: &[Arc<dyn Sink>],
    ) -> Result<(Self, Resumed), CrawlError> {
        Self::open_outputs(options, job, true, sinks)
    }

    fn open_outputs(
        options: &CrawlOptions,
        job: &Job,
        output: bool,
        sinks: &[Arc<dyn Sink>],
    ) -> Result<(Self, Resumed), CrawlError> {
        let clock = Clock::start();
        let path = job.pages_path();
        let mut pages = if output { Output::find(&path).map_err(FileError::of("open", &path))? } else { None };
        let confirmed = confirmed_bytes(job, output, pages.as_mut())?;
        let before = if job.is_new() { None } else { read_totals(job, &newest_extra(job)?.unwrap_or_default())? };
        let before = before.unwrap_or_default();
        let others = if output { others(job, sinks, &before.outputs)? } else { Vec::new() };
        let bodies = before.bodies.as_deref().filter(|_| output).map(|directory| EarlierBodies::of(directory, job));
        if output && pages.is_none() {
            pages = Some(Output::create(&path).map_err(FileError::of("create", &path))?);
        }
        let mut files: Vec<Output> = pages.into_iter().chain(others).collect();
        let mut earlier = EarlierOutputs::new(job.directory());
        let has = |name: &str, receipt: Receipt| match files.iter_mut().find(|file| file.name() == name) {
            Some(file) => file.find_bytes(&receipt).is_some_and(|bytes| {
                name != PAGES
                    || bodies.as_ref().is_none_or(|bodies| record(bytes).is_some_and(|record| bodies.has(&record)))
            }),
            None => earlier.has(name, &receipt),
        };
        let went_back = before.went_back(clock.now());
        let mut open = options.job.open;
        open.went_back = went_back;
        let mut frontier = Frontier::open_in(job, &options.frontier, &open, has, clock.now())?;
        let opening = frontier.opening();
        if output && opening.output < confirmed {
            return Err(CrawlError::Record { path, offset: opening.output });
        }
        let carried = carried(job, opening, clock.now())?;
        // URLs given up with their hosts are queued again: the host or this machine may be working again.
        let asked_again = frontier.ask_again(clock.now()).map_err(|error| CrawlError::Storage(error.into()))?;
        files.iter().try_for_each(|file| check_length(file, &carried.outputs))?;
        earlier.cut(&carried.outputs, |name| files.iter().any(|file| file.name() == name))?;
        let begun = BegunOutputs::of(files, &carried.outputs, sinks)?;
        let queued = frontier.statistics().queued;
        let resumed =
            Resumed { queued, asked_again, went_back, cut: begun.cut, ..Resumed::of(frontier.opening(), &carried) };
        let mut crawl = Self::over(frontier, clock, options, output, Some(carried), None)?;
        load_cookies(&crawl, &options.fetch.load_cookies, &job.cookies_path())?;
        if let Some(sink) = sinks.iter().find(|sink| sink.keeps_visits()) {
            let path = job.directory().join(sink.name());
            crawl.recrawl.keeps_in(own::open(&path, true).map_err(FileError::of("read", &path))?);
        }
        (crawl.sinks, crawl.sink_threads) = (begun.sinks, begun.threads);
        let mut checkpointer = Checkpointer::new(Arc::clone(&crawl.shared), options.job, job, begun.files);
        checkpointer.outputs.bodies = bodies.and_then(EarlierBodies::into_unsynced);
        crawl.checkpointer = Some(checkpointer);
        Ok((crawl, resumed))
    }

    /// Syncs the journal. After that, a power cut cannot take the seeds: a crawl without seeds would finish at once.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn sync(&self) -> Result<(), CrawlError> {
        Ok(self.shared.frontier.with(|frontier| frontier.journal_mut().sync())?)
    }

    /// Keeps the body of each successful page (2xx) in a directory, under its digest: `DIR/ab/cdef...`, each once, and always complete
    /// under that name. The page's record has the digest (`body_digest`). Bodies are stored decoded, cut at
    /// [`FetchOptions::max_body_bytes`](super::FetchOptions::max_body_bytes).
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn keep_bodies(&mut self, job: &Job, directory: &Path) -> io::Result<()> {
        let bodies = Arc::new(Bodies::open(directory, job.manifest().id)?);
        if let Some(checkpointer) = &mut self.checkpointer {
            // These are bodies of the last run that no checkpoint has confirmed.
            if let Some(earlier) = checkpointer.outputs.bodies.replace(Arc::clone(&bodies)) {
                earlier.sync()?;
            }
        }
        lock(&self.shared.carried).bodies = Some(path::absolute(directory)?);
        self.bodies = Some(bodies);
        Ok(())
    }

    /// The writer of its page records, to the job's own file.
    ///
    /// # Errors
    /// If the crawl was opened without output, or the thread cannot be started.
    pub fn writer(&self) -> io::Result<(Writer, WriterThread)> {
        Writer::start(self.checkpointer.as_ref().ok_or(io::ErrorKind::Unsupported)?.pages()?)
    }
}

/// The totals that earlier runs pass on to this one.
fn carried(job: &Job, opening: &Opening, now: Timestamp) -> Result<Carried, CrawlError> {
    let mut carried = read_totals(job, &opening.extra)?.unwrap_or_else(|| Carried::begin(now));
    if !job.is_new() {
        let frontier = job.frontier_directory();
        carried.catch_up(Spent::read(&frontier).map_err(FileError::of("read", &SpentFile::path(&frontier)))?);
    }
    // The checkpoint has not counted the pages that came after it.
    let path = job.pages_path();
    let tally = tally(&path, opening.counted, opening.output, &mut carried.outputs);
    carried.tally.merge_with(&tally.map_err(FileError::of("read", &path))?);
    // URLs that were given up are asked for again.
    carried.tally.urls.unreachable = NameCounts::default();
    carried.outputs.entry(PAGES.to_owned()).or_default().bytes = opening.output;
    carried.resumes += u64::from(!opening.is_new);
    Ok(carried)
}

/// Loads the cookies that the job keeps, then the cookies of given files that were written later.
fn load_cookies(crawl: &Crawl<JobJournal>, given: &[PathBuf], kept: &Path) -> Result<(), CrawlError> {
    let modified = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let (Some(jar), Some(at)) = (crawl.shared.fetcher.cookies(), modified(kept)) else { return Ok(()) };
    let later = given.iter().map(PathBuf::as_path).filter(|path| modified(path) > Some(at));
    for path in std::iter::once(kept).chain(later) {
        jar.load(path).map_err(|reason| FetcherError::from(AccessError::of_option("load_cookies", reason)))?;
    }
    Ok(())
}

/// The files of the other outputs. An output shorter than the last checkpoint says is refused.
fn others(job: &Job, sinks: &[Arc<dyn Sink>], ends: &OutputEnds) -> Result<Vec<Output>, CrawlError> {
    for (number, name) in sinks.iter().map(|sink| sink.name()).enumerate() {
        if !job.has_room_for(name) || sinks[..number].iter().any(|sink| sink.name() == name) {
            return Err(CrawlError::OutputName { name: name.to_owned() });
        }
    }
    let files = Output::of_sinks(job.directory(), sinks)?;
    files.iter().try_for_each(|file| check_length(file, ends))?;
    Ok(files)
}

impl Crawl<JobJournal> {
    /// Queues each URL whose last record in `pages` has an error, or the status 408, 425, 429 or 5xx; and each page that was refused by a
    /// type or size that is not refused any more. URLs that were given up with their hosts are left out, since each resume retries them.
    /// Returns how many were queued.
    ///
    /// If URLs are still waiting, nothing is queued: the failed URLs may be among them. Reads the file once, and holds 16 bytes for each
    /// failure.
    ///
    /// # Errors
    /// If the file cannot be read, or the journal's storage fails.
    pub fn retry(&self, pages: &Path) -> io::Result<u64> {
        let waiting = self.shared.frontier.with(|frontier| frontier.statistics());
        if waiting.queued + waiting.scheduled > 0 {
            return Ok(0);
        }
        let Some(file) = open_if_there(pages)? else { return Ok(0) };
        let mut lines = BufReader::with_capacity(1 << 20, file);
        let mut asked = 0;
        for offset in failures(&mut lines, |rule| self.shared.fetcher.has_rule(rule))? {
            let mut line = Vec::new();
            lines.seek(SeekFrom::Start(offset))?;
            lines.read_until(b'\n', &mut line)?;
            let Some(PageRecord { url, depth, kind, .. }) = record(&line) else { continue };
            let via = match (kind, depth) {
                (RecordKind::Sitemap, _) => Via::Sitemap,
                (RecordKind::Page, 0) => Via::Seed,
                (RecordKind::Page, _) => Via::Link,
            };
            let now = self.shared.frontier.clock().now();
            let refused = self.shared.frontier.with(|frontier| frontier.retry(&url, via, depth, now))?;
            asked += u64::from(refused.is_none());
        }
        Ok(asked)
    }
}

/// Where the last records of the pages begin that are worth another try, in the order of the file. `has_rule`: whether a page that was
/// refused by this rule would be refused again.
fn failures(lines: &mut impl BufRead, has_rule: impl Fn(&str) -> bool) -> io::Result<Vec<u64>> {
    let hasher = RandomState::new();
    let (mut failed, mut line, mut offset) = (AHashMap::new(), Vec::new(), 0);
    loop {
        line.clear();
        let length = lines.read_until(b'\n', &mut line)? as u64;
        if length == 0 {
            break;
        }
        if let Some(record) = record(&line) {
            let key = hasher.hash_one(&record.key);
            let may_differ = match &record.message {
                Some(rule) if record.is_unwanted() => !has_rule(rule),
                _ => record.has_failed() && (record.error.is_some() || record.status.is_some_and(is_asked_again)),
            };
            // Every resume retries pages that were given up.
            if may_differ && !record.given_up {
                failed.insert(key, offset);
            } else {
                failed.remove(&key);
            }
        }
        offset += length;
    }
    let mut offsets: Vec<_> = failed.into_values().collect();
    offsets.sort_unstable();
    Ok(offsets)
}

/// Whether a page with this status is retried.
pub(crate) const fn is_asked_again(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawl::records::line;

    #[test]
    fn only_the_last_record_of_a_page_counts() {
        let page = |key: &str, status, error: Option<&str>, given_up| {
            let error = error.map(str::to_owned);
            PageRecord { url: key.to_owned(), key: key.to_owned(), status, error, given_up, ..PageRecord::default() }
        };
        let records = [
            page("a", Some(500), None, false),
            page("b", None, Some("timeout"), false),
            page("c", Some(404), None, false),
            page("a", Some(200), None, false),
            page("d", None, Some("connect"), true),
            page("e", Some(429), None, false),
            page("f", Some(425), None, false),
            page("b", None, Some("incomplete"), false),
            PageRecord { message: Some("now".into()), ..page("g", Some(200), Some("too_large"), false) },
            PageRecord { message: Some("before".into()), ..page("h", Some(200), Some("unwanted_type"), false) },
        ];
        let lines: Vec<String> = records.iter().map(serde_line).collect();
        let starts: Vec<u64> =
            (0..lines.len()).map(|at| lines[..at].iter().map(|line| line.len() as u64).sum()).collect();
        let text = lines.concat();
        let found = failures(&mut text.as_bytes(), |rule| rule == "now").unwrap();
        assert_eq!(found, [starts[5], starts[6], starts[7], starts[9]]);
    }

    fn serde_line(record: &PageRecord) -> String {
        String::from_utf8(line(record)).unwrap()
    }
}
