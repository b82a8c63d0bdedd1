//! The loop of a crawl: leases what is due, and has each lease seen to by a task of its own.

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

/// How long what is in flight may take to end, once nothing new is leased. What has not ended then goes back to the queue.
const GRACE: Duration = Duration::from_secs(5);

/// One loop leases for all tasks, so that they need not stand in line for it: a host that never answers takes up a task and
/// a connection, and nobody's turn.
#[derive(Debug)]
pub(super) struct Dispatcher<J: Journal> {
    worker: Arc<Worker<J>>,
    tasks: JoinSet<io::Result<Ended>>,
    room: Room,
    /// The storage's first words.
    failed: Option<io::Error>,
}

impl<J: Journal + Send + 'static> Dispatcher<J> {
    /// Of a crawl with this many fetches under way at once, at most.
    pub(super) fn new(worker: Worker<J>, in_flight: usize) -> Self {
        Self { worker: Arc::new(worker), tasks: JoinSet::new(), room: Room::new(in_flight), failed: None }
    }

    /// Runs until nothing is left, the pages are used up, or the crawl is stopped.
    pub(super) async fn run(mut self) -> io::Result<()> {
        if let Err(error) = self.lease_on().await {
            self.worker.crew.break_off(FinishReason::StorageFailed);
            self.failed.get_or_insert(error);
        }
        self.see_out().await;
        self.failed.map_or(Ok(()), Err)
    }

    async fn lease_on(&mut self) -> io::Result<()> {
        let crew = Arc::clone(&self.worker.crew);
        let mut draining = pin!(crew.stop.draining());
        while !crew.pages.is_spent() {
            while let Some(ended) = self.tasks.try_join_next() {
                self.note(ended);
            }
            let paused = self.room.paused(Instant::now());
            let has_room = paused.is_none() && self.tasks.len() < self.room.size() && crew.pages.has_left();
            tokio::select! {
                biased;
                () = &mut draining => return Ok(()),
                Some(ended) = self.tasks.join_next() => self.note(ended),
                () = sleep_until(paused.unwrap_or_else(Instant::now).into()), if paused.is_some() => {}
                lease = crew.frontier.lease(), if has_room => {
                    let lease = lease?;
                    self.worker.list_dropped().await;
                    let Some(lease) = lease else { return Ok(()) };
                    crew.pages.reserve();
                    let worker = Arc::clone(&self.worker);
                    self.tasks.spawn(async move { worker.see_to(lease.releasing()).await });
                }
            }
        }
        Ok(())
    }

    /// Lets what is in flight end, in bounded time.
    async fn see_out(&mut self) {
        let crew = Arc::clone(&self.worker.crew);
        let mut stopping = pin!(crew.stop.stopping());
        let deadline = Instant::now() + GRACE;
        loop {
            tokio::select! {
                biased;
                () = &mut stopping => break,
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

    fn note(&mut self, ended: Result<io::Result<Ended>, JoinError>) {
        let pages = &self.worker.crew.pages;
        match ended {
            Ok(Ok(Ended::Recorded)) => {
                pages.spend();
                self.room.ended_well();
            }
            Ok(Ok(Ended::Unrecorded)) => {
                pages.give_back();
                self.room.ended_well();
            }
            Ok(Ok(Ended::Released)) => {
                pages.give_back();
                self.room.ran_short(self.tasks.len(), Instant::now());
            }
            Ok(Err(error)) => {
                pages.give_back();
                self.worker.crew.break_off(FinishReason::StorageFailed);
                self.failed.get_or_insert(error);
            }
            Err(error) => {
                pages.give_back();
                if error.is_panic() {
                    // Its lease went back when it unwound; the others carry on.
                    tracing::error!(%error, "a task ended");
                }
            }
        }
    }
}
