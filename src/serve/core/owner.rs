//! The thread that owns a crawl's frontier. It works in turns: it acts on commands, flushes the journal once, and then answers.
//!
//! ```text
//!   take a command, and all others that have come (for at most 2 ms)
//!     ▶ act on the frontier ▶ lend to waiting calls ▶ one flush ▶ answer all calls
//! ```
//!
//! So each answer is sent after its record is in the journal, and all calls of a turn share one flush. The tasks of the server never wait for
//! a disk, only for an answer.
//!
//! # When the storage fails
//!
//! A frontier must not continue without its journal. So it is dropped, and all calls of the turn fail. At the next call, but at most once a
//! second, it is opened again from its files, which have everything that was ever acknowledged. So a crawl recovers from a full disk as soon
//! as there is space.
//!
//! # Checkpoints
//!
//! Another thread writes a checkpoint in pieces. It locks the frontier for one piece at a time, as this thread locks it for one turn. A
//! checkpoint begins once a minute, and earlier if a restart would have to replay too much.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::command::{Call, CallError, CrawlCommand, CrawlShared};
use super::ends;
use super::rules::CrawlRules;
use super::waiters::{Answered, Waiters};
use crate::address::FingerprintKey;
use crate::driver::newest_extra;
use crate::driver::own::replace;
use crate::frontier::{Frontier, Timestamp};
use crate::job::checkpoint::{CheckpointError, Owner as CheckpointOwner, write};
use crate::job::{Job, JobError, JobJournal};
use crate::lending::Clock;

/// A turn takes commands for this long before it flushes and answers.
const TURN: Duration = Duration::from_millis(2);
/// Hosts that become due within this time are lent together.
const TOGETHER: Duration = Duration::from_millis(1);
/// The time between two tries to open a crawl whose storage has failed.
const AGAIN: Duration = Duration::from_secs(1);
/// A checkpoint takes at most this share of the time.
const SHARE: u32 = 33;

type SharedFrontier = Arc<Mutex<Frontier<JobJournal>>>;

/// The state of a crawl's thread.
pub(super) struct CrawlOwner {
    directory: PathBuf,
    rules: CrawlRules,
    clock: Clock,
    shared: Arc<CrawlShared>,
    commands: Receiver<CrawlCommand>,
    waiters: Waiters,
    state: Result<SharedFrontier, Broken>,
    is_paused: bool,
    checkpoints: Checkpoints,
}

/// Why and since when there is no frontier.
struct Broken {
    error: CallError,
    since: Instant,
}

impl CrawlOwner {
    /// Starts the thread, which opens the frontier first.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub(super) fn start(
        directory: &Path,
        rules: CrawlRules,
        is_paused: bool,
        (interval, records): (Duration, u64),
        shared: Arc<CrawlShared>,
        (to_self, commands): (Sender<CrawlCommand>, Receiver<CrawlCommand>),
    ) -> io::Result<JoinHandle<()>> {
        let directory = directory.to_owned();
        let clock = shared.clock;
        thread::Builder::new().name("crawl".to_owned()).spawn(move || {
            let state = open(&directory, &rules, clock, &shared);
            let waiters = Waiters::new(to_self);
            let checkpoints = Checkpoints::new(interval, records);
            let mut owner = Self { directory, rules, clock, shared, commands, waiters, state, is_paused, checkpoints };
            while let Some(keeps) = owner.next() {
                if let Some(keeps) = keeps {
                    owner.close(keeps);
                    break;
                }
            }
        })
    }

    /// Waits for the next command and takes a turn. Returns `Some(Some(keeps))` if the thread is to end, and `None` if no sender is left.
    #[expect(clippy::option_option, reason = "private, and documented above")]
    fn next(&mut self) -> Option<Option<bool>> {
        let now = self.clock.now();
        let due = self.waiters.due().map(|due| due.since(now).max(TOGETHER));
        let patience = due.unwrap_or(Duration::MAX).min(self.checkpoints.due());
        match self.commands.recv_timeout(patience) {
            Ok(CrawlCommand::Close { keeps }) => Some(Some(keeps)),
            Ok(first) => Some(self.turn(Some(first))),
            Err(RecvTimeoutError::Timeout) => Some(self.turn(None)),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Takes a turn. Returns `Some(keeps)` if the thread is to end.
    fn turn(&mut self, first: Option<CrawlCommand>) -> Option<bool> {
        let frontier = match self.frontier() {
            Ok(frontier) => frontier,
            Err(error) => return self.refuse(first, &error),
        };
        let (mut calls, mut answered, mut close) = (Vec::new(), Vec::new(), None);
        let acted = {
            let mut frontier = lock(&frontier);
            let acted = self.act(first, &mut frontier, &mut calls, &mut close);
            let now = self.clock.now();
            let acted = acted
                .and_then(|()| self.waiters.serve(&mut frontier, self.is_paused, now, &mut answered))
                .and_then(|()| frontier.flush(now).map_err(io::Error::from));
            self.checkpoints.changed |= !calls.is_empty() || !answered.is_empty();
            acted
        };
        let lent: usize = answered.iter().map(Answered::leases).sum();
        let flushed = acted.map_err(|error| CallError::storage(&error));
        let told = flushed.as_ref().map(drop);
        for call in calls {
            call.answer(told);
        }
        for answered in answered {
            answered.send(told);
        }
        drop(frontier);
        match flushed {
            Ok(()) => {
                self.shared.counts.leased.fetch_add(lent as u64, Ordering::Relaxed);
                self.write_checkpoint();
            }
            Err(error) => self.break_down(error),
        }
        close
    }

    /// Carries out commands, as long as a turn lasts.
    fn act(
        &mut self,
        first: Option<CrawlCommand>,
        frontier: &mut Frontier<JobJournal>,
        calls: &mut Vec<Box<dyn Call>>,
        close: &mut Option<bool>,
    ) -> io::Result<()> {
        let began = Instant::now();
        let mut next = first;
        while let Some(command) = next {
            let now = self.clock.now();
            match command {
                CrawlCommand::Call(call) => {
                    // Pushed before it acts, so that it is answered even if it fails.
                    calls.push(call);
                    if let Some(call) = calls.last_mut() {
                        call.act(frontier, now)?;
                    }
                }
                CrawlCommand::Close { keeps } => {
                    *close = Some(keeps);
                    return Ok(());
                }
                CrawlCommand::GiveBack(tokens) => _ = ends::give_back(frontier, &tokens, now)?,
                CrawlCommand::Lease(call) => self.waiters.push(call),
                CrawlCommand::Pause(is_paused, done) => {
                    self.is_paused = is_paused;
                    _ = done.send(());
                }
            }
            next = if began.elapsed() < TURN { self.commands.try_recv().ok() } else { None };
        }
        Ok(())
    }

    /// The frontier. A broken one is opened again if the last try was long enough ago.
    fn frontier(&mut self) -> Result<SharedFrontier, CallError> {
        if let Err(broken) = &self.state
            && broken.since.elapsed() >= AGAIN
        {
            self.state = open(&self.directory, &self.rules, self.clock, &self.shared);
        }
        self.state.as_ref().map(Arc::clone).map_err(|broken| broken.error.clone())
    }

    /// Answers all commands and waiting calls with an error.
    fn refuse(&mut self, first: Option<CrawlCommand>, error: &CallError) -> Option<bool> {
        let mut next = first;
        while let Some(command) = next {
            match command {
                CrawlCommand::Call(call) => call.answer(Err(error)),
                CrawlCommand::Close { keeps } => return Some(keeps),
                // The leases are in the journal, and end at their deadlines.
                CrawlCommand::GiveBack(_) => {}
                CrawlCommand::Lease(call) => _ = call.to.send(Err(error.clone())),
                CrawlCommand::Pause(is_paused, done) => {
                    self.is_paused = is_paused;
                    _ = done.send(());
                }
            }
            next = self.commands.try_recv().ok();
        }
        self.waiters.drain().for_each(|to| _ = to.send(Err(error.clone())));
        None
    }

    /// Drops the frontier, which has lost its journal.
    fn break_down(&mut self, error: CallError) {
        self.checkpoints.finish();
        self.shared.set_gate(Err(error.clone()));
        self.state = Err(Broken { error, since: Instant::now() });
    }

    fn write_checkpoint(&mut self) {
        let records = self.shared.counts.records();
        if let Ok(frontier) = &self.state
            && self.checkpoints.is_due(records)
        {
            self.checkpoints.begin(frontier, self.clock, records);
        }
    }

    fn close(mut self, keeps: bool) {
        self.waiters.drain().for_each(|to| _ = to.send(Err(CallError::Closed)));
        self.checkpoints.finish();
        if let Ok(frontier) = &self.state
            && keeps
        {
            // If this fails, the next opening reads more of the journal.
            _ = write(&mut Pieces { frontier, clock: self.clock });
        }
        self.shared.set_gate(Err(CallError::Closed));
    }
}

/// Opens the frontier of a job, or begins it.
fn open(directory: &Path, rules: &CrawlRules, clock: Clock, shared: &CrawlShared) -> Result<SharedFrontier, Broken> {
    let opened = open_job(directory, rules, clock);
    shared.set_gate(match &opened {
        Ok(frontier) => Ok(Arc::clone(frontier.gate())),
        Err(error) => Err(CallError::storage(&**error)),
    });
    opened.map(|frontier| Arc::new(Mutex::new(frontier))).map_err(|error| {
        let error = CallError::storage(&*error);
        Broken { error, since: Instant::now() }
    })
}

fn open_job(directory: &Path, rules: &CrawlRules, clock: Clock) -> Result<Frontier<JobJournal>, Box<dyn Error>> {
    let job = match Job::resume(directory) {
        Err(JobError::NoJob { .. } | JobError::Draft { .. }) => Job::draft(directory, false, FingerprintKey::random())?,
        job => job?,
    };
    let now = clock.now();
    let mut open = rules.open;
    open.went_back = newest_extra(&job)?.and_then(|extra| went_back(&extra, now));
    let mut frontier = Frontier::open_in(&job, &rules.frontier, &open, |_, _| true, now)?;
    if let Some(file) = &rules.file {
        replace(&job.settings_path(), file.as_bytes())?;
    }
    job.begin()?;
    frontier.ask_again(now)?;
    Ok(frontier)
}

/// How far the clock was set back since a checkpoint was written. `extra` is the time that the checkpoint stored.
fn went_back(extra: &[u8], now: Timestamp) -> Option<Duration> {
    let written = Timestamp::from_micros(u64::from_le_bytes(extra.try_into().ok()?));
    Some(written.since(now)).filter(|back| *back > Duration::from_secs(1))
}

fn lock(frontier: &Mutex<Frontier<JobJournal>>) -> MutexGuard<'_, Frontier<JobJournal>> {
    frontier.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks the frontier for each piece of a checkpoint. The checkpoint stores the time at which it was written.
struct Pieces<'a> {
    frontier: &'a Mutex<Frontier<JobJournal>>,
    clock: Clock,
}

impl CheckpointOwner for Pieces<'_> {
    fn with<T>(&mut self, act: impl FnOnce(&mut Frontier<JobJournal>) -> T) -> T {
        act(&mut lock(self.frontier))
    }

    fn confirm(&mut self, _: u64) -> Result<Option<Vec<u8>>, CheckpointError> {
        Ok(Some(self.clock.now().as_micros().to_le_bytes().to_vec()))
    }
}

/// When checkpoints are written, and the thread that writes one.
struct Checkpoints {
    interval: Duration,
    /// After at least this many URLs were queued, lent or done, a checkpoint is due before its time.
    records: u64,
    /// The same bound, raised for the size that the crawl had at the last checkpoint.
    bound: u64,
    /// URLs that were queued, lent or done when the last one was begun.
    at: u64,
    last: Instant,
    /// How long the last one took.
    took: Duration,
    /// Something has changed since the last one was begun.
    changed: bool,
    writing: Option<JoinHandle<Duration>>,
}

impl Checkpoints {
    fn new(interval: Duration, records: u64) -> Self {
        let (last, took) = (Instant::now(), Duration::ZERO);
        Self { interval, records, bound: records, at: 0, last, took, changed: false, writing: None }
    }

    /// The time until the next one.
    fn due(&self) -> Duration {
        if !self.changed {
            return Duration::MAX;
        }
        self.interval.max(self.took * SHARE).saturating_sub(self.last.elapsed()).max(TOGETHER)
    }

    /// `records` are the URLs that were queued, lent or done so far.
    fn is_due(&mut self, records: u64) -> bool {
        if self.writing.as_ref().is_some_and(JoinHandle::is_finished) {
            self.finish();
        }
        let is_time = self.interval.max(self.took * SHARE) <= self.last.elapsed();
        self.changed && self.writing.is_none() && (is_time || records - self.at >= self.bound)
    }

    fn begin(&mut self, frontier: &SharedFrontier, clock: Clock, records: u64) {
        (self.last, self.changed, self.at) = (Instant::now(), false, records);
        let frontier = Arc::clone(frontier);
        self.bound = self.records.max(lock(&frontier).statistics().queued / 4);
        let write = move || {
            let began = Instant::now();
            // If this fails, the previous checkpoint is used, and the journal has the rest.
            _ = write(&mut Pieces { frontier: &frontier, clock });
            began.elapsed()
        };
        self.writing = thread::Builder::new().name("checkpoint".to_owned()).spawn(write).ok();
    }

    /// Waits for the one that is being written.
    fn finish(&mut self) {
        if let Some(took) = self.writing.take().and_then(|writing| writing.join().ok()) {
            self.took = took;
        }
    }
}
