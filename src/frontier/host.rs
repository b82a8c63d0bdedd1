//! One host, as the frontier has it.

use std::time::Duration;

use super::back::Queue;
use super::front::Link;
use super::robots::Robots;
use super::{Failure, Ill, Politeness, Position, Standing, Timestamp, Trouble, Validators};
use crate::address::HostKey;

/// Timeouts in a row from which on a host that has answered before counts as one that fails.
const HANGING_PAGES: u16 = 4;

/// One host: its queue, its clock, its robots.txt and how it has behaved. 128 bytes and the key's text.
///
/// All that a lease needs to know of a host stands here, in two cache lines that come together: with a million hosts
/// each further place would be another wait for memory.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Host {
    pub(super) key: HostKey,
    pub(super) queue: Queue,
    /// Its neighbors in a front queue.
    pub(super) link: Link,
    /// Not asked before.
    pub(super) due: Timestamp,
    pub(super) robots: RobotsFile,
    /// What is wrong with it; `None` since it last answered well.
    pub(super) ill: Option<Box<Illness>>,
    /// Leases handed out, but for those that are given up.
    pub(super) requests: u32,
    /// Failures in a row that count against it.
    pub(super) failures: u16,
    pub(super) state: HostState,
    /// It has answered at least once.
    pub(super) has_answered: bool,
    /// Its rules are among those that may be dropped.
    pub(super) is_on_clock: bool,
}

const _: () = assert!(size_of::<Host>() == 128);

/// Where a host is: in one place at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostState {
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

/// What is wrong with a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Illness {
    /// The last failure.
    pub(super) trouble: Trouble,
    /// Different pages in a row that broke, and that the host may not be to blame for.
    pub(super) broken: u16,
    /// It said itself when it may be asked again.
    pub(super) is_patient: bool,
    /// It is not asked again in this run: its URLs are given up as their turn comes.
    pub(super) is_retired: bool,
    /// As what it is counted among the hosts with URLs queued.
    pub(super) counted: Prospect,
}

/// What is to be expected of a host with URLs queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Prospect {
    /// Like any other; a host without URLs has none other either.
    #[default]
    Good,
    /// It fails, and may come back: worth a wait.
    Struggling,
    /// It does not exist.
    Hopeless,
}

/// What is known of a host's robots.txt.
#[derive(Debug)]
pub(super) enum RobotsFile {
    /// Not yet fetched, or not to be had: everything waits for it.
    Unknown,
    /// It is elsewhere (RFC 9309 section 2.3.1.2).
    Moved(Box<Detour>),
    /// Fetched, or known to be missing.
    Known {
        /// When it should be fetched again.
        stale_at: Timestamp,
        /// A page was lent by it, or none was left. Before, it is good however old: hosts may be so many that none has its
        /// next turn within the time that a robots.txt is good for, and nothing but robots.txt would be fetched.
        is_used: bool,
        /// `None` allows everything.
        rules: Option<Box<Rules>>,
    },
}

/// The rules of a robots.txt, or where to find them.
#[derive(Debug)]
pub(super) struct Rules {
    /// The group's Crawl-delay.
    pub(super) crawl_delay: Duration,
    /// Where the journal has them, if it does.
    pub(super) kept_at: Option<Position>,
    /// How long they hold where no newer ones are to be had (RFC 9309 section 2.3.1.4).
    pub(super) good_until: Timestamp,
    /// By which they are asked for again, if they have changed.
    pub(super) validators: Option<Box<Validators>>,
    /// `None` where they are to be read from there first.
    pub(super) parsed: Option<Box<Robots>>,
    /// A page was lent by them since the clock's hand last passed.
    pub(super) has_lent: bool,
}

/// A robots.txt on its way through redirects.
#[derive(Debug)]
pub(super) struct Detour {
    pub(super) hops: u8,
    pub(super) url: Box<str>,
    /// What was known before, and holds until the way is gone to its end.
    pub(super) before: Option<Box<RobotsFile>>,
}

impl Host {
    pub(super) fn new(key: HostKey) -> Self {
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
    pub(super) fn is_hole(&self) -> bool {
        self.key.as_str().is_empty()
    }

    /// Nothing is queued or lent, and what is known of it can be had again from its image.
    pub(super) fn may_leave(&self) -> bool {
        let is_kept = self.robots.rules().is_none_or(|rules| rules.kept_at.is_some());
        is_kept && self.state == HostState::Idle
    }

    /// How it stands, for the journal.
    pub(super) fn standing(&self) -> Standing<'_> {
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
    pub(super) fn delay(&self, politeness: &Politeness) -> Duration {
        let asked = self.robots.rules().map_or(Duration::ZERO, |rules| rules.crawl_delay);
        politeness.host_delay.max(asked.min(politeness.max_crawl_delay))
    }

    /// The rest after a failure, the `nth` in a row: it doubles with each, and is never shorter than the delay.
    pub(super) fn backoff(&self, politeness: &Politeness, nth: u32) -> Duration {
        politeness.backoff_of(nth).max(self.delay(politeness))
    }

    /// Whether it failed too often in a row.
    pub(super) fn has_failed_too_often(&self, politeness: &Politeness) -> bool {
        u32::from(self.failures) >= politeness.host_failures.min(u16::MAX.into())
    }

    /// Its URLs are given up.
    pub(super) fn is_retired(&self) -> bool {
        self.ill.as_deref().is_some_and(|ill| ill.is_retired)
    }

    /// How it may be counted.
    pub(super) fn prospect(&self) -> Prospect {
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
    pub(super) fn stands(&mut self, standing: &Standing<'_>) {
        let Standing { due, failures, has_answered, ill, .. } = *standing;
        (self.due, self.failures, self.has_answered) = (due, failures, has_answered);
        self.ill = ill.map(|ill| {
            let Ill { failure, words, broken, is_patient, is_retired } = ill;
            let trouble = Trouble::new(failure, words);
            Box::new(Illness { trouble, broken, is_patient, is_retired, counted: Prospect::Good })
        });
    }
}

impl Politeness {
    /// The rest after the `nth` failure in a row: it doubles with each.
    pub(super) fn backoff_of(&self, nth: u32) -> Duration {
        let factor = 1u32.checked_shl(nth.saturating_sub(1)).unwrap_or(u32::MAX);
        self.backoff.saturating_mul(factor).min(self.max_backoff)
    }
}

impl RobotsFile {
    /// Whether it must be fetched before the next page.
    pub(super) fn is_wanted(&self, now: Timestamp) -> bool {
        match self {
            Self::Unknown | Self::Moved(_) => true,
            Self::Known { stale_at, is_used, .. } => *is_used && *stale_at <= now,
        }
    }

    /// May this path and query be fetched? What is not known yet, or not read yet, decides nothing here.
    pub(super) fn allows(&self, path_and_query: &str) -> bool {
        let parsed = self.rules().and_then(|rules| rules.parsed.as_deref());
        parsed.is_none_or(|robots| robots.ruling(path_and_query).allowed)
    }

    /// Where its rules must be read from before they can decide.
    pub(super) fn unread(&self) -> Option<Position> {
        self.rules().filter(|rules| rules.parsed.is_none()).and_then(|rules| rules.kept_at)
    }

    /// What is known holds on.
    pub(super) fn renew(&mut self, stale: Timestamp, good: Timestamp) {
        if let Self::Known { stale_at, is_used, rules } = self {
            (*stale_at, *is_used) = (stale, false);
            if let Some(rules) = rules {
                rules.good_until = good;
            }
        }
    }

    /// It has served its purpose: once stale, it is fetched again.
    pub(super) fn mark_used(&mut self) {
        if let Self::Known { is_used, rules, .. } = self {
            *is_used = true;
            if let Some(rules) = rules {
                rules.has_lent = true;
            }
        }
    }

    /// Bytes of memory that dropping its rules would free: those that the journal has too.
    pub(super) fn spare(&self) -> usize {
        let parsed = self.rules().filter(|rules| rules.kept_at.is_some()).and_then(|rules| rules.parsed.as_deref());
        parsed.map_or(0, Robots::memory)
    }

    /// Whether its rules may stay for another round of the clock, and that they have had this one.
    pub(super) fn take_turn(&mut self) -> bool {
        self.rules_mut().is_some_and(|rules| rules.parsed.is_some() && std::mem::take(&mut rules.has_lent))
    }

    /// Forgets rules that the journal has, and says how many bytes that freed.
    pub(super) fn drop_spare(&mut self) -> usize {
        let spare = self.spare();
        if let Some(rules) = self.rules_mut().filter(|_| spare > 0) {
            rules.parsed = None;
        }
        spare
    }

    /// Bytes of memory held beside the host's own.
    pub(super) fn memory(&self) -> usize {
        match self {
            Self::Moved(detour) => {
                let before = detour.before.as_deref();
                size_of::<Detour>() + detour.url.len() + before.map_or(0, |before| size_of::<Self>() + before.memory())
            }
            _ => self.rules().map_or(0, Rules::memory),
        }
    }

    /// Those in force.
    pub(super) fn rules(&self) -> Option<&Rules> {
        match self {
            Self::Known { rules, .. } => rules.as_deref(),
            Self::Moved(detour) => detour.before.as_deref().and_then(Self::rules),
            Self::Unknown => None,
        }
    }

    /// What is known, but for the way to what is not.
    pub(super) fn into_known(self) -> Option<Self> {
        match self {
            Self::Known { .. } => Some(self),
            Self::Moved(detour) => detour.before.map(|before| *before),
            Self::Unknown => None,
        }
    }

    fn rules_mut(&mut self) -> Option<&mut Rules> {
        match self {
            Self::Known { rules, .. } => rules.as_deref_mut(),
            Self::Moved(detour) => detour.before.as_deref_mut().and_then(Self::rules_mut),
            Self::Unknown => None,
        }
    }
}

impl Rules {
    pub(super) fn new(robots: Robots, good_until: Timestamp, validators: Option<Box<Validators>>) -> Self {
        let crawl_delay = robots.crawl_delay().unwrap_or_default();
        Self { crawl_delay, kept_at: None, good_until, validators, parsed: Some(Box::new(robots)), has_lent: false }
    }

    /// That the journal has, still to be read from there.
    pub(super) fn kept(at: Position, crawl_delay: Duration, good_until: Timestamp) -> Self {
        Self { crawl_delay, kept_at: Some(at), good_until, validators: None, parsed: None, has_lent: false }
    }

    fn memory(&self) -> usize {
        let validators = self.validators.as_deref().map_or(0, Validators::memory);
        size_of::<Self>() + validators + self.parsed.as_deref().map_or(0, Robots::memory)
    }
}
