//! Waits for another process.

use std::time::{Duration, Instant};

/// Calls `ask` until it has an answer, for at most two minutes: a busy machine takes long.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::yield_now();
    }
}
