//! Ctrl-C and SIGTERM: the first lets what is in flight finish, the second gives it up.

use std::sync::{Arc, OnceLock};

use tokio::task::JoinHandle;

use super::exit::Exit;
use super::output;
use crate::crawl::Stop;

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
        let listener = tokio::spawn(async move {
            let exit = signal().await;
            told.get_or_init(|| exit);
            output::warn("stopping: what is in flight is finished; once more gives it up");
            stop.drain();
            signal().await;
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

/// The next signal. One that cannot be listened for never comes.
#[cfg(unix)]
async fn signal() -> Exit {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => Exit::Interrupted,
        _ = terminate.recv() => Exit::Terminated,
    }
}

/// The next signal.
#[cfg(not(unix))]
async fn signal() -> Exit {
    match tokio::signal::ctrl_c().await {
        Ok(()) => Exit::Interrupted,
        Err(_) => std::future::pending().await,
    }
}
