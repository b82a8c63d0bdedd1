//! The journal of a frontier that is kept in a job, and how the frontier is restored from it.
//!
//! The frontier appends records to it, reads entries from it, and gets the images of evicted hosts. The checkpoint's writer gets the rest
//! from it: the file, the checkpoints, the lock. So a checkpoint needs only the frontier, whoever owns it.
//!
//! # A URL that is lost
//!
//! The gate remembers a URL before the journal has it. If the journal then fails, the URL is only in the seen set, and a checkpoint would
//! keep it there for ever. So from then on no checkpoint is written. The next process rebuilds the seen set from the last checkpoint and
//! the journal, and the URL passes the gate when it is found again.
//!
//! # How a frontier is restored
//!
//! It is restored from the newest whole checkpoint, and the journal after it:
//!
//! 1. The summaries are tried from the newest on. A damaged checkpoint is skipped and reported. Any other error ends the search: an
//!    option that has changed, or a file of a later format, would be the same in an older checkpoint.
//! 2. The seen set, the chunks, the evicted hosts and the contents are loaded.
//! 3. The journal is replayed from the position that the summary names. Each record changes the state as it did when it was written, except
//!    in the chunks that were saved after it. A page counts as done only if the output has its record.
//! 4. A record is appended: the journal was opened again, and this much of the output counts. If the rules of the gate have changed, one
//!    more record says that. Both are synced before anything else is written, so that a record that was void once never counts later.
//!
//! # What it costs
//!
//! | part | time | memory beside the frontier |
//! |---|---|---|
//! | chunks and seen set | a read of both files | one chunk |
//! | evicted hosts | two reads of all runs: one checks them, one counts each host once | one frame per run |
//! | journal | a read of what was written since the checkpoint was begun | a window of 1 MiB |
//!
//! Looking at another process's job reads the whole journal, to learn what became of each URL.
//!
//! # If it fails
//!
//! The job can be opened again. At most, a torn end of the journal was cut off and the records of step 4 were written. A checkpoint that
//! was skipped as damaged keeps its files until the next one is committed: somebody may still put back a good copy.

use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::evicted::EvictedHosts;
use super::files::{self, BUFFER, FILES, HOSTS, SUMMARY, StorageReader, name, next_placed};
use super::summary::Summary;
use super::{CheckpointError, Checkpoints};
use crate::address::FingerprintKey;
use crate::bytes::FileError;
use crate::frontier::durable::OwnJournal;
use crate::frontier::{Entry, Frontier, FrontierOptions, Journal, Receipt, Receipts, Record, Resume, Timestamp};
use crate::gate::{DropRule, Position};
use crate::job::directory;
use crate::job::journal::{Disk, FileJournal, JournalError, JournalOptions, Needs, Recovery, Storage, is_begun};
use crate::job::own::Lock;
use crate::seen::SeenSet;

/// The journal of a frontier that is kept in a job, with the job's checkpoints, its evicted hosts and its lock. When it is dropped,
/// another process may take the job.
#[derive(Debug)]
pub struct JobJournal<S: Storage = Disk> {
    pub(super) file: FileJournal<S>,
    /// Held while a checkpoint is written. It is locked before the frontier is, never after.
    pub(super) checkpoints: Arc<Mutex<Checkpoints<S>>>,
    /// The options that each checkpoint follows, such as how many hosts may stay in memory, and whether old segments are removed.
    pub(super) options: OpenOptions,
    /// The findings of the opening, for the frontier's owner, which truncates the output accordingly.
    opening: Opening,
    /// `None` if the job is only read.
    pub(in crate::job) lock: Option<Arc<Lock>>,
    /// The file that records what the user has dropped; `None` if the job is only read.
    pub(in crate::job) dropped: Option<PathBuf>,
    /// Shared with the checkpoints, which add to them. Read without the checkpoints' lock, since a checkpoint takes long.
    evicted: EvictedHosts,
    /// The frame that was last read from a run.
    buffer: Vec<u8>,
    /// The seen set may hold a URL that the journal lacks.
    pub(super) has_lost: bool,
}

impl<S: Storage> JobJournal<S> {
    /// A journal without a lock: the holder of the job's lock adds it.
    pub(in crate::job) fn new(
        file: FileJournal<S>,
        checkpoints: Checkpoints<S>,
        options: OpenOptions,
        opening: Opening,
    ) -> Self {
        let evicted = checkpoints.evicted.clone();
        let checkpoints = Arc::new(Mutex::new(checkpoints));
        Self {
            file,
            checkpoints,
            options,
            opening,
            lock: None,
            dropped: None,
            evicted,
            buffer: Vec::new(),
            has_lost: false,
        }
    }

    /// What was found when the frontier was opened.
    pub(crate) fn opening(&self) -> &Opening {
        &self.opening
    }

    /// What was found when the frontier was opened. The job is released.
    pub(in crate::job) fn into_opening(self) -> Opening {
        self.opening
    }

    /// The position of the next record.
    pub(crate) fn end(&self) -> Position {
        self.file.end()
    }

    /// Shows `observer` everything that is written from now on.
    pub fn set_observer(&mut self, observer: Arc<dyn crate::job::journal::JournalObserver>) {
        self.file.observer = Some(observer);
    }

    /// The checkpoints. Lock them before the frontier, never after.
    pub fn checkpoints(&self) -> Arc<Mutex<Checkpoints<S>>> {
        Arc::clone(&self.checkpoints)
    }

    /// Syncs everything appended so far: once this returns, it is safe from a power cut.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn sync(&mut self) -> Result<(), super::CheckpointError> {
        Ok(self.file.sync()?)
    }
}

impl<S: Storage> OwnJournal for JobJournal<S> {}

impl<S: Storage> Journal for JobJournal<S> {
    fn append(&mut self, record: &Record<'_>) -> io::Result<Option<Position>> {
        // The gate has remembered the admitted URL, and would refuse it when it is found again.
        self.file.append(record).inspect_err(|_| self.has_lost |= matches!(record, Record::Admitted(_)))
    }

    fn begin_group(&mut self) {
        self.file.begin_group();
    }

    fn end_group(&mut self) {
        self.file.end_group();
    }

    fn read(&mut self, position: Position) -> io::Result<Entry<'_>> {
        self.file.read(position)
    }

    fn rules(&mut self, position: Position) -> io::Result<Option<&[u8]>> {
        self.file.rules(position)
    }

    fn host(&mut self, key: &str) -> io::Result<Option<&[u8]>> {
        // A URL whose host cannot be read is not appended.
        let Self { file, evicted, buffer, has_lost, .. } = self;
        Ok(evicted.find(file.storage(), key, buffer).inspect_err(|_| *has_lost = true)?)
    }

    fn flush(&mut self, now: Timestamp) -> io::Result<()> {
        self.file.flush(now)
    }

    fn flush_due(&mut self, now: Timestamp) -> io::Result<Option<Timestamp>> {
        self.file.flush_due(now)
    }

    fn keep_dropped(&mut self, rules: &[DropRule]) -> io::Result<()> {
        self.dropped.as_ref().map_or(Ok(()), |path| directory::write_dropped(path, rules))
    }

    fn release(&mut self, position: Position, bytes: usize) {
        self.file.release(position, bytes);
    }

    fn memory(&self) -> usize {
        self.file.memory() + self.evicted.memory()
    }
}

/// How a frontier is kept in its job, by a crawl or by an embedder that [opens](crate::frontier::Frontier::open_with) one.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OpenOptions {
    /// The journal.
    pub journal: JournalOptions,
    /// Checkpoints keep the old segments of the journal. Then the journal holds everything that ever happened: what became of each URL, and
    /// enough to restore the frontier without a checkpoint. Otherwise a segment is removed once no URL in it waits, and
    /// [metadata](crate::frontier::Href::metadata) leaves the disk when its pages are done: then the journal has at most about twice the
    /// bytes of the waiting URLs, plus everything written since the second-last checkpoint began.
    pub keep_journal: bool,
    /// The number of hosts that may stay in memory. Each checkpoint evicts idle hosts beyond it, the longest rested first. An evicted
    /// host comes back with its clock. Its robots.txt is asked for again only if the segment of the journal that holds it was removed.
    pub hosts_in_memory: u64,
    /// How far the clock was set back since the job last ran, if that is known. Then no host rests longer than its state requires, and the
    /// times of scheduled URLs and the deadlines of leases are moved that much earlier. A crawl finds this out by itself.
    pub went_back: Option<Duration>,
}

impl Default for OpenOptions {
    /// Keeps the whole journal, and 262,144 hosts in memory: at 200 bytes each, 50 MB.
    fn default() -> Self {
        Self { journal: JournalOptions::default(), keep_journal: true, hosts_in_memory: 1 << 18, went_back: None }
    }
}

/// What was found when a frontier was opened.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Opening {
    /// There was neither a checkpoint nor a journal.
    pub is_new: bool,
    /// The checkpoint that the frontier was restored from; `None` if there was none.
    pub checkpoint: Option<u64>,
    /// Where the journal ended at that checkpoint; 0 if there was none.
    pub position: Position,
    /// Newer checkpoints that were damaged and passed over.
    pub damaged: Vec<CheckpointError>,
    /// What was found in the journal after the checkpoint.
    pub recovery: Recovery,
    /// The waiting URLs were judged by other rules of the gate: each is judged again when its turn comes.
    pub rules_changed: bool,
    /// Bytes of the output that the journal confirms. Anything after them must be cut off before more is
    /// written.
    pub output: u64,
    /// How many of these bytes were there at the checkpoint.
    pub counted: u64,
    /// What the checkpoint kept for the frontier's owner.
    pub extra: Vec<u8>,
}

impl Opening {
    /// The error for a journal that cannot be opened, with what is known about the checkpoints.
    pub(super) fn of_journal(self, error: JournalError) -> CheckpointError {
        CheckpointError::of_journal(error, self.damaged, self.checkpoint.is_some())
    }
}

/// Restores a frontier from the newest whole checkpoint and the journal after it. Without either, makes a new one. `has` says whether an
/// output holds the bytes that a receipt describes.
///
/// Then a record goes to the journal, which says that it was opened, and how much of the output counts.
///
/// # Errors
/// If the storage fails, a file is another job's or of a later format, the journal is damaged, or an option differs from the job's.
pub(in crate::job) fn restore<S: Storage>(
    journal: S,
    mut checkpoints: Checkpoints<S>,
    options: &FrontierOptions,
    open: &OpenOptions,
    mut has: impl FnMut(&str, Receipt) -> bool,
    now: Timestamp,
) -> Result<Frontier<JobJournal<S>>, CheckpointError> {
    let Found { mut replay, needs, synced, mut opening } = checkpoints.find(options)?;
    // The end of the first receipt whose bytes the outputs lack. Pages after it in the output are void too, until a record says that the
    // journal was opened again and the output was cut before it.
    let mut missing: Option<u64> = None;
    // The replay stops at the first host that cannot be brought back.
    let mut recalled = Ok(());
    let job = checkpoints.job;
    let opened = FileJournal::open_needed(journal, job, &open.journal, &needs, synced, |position, record| {
        if let Record::Resumed { output } = record {
            missing = missing.filter(|end| *end <= output);
        }
        let has = |receipts: Receipts<'_>| {
            if missing.is_none() && !receipts.iter().all(|(output, receipt)| has(output, receipt)) {
                missing = receipts.first().map(|receipt| receipt.end);
            }
            missing.is_none()
        };
        if recalled.is_ok() {
            recalled = replay.record(position, &record, has, |key| checkpoints.host(key));
        }
    });
    let mut file;
    (file, opening.recovery) = match opened {
        Ok(opened) => opened,
        Err(error) => return Err(opening.of_journal(error)),
    };
    recalled.map_err(|error| CheckpointError::of_io(error, checkpoints.storage.path("")))?;
    file.record(&Record::Resumed { output: replay.output() })?;
    if let Some(rules) = replay.changed_rules() {
        replay.begin_round(file.record(&rules)?, &rules);
        opening.rules_changed = true;
    }
    file.sync()?;
    checkpoints.settle_on(opening.checkpoint, needs)?;
    replay.went_back(open.went_back);
    opening.output = replay.output();
    opening.is_new = opening.checkpoint.is_none() && opening.recovery == Recovery::default();
    let directory = checkpoints.storage.path("");
    let journal = JobJournal::new(file, checkpoints, *open, opening);
    replay.finish(journal, now).map_err(|error| CheckpointError::of_io(error, directory))
}

/// As [`restore`], for a job that another process may hold: nothing is written. Shows each record of the whole journal, and says whether
/// all of its segments are there.
pub(in crate::job) fn reread<S: Storage>(
    journal: S,
    mut checkpoints: Checkpoints<S>,
    options: &FrontierOptions,
    mut show: impl FnMut(Position, &Record<'_>),
) -> Result<(Resume, JobJournal<S>, bool), CheckpointError> {
    let Found { mut replay, needs, synced, mut opening } = checkpoints.find(options)?;
    let mut recalled = Ok(());
    let job = checkpoints.job;
    let looked = FileJournal::look(journal, job, &needs, synced, |position, record| {
        if position >= needs.from() && recalled.is_ok() {
            // The caller looks up the page records itself, and finds the missing ones then.
            recalled = replay.record(position, &record, |_| true, |key| checkpoints.host(key));
        }
        show(position, &record);
    });
    let (file, is_whole) = match looked {
        Ok(looked) => looked,
        Err(error) => return Err(opening.of_journal(error)),
    };
    recalled.map_err(|error| CheckpointError::of_io(error, checkpoints.storage.path("")))?;
    opening.output = replay.output();
    opening.recovery.records = replay.records();
    Ok((replay, JobJournal::new(file, checkpoints, OpenOptions::default(), opening), is_whole))
}

/// A frontier as it was at the newest whole checkpoint, and what it needs of the journal.
struct Found {
    replay: Resume,
    needs: Needs,
    /// The journal was safe on disk up to here.
    synced: Position,
    opening: Opening,
}

impl<S: Storage> Checkpoints<S> {
    /// The frontier at the newest whole checkpoint, or a new one if there is none; newer ones that are damaged are reported in the
    /// opening. Without a checkpoint the whole journal is needed, and nothing says how far it was safe on disk.
    fn find(&mut self, options: &FrontierOptions) -> Result<Found, CheckpointError> {
        let mut opening = Opening::default();
        let (replay, needs, synced) = match self.newest(options, &mut opening.damaged)? {
            None => (Resume::new(options, None)?, Needs::default(), Position::default()),
            Some((number, replay, Summary { needs, counts, extra, .. })) => {
                opening = Opening {
                    checkpoint: Some(number),
                    position: counts.position,
                    extra,
                    counted: counts.output,
                    ..opening
                };
                (replay, needs, counts.position)
            }
        };
        Ok(Found { replay, needs, synced, opening })
    }

    /// Called when a frontier was restored from this checkpoint. Newer checkpoints are damaged, and are removed after the next commit.
    fn settle_on(&mut self, checkpoint: Option<u64>, needs: Needs) -> Result<(), CheckpointError> {
        self.sweep()?;
        let whole = self.numbers.iter().position(|(number, _)| Some(*number) == checkpoint).map_or(0, |at| at + 1);
        self.damaged.extend(self.numbers.drain(whole..).map(|(number, _)| number));
        if let Some((_, known)) = self.numbers.last_mut() {
            *known = Some(needs);
        }
        Ok(())
    }

    /// The newest whole checkpoint, and its number. The errors of damaged ones go to `damaged`, the newest first.
    ///
    /// # Errors
    /// If the error would be the same for an older checkpoint: a changed option, a later format, another job's file, a storage that
    /// fails.
    pub(in crate::job) fn newest(
        &mut self,
        options: &FrontierOptions,
        damaged: &mut Vec<CheckpointError>,
    ) -> Result<Option<(u64, Resume, Summary)>, CheckpointError> {
        for at in (0..self.numbers.len()).rev() {
            let number = self.numbers[at].0;
            match self.load(number, options) {
                Ok((replay, summary)) => return Ok(Some((number, replay, summary))),
                Err(error) if error.is_damage() => damaged.push(error),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// The newest summary that can be read, and its number. Hosts and seen set are not checked, so this reads only one or two small
    /// files.
    pub(in crate::job) fn newest_summary(&mut self) -> Option<(u64, Summary)> {
        let numbers: Vec<u64> = self.numbers.iter().rev().map(|(number, _)| *number).collect();
        numbers.into_iter().find_map(|number| Some((number, self.summary(number).ok()?)))
    }

    /// The name of the file that holds a checkpoint's seen set.
    pub(in crate::job) fn seen_name(number: u64) -> String {
        name(FILES[1], number)
    }

    /// Reads a checkpoint's summary. Hosts and seen set may still be damaged.
    pub(super) fn summary(&mut self, number: u64) -> Result<Summary, CheckpointError> {
        files::read(&mut self.storage, FILES[3], SUMMARY, (self.job, number), |frames| {
            let (payload, position) = next_placed(frames)?;
            let summary = Summary::read(payload, position).map_err(|reason| frames.damaged(reason))?;
            frames.end()?;
            Ok(summary)
        })
    }

    /// Restores a frontier from one checkpoint. The summary comes first, since a changed option must be an error and not damage: an older
    /// checkpoint would not help.
    fn load(&mut self, number: u64, options: &FrontierOptions) -> Result<(Resume, Summary), CheckpointError> {
        let summary = self.summary(number)?;
        if let Some(option) = summary.changed_key(&options.keys) {
            return Err(CheckpointError::Changed { option: option.to_owned() });
        }
        let seen = if summary.has_seen { Some(self.load_seen(number, options)?) } else { None };
        let mut replay = Resume::new(options, seen)?;
        replay.load_seen_at(summary.seen_at.clone());
        files::read(&mut self.storage, FILES[0], HOSTS, (self.job, number), |frames| {
            for _ in 0..summary.chunks {
                let (chunk, position) = next_placed(frames)?;
                if replay.load(chunk, position).is_err() {
                    return Err(frames.damaged("invalid hosts"));
                }
            }
            let addresses = frames.next()?;
            if addresses.is_empty() {
                return frames.end();
            }
            replay.load_addresses(addresses);
            frames.finish()
        })?;
        // A host that is also in a chunk was in memory, and the chunk counts.
        let evicted = EvictedHosts::open(&mut self.storage, self.job, &summary.runs)?;
        evicted.each(&mut self.storage, |image| replay.load_evicted(image))?;
        self.evicted = evicted;
        if summary.has_contents {
            replay.load_contents(self.load_set(FILES[2], number, options.fingerprint_key, None)?);
        }
        replay.load_counts(&summary.counts).map_err(|reason| {
            let path = self.storage.path(&name(FILES[3], number));
            FileError::Damaged { path, offset: 0, reason }
        })?;
        Ok((replay, summary))
    }

    /// Bytes of the first output that were safe on disk according to the newest readable summary; `None` if there is none.
    pub fn output(&mut self) -> Option<u64> {
        self.newest_summary().map(|(_, summary)| summary.counts.output)
    }

    /// Whether a journal was begun beside the checkpoints. A job that has begun has a journal or a checkpoint. If it has neither, both are
    /// lost, and a new frontier would fetch everything again.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn has_journal(&mut self) -> Result<bool, CheckpointError> {
        let Self { storage, .. } = self;
        Ok(is_begun(storage)?)
    }

    /// The newest image of an evicted host, as [`Journal::host`](crate::frontier::Journal::host) gives it.
    pub(in crate::job) fn host(&mut self, key: &str) -> io::Result<Option<Vec<u8>>> {
        let mut buffer = Vec::new();
        Ok(self.evicted.find(&mut self.storage, key, &mut buffer)?.map(<[u8]>::to_vec))
    }

    /// Reads a checkpoint's seen set, and checks that the options still ask for such a set.
    fn load_seen(&mut self, number: u64, options: &FrontierOptions) -> Result<SeenSet, CheckpointError> {
        let seen = self.load_set(FILES[1], number, options.fingerprint_key, options.seen.directory.as_deref())?;
        match seen.options().changed(&options.seen) {
            Some(option) if !self.takes_any_seen => Err(CheckpointError::Changed { option: format!("seen.{option}") }),
            _ => Ok(seen),
        }
    }

    fn load_set(
        &mut self,
        file: &str,
        number: u64,
        key: Option<FingerprintKey>,
        directory: Option<&Path>,
    ) -> Result<SeenSet, CheckpointError> {
        let (name, path) = (name(file, number), self.storage.path(&name(file, number)));
        let reading = StorageReader { storage: &mut self.storage, name, at: 0 };
        let reading = BufReader::with_capacity(BUFFER, reading);
        SeenSet::load_in(reading, key, directory).map_err(|source| CheckpointError::Seen { path, source })
    }
}
