//! Ctrl-C and SIGTERM: at the first signal, fetches in flight get a few seconds to end; at the second they are given up.

use std::io;
use std::sync::{Arc, OnceLock};

use tokio::task::JoinHandle;

use super::exit::Exit;
use super::output;
use crate::crawl::Stop;

/// Makes a write beyond the largest file allowed fail, instead of ending the process. It is then reported as a full disk is.
#[cfg(unix)]
pub(super) fn outlive_file_limits() {
    use tokio::signal::unix::{SignalKind, signal};
    // To listen once for a signal replaces the system's reaction to it for the life of the process.
    if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() {
        let _guard = runtime.enter();
        let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
    }
}

/// Only Unix ends a process by such a signal.
#[cfg(not(unix))]
pub(super) fn outlive_file_limits() {}

/// Calls `tell` at the first Ctrl-C or SIGTERM, which then does not end the process; a second one does. It is listened for from here on.
///
/// # Errors
/// Where the system has no room for that.
pub(super) fn at_first(tell: impl FnOnce(Exit) + Send + 'static) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let mut incoming = {
        let _guard = runtime.enter();
        Incoming::new()
    };
    std::thread::spawn(move || {
        let exit = runtime.block_on(incoming.next());
        tell(exit);
        runtime.block_on(incoming.next());
        std::process::exit(exit as i32);
    });
    Ok(())
}

/// Listens for signals until it is dropped.
#[derive(Debug)]
pub(super) struct Signals {
    first: Arc<OnceLock<Exit>>,
    listener: JoinHandle<()>,
}

impl Signals {
    /// Stops the crawl at a signal. Call inside the runtime.
    pub(super) fn listen(stop: Stop) -> Self {
        let first = Arc::new(OnceLock::new());
        let told = Arc::clone(&first);
        // Listening begins here, not at the task's first turn, and once for both: a second signal right behind the first is not lost.
        let mut incoming = Incoming::new();
        let listener = tokio::spawn(async move {
            let exit = incoming.next().await;
            told.get_or_init(|| exit);
            output::warn("stopping: what is in flight has 5 s to end; once more gives it up");
            stop.drain();
            incoming.next().await;
            stop.now();
        });
        Self { first, listener }
    }

    /// The exit code for the first signal; `None` where none came.
    pub(super) fn exit(&self) -> Option<Exit> {
        self.first.get().copied()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

/// Waits for a signal. One that cannot be listened for never comes.
#[cfg(unix)]
struct Incoming(Option<[tokio::signal::unix::Signal; 2]>);

#[cfg(unix)]
impl Incoming {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self(signal(SignalKind::interrupt()).and_then(|one| Ok([one, signal(SignalKind::terminate())?])).ok())
    }

    async fn next(&mut self) -> Exit {
        let Some([interrupt, terminate]) = &mut self.0 else { return std::future::pending().await };
        tokio::select! {
            _ = interrupt.recv() => Exit::Interrupted,
            _ = terminate.recv() => Exit::Terminated,
        }
    }
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
struct Incoming;

#[cfg(not(unix))]
impl Incoming {
    fn new() -> Self {
        Self
    }

    async fn next(&mut self) -> Exit {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Exit::Interrupted,
            Err(_) => std::future::pending().await,
        }
    }
}
