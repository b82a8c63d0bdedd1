//! The thread that syncs what a crawl writes between two checkpoints.
//!
//! A resume counts a page if it finds its bytes in each output, and its body, whether a checkpoint mentions them or not. So a sync here
//! need not be recorded: a power cut takes what came after it, and a page that has lost anything is fetched again. The journal syncs itself
//! as often. The order does not matter, since a page needs both.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::lock::lock;
use super::records::{Bodies, OutputFiles};
use crate::job::FileError;
use crate::job::checkpoint::CheckpointError;
use crate::job::journal::SyncPolicy;

/// What is synced. Each round syncs everything written before it began.
#[derive(Debug)]
pub(super) struct OutputSync {
    pub(super) outputs: Arc<Mutex<OutputFiles>>,
    pub(super) bodies: Option<Arc<Bodies>>,
}

/// A running sync thread.
#[derive(Debug)]
pub(super) struct OutputSyncThread {
    /// Dropping it ends the thread.
    end: mpsc::Sender<()>,
    thread: JoinHandle<Result<(), CheckpointError>>,
}

impl OutputSync {
    /// Starts it; `None` if nothing is synced between checkpoints. It calls `failed` if it cannot go on.
    pub(super) fn start(
        self,
        policy: SyncPolicy,
        failed: impl FnOnce() + Send + 'static,
    ) -> io::Result<Option<OutputSyncThread>> {
        let Some(every) = policy.interval() else { return Ok(None) };
        let (end, ended) = mpsc::channel();
        let work = move || self.work(every, &ended).inspect_err(|_| failed());
        let thread = thread::Builder::new().name("output-sync".to_owned()).spawn(work)?;
        Ok(Some(OutputSyncThread { end, thread }))
    }

    fn work(self, every: Duration, ended: &mpsc::Receiver<()>) -> Result<(), CheckpointError> {
        while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            if let Some(bodies) = &self.bodies {
                bodies.sync().map_err(FileError::of("sync", bodies.directory()))?;
            }
            lock(&self.outputs).sync_written()?;
        }
        Ok(())
    }
}

impl OutputSyncThread {
    /// Waits for the current round. Blocks.
    pub(super) fn end(self) -> Result<(), CheckpointError> {
        drop(self.end);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// `/dev/null` and files in `/proc` cannot be synced: the error shows that a sync was tried.
#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::crawl::records::{Output, Written};

    /// Syncs each millisecond until it fails, and returns why.
    fn failure(outputs: OutputFiles, bodies: Option<Bodies>) -> String {
        let sync = OutputSync { outputs: Arc::new(Mutex::new(outputs)), bodies: bodies.map(Arc::new) };
        let (failed, fails) = mpsc::channel();
        let thread = sync.start(SyncPolicy::Interval(Duration::from_millis(1)), move || failed.send(()).unwrap());
        fails.recv_timeout(Duration::from_secs(60)).expect("it is tried");
        thread.unwrap().unwrap().end().unwrap_err().to_string()
    }

    #[test]
    fn bodies_are_synced_while_a_crawl_runs() {
        let directory = tempfile::tempdir().unwrap();
        let bodies = Bodies::open(directory.path(), 7).unwrap();
        let digest = bodies.keep(b"abc").unwrap();
        let hex = digest.strip_prefix("sha256:").unwrap();
        let body = directory.path().join(&hex[..2]).join(&hex[2..]);
        std::fs::remove_file(&body).unwrap();
        std::os::unix::fs::symlink("/dev/null", &body).unwrap();
        let told = failure(OutputFiles::default(), Some(bodies));
        assert!(told.contains(directory.path().to_str().unwrap()), "{told}");
    }

    #[test]
    fn outputs_are_synced_while_a_crawl_runs() {
        let (mut outputs, written) = (OutputFiles::default(), Written::default());
        outputs.add(Output::other(Path::new("/proc/self/comm")).unwrap(), written.clone());
        written.add(5);
        let told = failure(outputs, None);
        assert!(told.contains("/proc/self/comm"), "{told}");
    }
}
