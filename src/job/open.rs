//! A durable frontier in one call.

use std::io;
use std::path::Path;

use super::checkpoint::{CheckpointError, Checkpoints, KeptJournal, Reread, reread};
use super::journal::{Disk, JournalOptions, Recovery};
use super::{Job, JobError};
use crate::address::FingerprintKey;
use crate::frontier::{Entry, Frontier, FrontierOptions, Journal, Receipt, Record, Settled, Timestamp};
use crate::gate::Position;

/// How a frontier is kept in its job.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OpenOptions {
    /// The journal.
    pub journal: JournalOptions,
    /// A checkpoint leaves the journal's old segments where they are: all that ever happened can be read there.
    pub keep_journal: bool,
    /// Hosts that stay in memory. Beyond, a checkpoint lets those leave that are idle, and have rested for longest.
    /// They come back with their clock; their robots.txt is asked for again only where its segment of the journal was removed.
    pub hosts_in_memory: u64,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { journal: JournalOptions::default(), keep_journal: false, hosts_in_memory: HOSTS_IN_MEMORY }
    }
}

/// Hosts that stay in memory, where nobody says otherwise: of 200 bytes, 50 MB.
pub const HOSTS_IN_MEMORY: u64 = 1 << 18;

/// What was found where a frontier was opened.
#[derive(Debug)]
#[non_exhaustive]
pub struct Opening {
    /// No job was there.
    pub is_new: bool,
    /// The checkpoint that the frontier was made of; `None` where there was none.
    pub checkpoint: Option<u64>,
    /// Newer checkpoints that are damaged, and were passed over.
    pub damaged: Vec<CheckpointError>,
    /// The journal behind it.
    pub recovery: Recovery,
    /// Bytes of the output that are confirmed; what is behind them must be cut off before more is written.
    pub output: u64,
}

/// Why a frontier cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Its journal or checkpoints.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// Its directory.
    #[error(transparent)]
    Job(#[from] JobError),
}

/// The journal of a frontier that was [opened](Frontier::open), with the job's checkpoints and its lock: dropped, it lets the
/// next one in.
#[derive(Debug)]
pub struct JobJournal {
    journal: KeptJournal,
    /// Taken out while one is written.
    checkpoints: Option<Checkpoints>,
    job: Job,
    keep: bool,
    hosts_in_memory: u64,
    opening: Opening,
    /// What the owner of the job keeps in its checkpoints.
    extra: Vec<u8>,
    /// The seen set may have a URL that the journal has not.
    has_lost: bool,
}

impl Frontier<JobJournal> {
    /// A durable frontier: makes a job in the directory, or goes on with the one that is there. The directory is this
    /// frontier's alone for as long as it lives.
    ///
    /// What was [flushed](Frontier::flush) is there again after the process ended, however it did; what a power cut may cost
    /// is the [`SyncPolicy`](super::journal::SyncPolicy)'s to say. What was lent out is queued again. Write a
    /// [checkpoint](Self::checkpoint) each minute or so, and the next opening takes a moment: without one, it reads the whole
    /// journal.
    ///
    /// The fingerprint key is the job's: leave it out of the options. What was found is in
    /// [`opening`](JobJournal::opening). What was given up with its host waits for [`ask_again`](Self::ask_again).
    ///
    /// ```
    /// use crawler::frontier::{Frontier, FrontierOptions, Next, Outcome, Timestamp};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let directory = directory.path();
    /// let (options, now) = (FrontierOptions::default(), Timestamp::from_micros(0));
    /// let mut frontier = Frontier::open(directory, &options, now)?;
    /// frontier.seed("https://example.org/", now)?;
    /// let Next::Fetch(lease) = frontier.next(now)? else { panic!("robots.txt comes first") };
    /// let outcome = Outcome::response(&lease, 404, b"");
    /// frontier.complete(lease, outcome, now)?;
    /// frontier.checkpoint()?;
    /// drop(frontier);
    ///
    /// let mut frontier = Frontier::open(directory, &options, now)?;
    /// assert_eq!(frontier.journal().opening().checkpoint, Some(1));
    /// let Next::Wait(later) = frontier.next(now)? else { panic!("the host rests for a second") };
    /// let Next::Fetch(lease) = frontier.next(later)? else { panic!("the page is queued") };
    /// assert_eq!(lease.url(), "https://example.org/");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Where another process has the directory, its files are another program's, damaged or of a later format, an option on
    /// which they depend is another than before, or the file system refuses.
    pub fn open(directory: &Path, options: &FrontierOptions, now: Timestamp) -> Result<Self, OpenError> {
        Self::open_with(directory, options, &OpenOptions::default(), |_| true, now)
    }

    /// As [`open`](Self::open), for an output in which no page may be missing and none be twice: pages are completed
    /// [with their records](Frontier::complete_with), `has` says whether the output has what a receipt says, and the
    /// [opening](Opening::output) where to cut it off.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_with(
        directory: &Path,
        options: &FrontierOptions,
        open: &OpenOptions,
        has: impl FnMut(&Receipt) -> bool,
        now: Timestamp,
    ) -> Result<Self, OpenError> {
        let (job, is_new) = match Job::resume(directory) {
            Err(JobError::NoJob { .. } | JobError::Draft { .. }) => {
                let key = options.fingerprint_key.unwrap_or_else(FingerprintKey::random);
                (Job::draft(directory, false, key)?, true)
            }
            job => (job?, false),
        };
        let key = job.manifest().fingerprint_key;
        if options.fingerprint_key.is_some_and(|asked| asked != key) {
            return Err(CheckpointError::Changed { option: "fingerprint_key".to_owned() }.into());
        }
        let inside = job.frontier_directory();
        let mut options = FrontierOptions { fingerprint_key: Some(key), ..options.clone() };
        options.seen.directory.get_or_insert_with(|| inside.clone());
        let disk = || Disk::at(&inside).map_err(JobError::io("create", &inside));
        let mut checkpoints = Checkpoints::open(disk()?, job.manifest().id)?;
        if !is_new && checkpoints.is_empty() && !checkpoints.has_journal()? {
            return Err(JobError::NoJournal { path: inside }.into());
        }
        let Reread { replay, journal, checkpoint, damaged, recovery, extra, .. } =
            reread(disk()?, &mut checkpoints, &options, &open.journal, has)?;
        // Now that it has a journal: one that has none was not begun, or has lost it.
        job.begin()?;
        let opening = Opening { is_new, checkpoint, damaged, recovery, output: replay.output() };
        let journal = JobJournal {
            journal,
            checkpoints: Some(checkpoints),
            job,
            keep: open.keep_journal,
            hosts_in_memory: open.hosts_in_memory,
            opening,
            extra,
            has_lost: false,
        };
        Ok(replay.finish(journal, now))
    }

    /// Writes a checkpoint, and removes what neither it nor the one before needs of the journal, unless that is to be
    /// [kept](OpenOptions::keep_journal). Nobody may be between the gate and the frontier: everything admitted is submitted.
    /// An output that pages are completed with must be safe on disk.
    ///
    /// Takes as long as the disk takes for the hosts, their queues and the seen set.
    ///
    /// # Errors
    /// Where the storage fails: the last checkpoint serves still, and this can be tried again. Where a URL could not be
    /// journaled before: open the frontier again, and it will be found again. Where the job's lock was removed.
    pub fn checkpoint(&mut self) -> Result<(), CheckpointError> {
        let journal = self.journal_mut();
        let has_lost = journal.has_lost;
        if let Some(lock) = journal.job.lock() {
            lock.check()?;
        }
        let Some(mut checkpoints) = journal.checkpoints.take_if(|_| !has_lost) else {
            return Err(CheckpointError::Lost { path: journal.job.frontier_directory() });
        };
        let mut written = self.write_checkpoint(&mut checkpoints);
        let journal = self.journal_mut();
        let leaving: Vec<_> = checkpoints.leaving().collect();
        if written.is_ok() && !journal.keep {
            written = journal.journal.remove_unneeded(|part| checkpoints.need(part)).map_err(CheckpointError::from);
        }
        journal.checkpoints = Some(checkpoints);
        for images in leaving {
            self.leave(&images);
        }
        written
    }

    fn write_checkpoint(&mut self, checkpoints: &mut Checkpoints) -> Result<(), CheckpointError> {
        let end = self.journal().journal.end();
        let surplus = self.statistics().hosts_in_memory.saturating_sub(self.journal().hosts_in_memory);
        let mut draft = checkpoints.begin(self.journal().journal.needs())?.releasing(surplus);
        draft.hosts(|slice, to| (end, self.save(slice, to)))?;
        draft.seen(self.gate().seen(), |lock| {
            lock();
            end
        })?;
        self.journal_mut().journal.sync()?;
        draft.commit(self.gate().canonicalizer().rules(), self.counts(end), &self.journal().extra)?;
        Ok(())
    }
}

impl JobJournal {
    /// What was found when the frontier was opened.
    pub fn opening(&self) -> &Opening {
        &self.opening
    }

    /// The job, which is held for as long as this lives.
    pub fn job(&self) -> &Job {
        &self.job
    }
}

impl Journal for JobJournal {
    fn append(&mut self, entry: Entry<'_>) -> io::Result<Position> {
        // The gate has remembered it already, and would refuse it when it is found again.
        self.journal.append(entry).inspect_err(|_| self.has_lost = true)
    }

    fn append_again(&mut self, settled: &Settled<'_>, entry: Entry<'_>) -> io::Result<Position> {
        self.journal.append_again(settled, entry)
    }

    fn read(&mut self, position: Position) -> io::Result<Entry<'_>> {
        self.journal.read(position)
    }

    fn note(&mut self, record: &Record<'_>) -> io::Result<Option<Position>> {
        self.journal.note(record)
    }

    fn rules(&mut self, position: Position) -> io::Result<Option<&[u8]>> {
        self.journal.rules(position)
    }

    fn host(&mut self, key: &str) -> io::Result<Option<&[u8]>> {
        // As one that cannot be appended: without its host, a URL is not.
        let Self { journal, has_lost, .. } = self;
        journal.host(key).inspect_err(|_| *has_lost = true)
    }

    fn flush(&mut self, now: Timestamp) -> io::Result<()> {
        self.journal.flush(now)
    }

    fn expect(&mut self, position: Position) {
        self.journal.expect(position);
    }

    fn memory(&self) -> usize {
        self.journal.memory()
    }
}
