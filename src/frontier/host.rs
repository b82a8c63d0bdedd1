use std::time::Duration;

use super::back::Queue;
use super::front::Link;
use super::robots::Robots;
use super::{Politeness, Position, Standing, Timestamp};
use crate::address::HostKey;

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
    /// Leases handed out.
    pub(super) requests: u64,
    /// Failures in a row.
    pub(super) failures: u32,
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
    /// This page is lent out, with so many tries used up before.
    Leased { position: Position, priority: u8, attempts: u8 },
    /// Its robots.txt is lent out.
    LeasedRobots,
    /// Not asked again in this crawl.
    Retired,
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
}

impl Host {
    pub(super) fn new(key: HostKey) -> Self {
        Self {
            key,
            queue: Queue::default(),
            link: Link::default(),
            due: Timestamp::default(),
            robots: RobotsFile::Unknown,
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
        is_kept && matches!(self.state, HostState::Idle | HostState::Retired)
    }

    /// How it stands, for the journal.
    pub(super) fn standing(&self) -> Standing<'_> {
        Standing {
            key: self.key.as_str(),
            due: self.due,
            failures: self.failures,
            has_answered: self.has_answered,
            is_retired: self.state == HostState::Retired,
        }
    }

    /// The rest between a response and the next request.
    pub(super) fn delay(&self, politeness: &Politeness) -> Duration {
        let asked = self.robots.rules().map_or(Duration::ZERO, |rules| rules.crawl_delay);
        politeness.host_delay.max(asked.min(politeness.max_crawl_delay))
    }

    /// The rest after a failure, the `nth` in a row: it doubles with each, and is never shorter than the delay.
    pub(super) fn backoff(&self, politeness: &Politeness, nth: u32) -> Duration {
        let factor = 1u32.checked_shl(nth.saturating_sub(1)).unwrap_or(u32::MAX);
        let rest = politeness.backoff.saturating_mul(factor).min(politeness.max_backoff);
        rest.max(self.delay(politeness))
    }

    /// Whether it failed too often in a row. One that has never answered is given as many tries as a URL: names that do not
    /// resolve and machines that are off are a tenth of a wide crawl's hosts.
    pub(super) fn is_hopeless(&self, politeness: &Politeness) -> bool {
        let limit = politeness.host_failures;
        let limit = if self.has_answered { limit } else { limit.min(politeness.attempts.into()) };
        self.failures >= limit
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
            Self::Moved(detour) => size_of::<Detour>() + detour.url.len(),
            _ => self.rules().map_or(0, Rules::memory),
        }
    }

    pub(super) fn rules(&self) -> Option<&Rules> {
        match self {
            Self::Known { rules, .. } => rules.as_deref(),
            Self::Unknown | Self::Moved(_) => None,
        }
    }

    fn rules_mut(&mut self) -> Option<&mut Rules> {
        match self {
            Self::Known { rules, .. } => rules.as_deref_mut(),
            Self::Unknown | Self::Moved(_) => None,
        }
    }
}

impl Rules {
    pub(super) fn new(robots: Robots, kept_at: Option<Position>) -> Self {
        let crawl_delay = robots.crawl_delay().unwrap_or_default();
        Self { crawl_delay, kept_at, parsed: Some(Box::new(robots)), has_lent: false }
    }

    /// That the journal has, still to be read from there.
    pub(super) fn kept(at: Position, crawl_delay: Duration) -> Self {
        Self { crawl_delay, kept_at: Some(at), parsed: None, has_lent: false }
    }

    fn memory(&self) -> usize {
        size_of::<Self>() + self.parsed.as_deref().map_or(0, Robots::memory)
    }
}
