//! The main loop of a crawl: it leases what is due, and starts a task for each lease.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::task::{JoinError, JoinSet};
use tokio::time::{MissedTickBehavior, interval, sleep_until};

use super::bounds::ConcurrencyLimit;
use super::stop::FinishReason;
use super::worker::{Ended, Worker};
use crate::frontier::{Journal, Timestamp};

/// How long requests in flight may take once nothing new is leased. After that, their URLs go back to the queue.
const GRACE: Duration = Duration::from_secs(5);
/// How often to check whether all hosts sleep.
const SLEEP_CHECK: Duration = Duration::from_secs(1);

/// One loop starts tasks while something is due and there is room. A task that has settled its lease continues with the next due one; it
/// ends if there is none. So a busy crawl has as many tasks as hosts that may be requested, and starts few new tasks. No task waits for
/// another: a host that never answers takes a task and a connection, but delays no other host.
#[derive(Debug)]
pub(super) struct Dispatcher<J: Journal> {
    worker: Arc<Worker<J>>,
    tasks: JoinSet<io::Result<Ended>>,
    limit: ConcurrencyLimit,
    is_draining: bool,
    /// Nothing new is leased until the crawl is resumed.
    is_paused: bool,
    /// The end of the sleep of all hosts that was logged last.
    slept_until: Option<Timestamp>,
    /// The storage's first error.
    failed: Option<io::Error>,
}

impl<J: Journal + Send + 'static> Dispatcher<J> {
    /// At most `in_flight` fetches are under way at once.
    pub(super) fn new(worker: Worker<J>, in_flight: usize) -> Self {
        Self {
            worker: Arc::new(worker),
            tasks: JoinSet::new(),
            limit: ConcurrencyLimit::new(in_flight),
            is_draining: false,
            is_paused: false,
            slept_until: None,
            failed: None,
        }
    }

    /// Runs until nothing is left, `max_pages` pages are recorded, or the crawl is stopped.
    pub(super) async fn run(mut self) -> io::Result<()> {
        if let Err(error) = self.dispatch().await {
            self.worker.shared.abort(FinishReason::StorageFailed);
            self.failed.get_or_insert(error);
        }
        self.drain().await;
        if let Err(error) = self.worker.shared.frontier.flush() {
            self.failed.get_or_insert(error.into());
        }
        self.failed.map_or(Ok(()), Err)
    }

    async fn dispatch(&mut self) -> io::Result<()> {
        let shared = Arc::clone(&self.worker.shared);
        let mut draining = pin!(shared.stop.draining());
        let mut flushing = pin!(shared.frontier.flush_in_time());
        let mut pauses = shared.stop.pauses();
        let mut sleep_check = interval(SLEEP_CHECK);
        sleep_check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Reserved before the lease is taken, so that only one task gets the last page.
        let mut page = None;
        loop {
            while let Some(ended) = self.tasks.try_join_next() {
                self.note(ended);
            }
            // Checked after the ended tasks are noted: if the last task was among them, nothing would wake the wait below.
            if shared.page_quota.is_spent() {
                return Ok(());
            }
            self.is_paused = *pauses.borrow_and_update();
            self.update_leasing();
            let short_until = self.limit.paused(Instant::now());
            let has_room = !self.is_paused && short_until.is_none() && self.tasks.len() < self.limit.size();
            page = page.or_else(|| shared.page_quota.reserve());
            tokio::select! {
                biased;
                () = &mut draining => return Ok(()),
                Some(ended) = self.tasks.join_next() => self.note(ended),
                error = &mut flushing => return Err(error.into()),
                // The sender is in `shared`, so there is no error.
                Ok(()) = pauses.changed() => {}
                _ = sleep_check.tick() => self.log_sleep(),
                () = sleep_until(short_until.unwrap_or_else(Instant::now).into()), if short_until.is_some() => {}
                lease = shared.frontier.lease(), if has_room && page.is_some() => {
                    let lease = lease?;
                    self.worker.list_dropped().await;
                    let (Some(lease), Some(page)) = (lease, page.take()) else { return Ok(()) };
                    let worker = Arc::clone(&self.worker);
                    let lease = lease.releasing();
                    // A task's state is large: it is built in place, not moved.
                    self.tasks.spawn(async move { Box::pin(worker.run(lease, page)).await });
                }
            }
        }
    }

    /// If all remaining hosts are outside their hours, logs that nothing is requested, and until when. Each such time is logged once.
    fn log_sleep(&mut self) {
        let frontier = &self.worker.shared.frontier;
        let sleep = frontier.with(|frontier| frontier.sleeps_until());
        let Some((until, hosts)) = sleep else { return };
        if self.slept_until.replace(until) != Some(until) && !self.is_paused {
            let hosts = if hosts == 1 {
                "the one host that is left is".to_owned()
            } else {
                format!("all {hosts} hosts that are left are")
            };
            tracing::warn!("{hosts} outside their hours: the crawl waits until {until}");
        }
    }

    /// Waits for the requests in flight, for a bounded time.
    async fn drain(&mut self) {
        self.is_draining = true;
        self.update_leasing();
        let shared = Arc::clone(&self.worker.shared);
        let mut stopping = pin!(shared.stop.stopping());
        let mut flushing = pin!(shared.frontier.flush_in_time());
        let deadline = Instant::now() + GRACE;
        loop {
            tokio::select! {
                biased;
                () = &mut stopping => break,
                error = &mut flushing => {
                    self.failed.get_or_insert(error.into());
                    break;
                }
                ended = self.tasks.join_next() => match ended {
                    Some(ended) => self.note(ended),
                    None => return,
                },
                () = sleep_until(deadline.into()) => break,
            }
        }
        tracing::info!(in_flight = self.tasks.len(), "given up, and back in the queue");
        self.tasks.abort_all();
        while let Some(ended) = self.tasks.join_next().await {
            self.note(ended);
        }
    }

    /// Notes how a task ended.
    fn note(&mut self, ended: Result<io::Result<Ended>, JoinError>) {
        match ended {
            Ok(Ok(Ended::Well)) => self.limit.ended_well(),
            Ok(Ok(Ended::Released)) => self.limit.ran_short(self.tasks.len(), Instant::now()),
            Ok(Err(error)) => {
                self.worker.shared.abort(FinishReason::StorageFailed);
                self.failed.get_or_insert(error);
            }
            // Its lease was returned when the task unwound. The others go on.
            Err(error) if error.is_panic() => tracing::error!(%error, "a task ended"),
            Err(_) => {}
        }
        self.update_leasing();
    }

    /// Sets whether tasks may continue with the next due URL. They may not while their number is reduced: each task that ends frees
    /// resources.
    fn update_leasing(&self) {
        let is_leasing = !self.is_draining && !self.is_paused && !self.limit.is_short();
        self.worker.shared.is_leasing.store(is_leasing, Ordering::Relaxed);
    }
}
