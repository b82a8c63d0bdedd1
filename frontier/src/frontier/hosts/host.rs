//! One host, as the frontier has it.
//!
//! A host's fields are of four kinds. *Facts* are changed by records alone: key, queue, status, robots.txt. They are in the host's image.
//! The *policy* follows from the key and the options. The *scheduling state* follows from these and from the time, and belongs to
//! `machine`. The rest are *caches*: parsed rules, and whether the host is on the clock of rules that may be dropped.
//!
//! With a million hosts, a lease mostly waits for memory. So a host is two aligned cache lines, and what most hosts do not have is boxed.
//! An assertion checks the size.

use std::time::Duration;

use super::{HostState, HostStatus, Outlook, PolitenessTable, RULES_HOLD, RobotsFile, SchedulingState};
use crate::address::HostKey;
use crate::frontier::queues::Queue;
use crate::frontier::{Failure, Timestamp};

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
    /// Its clock and its failures.
    pub(crate) status: HostStatus,
    /// What is known of its robots.txt, with the rules if they are in memory.
    pub(crate) robots: RobotsFile,
    /// Whether it is on the clock of the [`RulesCache`](super::RulesCache).
    pub(crate) is_on_clock: bool,
    /// The number of its policy in the [`PolitenessTable`]. It follows from the key.
    pub(crate) policy: u16,
    /// Its pages that are in hand: it has answered, and they are not complete. Like the scheduling state it belongs to `machine`, but here
    /// it takes no extra room.
    pub(crate) in_hand: u8,
    /// Where it is in the queues of hosts, and how many of its pages are out.
    pub(crate) scheduling: SchedulingState,
}

const _: () = assert!(size_of::<Host>() == 128);

impl Host {
    /// An unknown host.
    pub(crate) fn new(key: HostKey) -> Self {
        Self {
            key,
            queue: Queue::default(),
            status: HostStatus::default(),
            robots: RobotsFile::Unknown,
            is_on_clock: false,
            policy: 0,
            in_hand: 0,
            scheduling: SchedulingState::default(),
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
        is_kept && self.scheduling.state == HostState::Idle
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

    /// The longest rest that follows from its status. The host may have been told to rest for longer: a Retry-After of its robots.txt makes
    /// it rest, and need not count as a failure.
    fn longest_rest(&self, politeness_table: &PolitenessTable) -> Duration {
        let learned = politeness_table.adaptive_share.map_or(Duration::ZERO, |_| politeness_table.max_adaptive_delay);
        let asked = match self.status.failure_state.as_deref() {
            None => Duration::ZERO,
            Some(failure_state) if failure_state.is_patient => politeness_table.max_retry_after,
            Some(_) => politeness_table.backoff_of(self.status.failures.into()),
        };
        self.delay(politeness_table).max(learned).max(asked)
    }

    /// Limits its times, in case the machine's clock was ahead and is right now: it rests no longer than any host can have been told to,
    /// and its robots.txt stays good no longer than one fetched now. If the clock is known to have been ahead (`was_ahead`), it rests no
    /// longer than follows from its status.
    pub(crate) fn set_clock(&mut self, politeness_table: &PolitenessTable, now: Timestamp, was_ahead: bool) {
        let longest = if was_ahead { self.longest_rest(politeness_table) } else { politeness_table.longest_rest() };
        self.status.due = self.status.due.min(now + longest);
        let stale_at = now + politeness_table.robots_ttl.max(politeness_table.max_backoff);
        self.robots.hold_until(stale_at, stale_at + RULES_HOLD);
    }

    /// The rest that follows from its latency.
    pub(crate) fn learned_delay(&self) -> Duration {
        Duration::from_millis(self.scheduling.learned_ms.into())
    }

    /// Whether its robots.txt must be fetched before the next page: it is not known or stale, or page after page breaks. In the second case
    /// the answer tells a partly broken site from a host that is down.
    #[inline]
    pub(crate) fn wants_robots(&self, now: Timestamp) -> bool {
        self.status.is_in_doubt() || self.robots.is_wanted(now)
    }

    /// The number of URLs in its queue that are not lent out.
    pub(crate) fn waiting(&self) -> u64 {
        u64::from(self.queue.len()) - u64::from(self.scheduling.out) - u64::from(self.in_hand)
    }

    /// Whether a page or the robots.txt of it is lent out, and not in hand.
    pub(crate) fn is_leased(&self) -> bool {
        self.scheduling.out > 0 || self.scheduling.state == HostState::LeasedRobots
    }

    /// Its outlook, if it has URLs queued. This alone decides whether a crawl waits for it at its end.
    pub(crate) fn outlook(&self) -> Outlook {
        let Some(failure_state) = self.status.failure_state.as_deref() else { return Outlook::Good };
        let is_waited_for = matches!(self.scheduling.state, HostState::Idle | HostState::Asleep);
        if self.status.failures == 0 || failure_state.is_patient || failure_state.is_retired || is_waited_for {
            return Outlook::Good;
        }
        match failure_state.trouble.failure {
            Failure::NoSuchHost => Outlook::Hopeless,
            // It answers, even if badly.
            Failure::Refused | Failure::Server => Outlook::Good,
            // The hanging may be the page's, not the host's.
            Failure::Timeout if self.status.has_answered && self.status.failures < HANGING_PAGES => Outlook::Good,
            _ => Outlook::Struggling,
        }
    }
}
