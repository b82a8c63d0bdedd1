//! The one entry to a durable frontier: for an embedder, for a crawl, and for tests whose storage fails.

use std::path::Path;

use super::checkpoint::{CheckpointError, Checkpoints, JobJournal, restore};
use super::journal::{Disk, Storage};
use super::{Job, JobError, OpenOptions};
use crate::address::FingerprintKey;
use crate::bytes::FileError;
use crate::frontier::{Frontier, FrontierOptions, Receipt, Timestamp};

impl Frontier<JobJournal> {
    /// Opens a durable frontier: makes a job in the directory, or goes on with the one that is there. No other process can use the
    /// directory while the frontier exists.
    ///
    /// Everything that was [flushed](Frontier::flush) is there again, however the process ended. The
    /// [`SyncPolicy`](super::journal::SyncPolicy) says what a power cut may cost. Pages that were leased are queued again. Write a
    /// [checkpoint](Self::checkpoint) each minute or so: the next opening then takes a moment. Without one, it reads the whole
    /// journal.
    ///
    /// The job decides the fingerprint key and the seen set's directory: leave them out of the options. [`opening`](Self::opening)
    /// says what was found. URLs that were given up with their host wait for [`ask_again`](Self::ask_again).
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
    /// assert_eq!(frontier.opening().checkpoint, Some(1));
    /// let Next::Wait(later) = frontier.next(now)? else { panic!("the host rests for a second") };
    /// let Next::Fetch(lease) = frontier.next(later)? else { panic!("the page is queued") };
    /// assert_eq!(lease.url(), "https://example.org/");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If another process has the directory, its files are another program's, damaged or of a later format, an option that they
    /// depend on has changed, or the file system refuses.
    pub fn open(directory: &Path, options: &FrontierOptions, now: Timestamp) -> Result<Self, CheckpointError> {
        Self::open_with(directory, options, &OpenOptions::default(), |_, _| true, now)
    }

    /// As [`open`](Self::open), for outputs that must hold each page exactly once. Pages are completed [with
    /// receipts](Frontier::complete_with). `has` says whether an output, given by its name, holds what a receipt describes. The
    /// [opening](super::Opening::output) says where to cut off the first output.
    ///
    /// ```
    /// use std::fs;
    ///
    /// use crawler::frontier::{Frontier, FrontierOptions, Next, Outcome, Receipt, Timestamp};
    /// use crawler::job::OpenOptions;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// let (job, output) = (directory.path().join("job"), directory.path().join("records"));
    /// let (mut options, open, now) = (FrontierOptions::default(), OpenOptions::default(), Timestamp::from_micros(0));
    /// options.politeness.robots = false;
    /// let has = |_: &str, receipt: Receipt| {
    ///     let (written, before) = (fs::read(&output).unwrap_or_default(), receipt.end - u64::from(receipt.length));
    ///     let bytes = written.get(before as usize..receipt.end as usize);
    ///     bytes.is_some_and(|bytes| Receipt::of(bytes, before) == receipt)
    /// };
    /// let mut frontier = Frontier::open_with(&job, &options, &open, has, now)?;
    /// frontier.seed("https://example.org/", now)?;
    /// let Next::Fetch(lease) = frontier.next(now)? else { panic!("the page is queued") };
    /// let outcome = Outcome::response(&lease, 200, b"");
    /// frontier.complete_with(lease, outcome, &[("records", Receipt::of(b"a page\n", 0))], now)?;
    /// frontier.flush(now)?;
    /// drop(frontier);
    ///
    /// // The process died before it wrote the record, so the page is asked for again.
    /// let frontier = Frontier::open_with(&job, &options, &open, has, now)?;
    /// assert_eq!((frontier.opening().output, frontier.statistics().queued), (0, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As `open`.
    pub fn open_with(
        directory: &Path,
        options: &FrontierOptions,
        open: &OpenOptions,
        has: impl FnMut(&str, Receipt) -> bool,
        now: Timestamp,
    ) -> Result<Self, CheckpointError> {
        let job = match Job::resume(directory) {
            Err(JobError::NoJob { .. } | JobError::Draft { .. }) => {
                Job::draft(directory, false, options.fingerprint_key.unwrap_or_else(FingerprintKey::random))?
            }
            job => job?,
        };
        let frontier = Self::open_in(&job, options, open, has, now)?;
        // Only now: a job that is begun has a journal, or has lost it.
        job.begin()?;
        Ok(frontier)
    }

    /// Opens the frontier of a job that this process holds.
    pub(crate) fn open_in(
        job: &Job,
        options: &FrontierOptions,
        open: &OpenOptions,
        has: impl FnMut(&str, Receipt) -> bool,
        now: Timestamp,
    ) -> Result<Self, CheckpointError> {
        let (directory, key) = (job.frontier_directory(), job.manifest().fingerprint_key);
        if options.fingerprint_key.is_some_and(|asked| asked != key) {
            return Err(CheckpointError::Changed { option: "fingerprint_key".to_owned() });
        }
        let mut options = FrontierOptions { fingerprint_key: Some(key), ..options.clone() };
        options.seen.directory = Some(directory.clone());
        job.drop_by(&mut options)?;
        let disk = || Disk::at(&directory).map_err(FileError::of("create", &directory));
        let mut checkpoints = Checkpoints::open(disk()?, job.manifest().id)?;
        if !job.is_new() && checkpoints.is_empty() && !checkpoints.has_journal()? {
            return Err(JobError::NoJournal { path: directory }.into());
        }
        let mut frontier = restore(disk()?, checkpoints, &options, open, has, now)?;
        let journal = frontier.journal_mut();
        (journal.lock, journal.dropped) = (job.lock().cloned(), job.keeps_dropped().then(|| job.dropped_path()));
        Ok(frontier)
    }
}

impl<S: Storage> Frontier<JobJournal<S>> {
    /// As [`open_with`](Frontier::open_with), over another kind of storage and without a lock: for tests whose storage fails. Both
    /// storages show the same files; the first is the journal's.
    ///
    /// # Errors
    /// As `open`.
    #[doc(hidden)]
    pub fn open_on(
        storage: [S; 2],
        job: u64,
        options: &FrontierOptions,
        open: &OpenOptions,
        has: impl FnMut(&str, Receipt) -> bool,
        now: Timestamp,
    ) -> Result<Self, CheckpointError> {
        let [journal, checkpoints] = storage;
        restore(journal, Checkpoints::open(checkpoints, job)?, options, open, has, now)
    }
}
