//! Waits for what another process does.

use std::time::{Duration, Instant};

/// Asks again and again, for half a minute at most, until there is an answer.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::yield_now();
    }
}
