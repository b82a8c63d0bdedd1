//! The handle of a crawl: many tasks call it at once, and its thread answers.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use tokio::task::spawn_blocking;

use super::command::{Call, CallError, CrawlCommand, CrawlCounts, CrawlShared, LeaseCall, LentBatch};
use super::ends::{self, EndAnswer, LeaseEnd};
use super::owner::CrawlOwner;
use super::rules::{CrawlRules, ServeLimits};
use crate::address::HostKey;
use crate::frontier::{
    Explanation, Frontier, FrontierError, FrontierOptions, FrontierStatistics, Href, LeaseToken, QueueStatistics,
    Timestamp,
};
use crate::gate::{DropRule, Found, Gate, Refusal};
use crate::job::{self, Job, JobJournal, RequestName};
use crate::lending::Clock;
use crate::seen::Sighting;

/// A crawl that is served. Closed when it is dropped.
#[derive(Debug)]
pub struct ServedCrawl {
    to: Sender<CrawlCommand>,
    shared: Arc<CrawlShared>,
    calls: Arc<Semaphore>,
    long_polls: Arc<Semaphore>,
    most_polls: usize,
    is_paused: AtomicBool,
    lease_timeout: Duration,
    /// The crawl's directory and its options, with which its journal is read.
    files: Arc<(PathBuf, FrontierOptions)>,
    explaining: Semaphore,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// A crawl in numbers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CrawlState {
    /// The frontier.
    pub frontier: FrontierStatistics,
    /// URLs that the gate was shown.
    pub found: u64,
    /// URLs that the gate refused, by reason.
    pub refusals: Vec<(Refusal, u64)>,
    /// No leases go out.
    pub is_paused: bool,
    /// Calls that wait for a lease.
    pub waiting: usize,
    /// The drop rules.
    pub dropped: Vec<DropRule>,
}

/// Counts a call that waits for a lease, until it is dropped.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ServedCrawl {
    /// Opens a crawl in a directory, or begins one there. Calls wait until that is done.
    pub(super) fn start(
        directory: &Path,
        rules: CrawlRules,
        is_paused: bool,
        limits: &ServeLimits,
        clock: Clock,
    ) -> io::Result<Self> {
        let (to, commands) = mpsc::channel();
        let shared = Arc::new(CrawlShared { clock, counts: CrawlCounts::default(), gate: RwLock::default() });
        let lease_timeout = rules.frontier.lease_timeout.unwrap_or_default();
        let files = Arc::new((directory.to_owned(), rules.frontier.clone()));
        let thread = CrawlOwner::start(
            directory,
            rules,
            is_paused,
            (limits.checkpoint, limits.checkpoint_records),
            Arc::clone(&shared),
            (to.clone(), commands),
        )?;
        Ok(Self {
            to,
            shared,
            calls: Arc::new(Semaphore::new(limits.calls)),
            long_polls: Arc::new(Semaphore::new(limits.long_polls)),
            most_polls: limits.long_polls,
            is_paused: AtomicBool::new(is_paused),
            lease_timeout,
            files,
            explaining: Semaphore::new(1),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Now, by the frontier's clock.
    pub fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    /// How long a lease lasts.
    pub fn lease_timeout(&self) -> Duration {
        self.lease_timeout
    }

    /// Counts since the server started.
    pub fn counts(&self) -> &CrawlCounts {
        &self.shared.counts
    }

    /// Whether the crawl is paused: no leases go out.
    pub fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Relaxed)
    }

    /// The gate, which many tasks may ask at once. Waits until the crawl is open.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub async fn gate(&self) -> Result<Arc<Gate>, CallError> {
        match self.shared.gate() {
            Some(Ok(gate)) => Ok(gate),
            // It is being opened, or another try may help: the thread decides.
            _ => self.call(|frontier, _| Ok(Arc::clone(frontier.gate()))).await,
        }
    }

    /// Queues URLs. Returns for each, in order, why it was refused, if it was.
    ///
    /// # Errors
    /// If the storage fails. Then none of them was kept.
    pub async fn admit(&self, found: Vec<Found>) -> Result<Vec<Option<Refusal>>, CallError> {
        let urls = found.len() as u64;
        let refused = self.call(move |frontier, now| Ok(frontier.admit_batch(found, now)?)).await?;
        let admitted = refused.iter().filter(|refused| refused.is_none()).count() as u64;
        let counts = self.counts();
        counts.urls.fetch_add(urls, Ordering::Relaxed);
        counts.admitted.fetch_add(admitted, Ordering::Relaxed);
        Ok(refused)
    }

    /// Waits for leases, for at most `wait`. As soon as there is a lease, returns all that are due, at most `most`.
    ///
    /// # Errors
    /// [`Busy`](CallError::Busy) if too many wait already; or if the storage fails.
    pub async fn lease(&self, most: usize, wait: Duration) -> Result<LentBatch, CallError> {
        let place = Arc::clone(&self.long_polls).try_acquire_owned().map_err(|_| CallError::Busy(self.most_polls))?;
        let (to, answer) = oneshot::channel();
        let _counted = Counted::new(&self.counts().waiting);
        let until = self.now() + wait;
        self.send(CrawlCommand::Lease(LeaseCall { most, until, to, _place: place }))?;
        answer.await.map_err(|_| CallError::Closed)?
    }

    /// Takes leases back. Returns for each, in order, what became of it.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn settle(&self, ends: Vec<LeaseEnd>) -> Result<Vec<EndAnswer>, CallError> {
        let answers = self.call(move |frontier, now| ends::settle(frontier, &ends, now)).await?;
        let count = |what: fn(&EndAnswer) -> bool| answers.iter().filter(|answer| what(answer)).count() as u64;
        let counts = self.counts();
        counts.done.fetch_add(count(|answer| *answer == EndAnswer::Done), Ordering::Relaxed);
        counts.retries.fetch_add(count(|answer| matches!(answer, EndAnswer::Retry(_))), Ordering::Relaxed);
        counts.late.fetch_add(count(|answer| *answer == EndAnswer::Late), Ordering::Relaxed);
        Ok(answers)
    }

    /// Gives leases more time.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn extend(&self, tokens: Vec<LeaseToken>) -> Result<Vec<EndAnswer>, CallError> {
        self.call(move |frontier, now| ends::extend(frontier, &tokens, now)).await
    }

    /// Takes back leases whose URLs were not requested.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn give_back(&self, tokens: Vec<LeaseToken>) -> Result<Vec<EndAnswer>, CallError> {
        self.call(move |frontier, now| ends::give_back(frontier, &tokens, now)).await
    }

    /// Why a URL was not lent yet; `None` if the text is not a URL, or the identity or queue is invalid.
    ///
    /// For a new URL the frontier has the answer. For any other URL the whole journal is read, which takes a second or two for a million
    /// URLs. This happens outside the crawl's thread, for one call at a time.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn explain(
        &self,
        url: String,
        identity: Option<String>,
        queue: Option<String>,
    ) -> Result<Option<Explanation>, CallError> {
        let known = self.call(move |frontier, now| {
            let mut href = Href::from(&url);
            if let Some(identity) = &identity {
                let Ok(with) = href.identity(identity) else { return Ok(None) };
                href = with;
            }
            if let Some(queue) = &queue {
                let Ok(with) = href.queue(queue) else { return Ok(None) };
                href = with;
            }
            match frontier.explain_request(href, now) {
                Ok(explanation) => {
                    let url = frontier.gate().canonicalizer().canonicalize(&url).ok();
                    Ok(url.map(|url| (explanation, url)))
                }
                Err(FrontierError::Address(_)) => Ok(None),
                Err(error) => Err(error.into()),
            }
        });
        let Some((known, url)) = known.await? else { return Ok(None) };
        if known.sighting == Sighting::New {
            return Ok(Some(known));
        }
        let name = match &known.identity {
            Some(identity) => RequestName::Identity(url, identity.clone()),
            None => RequestName::Url(url),
        };
        let _place = self.explaining.acquire().await.map_err(|_| CallError::Closed)?;
        let (files, now) = (Arc::clone(&self.files), self.now());
        let explained = spawn_blocking(move || {
            let (directory, options) = &*files;
            let job = Job::open_for_reading(directory).map_err(|error| CallError::storage(&error))?;
            let explained = job::explain(&job, options, [name], now).map_err(|error| CallError::storage(&error))?;
            Ok(explained.explanations.into_iter().next())
        });
        explained.await.map_err(|_| CallError::Closed)?.map(|explained| Some(explained.unwrap_or(known)))
    }

    /// The crawl in numbers.
    ///
    /// # Errors
    /// If the crawl cannot be opened.
    pub async fn state(&self) -> Result<CrawlState, CallError> {
        let (frontier, found, refusals, dropped) = self
            .call(|frontier, _| {
                let gate = frontier.gate();
                let refusals = gate.refusals().iter().filter(|(_, count)| *count > 0).collect();
                Ok((frontier.statistics(), gate.found(), refusals, gate.dropped()))
            })
            .await?;
        let waiting = self.counts().waiting.load(Ordering::Relaxed);
        Ok(CrawlState { frontier, found, refusals, is_paused: self.is_paused(), waiting, dropped })
    }

    /// At most `most` queues whose names contain a text, most waiting URLs first; and how many such queues there are.
    ///
    /// # Errors
    /// If the crawl cannot be opened.
    pub async fn queues(
        &self,
        find: String,
        most: usize,
    ) -> Result<(Vec<(HostKey, QueueStatistics)>, usize), CallError> {
        self.call(move |frontier, now| {
            let mut queues: Vec<_> = frontier.queues(now).filter(|(host, _)| host.as_str().contains(&find)).collect();
            let all = queues.len();
            let order = |a: &(&HostKey, QueueStatistics), b: &(&HostKey, QueueStatistics)| {
                b.1.waiting.cmp(&a.1.waiting).then_with(|| a.0.cmp(b.0))
            };
            if all > most && most > 0 {
                queues.select_nth_unstable_by(most - 1, order);
            }
            queues.truncate(most);
            queues.sort_unstable_by(order);
            Ok((queues.into_iter().map(|(host, queue)| (host.clone(), queue)).collect(), all))
        })
        .await
    }

    /// Drops all URLs that a rule names, now and later, or undoes that. Returns the rules in force after that, or why the rule cannot be used.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn drop_by(&self, rule: DropRule, is_undone: bool) -> Result<Result<Vec<DropRule>, String>, CallError> {
        self.call(move |frontier, now| {
            let dropped =
                if is_undone { frontier.undo_drop(&rule, now).map(drop) } else { frontier.drop_by(rule, now) };
            match dropped {
                Ok(()) => Ok(Ok(frontier.gate().dropped())),
                Err(FrontierError::Storage(error)) => Err(error),
                Err(error) => Ok(Err(error.to_string())),
            }
        })
        .await
    }

    /// Stops lending, or lends again. Leases that are out can still be completed.
    ///
    /// # Errors
    /// If the crawl is closed.
    pub(super) async fn pause(&self, is_paused: bool) -> Result<(), CallError> {
        let (done, paused) = oneshot::channel();
        self.send(CrawlCommand::Pause(is_paused, done))?;
        paused.await.map_err(|_| CallError::Closed)?;
        self.is_paused.store(is_paused, Ordering::Relaxed);
        Ok(())
    }

    /// Ends the crawl's thread; with `keeps`, after a last checkpoint. Blocks until it has ended.
    pub(super) fn close(&self, keeps: bool) {
        _ = self.send(CrawlCommand::Close { keeps });
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            _ = thread.join();
        }
    }

    fn send(&self, command: CrawlCommand) -> Result<(), CallError> {
        self.to.send(command).map_err(|_| CallError::Closed)
    }

    /// Calls `act` on the crawl's thread, and returns its result once all changes are in the journal.
    async fn call<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Frontier<JobJournal>, Timestamp) -> io::Result<T> + Send + 'static,
    ) -> Result<T, CallError> {
        let _place = self.calls.acquire().await.map_err(|_| CallError::Closed)?;
        let (to, answer) = oneshot::channel();
        self.send(CrawlCommand::Call(Box::new(Calling { act: Some(act), acted: None, to })))?;
        answer.await.map_err(|_| CallError::Closed)?
    }
}

impl Drop for ServedCrawl {
    fn drop(&mut self) {
        // Dropping does not wait: the thread writes its checkpoint and ends.
        _ = self.send(CrawlCommand::Close { keeps: true });
    }
}

/// A call, before or after it has acted.
struct Calling<T, A> {
    act: Option<A>,
    acted: Option<T>,
    to: oneshot::Sender<Result<T, CallError>>,
}

impl<T: Send, A: FnOnce(&mut Frontier<JobJournal>, Timestamp) -> io::Result<T> + Send> Call for Calling<T, A> {
    fn act(&mut self, frontier: &mut Frontier<JobJournal>, now: Timestamp) -> io::Result<()> {
        if let Some(act) = self.act.take() {
            self.acted = Some(act(frontier, now)?);
        }
        Ok(())
    }

    fn answer(self: Box<Self>, flushed: Result<(), &CallError>) {
        let Self { acted, to, .. } = *self;
        let answer = match (flushed, acted) {
            (Ok(()), Some(acted)) => Ok(acted),
            (Ok(()), None) => Err(CallError::Closed),
            (Err(error), _) => Err(error.clone()),
        };
        // A client that has gone needs no answer.
        _ = to.send(answer);
    }
}
