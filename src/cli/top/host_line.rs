//! A host in the list.

use std::time::Duration;

use super::figures::Figures;

/// A host in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HostLine {
    pub(super) host: String,
    pub(super) state: String,
    /// Why it waits, and its last error.
    pub(super) why: String,
    /// The time until it may be requested; `None` if nothing of it is queued.
    pub(super) due: Option<Duration>,
    pub(super) delay: Duration,
    pub(super) queued: u64,
    pub(super) requests: u64,
    pub(super) failures: u64,
}

impl HostLine {
    /// Takes a host as received.
    pub(super) fn of(told: &Figures) -> Self {
        let (state, mut why, error) = (told.text("state"), told.text("why"), told.text("error"));
        let message = told.text("message");
        for more in [error, message] {
            if !more.is_empty() {
                why = format!("{why}; {more}");
            }
        }
        let due = told.time("due_in_us");
        let rests = !["idle", "unreachable"].contains(&&*state) && due > Duration::ZERO;
        Self {
            host: told.text("host"),
            due: rests.then_some(due),
            delay: told.time("delay_us"),
            queued: told.count("queued"),
            requests: told.count("requests"),
            failures: told.count("failures"),
            state,
            why,
        }
    }
}
