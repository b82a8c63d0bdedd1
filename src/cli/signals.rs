//! A command's async runtime, and the signals that end it: Ctrl-C, SIGTERM and SIGHUP. After the first signal, fetches in flight have a
//! few seconds to finish. The second one gives them up. Without a terminal, SIGHUP reopens the log file.

use std::io;
use std::sync::{Arc, OnceLock};

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use super::command_error::{CommandError, Exit};
#[cfg(unix)]
use super::log;
use super::output;
use crate::crawl::Stop;

/// The async runtime, on all cores.
pub(super) fn runtime() -> Result<Runtime, CommandError> {
    let runtime = Builder::new_multi_thread().enable_all().build();
    runtime.map_err(CommandError::of(Exit::Failed, "cannot start the runtime"))
}

/// Runs `work` on the async runtime, and returns its result. Does not wait for name lookups by the system, which may take seconds more.
pub(super) fn block_on<T>(work: impl Future<Output = Result<T, CommandError>>) -> Result<T, CommandError> {
    let runtime = runtime()?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}

/// Keeps three signals from ending this process. Instead of SIGXFSZ, a write beyond the largest allowed file size fails, and is reported
/// like a full disk. SIGUSR1 and SIGUSR2, with which other programs are asked to show their progress, are ignored.
#[cfg(unix)]
pub(super) fn outlive() {
    use tokio::signal::unix::{SignalKind, signal};
    // Listening once for a signal replaces the system's reaction to it for the life of the process.
    if let Ok(runtime) = Builder::new_current_thread().enable_io().build() {
        let _guard = runtime.enter();
        let too_large = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        for kind in [too_large, SignalKind::user_defined1(), SignalKind::user_defined2()] {
            let _ = signal(kind);
        }
    }
}

/// Other systems have no such signals.
#[cfg(not(unix))]
pub(super) fn outlive() {}

/// Calls `act` at the first signal to stop, which then does not end the process; a second one does. Listens from here
/// on.
///
/// # Errors
/// If the system cannot listen for signals.
pub(super) fn at_first(act: impl FnOnce(Exit) + Send + 'static) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let mut incoming = {
        let _guard = runtime.enter();
        Incoming::new()
    };
    std::thread::spawn(move || {
        let exit = runtime.block_on(incoming.next());
        act(exit);
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
    /// Stops the crawl at a signal. Call this inside the runtime.
    pub(super) fn listen(stop: Stop) -> Self {
        let first = Arc::new(OnceLock::new());
        let first_exit = Arc::clone(&first);
        // Listening begins here, not when the task first runs, and once for both signals: a second signal right after
        // the first is not lost.
        let mut incoming = Incoming::new();
        let listener = tokio::spawn(async move {
            let exit = incoming.next().await;
            first_exit.get_or_init(|| exit);
            output::warn("stopping: fetches in flight have 5 s to finish; a second signal gives them up");
            stop.drain();
            incoming.next().await;
            stop.now();
        });
        Self { first, listener }
    }

    /// The exit code for the first signal; `None` if none came.
    pub(super) fn exit(&self) -> Option<Exit> {
        self.first.get().copied()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

/// Waits for a signal. A signal that cannot be listened for never comes.
#[cfg(unix)]
struct Incoming(Option<UnixSignals>);

#[cfg(unix)]
struct UnixSignals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// `None` if the parent process had it ignored, as nohup does.
    hang_up: Option<tokio::signal::unix::Signal>,
    /// Without a terminal, SIGHUP means that the log was moved away.
    has_terminal: bool,
}

#[cfg(unix)]
impl Incoming {
    fn new() -> Self {
        Self(UnixSignals::new().ok())
    }

    async fn next(&mut self) -> Exit {
        let Some(signals) = &mut self.0 else { return std::future::pending().await };
        loop {
            let hang_up = async {
                match &mut signals.hang_up {
                    Some(hang_up) => hang_up.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = signals.interrupt.recv() => return Exit::Interrupted,
                _ = signals.terminate.recv() => return Exit::Terminated,
                _ = hang_up => {}
            }
            if signals.has_terminal {
                return Exit::HungUp;
            }
            log::reopen();
        }
    }
}

#[cfg(unix)]
impl UnixSignals {
    fn new() -> io::Result<Self> {
        use std::io::IsTerminal;

        use tokio::signal::unix::{SignalKind, signal};
        let hang_up = SignalKind::hangup();
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: if is_ignored(hang_up.as_raw_value()) { None } else { Some(signal(hang_up)?) },
            has_terminal: io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal(),
        })
    }
}

/// Whether this process was started with a signal ignored, as far as the system tells.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    mask >> (signal - 1) & 1 == 1
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
