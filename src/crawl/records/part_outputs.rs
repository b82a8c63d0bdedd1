//! The outputs that the partitions of a crawl in one process share.
//!
//! When this process ends, a partition continues in another process, so its journal does not mention this process's files. The page records
//! themselves decide how much of them counts: each record names the places of its page's bytes in the other outputs, and all outputs have
//! the same order. After a kill, the last record whose bytes are complete in all outputs is the last that counts. Pages after it were not
//! yet in the partition's log. Their bytes are cut off and kept in another file, and the pages are fetched again.
//!
//! Each partition has its own checkpoints. The shared outputs have a thread that syncs their files.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::bodies::Bodies;
use super::keeper::{KeeperClock, KeeperThread, OutputKeeper};
use super::output::Output;
use super::output_files::BegunOutputs;
use super::outputs::{OutputEnd, OutputEnds, Outputs};
use super::page_record::record;
use super::sink::Sink;
use super::skipped::SkipList;
use super::writer::{Writer, WriterThread};
use crate::crawl::lock::lock;
use crate::crawl::{CrawlError, FinishReason, JobOptions, Stop};
use crate::driver::PAGES;
use crate::job::FileError;
use crate::job::checkpoint::CheckpointError;

/// The outputs that each page has in addition to its record.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartKeeps {
    pub(crate) sinks: Vec<Arc<dyn Sink>>,
    /// Where refused links are listed.
    pub(crate) skipped: Option<PathBuf>,
    /// Where bodies are kept, and a number that is unique among the processes that keep bodies there.
    pub(crate) bodies: Option<(PathBuf, u64)>,
}

/// The outputs that the partitions of a crawl in one process share. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct PartOutputs {
    pub(in crate::crawl) outputs: Arc<Outputs>,
    /// Where the outputs end.
    pub(in crate::crawl) ends: Arc<Mutex<OutputEnds>>,
    pub(in crate::crawl) bodies: Option<Arc<Bodies>>,
    pub(in crate::crawl) skipped: Option<SkipList>,
}

impl PartOutputs {
    /// Opens the outputs in a directory, or makes them. Also starts the keeper of their files, which stops the crawl if it cannot go on.
    ///
    /// # Errors
    /// If a page record is damaged, or the file system refuses.
    pub(crate) fn open(
        directory: &Path,
        keeps: &PartKeeps,
        options: JobOptions,
        stop: &Stop,
    ) -> Result<(Self, KeeperThread<()>), CrawlError> {
        let path = directory.join(PAGES);
        let pages = Output::find(&path).and_then(|found| found.map_or_else(|| Output::create(&path), Ok));
        let pages = pages.map_err(FileError::of("open", &path))?;
        let others = Output::of_sinks(directory, &keeps.sinks)?;
        let ends = confirmed(&pages, &others)?;
        let outputs = std::iter::once(pages).chain(others).collect();
        let BegunOutputs { mut files, sinks, mut threads, .. } = BegunOutputs::of(outputs, &ends, &keeps.sinks)?;
        let started =
            files.pages().ok_or(io::ErrorKind::NotFound.into()).and_then(Output::handle).and_then(Writer::start);
        let (pages, thread) = started.map_err(FileError::of("write", &path))?;
        // Without sinks, `ends` does not follow the records: a sync then takes what is in the file, and checks only the length that it had
        // at first.
        if !sinks.is_empty() {
            files.follow_pages(&pages.written());
        }
        threads.push(thread);
        let skipped = keeps.skipped.as_ref().map(|path| SkipList::open(path).map_err(FileError::of("open", path)));
        let skipped = skipped.transpose()?.map(|(list, thread)| {
            threads.push(thread);
            list
        });
        let bodies = keeps
            .bodies
            .as_ref()
            .map(|(directory, id)| Bodies::open(directory, *id).map_err(FileError::of("open", directory)));
        let bodies = bodies.transpose()?.map(Arc::new);
        let ends = Arc::new(Mutex::new(ends));
        let (keeper, their_ends, stop) = (OutputKeeper::new(files, bodies.clone()), Arc::clone(&ends), stop.clone());
        let keeping = KeeperThread::start("outputs", move |clock| {
            let kept = keep(&keeper, &their_ends, threads, &options, &stop, clock);
            kept.inspect_err(|_| stop.drain_because(FinishReason::SinkFailed))
        });
        let keeping = keeping.map_err(FileError::of("write", directory))?;
        Ok((Self { outputs: Arc::new(Outputs { pages, sinks }), ends, bodies, skipped }, keeping))
    }

    /// Bytes made for each output so far.
    pub(crate) fn made(&self) -> Vec<u64> {
        self.outputs.writers().map(Writer::received).collect()
    }

    /// Waits until these numbers of bytes, which [`made`](Self::made) returned, are with the operating system; `false` if they never will
    /// be.
    pub(crate) async fn catch_up(&self, made: &[u64]) -> bool {
        for (writer, received) in self.outputs.writers().zip(made) {
            if !writer.written().reached(*received).await {
                return false;
            }
        }
        true
    }
}

/// Where page records and outputs end, by the last record that is complete in all of them.
fn confirmed(pages: &Output, others: &[Output]) -> Result<OutputEnds, CrawlError> {
    let path = pages.path();
    let unread = |error| FileError::of("read", path)(error);
    let mut lines = pages.handle().and_then(|file| LinesBackward::of(file, pages.length())).map_err(unread)?;
    let (mut end, mut ends) = (lines.end(), OutputEnds::new());
    // The last record that names an output says where the output ends.
    while ends.len() < others.iter().filter(|output| output.length() > 0).count() {
        let Some((start, line)) = lines.next().map_err(unread)? else { break };
        let record = record(&line).ok_or_else(|| CrawlError::Record { path: path.to_owned(), offset: start })?;
        for output in others {
            let Some(place) = record.outputs.get(output.name()) else { continue };
            let bytes = place.receipt().end;
            if bytes > output.length() {
                (end, ends) = (start, OutputEnds::new());
                break;
            }
            ends.entry(output.name().to_owned()).or_insert(OutputEnd { bytes, pages: 0 });
        }
    }
    ends.insert(PAGES.to_owned(), OutputEnd { bytes: end, pages: 0 });
    Ok(ends)
}

/// How often the keeper checks files and disk space.
const TICK: Duration = Duration::from_secs(1);

/// Syncs the outputs as often as a journal is synced, or, if it never is, as often as a job has checkpoints. Gives complete files of a
/// series their final names. Stops the crawl if another program has changed its files, or before the disk of the bodies is full. All users
/// of the outputs must be gone at the end.
fn keep(
    keeper: &OutputKeeper,
    ends: &Mutex<OutputEnds>,
    threads: Vec<WriterThread>,
    options: &JobOptions,
    stop: &Stop,
    clock: &KeeperClock,
) -> Result<(), CheckpointError> {
    let sync = |is_over| {
        let ends = lock(ends).clone();
        if keeper.sync(&ends)? { keeper.files().finish(&ends, is_over) } else { Ok(()) }
    };
    let sync_every = options.open.journal.sync.interval().unwrap_or(options.checkpoint_interval);
    let (mut looked, mut synced) = (Instant::now(), Instant::now());
    while clock.goes_on(sync_every.min(TICK)) {
        if synced.elapsed() >= sync_every {
            sync(false)?;
            synced = Instant::now();
        }
        if looked.elapsed() < TICK {
            continue;
        }
        looked = Instant::now();
        if let Some(error) = keeper.files().disturbed()? {
            return Err(error);
        }
        if keeper.is_disk_low(None, options.min_free_disk)? {
            stop.drain_because(FinishReason::DiskLow);
        }
    }
    // All writers are dropped by now, so their threads end once everything is written.
    for thread in threads {
        thread.join().map_err(FileError::of("write", Path::new("the outputs")))?;
    }
    sync(true)
}

/// Bytes read at once.
const STEP: u64 = 64 << 10;

/// The complete lines of a file, last line first. Holds one line and one step in memory.
#[derive(Debug)]
struct LinesBackward {
    file: File,
    /// Where `bytes` begin in the file.
    start: u64,
    /// Bytes read but not yet returned; empty, or ends with a line end.
    bytes: Vec<u8>,
}

impl LinesBackward {
    /// Reads the first `length` bytes of a file. Ignores anything after the last line end.
    fn of(file: File, length: u64) -> io::Result<Self> {
        let mut lines = Self { file, start: length, bytes: Vec::new() };
        while !lines.bytes.contains(&b'\n') && lines.read_more()? {}
        let end = lines.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        lines.bytes.truncate(end);
        Ok(lines)
    }

    /// The end of the lines that are not yet returned.
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// The next line, without its end, and where it begins; `None` after the first line of the file.
    fn next(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        if self.bytes.is_empty() && !self.read_more()? {
            return Ok(None);
        }
        let begin = loop {
            let before = self.bytes.len() - 1;
            match self.bytes[..before].iter().rposition(|byte| *byte == b'\n') {
                Some(end) => break end + 1,
                None if !self.read_more()? => break 0,
                None => {}
            }
        };
        let mut line = self.bytes.split_off(begin);
        line.pop();
        Ok(Some((self.start + begin as u64, line)))
    }

    /// Reads one step further toward the beginning. Returns whether there was one.
    fn read_more(&mut self) -> io::Result<bool> {
        let step = self.start.min(STEP);
        self.start -= step;
        let mut bytes = vec![0; usize::try_from(step).unwrap_or_default()];
        self.file.seek(SeekFrom::Start(self.start))?;
        self.file.read_exact(&mut bytes)?;
        bytes.append(&mut self.bytes);
        self.bytes = bytes;
        Ok(step > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::io::Write;

    use super::*;
    use crate::crawl::records::page_record::{OutputPlace, line};
    use crate::crawl::{LinkList, PageRecord};

    const LINKS: &str = "links.jsonl";

    fn keeps() -> PartKeeps {
        PartKeeps { sinks: vec![Arc::new(LinkList::default())], ..PartKeeps::default() }
    }

    /// Opens the outputs of a directory and closes them again.
    fn reopen(directory: &Path, keeps: &PartKeeps) -> Result<(), CrawlError> {
        let (outputs, thread) = PartOutputs::open(directory, keeps, JobOptions::default(), &Stop::new())?;
        drop(outputs);
        Ok(thread.end()?)
    }

    #[test]
    fn half_a_record_is_cut_off_and_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(PAGES);
        for (was, is, cut) in [
            (String::new(), "", ""),
            ("{}\n{}\n".to_owned(), "{}\n{}\n", ""),
            ("{}\n{\"url".to_owned(), "{}\n", "{\"url\n"),
            ("{\"u".to_owned(), "", "{\"url\n{\"u\n"),
        ] {
            fs::write(&path, was).unwrap();
            reopen(directory.path(), &PartKeeps::default()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), is);
            assert_eq!(fs::read_to_string(directory.path().join("pages.jsonl.cut")).unwrap_or_default(), cut);
        }
    }

    /// A record with a number of bytes of links that begin at a place.
    fn page(number: u32, links: Option<(u64, u32)>) -> String {
        let place = |(offset, length)| (LINKS.to_owned(), OutputPlace { offset, length, checksum: 0 });
        let outputs: BTreeMap<_, _> = links.map(place).into_iter().collect();
        String::from_utf8(line(&PageRecord {
            url: format!("http://a.test/{number}"),
            outputs,
            ..PageRecord::default()
        }))
        .unwrap()
    }

    #[test]
    fn the_last_record_complete_in_all_outputs_counts() {
        let pages =
            [page(0, Some((0, 10))), page(1, None), page(2, Some((10, 20))), page(3, None), page(4, Some((30, 5)))];
        for (links, whole) in [(0, 0), (9, 0), (10, 2), (29, 2), (30, 4), (34, 4), (35, 5), (36, 5)] {
            for half in ["", "{\"url"] {
                let directory = tempfile::tempdir().unwrap();
                let (path, other) = (directory.path().join(PAGES), directory.path().join(LINKS));
                fs::write(&path, pages.concat() + half).unwrap();
                fs::write(&other, vec![b'x'; links]).unwrap();
                reopen(directory.path(), &keeps()).unwrap();
                let expected = if links == 0 { 5 } else { whole };
                assert_eq!(fs::read_to_string(&path).unwrap(), pages[..expected].concat(), "{links}");
                let end = [0, 0, 10, 10, 30, 35][whole];
                assert_eq!(fs::metadata(&other).unwrap().len(), end, "{links}");
            }
        }
    }

    /// `/dev/null` cannot be synced: the error shows that a sync was tried.
    #[cfg(target_os = "linux")]
    #[test]
    fn outputs_are_synced_while_a_crawl_runs_and_at_its_end() {
        use crate::job::journal::SyncPolicy;

        for policy in [SyncPolicy::Interval(Duration::from_millis(10)), SyncPolicy::Never] {
            let directory = tempfile::tempdir().unwrap();
            let kept = directory.path().join("bodies");
            let keeps = PartKeeps { bodies: Some((kept.clone(), 7)), ..PartKeeps::default() };
            let (mut options, stop) = (JobOptions::default(), Stop::new());
            options.open.journal.sync = policy;
            let (outputs, thread) = PartOutputs::open(directory.path(), &keeps, options, &stop).unwrap();
            let digest = outputs.bodies.as_ref().unwrap().keep(b"abc").unwrap();
            let hex = digest.strip_prefix("sha256:").unwrap();
            let body = kept.join(&hex[..2]).join(&hex[2..]);
            fs::remove_file(&body).unwrap();
            std::os::unix::fs::symlink("/dev/null", &body).unwrap();
            while policy != SyncPolicy::Never && stop.reason().is_none() {
                std::thread::yield_now();
            }
            drop(outputs);
            thread.end().unwrap_err();
        }
    }

    #[test]
    fn a_damaged_record_is_reported_with_its_offset() {
        let directory = tempfile::tempdir().unwrap();
        let first = page(0, Some((0, 10)));
        fs::write(directory.path().join(PAGES), format!("{first}no record\n")).unwrap();
        fs::write(directory.path().join(LINKS), "0123456789").unwrap();
        let refused = reopen(directory.path(), &keeps()).unwrap_err();
        assert!(matches!(refused, CrawlError::Record { offset, .. } if offset == first.len() as u64), "{refused}");
    }

    #[test]
    fn lines_are_read_backward() {
        let long = "x".repeat(200 << 10);
        for (text, end) in [
            (String::new(), 0),
            ("half".to_owned(), 0),
            ("one\n\ntwo\nhalf".to_owned(), 9),
            (format!("{long}\n{long}1\n"), 2 * long.len() as u64 + 3),
            (long.clone(), 0),
        ] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            let mut lines = LinesBackward::of(file, text.len() as u64).unwrap();
            assert_eq!(lines.end(), end);
            let mut found = Vec::new();
            while let Some((start, line)) = lines.next().unwrap() {
                assert_eq!(lines.end(), start);
                found.insert(0, String::from_utf8(line).unwrap());
            }
            let whole = &text[..usize::try_from(end).unwrap()];
            assert!(found == whole.lines().collect::<Vec<_>>(), "{} lines of {} bytes", found.len(), text.len());
        }
    }
}
