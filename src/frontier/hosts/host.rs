//! One host, as the frontier has it.

use std::time::Duration;

use super::{Illness, Politeness, Prospect, RobotsFile};
use crate::address::HostKey;
use crate::frontier::durable::{Ill, Standing};
use crate::frontier::queues::{Link, Queue};
use crate::frontier::{Failure, Timestamp, Trouble};
use crate::gate::Position;

/// Timeouts in a row from which on a host that has answered before counts as one that fails.
const HANGING_PAGES: u16 = 4;

/// One host: its queue, its clock, its robots.txt and how it has behaved. 128 bytes and the key's text.
///
/// All that a lease needs to know of a host stands here, in two cache lines that come together: with a million hosts
/// each further place would be another wait for memory.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Host {
    pub(crate) key: HostKey,
    pub(crate) queue: Queue,
    /// Its neighbors in a front queue.
    pub(crate) link: Link,
    /// Not asked before.
    pub(crate) due: Timestamp,
    pub(crate) robots: RobotsFile,
    /// What is wrong with it; `None` since it last answered well.
    pub(crate) ill: Option<Box<Illness>>,
    /// Leases handed out, but for those that are given up.
    pub(crate) requests: u32,
    /// Failures in a row that count against it.
    pub(crate) failures: u16,
    pub(crate) state: HostState,
    /// It has answered at least once.
    pub(crate) has_answered: bool,
    /// Its rules are among those that may be dropped.
    pub(crate) is_on_clock: bool,
}

const _: () = assert!(size_of::<Host>() == 128);

/// Where a host is: in one place at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostState {
    /// Nothing queued; its clock runs on.
    Idle,
    /// In the agenda.
    Snoozed,
    /// In the front queue of this priority.
    Due(u8),
    /// As if due, with this priority: it has never answered, and as many of its kind are lent out as may be.
    Held(u8),
    /// This page is lent out, with so many tries used up before.
    Leased { position: Position, priority: u8, attempts: u8 },
    /// Its robots.txt is lent out.
    LeasedRobots,
}

impl Host {
    pub(crate) fn new(key: HostKey) -> Self {
        Self {
            key,
            queue: Queue::default(),
            link: Link::default(),
            due: Timestamp::default(),
            robots: RobotsFile::Unknown,
            ill: None,
            requests: 0,
            failures: 0,
            state: HostState::Idle,
            has_answered: false,
            is_on_clock: false,
        }
    }

    /// What a host that left leaves behind.
    pub(crate) fn is_hole(&self) -> bool {
        self.key.as_str().is_empty()
    }

    /// Nothing is queued or lent, and what is known of it can be had again from its image.
    pub(crate) fn may_leave(&self) -> bool {
        let is_kept = self.robots.rules().is_none_or(|rules| rules.kept_at.is_some());
        is_kept && self.state == HostState::Idle
    }

    /// How it stands, for the journal.
    pub(crate) fn standing(&self) -> Standing<'_> {
        Standing {
            key: self.key.as_str(),
            due: self.due,
            failures: self.failures,
            has_answered: self.has_answered,
            ill: self.ill.as_deref().map(|ill| Ill {
                failure: ill.trouble.failure,
                words: &ill.trouble.words,
                broken: ill.broken,
                is_patient: ill.is_patient,
                is_retired: ill.is_retired,
            }),
        }
    }

    /// The rest between a response and the next request.
    pub(crate) fn delay(&self, politeness: &Politeness) -> Duration {
        let asked = self.robots.rules().map_or(Duration::ZERO, |rules| rules.crawl_delay);
        politeness.host_delay.max(asked.min(politeness.max_crawl_delay))
    }

    /// The rest after a failure, the `nth` in a row: it doubles with each, and is never shorter than the delay.
    pub(crate) fn backoff(&self, politeness: &Politeness, nth: u32) -> Duration {
        politeness.backoff_of(nth).max(self.delay(politeness))
    }

    /// Whether it failed too often in a row.
    pub(crate) fn has_failed_too_often(&self, politeness: &Politeness) -> bool {
        u32::from(self.failures) >= politeness.host_failures.min(u16::MAX.into())
    }

    /// Its URLs are given up.
    pub(crate) fn is_retired(&self) -> bool {
        self.ill.as_deref().is_some_and(|ill| ill.is_retired)
    }

    /// How it may be counted.
    pub(crate) fn prospect(&self) -> Prospect {
        let Some(ill) = self.ill.as_deref() else { return Prospect::Good };
        if self.failures == 0 || ill.is_patient || ill.is_retired || self.state == HostState::Idle {
            return Prospect::Good;
        }
        match ill.trouble.failure {
            Failure::NoSuchHost => Prospect::Hopeless,
            // It answers, if badly.
            Failure::Server => Prospect::Good,
            // A page may hang by itself.
            Failure::Timeout if self.has_answered && self.failures < HANGING_PAGES => Prospect::Good,
            _ => Prospect::Struggling,
        }
    }

    /// As a journal or a checkpoint has it.
    pub(crate) fn stands(&mut self, standing: &Standing<'_>) {
        let Standing { due, failures, has_answered, ill, .. } = *standing;
        (self.due, self.failures, self.has_answered) = (due, failures, has_answered);
        self.ill = ill.map(|ill| {
            let Ill { failure, words, broken, is_patient, is_retired } = ill;
            let trouble = Trouble::new(failure, words);
            Box::new(Illness { trouble, broken, is_patient, is_retired, counted: Prospect::Good })
        });
    }
}
