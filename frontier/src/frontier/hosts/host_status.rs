//! A host's status, what is wrong with a failing host, and how many hosts fail.
//!
//! A host has a [`FailureState`] from its first failure to its next good answer: the last failure, and what follows for the host's outlook.
//! The failure state is boxed, since most hosts have none.
//!
//! A crawl with only failing hosts left waits for them for a while, and then gives them up. A walk over all hosts to find that moment would
//! cost too much. So each host is counted by its outlook when it is placed, and taken out of the count when it is lent out.
//!
//! # The draft
//!
//! While a lease's outcome is judged, a clone of a host's status is the draft of its next:
//!
//! 1. An answer makes the host well, a setback makes it worse; both set its clock.
//! 2. The draft is journaled, and the state applies the record.
//!
//! So if the journal fails in the second step, the host stays as it was.

use std::time::Duration;

use super::Politeness;
use crate::frontier::lease::{Blame, Setback};
use crate::frontier::{Failure, Timestamp, Trouble};

/// A host's status: its clock, and its failures. Each record about a host has all of it, and so has its image: a replay needs only the last
/// of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostStatus {
    /// The time before which it is not asked.
    pub due: Timestamp,
    /// What is wrong with it; `None` since it last answered well.
    pub failure_state: Option<Box<FailureState>>,
    /// Requests that came back. A record does not have this sum: it says whether it adds one.
    pub requests: u32,
    /// Failures in a row that count against it.
    pub failures: u16,
    /// Whether it has answered at least once.
    pub has_answered: bool,
}

/// This many different pages that break one after another count as one failure of their host: a part of a site may be broken, but on a
/// broken host every page is.
const BROKEN_PAGES: u16 = 4;

/// When a host's rest is over if nothing is wrong, and whether the lease is older than its last failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest {
    /// When the host may be asked again, if nothing is wrong.
    pub(crate) over: Timestamp,
    /// Whether the host has failed since the lease went out.
    pub(crate) is_late: bool,
}

impl HostStatus {
    /// Whether its pages break and it has not answered well since.
    #[inline]
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.failure_state.as_deref().is_some_and(FailureState::is_in_doubt)
    }

    /// Whether it is retired: its URLs are given up.
    pub fn is_retired(&self) -> bool {
        self.failure_state.as_deref().is_some_and(|failure_state| failure_state.is_retired)
    }

    /// Its last failure, if anything is wrong with it.
    pub fn last_trouble(&self) -> Option<&Trouble> {
        self.failure_state.as_deref().map(|failure_state| &failure_state.trouble)
    }

    /// Its last failure, if it fails.
    pub(crate) fn trouble(&self) -> Option<&Trouble> {
        self.failure_state
            .as_deref()
            .filter(|failure_state| self.failures > 0 || failure_state.is_retired)
            .map(|failure_state| &failure_state.trouble)
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
        (self.failures, self.failure_state) = (0, None);
    }

    /// Judges a failed try: counts it against the host or not, and lets the host rest or retires it. Says whether this begins a new failure
    /// epoch. `rest` is its rest if nothing had failed.
    ///
    /// - A failure of the fetcher does not count.
    /// - A failure of the host, or a sign of overload or of too many requests, counts, and the rest doubles with each in a row.
    /// - Every fourth broken page in a row counts. All tries of one page are one broken page, so only its first try is counted. The host is
    ///   then asked for its robots.txt, and a good answer clears them.
    /// - A late failure, of a lease from before the host's last failure, has the same cause as that: the host rests, and nothing is
    ///   counted.
    ///
    /// If the host asked for a rest, that holds instead, up to `politeness.max_retry_after`. Some failures retire a host at once: under the
    /// options of this run the next request would fail too.
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
        let broken = self
            .failure_state
            .as_ref()
            .map_or(0, |failure_state| failure_state.broken)
            .saturating_add(is_another.into());
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
        let was = self.failure_state.as_ref().filter(|_| rest.is_late);
        let is_retired = ends || was.is_some_and(|failure_state| failure_state.is_retired);
        let is_patient = retry_after.is_some() || was.is_some_and(|failure_state| failure_state.is_patient);
        self.failure_state = Some(Box::new(FailureState { trouble: trouble.clone(), broken, is_patient, is_retired }));
        !rest.is_late && (counts || retry_after.is_some() || is_retired)
    }

    /// The number of its next try to get a robots.txt.
    pub(crate) fn attempt(&self) -> u8 {
        u8::try_from(self.failures.saturating_add(1)).unwrap_or(u8::MAX)
    }

    /// Whether a page keeps its tries because its host only asked for fewer requests. `counts` says whether that was a new failure of the
    /// host, whose status after it this is.
    pub(crate) fn keeps_tries(&self, setback: &Setback, counts: bool, politeness: &Politeness) -> bool {
        setback.blame == Blame::Rate && (!counts || self.is_retired() || !self.doubts_page(politeness))
    }

    /// Whether a page that a host refuses to answer goes after others and loses one try: once in a row of failures, halfway to the host's
    /// retirement. So one page that is always refused does not retire its host, and if a host refuses all pages, only one page in each such
    /// row loses a try.
    fn doubts_page(&self, politeness: &Politeness) -> bool {
        u32::from(self.failures) == politeness.host_failures.div_ceil(2)
    }

    /// Another port of the host's server has failed, and the failure is the server's: it counts as one more failure in a row of this host
    /// too.
    pub(crate) fn fail_with(&mut self, failure_state: &FailureState, politeness: &Politeness) {
        self.failures = self.failures.saturating_add(1);
        let broken = self.failure_state.as_ref().map_or(0, |failure_state| failure_state.broken);
        let is_retired = u32::from(self.failures) >= politeness.host_failures.min(u16::MAX.into());
        self.failure_state = Some(Box::new(FailureState { broken, is_retired, ..failure_state.clone() }));
    }

    /// Retires the host: it is not asked again in this run. Only a failing host can be retired.
    pub(crate) fn retire(&mut self) {
        if let Some(failure_state) = &mut self.failure_state {
            failure_state.is_retired = true;
        }
    }
}

/// The change in a host that an outcome has made, for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostTurn {
    /// It answered, or had never been asked, and now has its first failure that counts against it.
    Fails,
    /// It failed, and answers again.
    Recovers,
}

#[cfg(feature = "lending")]
impl HostTurn {
    /// The change between two moments; `None` if the host fails at both or at neither.
    pub(crate) fn between(was_failing: bool, is_failing: bool) -> Option<Self> {
        match (was_failing, is_failing) {
            (false, true) => Some(Self::Fails),
            (true, false) => Some(Self::Recovers),
            _ => None,
        }
    }
}

/// What is wrong with a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureState {
    /// The last failure.
    pub trouble: Trouble,
    /// Different pages in a row that broke; the host need not be to blame.
    pub broken: u16,
    /// Whether it said itself when it may be asked again.
    pub is_patient: bool,
    /// Whether it is not asked again in this run: its URLs are given up as their turn comes.
    pub is_retired: bool,
}

impl FailureState {
    /// Whether page after page broke, and no good answer has come since.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.broken >= BROKEN_PAGES
    }
}

/// Whether a host with URLs queued may come back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// It answers, or has nothing queued.
    #[default]
    Good,
    /// It fails, and may come back: worth waiting for.
    Struggling,
    /// It does not exist.
    Hopeless,
}

/// How many of the hosts with URLs queued fail, counted as hosts change queues.
#[derive(Debug, Default)]
pub(crate) struct FailingHosts {
    /// Hosts that fail and may come back.
    pub(crate) struggling: usize,
    /// Hosts that do not exist.
    pub(crate) hopeless: usize,
    /// Since when only failing hosts are left; `None` while there are others. `politeness.patience` counts from here.
    pub(crate) since: Option<Timestamp>,
}

/// Whether the crawl waits for its failing hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// There are other hosts, or nothing fails.
    Unasked,
    /// It waits for them until this time.
    Until(Timestamp),
    /// It no longer waits, but some of their leases are still out.
    Over,
}

impl FailingHosts {
    /// The number of failing hosts with URLs queued, hopeless or not. Retired hosts, which are not asked again, are not included.
    pub(crate) fn failing(&self) -> usize {
        self.struggling + self.hopeless
    }

    /// The count of hosts with this outlook; `None` for a good one, which is not counted.
    pub(crate) fn count(&mut self, outlook: Outlook) -> Option<&mut usize> {
        match outlook {
            Outlook::Good => None,
            Outlook::Struggling => Some(&mut self.struggling),
            Outlook::Hopeless => Some(&mut self.hopeless),
        }
    }
}
