//! Pages that were fetched and are not in the log yet: they would be fetched again, should their node be killed.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

use super::node_context::FetchThrottle;

/// Where a node has so many, the next page has its partition publish at once, and not with the others.
const MANY: u64 = 128;
/// Where a node has so many, a partition that publishes fetches nothing new until it is done. A page more comes of each request in flight.
const MOST: u64 = 192;
/// Where to publish takes longer, nothing new is fetched until it is done.
const SLOW: Duration = Duration::from_millis(200);

/// The pages of one partition that are not in the log, and a sum over all partitions of its node.
#[derive(Debug)]
pub(crate) struct Backlog {
    of_node: Arc<AtomicU64>,
    own: AtomicU64,
    /// One came and there were many.
    many: Notify,
    /// One came and there were too many.
    most: Notify,
}

impl Backlog {
    /// Empty, of a node that has so many.
    pub(crate) fn new(of_node: &Arc<AtomicU64>) -> Self {
        Self { of_node: Arc::clone(of_node), own: AtomicU64::new(0), many: Notify::default(), most: Notify::default() }
    }

    /// A page was fetched.
    pub(crate) fn add(&self) {
        // First, so that nobody takes from it what is not there yet.
        let of_node = self.of_node.fetch_add(1, Ordering::Relaxed) + 1;
        self.own.fetch_add(1, Ordering::Release);
        if of_node >= MANY {
            self.many.notify_one();
        }
        if of_node >= MOST {
            self.most.notify_one();
        }
    }

    /// The partition's own.
    pub(crate) fn own(&self) -> u64 {
        self.own.load(Ordering::Acquire)
    }

    /// So many of its own are in the log.
    pub(crate) fn take(&self, pages: u64) {
        self.own.fetch_sub(pages, Ordering::Relaxed);
        self.of_node.fetch_sub(pages, Ordering::Relaxed);
    }

    /// Resolves once the node has many, and one of them has come to this partition since it was asked last.
    pub(crate) async fn is_long(&self) {
        self.many.notified().await;
    }

    /// Publishes. Where that takes long, or too many come meanwhile, nothing new is fetched until it is done.
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
        // Nobody will publish them here.
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
