//! Ctrl-C and SIGTERM: the first gives what is in flight a few seconds to end, the second gives it up.

use std::sync::{Arc, OnceLock};

use tokio::task::JoinHandle;

use super::exit::Exit;
use super::output;
use crate::crawl::Stop;

/// Has a write beyond the largest file allowed fail, and not end the process: the failure is told as that of a full disk is.
#[cfg(unix)]
pub(super) fn outlive_file_limits() {
    use tokio::signal::unix::{SignalKind, signal};
    // What listens once for a signal has the system's own way with it changed for as long as the process lives.
    if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() {
        let _guard = runtime.enter();
        let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
    }
}

/// Only Unix ends a process for it.
#[cfg(not(unix))]
pub(super) fn outlive_file_limits() {}

/// Listens until it is dropped.
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
        // Heard from here on, not from the task's first turn; and once for both, or one that follows at once would be lost.
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

    /// How the command exits for the signal that came first, if any did.
    pub(super) fn exit(&self) -> Option<Exit> {
        self.first.get().copied()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

/// Signals as they come. One that cannot be listened for never comes.
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

/// Ctrl-C as it comes.
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
