//! The loop of a crawl: it leases what is due, and gives each lease a task of its own.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::{JoinError, JoinSet};
use tokio::time::sleep_until;

use super::bounds::Room;
use super::finish::FinishReason;
use super::worker::{Ended, Worker};
use crate::frontier::Journal;

/// How long requests in flight may take once nothing new is leased. Then their URLs go back to the queue.
const GRACE: Duration = Duration::from_secs(5);

/// One loop leases for all tasks, so that none of them waits for another: a host that never answers takes a task and a connection,
/// and nobody's turn.
#[derive(Debug)]
pub(super) struct Dispatcher<J: Journal> {
    worker: Arc<Worker<J>>,
    tasks: JoinSet<io::Result<Ended>>,
    room: Room,
    /// The storage's first error.
    failed: Option<io::Error>,
}

impl<J: Journal + Send + 'static> Dispatcher<J> {
    /// At most `in_flight` fetches are under way at once.
    pub(super) fn new(worker: Worker<J>, in_flight: usize) -> Self {
        Self { worker: Arc::new(worker), tasks: JoinSet::new(), room: Room::new(in_flight), failed: None }
    }

    /// Runs until nothing is left, as many pages were recorded as are allowed, or the crawl is stopped.
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
        loop {
            while let Some(ended) = self.tasks.try_join_next() {
                self.note(ended);
            }
            // Asked behind the notes: where the last task was among them, nothing would wake the wait below.
            if shared.pages.is_spent() {
                return Ok(());
            }
            let paused = self.room.paused(Instant::now());
            let has_room = paused.is_none() && self.tasks.len() < self.room.size() && shared.pages.has_left();
            tokio::select! {
                biased;
                () = &mut draining => return Ok(()),
                Some(ended) = self.tasks.join_next() => self.note(ended),
                error = &mut flushing => return Err(error.into()),
                () = sleep_until(paused.unwrap_or_else(Instant::now).into()), if paused.is_some() => {}
                lease = shared.frontier.lease(), if has_room => {
                    let lease = lease?;
                    self.worker.list_dropped().await;
                    let Some(lease) = lease else { return Ok(()) };
                    shared.pages.reserve();
                    let worker = Arc::clone(&self.worker);
                    self.tasks.spawn(async move { worker.process(lease.releasing()).await });
                }
            }
        }
    }

    /// Waits for the requests in flight, for a bounded time.
    async fn drain(&mut self) {
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

    /// A task has ended.
    fn note(&mut self, ended: Result<io::Result<Ended>, JoinError>) {
        let pages = &self.worker.shared.pages;
        if matches!(ended, Ok(Ok(Ended::Recorded))) {
            pages.spend();
        } else {
            pages.give_back();
        }
        match ended {
            Ok(Ok(Ended::Recorded | Ended::Unrecorded)) => self.room.ended_well(),
            Ok(Ok(Ended::Released)) => self.room.ran_short(self.tasks.len(), Instant::now()),
            Ok(Err(error)) => {
                self.worker.shared.abort(FinishReason::StorageFailed);
                self.failed.get_or_insert(error);
            }
            // Its lease went back when it unwound. The others go on.
            Err(error) if error.is_panic() => tracing::error!(%error, "a task ended"),
            Err(_) => {}
        }
    }
}
