//! Flushes in groups: a journal's records go to its storage after 10 ms, or as soon as there are many.
//!
//! Each lease that is settled flushes the records that are due by then. So a busy crawl needs nothing else. The last records before a
//! pause are flushed by [`flush_in_time`](SharedFrontier::flush_in_time), which the crawl's loop polls along with everything else that
//! it awaits. A lease that leaves records wakes it, unless it was woken in the last 10 ms.

use tokio::time::sleep_until;

use super::SharedFrontier;
use crate::frontier::{FrontierError, Journal, Timestamp};

impl<J: Journal> SharedFrontier<J> {
    /// Flushes the records of settled leases, if they have waited for 10 ms or there are many. Returns when the next call is due;
    /// `None` if no records wait.
    pub(crate) fn flush_due(&self) -> Result<Option<Timestamp>, FrontierError> {
        let now = self.lender.clock.now();
        self.lender.lock().flush_due(now)
    }

    /// Flushes the records of settled leases whenever that is due. Ends only if a flush fails.
    pub(crate) async fn flush_in_time(&self) -> FrontierError {
        loop {
            self.lender.unflushed.look();
            match self.flush_due() {
                Err(error) => return error,
                Ok(None) => self.lender.unflushed.wait().await,
                Ok(Some(due)) => {
                    self.lender.unflushed.know();
                    sleep_until(self.clock().instant(due).into()).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::frontier::{Frontier, FrontierOptions, Outcome, Receipts};
    use crate::lending::Clock;

    /// Bytes of the journal that the operating system has.
    fn flushed(job: &Path) -> u64 {
        let files = fs::read_dir(job.join("frontier")).unwrap().map(Result::unwrap);
        files
            .filter(|file| file.file_name().to_string_lossy().starts_with("journal-"))
            .map(|file| file.metadata().unwrap().len())
            .sum()
    }

    #[tokio::test]
    async fn the_last_record_before_a_pause_is_flushed_in_time_and_each_completion_at_once() {
        let (directory, clock) = (tempfile::tempdir().unwrap(), Clock::start());
        let mut options = FrontierOptions::default();
        options.politeness.robots = false;
        options.politeness.host_delay = Duration::ZERO;
        let frontier = Frontier::open(directory.path(), &options, clock.now()).unwrap();
        let frontier = SharedFrontier::new(frontier, clock);
        for seed in ["http://a.test/", "http://b.test/"] {
            frontier.seed(seed).unwrap();
        }
        frontier.flush().unwrap();
        let response = || Outcome::Response { status: 200, retry_after: None };

        let before = flushed(directory.path());
        let lease = frontier.lease().await.unwrap().unwrap();
        drop(lease.settle(Vec::new(), response(), Receipts::default(), None, || {}, false).unwrap());
        assert_eq!(flushed(directory.path()), before, "it waits for others");
        // A task of its own is polled once, and then only when its timer wakes it.
        let flushing = tokio::spawn({
            let frontier = frontier.clone();
            async move { frontier.flush_in_time().await }
        });
        let in_time = async {
            while flushed(directory.path()) == before {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(10), in_time).await.expect("it is flushed");
        flushing.abort();
        assert_eq!(frontier.flush_due().unwrap(), None);

        let before = flushed(directory.path());
        frontier.lease().await.unwrap().unwrap().complete(response()).unwrap();
        assert!(flushed(directory.path()) > before);
    }
}
