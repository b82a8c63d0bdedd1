//! One host, as the frontier has it, and the draft of its next status.
//!
//! A host's fields are of four kinds. *Facts* are changed by records alone: key, queue, clock, robots.txt, failure state, requests,
//! failures, whether it has answered. They are in the host's image. The *policy* follows from the key and the options. The *seat* follows
//! from these and from the time, and belongs to `machine`. The rest are *caches*: parsed rules, and whether the host is on the clock of
//! rules that may be dropped.
//!
//! With a million hosts, a lease mostly waits for memory. So a host is two aligned cache lines, and what most hosts do not have is boxed.
//! An assertion checks the size.
//!
//! # The draft
//!
//! While a lease's outcome is judged, a [`HostUpdate`] is the host's next status:
//!
//! 1. The draft is taken from the host's status.
//! 2. An answer makes it well, a setback makes it worse; both set its clock.
//! 3. The draft is journaled as a status, and the state applies the record.
//!
//! So if the journal fails in the third step, the host stays as it was.

use std::time::Duration;

use super::HostStatus;
use super::host_status::BROKEN_PAGES;
use super::{FailureState, HostSlot, HostState, Outlook, Politeness, PolitenessTable, RULES_HOLD, RobotsFile};
use crate::address::HostKey;
use crate::frontier::lease::{Blame, Setback};
use crate::frontier::queues::Queue;
use crate::frontier::{Failure, Timestamp, Trouble};

/// A host that has answered before counts as failing from its fourth timeout in a row on.
const HANGING_PAGES: u16 = 4;

/// One host: its queue, its clock, its robots.txt and its failures. 128 bytes and the key's text.
///
/// Everything that a lease needs to know of a host is here, in two cache lines that are loaded together: with a million hosts, each further
/// cache line would be another wait for memory.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Host {
    /// Its origin, which identifies it outside this frontier; empty in a hole.
    pub(crate) key: HostKey,
    /// Its URLs, including lent ones.
    pub(crate) queue: Queue,
    /// The time before which it is not asked.
    pub(crate) due: Timestamp,
    /// What is known of its robots.txt, with the rules if they are in memory.
    pub(crate) robots: RobotsFile,
    /// What is wrong with it; `None` since it last answered well.
    pub(crate) ill: Option<Box<FailureState>>,
    /// Requests that came back.
    pub(crate) requests: u32,
    /// Failures in a row that count against it.
    pub(crate) failures: u16,
    /// It has answered at least once.
    pub(crate) has_answered: bool,
    /// Whether it is on the clock of the [`RulesCache`](super::RulesCache).
    pub(crate) is_on_clock: bool,
    /// The number of its policy in the [`PolitenessTable`]. It follows from the key.
    pub(crate) policy: u16,
    /// Where it is in the queues of hosts, and how many of its pages are out.
    pub(crate) seat: HostSlot,
}

const _: () = assert!(size_of::<Host>() == 128);

impl Host {
    /// An unknown host.
    pub(crate) fn new(key: HostKey) -> Self {
        Self {
            key,
            queue: Queue::default(),
            due: Timestamp::default(),
            robots: RobotsFile::Unknown,
            ill: None,
            requests: 0,
            failures: 0,
            has_answered: false,
            is_on_clock: false,
            policy: 0,
            seat: HostSlot::default(),
        }
    }

    /// Whether this is the hole that an evicted host left.
    pub(crate) fn is_hole(&self) -> bool {
        self.key.as_str().is_empty()
    }

    /// Whether it may be evicted: nothing is queued or lent, and everything known of it can be read again from its image and the journal. A
    /// host whose rules the journal does not have stays in memory.
    pub(crate) fn may_be_evicted(&self) -> bool {
        let is_kept = self.robots.rules().is_none_or(|rules| rules.kept_at.is_some());
        is_kept && self.seat.state == HostState::Idle
    }

    /// Its status, for the journal.
    pub(crate) fn standing(&self) -> HostStatus<'_> {
        HostStatus {
            key: self.key.as_str(),
            due: self.due,
            failures: self.failures,
            has_answered: self.has_answered,
            ill: self.ill.as_deref().map(FailureState::ill),
        }
    }

    /// Applies a status from a record.
    #[inline]
    pub(crate) fn stands(&mut self, standing: &HostStatus<'_>) {
        let HostStatus { due, failures, has_answered, ill, .. } = *standing;
        (self.due, self.failures, self.has_answered) = (due, failures, has_answered);
        self.ill = ill.map(|ill| Box::new(FailureState::of(&ill)));
    }

    /// The rest between a response and the next request.
    #[inline]
    pub(crate) fn delay(&self, politeness_table: &PolitenessTable) -> Duration {
        self.delay_by(politeness_table, self.robots.rules().map_or(Duration::ZERO, |rules| rules.crawl_delay))
    }

    /// The same, with this Crawl-delay in its robots.txt.
    #[inline]
    pub(crate) fn delay_by(&self, politeness_table: &PolitenessTable, crawl_delay: Duration) -> Duration {
        politeness_table.delay(self.policy, crawl_delay).max(self.learned_delay())
    }

    /// The longest rest that follows from its status. Its rest may have been longer: a host that answers its robots.txt with a Retry-After
    /// has asked for a rest, and need not count as failing.
    fn longest_rest(&self, politeness_table: &PolitenessTable) -> Duration {
        let learned = politeness_table.adaptive_share.map_or(Duration::ZERO, |_| politeness_table.max_adaptive_delay);
        let asked = match self.ill.as_deref() {
            None => Duration::ZERO,
            Some(ill) if ill.is_patient => politeness_table.max_retry_after,
            Some(_) => politeness_table.backoff_of(self.failures.into()),
        };
        self.delay(politeness_table).max(learned).max(asked)
    }

    /// Limits its times, in case the machine's clock was ahead and is right now: it rests no longer than any host can have been told to,
    /// and its robots.txt stays good no longer than one fetched now. If the clock is known to have been ahead (`was_ahead`), it rests no
    /// longer than follows from its status.
    pub(crate) fn set_clock(&mut self, politeness_table: &PolitenessTable, now: Timestamp, was_ahead: bool) {
        let longest = if was_ahead { self.longest_rest(politeness_table) } else { politeness_table.longest_rest() };
        self.due = self.due.min(now + longest);
        let stale_at = now + politeness_table.robots_ttl.max(politeness_table.max_backoff);
        self.robots.hold_until(stale_at, stale_at + RULES_HOLD);
    }

    /// The rest that follows from its latency.
    pub(crate) fn learned_delay(&self) -> Duration {
        Duration::from_millis(self.seat.learned_ms.into())
    }

    /// Whether its robots.txt must be fetched before the next page: it is not known or stale, or page after page breaks. In the second case
    /// the answer tells a partly broken site from a host that is down.
    #[inline]
    pub(crate) fn wants_robots(&self, now: Timestamp) -> bool {
        self.is_in_doubt() || self.robots.is_wanted(now)
    }

    /// Whether its pages break and it has not answered well since.
    #[inline]
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.ill.as_deref().is_some_and(FailureState::is_in_doubt)
    }

    /// Whether it is retired: its URLs are given up.
    pub(crate) fn is_retired(&self) -> bool {
        self.ill.as_deref().is_some_and(|ill| ill.is_retired)
    }

    /// Its last failure, if it fails.
    pub(crate) fn trouble(&self) -> Option<&Trouble> {
        self.ill.as_deref().filter(|ill| self.failures > 0 || ill.is_retired).map(|ill| &ill.trouble)
    }

    /// The number of URLs in its queue that are not lent out.
    pub(crate) fn waiting(&self) -> u64 {
        u64::from(self.queue.len()) - u64::from(self.seat.out)
    }

    /// Whether a page or the robots.txt of it is lent out.
    pub(crate) fn is_leased(&self) -> bool {
        self.seat.out > 0 || self.seat.state == HostState::LeasedRobots
    }

    /// Its outlook, if it has URLs queued. This alone decides whether a crawl waits for it at its end.
    pub(crate) fn outlook(&self) -> Outlook {
        let Some(ill) = self.ill.as_deref() else { return Outlook::Good };
        let is_waited_for = matches!(self.seat.state, HostState::Idle | HostState::Asleep);
        if self.failures == 0 || ill.is_patient || ill.is_retired || is_waited_for {
            return Outlook::Good;
        }
        match ill.trouble.failure {
            Failure::NoSuchHost => Outlook::Hopeless,
            // It answers, even if badly.
            Failure::Refused | Failure::Server => Outlook::Good,
            // The hanging may be the page's, not the host's.
            Failure::Timeout if self.has_answered && self.failures < HANGING_PAGES => Outlook::Good,
            _ => Outlook::Struggling,
        }
    }
}

/// When a host's rest is over if nothing is wrong, and whether the lease is older than its last failure.
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

    /// Another port of the host's server has failed, and the failure is the server's: it counts as one more failure in a row of this host
    /// too.
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
