//! Pages that were fetched and are not in the log yet. They would be fetched again if their node were killed.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

use super::node_context::FetchThrottle;

/// Once a node has this many unlogged pages, the next page makes its partition publish at once, and not with the others.
const MANY: u64 = 128;
/// Once a node has this many, a partition that is publishing fetches nothing new until it is done. Each request in flight may still add a
/// page.
const MOST: u64 = 192;
/// If publishing takes longer, nothing new is fetched until it is done.
const SLOW: Duration = Duration::from_millis(200);

/// The pages of one partition that are not in the log, and a sum over all partitions of its node.
#[derive(Debug)]
pub(crate) struct Backlog {
    of_node: Arc<AtomicU64>,
    own: AtomicU64,
    /// A page came, and the node had at least `MANY`.
    many: Notify,
    /// A page came, and the node had at least `MOST`.
    most: Notify,
}

impl Backlog {
    /// Empty, for a node with this count of unlogged pages.
    pub(crate) fn new(of_node: &Arc<AtomicU64>) -> Self {
        Self { of_node: Arc::clone(of_node), own: AtomicU64::new(0), many: Notify::default(), most: Notify::default() }
    }

    /// A page was fetched.
    pub(crate) fn add(&self) {
        // The node's count first: `take` must never subtract a page that is not in it yet.
        let of_node = self.of_node.fetch_add(1, Ordering::Relaxed) + 1;
        self.own.fetch_add(1, Ordering::Release);
        if of_node >= MANY {
            self.many.notify_one();
        }
        if of_node >= MOST {
            self.most.notify_one();
        }
    }

    /// The count of this partition alone.
    pub(crate) fn own(&self) -> u64 {
        self.own.load(Ordering::Acquire)
    }

    /// This many of the partition's pages are in the log.
    pub(crate) fn take(&self, pages: u64) {
        self.own.fetch_sub(pages, Ordering::Relaxed);
        self.of_node.fetch_sub(pages, Ordering::Relaxed);
    }

    /// Resolves once this partition has added a page, since the last call, while the node had at least `MANY`.
    pub(crate) async fn is_long(&self) {
        self.many.notified().await;
    }

    /// Publishes. If that takes longer than `SLOW`, or the node reaches `MOST` meanwhile, nothing new is fetched until it is done.
    pub(crate) async fn braked<R>(&self, brake: &FetchThrottle, publishing: impl Future<Output = R>) -> R {
        let mut publishing = std::pin::pin!(publishing);
        tokio::select! {
            biased;
            published = &mut publishing => return published,
            () = self.most.notified() => {}
            () = sleep(SLOW) => {}
        }
        brake.set_behind(true);
        let published = publishing.await;
        brake.set_behind(false);
        published
    }
}

impl Drop for Backlog {
    fn drop(&mut self) {
        // They will not be published here any more.
        self.take(self.own());
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use tokio::time::timeout;

    use super::*;
    use crate::crawl::Stop;

    #[tokio::test(start_paused = true)]
    async fn too_many_pages_that_are_not_in_the_log_halt_who_publishes() {
        let of_node = Arc::default();
        let (one, other) = (Backlog::new(&of_node), Backlog::new(&of_node));
        (1..MANY).for_each(|_| other.add());
        assert!(timeout(SLOW, other.is_long()).await.is_err());
        one.add();
        timeout(SLOW, one.is_long()).await.expect("the node has many");
        assert!(timeout(SLOW, other.is_long()).await.is_err(), "none has come since");

        let stop = Stop::new();
        let brake = FetchThrottle::new(stop.clone(), false);
        let (end, ended) = oneshot::channel::<()>();
        let publishing = async {
            sleep(SLOW / 4).await;
            let before = stop.is_paused();
            (MANY..MOST).for_each(|_| one.add());
            ended.await.unwrap();
            (before, stop.is_paused())
        };
        let watching = async {
            sleep(SLOW / 2).await;
            let is_halted = stop.is_paused();
            end.send(()).unwrap();
            is_halted
        };
        assert_eq!(tokio::join!(one.braked(&brake, publishing), watching), ((false, true), true));
        assert!(!stop.is_paused());

        one.take(one.own());
        assert_eq!((one.own(), of_node.load(Ordering::Relaxed)), (0, MANY - 1));
        let slow = async {
            sleep(SLOW * 2).await;
            stop.is_paused()
        };
        assert!(one.braked(&brake, slow).await, "by time, too");
        drop(other);
        assert_eq!(of_node.load(Ordering::Relaxed), 0);
    }
}
