//! How far the writer of an output has come.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::crawl::lock::lock;

/// How many bytes the writer has written, for callers that wait for it.
#[derive(Clone, Debug, Default)]
pub(in crate::crawl) struct Written(Arc<Progress>);

#[derive(Debug, Default)]
struct Progress {
    handed: Mutex<Handed>,
    /// Wakes waiting threads.
    changed: Condvar,
    /// Wakes waiting tasks.
    more: Notify,
}

#[derive(Debug, Default)]
struct Handed {
    bytes: u64,
    ended: bool,
}

impl Written {
    /// Blocks until `bytes` are written. Returns `false` if the writer stopped first.
    pub(in crate::crawl) fn wait_for(&self, bytes: u64) -> bool {
        let Progress { handed, changed, .. } = &*self.0;
        let waited = changed.wait_while(lock(handed), |handed| handed.bytes < bytes && !handed.ended);
        waited.unwrap_or_else(PoisonError::into_inner).bytes >= bytes
    }

    /// As [`wait_for`](Self::wait_for), for a task.
    #[cfg(feature = "cluster")]
    pub(in crate::crawl) async fn reached(&self, bytes: u64) -> bool {
        loop {
            // Registered before the check, so that no change is missed.
            let mut more = std::pin::pin!(self.0.more.notified());
            more.as_mut().enable();
            {
                let handed = lock(&self.0.handed);
                if handed.bytes >= bytes || handed.ended {
                    return handed.bytes >= bytes;
                }
            }
            more.await;
        }
    }

    /// Bytes written so far.
    pub(in crate::crawl) fn bytes(&self) -> u64 {
        lock(&self.0.handed).bytes
    }

    /// Adds bytes that were written.
    pub(in crate::crawl) fn add(&self, bytes: u64) {
        self.tell(|handed| handed.bytes += bytes);
    }

    /// Ends it: nothing more will be written.
    pub(super) fn end(&self) {
        self.tell(|handed| handed.ended = true);
    }

    fn tell(&self, change: impl FnOnce(&mut Handed)) {
        let Progress { handed, changed, more } = &*self.0;
        change(&mut lock(handed));
        changed.notify_all();
        more.notify_waiters();
    }
}

#[cfg(all(test, feature = "cluster"))]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_task_waits_until_so_much_is_written_or_nothing_more_will_be() {
        let (written, moment) = (Written::default(), Duration::from_secs(1));
        written.add(5);
        assert!(written.reached(5).await);
        assert!(timeout(moment, written.reached(6)).await.is_err());
        let writing = async {
            tokio::task::yield_now().await;
            written.add(1);
            tokio::task::yield_now().await;
            written.add(1);
        };
        let (reached, ()) = tokio::join!(timeout(moment, written.reached(7)), writing);
        assert_eq!(reached, Ok(true));
        let (reached, ()) = tokio::join!(timeout(moment, written.reached(8)), async { written.end() });
        assert_eq!(reached, Ok(false));
    }
}
