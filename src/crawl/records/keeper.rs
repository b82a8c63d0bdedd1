//! [`OutputKeeper`] has the files of a process's outputs and bodies while they are written, and [`KeeperThread`] is a thread that looks after
//! files.
//!
//! A resume counts a page if it finds the page's bytes in each output, and its body, whether a checkpoint mentions them or not. So a sync
//! between checkpoints need not be recorded: a power cut takes only bytes written after the last sync, and a page that has lost any bytes
//! is fetched again. The journal syncs itself as often as the outputs are synced. The order of the two does not matter, since a page needs
//! both.

use std::io;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::bodies::Bodies;
use super::output_files::OutputFiles;
use super::outputs::OutputEnds;
use crate::crawl::bounds::free_space;
use crate::crawl::lock::lock;
use crate::job::FileError;
use crate::job::checkpoint::CheckpointError;

/// The files of all outputs, and the bodies. Cheap to clone.
#[derive(Clone, Debug)]
pub(in crate::crawl) struct OutputKeeper {
    files: Arc<Mutex<OutputFiles>>,
    /// Where bodies are kept, if they are kept.
    pub(in crate::crawl) bodies: Option<Arc<Bodies>>,
}

impl OutputKeeper {
    pub(in crate::crawl) fn new(files: OutputFiles, bodies: Option<Arc<Bodies>>) -> Self {
        Self { files: Arc::new(Mutex::new(files)), bodies }
    }

    pub(in crate::crawl) fn files(&self) -> MutexGuard<'_, OutputFiles> {
        lock(&self.files)
    }

    /// Syncs the bodies, and everything up to these ends. Returns whether a checkpoint may confirm it.
    pub(in crate::crawl) fn sync(&self, ends: &OutputEnds) -> Result<bool, CheckpointError> {
        self.sync_bodies()?;
        self.files().sync(ends)
    }

    /// Starts a thread that syncs everything written so far, each time that `every` has passed; `None` if nothing is synced between
    /// checkpoints. The thread calls `failed` if it cannot go on.
    pub(in crate::crawl) fn sync_each(
        &self,
        every: Option<Duration>,
        failed: impl FnOnce() + Send + 'static,
    ) -> io::Result<Option<KeeperThread<()>>> {
        let (keeper, Some(every)) = (self.clone(), every) else { return Ok(None) };
        let work = move |clock: &KeeperClock| {
            while clock.goes_on(every) {
                keeper.sync_bodies()?;
                keeper.files().sync_written()?;
            }
            Ok(())
        };
        KeeperThread::start("output-sync", move |clock| work(clock).inspect_err(|_| failed())).map(Some)
    }

    /// Whether the disk of the bodies, or of another directory, has fewer than `least` free bytes.
    pub(in crate::crawl) fn is_disk_low(&self, other: Option<&Path>, least: u64) -> Result<bool, FileError> {
        for directory in other.into_iter().chain(self.bodies.as_ref().map(|bodies| bodies.directory())) {
            let free = free_space(directory).map_err(FileError::of("measure", directory))?;
            if free.is_some_and(|free| free < least) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn sync_bodies(&self) -> Result<(), FileError> {
        self.bodies.as_ref().map_or(Ok(()), |bodies| bodies.sync().map_err(FileError::of("sync", bodies.directory())))
    }
}

/// A running thread that looks after files until it is told to end.
#[derive(Debug)]
pub(crate) struct KeeperThread<T> {
    /// Dropping it ends the thread.
    end: mpsc::Sender<()>,
    thread: JoinHandle<Result<T, CheckpointError>>,
}

/// The clock of a [`KeeperThread`], which also tells it when to end.
#[derive(Debug)]
pub(in crate::crawl) struct KeeperClock(mpsc::Receiver<()>);

impl KeeperClock {
    /// Waits this long; `false` at once when the thread is to end.
    pub(in crate::crawl) fn goes_on(&self, time: Duration) -> bool {
        self.0.recv_timeout(time) == Err(RecvTimeoutError::Timeout)
    }
}

impl<T: Send + 'static> KeeperThread<T> {
    /// Starts a thread of this name.
    pub(in crate::crawl) fn start(
        name: &str,
        work: impl FnOnce(&KeeperClock) -> Result<T, CheckpointError> + Send + 'static,
    ) -> io::Result<Self> {
        let (end, ended) = mpsc::channel();
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || work(&KeeperClock(ended)))?;
        Ok(Self { end, thread })
    }

    /// Tells the thread to end, and waits for its last work. Blocks.
    ///
    /// # Errors
    /// If a write failed, or a file is not what was written to it.
    pub(crate) fn end(self) -> Result<T, CheckpointError> {
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
        let keeper = OutputKeeper::new(outputs, bodies.map(Arc::new));
        let (failed, fails) = mpsc::channel();
        let thread = keeper.sync_each(Some(Duration::from_millis(1)), move || failed.send(()).unwrap());
        fails.recv_timeout(Duration::from_secs(60)).expect("it is tried");
        thread.unwrap().unwrap().end().unwrap_err().to_string()
    }

    /// A body that cannot be synced.
    fn bodies(directory: &Path) -> Bodies {
        let bodies = Bodies::open(directory, 7).unwrap();
        let digest = bodies.keep(b"abc").unwrap();
        let hex = digest.strip_prefix("sha256:").unwrap();
        let body = directory.join(&hex[..2]).join(&hex[2..]);
        std::fs::remove_file(&body).unwrap();
        std::os::unix::fs::symlink("/dev/null", &body).unwrap();
        bodies
    }

    /// An output that cannot be synced.
    fn outputs() -> OutputFiles {
        let (mut outputs, written) = (OutputFiles::default(), Written::default());
        outputs.add(Output::single(Path::new("/proc/self/comm")).unwrap(), written.clone());
        written.add(5);
        outputs
    }

    #[test]
    fn bodies_are_synced_while_a_crawl_runs() {
        let directory = tempfile::tempdir().unwrap();
        let error = failure(OutputFiles::default(), Some(bodies(directory.path())));
        assert!(error.contains(directory.path().to_str().unwrap()), "{error}");
    }

    #[test]
    fn outputs_are_synced_while_a_crawl_runs() {
        let error = failure(outputs(), None);
        assert!(error.contains("/proc/self/comm"), "{error}");
    }

    #[test]
    fn a_checkpoint_confirms_no_body_and_no_output_that_is_not_synced() {
        let directory = tempfile::tempdir().unwrap();
        let keeper = |outputs, bodies: Option<Bodies>| OutputKeeper::new(outputs, bodies.map(Arc::new));
        let synced = |keeper: OutputKeeper| keeper.sync(&OutputEnds::default()).map_err(|error| error.to_string());
        let error = synced(keeper(OutputFiles::default(), Some(bodies(directory.path())))).unwrap_err();
        assert!(error.contains(directory.path().to_str().unwrap()), "{error}");
        let error = synced(keeper(outputs(), None)).unwrap_err();
        assert!(error.contains("/proc/self/comm"), "{error}");
        assert_eq!(synced(keeper(OutputFiles::default(), None)), Ok(true));
    }
}
