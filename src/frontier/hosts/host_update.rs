//! The draft of a host's next status, while a lease's outcome is judged.
//!
//! 1. The draft is taken from the host's status.
//! 2. An answer makes it well, a setback makes it worse; both set its clock.
//! 3. The draft is journaled as a status, and the state applies the record.
//!
//! So if the journal fails between the second step and the third, the host stays as it was.

use std::time::Duration;

use super::failure_state::BROKEN_PAGES;
use super::{FailureState, Host, Politeness};
use crate::frontier::durable::HostStatus;
use crate::frontier::lease::{Blame, Setback};
use crate::frontier::{Failure, Timestamp, Trouble};

/// How long a host rests if nothing is wrong, and whether the lease is older than its last failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest {
    /// When the host may be asked again, if nothing is wrong.
    pub(crate) over: Timestamp,
    /// Whether the host has failed since the lease went out.
    pub(crate) is_late: bool,
}

/// A draft of a host's next [`HostStatus`]. It takes effect once the journal has it.
#[derive(Clone, Debug)]
pub(crate) struct HostUpdate {
    /// The time before which it is not asked.
    pub(crate) due: Timestamp,
    /// Failures in a row that count against it.
    pub(crate) failures: u16,
    /// It has answered at least once.
    pub(crate) has_answered: bool,
    /// What is wrong with it, if anything is.
    pub(crate) ill: Option<FailureState>,
}

impl HostUpdate {
    /// The host's status as it is now, to be changed and then journaled.
    pub(crate) fn of(host: &Host) -> Self {
        let Host { due, failures, has_answered, ill, .. } = host;
        Self { due: *due, failures: *failures, has_answered: *has_answered, ill: ill.as_deref().cloned() }
    }

    /// The status for the journal, of the host with this key.
    pub(crate) fn standing<'a>(&'a self, key: &'a str) -> HostStatus<'a> {
        let Self { due, failures, has_answered, ill } = self;
        let ill = ill.as_ref().map(FailureState::ill);
        HostStatus { key, due: *due, failures: *failures, has_answered: *has_answered, ill }
    }

    /// The host answers. That is a failure only if the status says "not now", or that something is broken; any other answer clears all
    /// failures before it.
    ///
    /// An answer that `is_late`, to a request from before its last failure, clears none.
    pub(crate) fn answer(&mut self, status: u16, retry_after: Option<Duration>, is_late: bool) -> Option<Setback> {
        self.has_answered = true;
        let Some(blame) = Blame::of_status(status) else {
            if !is_late {
                self.recover();
            }
            return None;
        };
        let failure = if blame == Blame::Rate { Failure::Refused } else { Failure::Server };
        Some(Setback { blame, trouble: Trouble::new(failure, &format!("status {status}")), retry_after })
    }

    /// The host is well again.
    pub(crate) fn recover(&mut self) {
        (self.failures, self.ill) = (0, None);
    }

    /// Counts a failure against the host, lets it rest or retires it; says whether this begins a new failure epoch. `rest` is its rest if
    /// nothing had failed.
    ///
    /// - A failure of the fetcher does not count.
    /// - A failure of the host, or a sign of overload or of too many requests, counts, and the rest doubles with each in a row.
    /// - Every fourth broken page in a row counts. All tries of one page are one broken page, so only its first try is counted. The host is
    ///   then asked for its robots.txt, and a good answer clears them.
    /// - A late failure has the same cause as the one before it: the host rests, and nothing is counted.
    ///
    /// A rest that the host asked for holds instead, up to `politeness.max_retry_after`. Some failures retire a host at once: under the
    /// options of this run the next request could not go better.
    pub(crate) fn set_back(
        &mut self,
        setback: &Setback,
        is_first_try: bool,
        rest: Rest,
        politeness: &Politeness,
        now: Timestamp,
    ) -> bool {
        let Setback { blame, trouble, retry_after } = setback;
        self.due = rest.over;
        if *blame == Blame::Fetcher {
            return false;
        }
        let is_another = *blame == Blame::Page && is_first_try;
        let broken = self.ill.as_ref().map_or(0, |ill| ill.broken).saturating_add(is_another.into());
        let counts = match blame {
            Blame::Fetcher => false,
            Blame::Host | Blame::Load | Blame::Rate => true,
            Blame::Page => is_another && broken.is_multiple_of(BROKEN_PAGES),
        };
        self.failures = self.failures.saturating_add((counts && !rest.is_late).into());
        self.due = match retry_after {
            Some(asked) => rest.over.max(now + (*asked).min(politeness.max_retry_after)),
            None if counts => rest.over.max(now + politeness.backoff_of(self.failures.into())),
            None => rest.over,
        };
        let has_failed_too_often = u32::from(self.failures) >= politeness.host_failures.min(u16::MAX.into());
        let ends = trouble.failure.ends_host() || (counts && !rest.is_late && has_failed_too_often);
        let was = self.ill.as_ref().filter(|_| rest.is_late);
        let is_retired = ends || was.is_some_and(|ill| ill.is_retired);
        let is_patient = retry_after.is_some() || was.is_some_and(|ill| ill.is_patient);
        self.ill = Some(FailureState { trouble: trouble.clone(), broken, is_patient, is_retired });
        !rest.is_late && (counts || retry_after.is_some() || is_retired)
    }

    /// Another port of the host's server has failed, by the server's fault: this counts as one more failure in a row of this host too.
    pub(crate) fn fail_with(&mut self, ill: &FailureState, politeness: &Politeness) {
        self.failures = self.failures.saturating_add(1);
        let broken = self.ill.as_ref().map_or(0, |ill| ill.broken);
        let is_retired = u32::from(self.failures) >= politeness.host_failures.min(u16::MAX.into());
        self.ill = Some(FailureState { broken, is_retired, ..ill.clone() });
    }

    /// Retires the host: it is not asked again in this run. Only a failing host can be retired.
    pub(crate) fn retire(&mut self) {
        if let Some(ill) = &mut self.ill {
            ill.is_retired = true;
        }
    }

    /// Whether it is retired: its URLs are given up.
    pub(crate) fn is_retired(&self) -> bool {
        self.ill.as_ref().is_some_and(|ill| ill.is_retired)
    }
}
