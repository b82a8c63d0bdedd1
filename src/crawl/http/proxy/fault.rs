//! Errors at a proxy, and the proxy's health: a record of its answers and failures that decides whose fault a missing answer is.

use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::crawl::lock::lock;

/// An error at a proxy.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(in crate::crawl::http) struct ProxyError {
    pub(in crate::crawl::http) fault: ProxyFault,
    /// It contains no secret, and nothing that the proxy has written.
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::crawl::http) enum ProxyFault {
    /// The proxy's own: it cannot be reached, does not answer like a proxy, or wants another sign-in. No host is to blame.
    Own,
    /// The host's: the proxy does not reach it.
    Host,
    /// The proxy refuses to connect to the host.
    Refusal,
}

impl ProxyError {
    pub(super) fn new(fault: ProxyFault, message: String) -> Self {
        Self { fault, message, source: None }
    }

    pub(in crate::crawl::http) fn caused(self, source: Box<dyn Error + Send + Sync>) -> Self {
        Self { source: Some(source), ..self }
    }
}

/// From this many requests in a row without a valid answer on, the fault is the proxy's own. Fewer may be the fault of hosts that the proxy
/// waits for.
const MOST_SILENT: u32 = 8;

/// A record of a proxy's answers and failures: decides whose fault a missing answer is, and when the proxy has failed for good.
#[derive(Debug)]
pub(super) struct ProxyHealth {
    /// Whether it has answered, and nothing has gone wrong since.
    is_healthy: AtomicBool,
    failures: Mutex<ProxyFailures>,
    /// How long it may fail before it counts as lost.
    patience: Duration,
}

#[derive(Debug, Default)]
struct ProxyFailures {
    has_answered: bool,
    silent: u32,
    failing_since: Option<Instant>,
    /// It does not take our sign-in. Waiting does not help.
    refuses_sign_in: bool,
}

impl ProxyHealth {
    pub(super) fn new(patience: Duration) -> Self {
        Self { is_healthy: AtomicBool::new(false), failures: Mutex::default(), patience }
    }

    /// The proxy has answered like a proxy, whatever the answer.
    pub(super) fn answered(&self) {
        if self.is_healthy.load(Ordering::Relaxed) {
            return;
        }
        let mut failures = lock(&self.failures);
        *failures =
            ProxyFailures { has_answered: true, refuses_sign_in: failures.refuses_sign_in, ..ProxyFailures::default() };
        self.is_healthy.store(!failures.refuses_sign_in, Ordering::Relaxed);
    }

    /// It cannot be reached.
    pub(super) fn failed(&self, now: Instant) {
        self.is_healthy.store(false, Ordering::Relaxed);
        let mut failures = lock(&self.failures);
        failures.has_answered = false;
        failures.failing_since.get_or_insert(now);
    }

    /// The proxy has not answered, or not validly. Returns whether that is its own fault: it is if the proxy has never answered, has not
    /// answered since it was last unreachable, or has left [`MOST_SILENT`] requests in a row unanswered. Otherwise the fault is the host's.
    pub(super) fn unanswered(&self, now: Instant) -> bool {
        self.is_healthy.store(false, Ordering::Relaxed);
        let mut failures = lock(&self.failures);
        failures.silent += 1;
        let is_own = !failures.has_answered || failures.silent >= MOST_SILENT;
        if is_own {
            failures.failing_since.get_or_insert(now);
        }
        is_own
    }

    /// It does not take our sign-in.
    pub(super) fn refused_sign_in(&self) {
        self.is_healthy.store(false, Ordering::Relaxed);
        lock(&self.failures).refuses_sign_in = true;
    }

    /// Whether it has failed for good.
    pub(super) fn is_lost(&self, now: Instant) -> bool {
        if self.is_healthy.load(Ordering::Relaxed) {
            return false;
        }
        let failures = lock(&self.failures);
        failures.refuses_sign_in || failures.failing_since.is_some_and(|since| now - since >= self.patience)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn a_proxy_that_fails_is_lost_after_a_while_and_an_answer_mends_it() {
        let (health, start) = (ProxyHealth::new(PATIENCE), Instant::now());
        assert!(!health.is_lost(start));
        health.failed(start);
        health.failed(start + PATIENCE / 2);
        assert!(!health.is_lost(start + PATIENCE / 2) && health.is_lost(start + PATIENCE));
        health.answered();
        assert!(!health.is_lost(start + PATIENCE));
        health.refused_sign_in();
        assert!(health.is_lost(start));
        health.answered();
        assert!(health.is_lost(start), "another answer is no sign-in");
    }

    #[test]
    fn silence_is_a_hosts_fault_once_others_are_answered() {
        let (health, start) = (ProxyHealth::new(PATIENCE), Instant::now());
        assert!(health.unanswered(start), "nobody was answered");
        health.answered();
        for _ in 1..MOST_SILENT {
            assert!(!health.unanswered(start));
        }
        assert!(!health.is_lost(start + PATIENCE) && health.unanswered(start));
        assert!(health.is_lost(start + PATIENCE));
        health.answered();
        assert!(!health.unanswered(start) && !health.is_lost(start + PATIENCE));
    }
}
