//! How a job's frontier is opened, read, and asked about a URL.
//!
//! [`Frontier::open`] opens a durable frontier for an embedder, and [`Frontier::open_in`] opens that of a job that a crawl holds. Tests
//! whose storage fails use `open_on`. All of them restore the frontier by the same code. [`look`] reads a frontier without changing
//! anything, even while another process holds the job.
//!
//! # "Why was this URL not fetched?"
//!
//! [`explain`] reads the whole journal once and shows each record to the trail of each URL that was asked about. A trail keeps the last
//! admission of its URL, and what became of it.
//!
//! For each entry of the journal and each URL that was asked about, it compares some twenty bytes. An entry of the same host is also
//! parsed.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use super::checkpoint::{
    CheckpointCost, CheckpointError, Checkpoints, JobJournal, Opening, Owner, Summary, reread, restore, write,
};
use super::journal::{Disk, Storage};
use super::{Job, JobError, OpenOptions};
use crate::address::{CanonicalUrl, Canonicalizer, FingerprintKey, IdentityBuf, KeyRules};
use crate::bytes::FileError;
use crate::frontier::{
    Entry, Explanation, Frontier, FrontierOptions, History, Receipt, Record, Remembered, Resume, Timestamp,
};
use crate::gate::{Found, Position};

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
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Next, Outcome, Timestamp};
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
    /// receipts](Frontier::complete_with). `has` says whether the output of a name holds the bytes that a receipt describes. The first
    /// output must be cut to the length that the [opening](super::Opening::output) gives.
    ///
    /// ```
    /// use std::fs;
    ///
    /// use crawler_frontier::driver::Receipt;
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Next, Outcome, Timestamp};
    /// use crawler_frontier::job::OpenOptions;
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
        // The job is begun only now, since a job that is begun has a journal, or has lost it.
        job.begin()?;
        Ok(frontier)
    }

    /// Opens the frontier of a job that this process holds.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_in(
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

    /// What was found when the frontier was opened.
    pub fn opening(&self) -> &Opening {
        self.journal().opening()
    }

    /// Writes a checkpoint, and returns what it cost. Before the call, sync the output that the completed pages were written to, and
    /// submit every admitted URL: none may be between the gate and the frontier.
    ///
    /// The call takes as long as the disk needs for the hosts, their queues and the seen set.
    ///
    /// # Errors
    /// If the storage fails: the last checkpoint still serves, and this can be tried again. If a URL could not be journaled before:
    /// open the frontier again, and the URL will be found again. If the job's lock was removed.
    pub fn checkpoint(&mut self) -> Result<CheckpointCost, CheckpointError> {
        // This owner never calls a checkpoint off.
        write(self).map(Option::unwrap_or_default)
    }
}

impl<S: Storage> Owner<S> for Frontier<JobJournal<S>> {
    fn with<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        act(self)
    }

    /// Syncs nothing: the embedder has synced its output before the call. Keeps an earlier owner's bytes.
    fn confirm(&mut self, _: u64) -> Result<Option<Vec<u8>>, CheckpointError> {
        Ok(Some(self.journal().opening().extra.clone()))
    }
}

/// Restores the frontier of a job from its newest checkpoint and the journal after it, to read it. The job may be finished, stopped,
/// killed, or held by another process; then everything up to its last flush counts. Its [opening](Frontier::opening) says what was
/// found. No lock is taken, and nothing can be written, so a read-only directory will do. With the verified layout, fingerprints go
/// through the directory for temporary files.
///
/// # Errors
/// If a file is another job's or of a later format, the journal is damaged before its end, an option differs from the job's, or the
/// file system refuses.
pub fn look(job: &Job, options: &FrontierOptions, now: Timestamp) -> Result<Frontier<JobJournal>, CheckpointError> {
    let (replay, journal, _) = replay(job, options, |_, _| {})?;
    replay.finish(journal, now).map_err(|error| CheckpointError::of_io(error, job.frontier_directory()))
}

/// Replays a job's journal and shows each record. Returns the frontier as it is being restored, the journal, and whether all of the
/// journal's segments are there.
pub(super) fn replay(
    job: &Job,
    options: &FrontierOptions,
    show: impl FnMut(Position, &Record<'_>),
) -> Result<(Resume, JobJournal, bool), CheckpointError> {
    let disk = || Disk::for_reading(&job.frontier_directory());
    let mut options = options.clone();
    options.fingerprint_key = Some(job.manifest().fingerprint_key);
    options.seen.directory = Some(env::temp_dir());
    job.drop_by(&mut options)?;
    // The checkpoints are listed before the journal, so that the journal reaches at least as far as they do.
    let mut checkpoints = Checkpoints::look(disk(), job.manifest().id)?;
    checkpoints.takes_any_seen = true;
    reread(disk(), checkpoints, &options, show)
}

/// The bytes that the job's owner kept in the newest readable checkpoint; `None` if there is none. Reads only its summary.
///
/// # Errors
/// If the directory cannot be read.
pub fn newest_extra(job: &Job) -> Result<Option<Vec<u8>>, CheckpointError> {
    Ok(newest(job)?.map(|(_, summary)| summary.extra))
}

/// The rules on keys in the job's newest checkpoint; `None` if there is no checkpoint yet.
///
/// # Errors
/// If the directory cannot be read.
pub fn newest_keys(job: &Job) -> Result<Option<KeyRules>, CheckpointError> {
    Ok(newest(job)?.map(|(_, summary)| summary.keys))
}

/// The file of the seen set in the job's newest checkpoint; `None` if there is none yet.
///
/// # Errors
/// If the directory cannot be read.
pub fn newest_seen(job: &Job) -> Result<Option<PathBuf>, CheckpointError> {
    let newest = newest(job)?.filter(|(_, summary)| summary.has_seen);
    Ok(newest.map(|(number, _)| job.frontier_directory().join(Checkpoints::<Disk>::seen_name(number))))
}

/// The newest readable summary of a job's checkpoints, and its number. Takes no lock.
fn newest(job: &Job) -> Result<Option<(u64, Summary)>, CheckpointError> {
    Ok(Checkpoints::look(Disk::for_reading(&job.frontier_directory()), job.manifest().id)?.newest_summary())
}

/// What a job knows about some URLs.
#[derive(Debug)]
#[non_exhaustive]
pub struct Explained {
    /// One explanation for each URL, in the order asked. Page records are not looked up yet.
    pub explanations: Vec<Explanation>,
    /// Checkpoints that were damaged and skipped.
    pub damaged: Vec<CheckpointError>,
    /// The job was opened again after its newest checkpoint: a run is under way, or was killed.
    pub is_resumed: bool,
}

/// Says why these URLs were not fetched, for a job that is finished, stopped, killed, or under way in another process. If the job is
/// under way, everything up to its last flush counts. Nothing is written, so a read-only directory will do. With the verified
/// layout, the fingerprints go through the directory for temporary files.
///
/// Loads the newest checkpoint and reads the whole journal once. That takes the memory of a resume, and the time that the disk needs
/// for the journal.
///
/// ```
/// use crawler_frontier::address::{Canonicalizer, KeyRules};
/// use crawler_frontier::frontier::{Frontier, FrontierOptions, Timestamp};
/// use crawler_frontier::job::{Job, explain};
///
/// # let directory = tempfile::tempdir()?;
/// # let directory = directory.path();
/// let (options, now) = (FrontierOptions::default(), Timestamp::from_micros(0));
/// let mut frontier = Frontier::open(directory, &options, now)?;
/// frontier.seed("https://example.org/", now)?;
/// frontier.flush(now)?;
///
/// // From here on, another process would do as well.
/// let job = Job::open_for_reading(directory)?;
/// let canonicalizer = Canonicalizer::new(&KeyRules::default());
/// let url = canonicalizer.canonicalize("https://EXAMPLE.org/?utm_source=mail")?;
/// let explained = explain(&job, &options, &[url], now)?;
/// println!("{}", explained.explanations[0]);
/// # assert!(explained.explanations[0].to_string().contains("queue"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a file is another job's or of a later format, the journal is damaged before its end, an option differs from the job's, the journal
/// has no entry that was asked for, or the file system refuses.
pub fn explain(
    job: &Job,
    options: &FrontierOptions,
    requests: impl IntoIterator<Item = impl Into<RequestName>>,
    now: Timestamp,
) -> Result<Explained, CheckpointError> {
    explain_among(job, options, &[], requests, now)
}

/// As [`explain`], with a scope that also has the surroundings of these seeds, which belong to other partitions.
///
/// # Errors
/// As [`explain`].
pub fn explain_among(
    job: &Job,
    options: &FrontierOptions,
    seeds: &[Found],
    requests: impl IntoIterator<Item = impl Into<RequestName>>,
    now: Timestamp,
) -> Result<Explained, CheckpointError> {
    // No length limit: it may be lower now than when a URL was admitted.
    let canonicalizer = Canonicalizer::new(&options.keys).with_max_bytes(usize::MAX);
    let mut trails: Vec<Trail> = requests.into_iter().map(|request| Trail::of(request.into())).collect();
    let mut resumed_at = Position::default();
    let (mut replay, mut journal, is_whole) = replay(job, options, |position, record| {
        if matches!(record, Record::Resumed { .. }) {
            resumed_at = position;
        }
        for trail in &mut trails {
            trail.record(position, record, &canonicalizer);
        }
    })?;
    for seed in seeds {
        replay.widen(seed);
    }
    let explanations = trails.into_iter().map(|trail| {
        let (url, identity, history) = trail.history(!is_whole, &canonicalizer)?;
        replay.explain(&mut journal, &url, (identity, None), history, now)
    });
    let explanations = explanations.collect::<Result<_, _>>();
    let explanations = explanations.map_err(|error| CheckpointError::of_io(error, job.frontier_directory()))?;
    let Opening { damaged, position, .. } = journal.into_opening();
    Ok(Explained { explanations, damaged, is_resumed: resumed_at >= position })
}

/// Names a request that a job is asked about. A URL converts to one.
#[derive(Clone, Debug)]
pub enum RequestName {
    /// The request for this URL that has no identity of its own. If there are several, the one with the newest entry.
    Url(CanonicalUrl),
    /// The request with this identity. If there are several, the one with the newest entry; if there is none, one for this URL.
    Identity(CanonicalUrl, IdentityBuf),
    /// The request whose first entry is at this [position](crate::frontier::Lease::position) of the journal. It picks one of several
    /// requests for a URL, or with an identity.
    Entry(Position),
}

impl From<CanonicalUrl> for RequestName {
    fn from(url: CanonicalUrl) -> Self {
        Self::Url(url)
    }
}

impl From<&CanonicalUrl> for RequestName {
    fn from(url: &CanonicalUrl) -> Self {
        Self::Url(url.clone())
    }
}

/// What the journal says about one request, gathered record by record.
struct Trail {
    request: RequestName,
    /// How many leading bytes the wire URLs of all spellings of the URL have in common.
    prefix: usize,
    remembered: Option<Remembered>,
}

impl Trail {
    /// The trail of a request, before the first record.
    fn of(request: RequestName) -> Self {
        let prefix = match &request {
            // Up to the end of the host. After it, a wire URL may have a dot that the key lacks.
            RequestName::Url(url) => url.origin().find(url.host()).map_or(0, |at| at + url.host().len()),
            RequestName::Identity(..) | RequestName::Entry(_) => 0,
        };
        Self { request, prefix, remembered: None }
    }

    /// Whether this is an entry of the request. `from` is the entry that it replaces, if any. URLs of the same host are canonicalized; all
    /// others are compared only by their beginning.
    fn has(
        &self,
        position: Position,
        from: Option<Position>,
        entry: &Entry<'_>,
        canonicalizer: &Canonicalizer,
    ) -> bool {
        match &self.request {
            RequestName::Url(url) => {
                entry.identity.is_none()
                    && entry.wire.starts_with(&url.origin()[..self.prefix])
                    && canonicalizer.canonicalize(entry.wire).is_ok_and(|of| of.key() == url.key())
            }
            RequestName::Identity(_, identity) => entry.identity == Some(identity.borrow()),
            RequestName::Entry(first) => {
                let goes_on = |remembered: &Remembered| from == Some(remembered.position);
                position == *first || self.remembered.as_ref().is_some_and(goes_on)
            }
        }
    }

    /// Takes the next record.
    fn record(&mut self, position: Position, record: &Record<'_>, canonicalizer: &Canonicalizer) {
        match record {
            Record::Admitted(entry) if self.has(position, entry.replaces, entry, canonicalizer) => {
                self.remembered = Some(Remembered::new(position, entry));
            }
            Record::Again { settled, entry } if self.has(position, Some(settled.position), entry, canonicalizer) => {
                // A page that was given up has its record already.
                let receipt = settled.receipts.first().filter(|_| entry.is_parked());
                self.remembered = Some(Remembered { receipt, ..Remembered::new(position, entry) });
            }
            Record::Settled(settled) => {
                if let Some(remembered) = &mut self.remembered
                    && remembered.position == settled.position
                {
                    remembered.settle(settled);
                }
            }
            Record::Resumed { output } => {
                if let Some(remembered) = &mut self.remembered
                    && remembered.receipt.is_some_and(|Receipt { end, .. }| end > *output)
                {
                    remembered.reopen();
                }
            }
            Record::Admitted(_)
            | Record::Again { .. }
            | Record::Answered(_)
            | Record::Aside(_)
            | Record::Disallowed(_)
            | Record::Due(_)
            | Record::Forgotten { .. }
            | Record::Extended { .. }
            | Record::Host(_)
            | Record::Lent(_)
            | Record::Moved(_)
            | Record::Priority { .. }
            | Record::Rescored(_)
            | Record::Returned { .. }
            | Record::Rules { .. } => {}
        }
    }

    /// The URL, the identity and the gathered history. `is_cut` says that parts of the journal are gone.
    ///
    /// # Errors
    /// If the entry that was asked for is not in the journal.
    fn history(
        self,
        is_cut: bool,
        canonicalizer: &Canonicalizer,
    ) -> io::Result<(CanonicalUrl, Option<IdentityBuf>, History)> {
        let Self { request, remembered, .. } = self;
        let (url, identity) = match (request, &remembered) {
            (RequestName::Url(url), _) => (url, None),
            (RequestName::Identity(_, identity), Some(remembered)) => {
                (canonicalizer.canonicalize(&remembered.wire).map_err(io::Error::other)?, Some(identity))
            }
            (RequestName::Identity(url, identity), None) => (url, Some(identity)),
            (RequestName::Entry(_), Some(remembered)) => {
                let url = canonicalizer.canonicalize(&remembered.wire).map_err(io::Error::other)?;
                (url, remembered.identity.clone())
            }
            (RequestName::Entry(position), None) => {
                let reason = if is_cut { ", or only in a part that is gone" } else { "" };
                let error = format!("the journal has no entry at {}{reason}", position.to_u64());
                return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
            }
        };
        Ok((url, identity, remembered.map_or(History::None { is_cut }, History::Admitted)))
    }
}
