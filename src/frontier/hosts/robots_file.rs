//! What is known of a host's robots.txt.
//!
//! ```text
//!   Unknown ──▶ Moved ──▶ ... ──▶ Known: no rules, or rules
//!      ▲                            │ stale, and a page was lent by it
//!      └── not to be had ◀── asked for again
//! ```
//!
//! Rules that are known are never given up for an answer that says nothing. They hold while the file is asked for again, through
//! redirects too, and up to 30 days where it is not to be had. The text of the rules is the journal's, and what is parsed is a cache.

use std::time::Duration;

use crate::frontier::robots::Robots;
use crate::frontier::{Timestamp, Validators};
use crate::gate::Position;

/// How long rules hold, once they are stale, where no newer ones are to be had (RFC 9309 section 2.3.1.4).
pub(crate) const RULES_HOLD: Duration = Duration::from_secs(30 * 24 * 3600);

/// What is known of a host's robots.txt.
#[derive(Debug)]
pub(crate) enum RobotsFile {
    /// Not yet fetched, or not to be had: everything waits for it.
    Unknown,
    /// It is elsewhere (RFC 9309 section 2.3.1.2).
    Moved(Box<RobotsRedirect>),
    /// Fetched, or known to be missing.
    Known {
        /// When it should be fetched again.
        stale_at: Timestamp,
        /// A page that was lent by it came back, or none was left. Before, it is good however old: hosts may be so many that none has its
        /// next turn within the time that a robots.txt is good for, and nothing but robots.txt would be fetched.
        is_used: bool,
        /// `None` allows everything.
        rules: Option<Box<Rules>>,
    },
}

/// The rules of a robots.txt, or where to find them.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The group's Crawl-delay.
    pub(crate) crawl_delay: Duration,
    /// Where the journal has them, if it does.
    pub(crate) kept_at: Option<Position>,
    /// How long they hold where no newer ones are to be had (RFC 9309 section 2.3.1.4).
    pub(crate) good_until: Timestamp,
    /// The headers by which they are asked for again on the condition that they have changed.
    pub(crate) validators: Option<Box<Validators>>,
    /// `None` where they are to be read from the journal first.
    pub(crate) parsed: Option<Box<Robots>>,
    /// A page was lent by them since the clock's hand last passed.
    pub(crate) has_lent: bool,
}

/// A robots.txt on its way through redirects.
#[derive(Debug)]
pub(crate) struct RobotsRedirect {
    /// Redirects so far.
    pub(crate) hops: u8,
    /// Where to ask next: the wire URL.
    pub(crate) url: Box<str>,
    /// What was known before, and holds until the way is gone to its end.
    pub(crate) before: Option<Box<RobotsFile>>,
}

impl RobotsFile {
    /// Whether it must be fetched before the next page.
    pub(crate) fn is_wanted(&self, now: Timestamp) -> bool {
        match self {
            Self::Unknown | Self::Moved(_) => true,
            Self::Known { stale_at, is_used, .. } => *is_used && *stale_at <= now,
        }
    }

    /// Whether it was asked for, and no page that was lent by it has come back.
    pub(crate) fn is_unused(&self) -> bool {
        matches!(self, Self::Moved(_) | Self::Known { is_used: false, .. })
    }

    /// Whether this path and query may be fetched. Rules that are not known or not read yet decide nothing here: a lease waits for
    /// them before it asks.
    pub(crate) fn allows(&self, path_and_query: &str) -> bool {
        let parsed = self.rules().and_then(|rules| rules.parsed.as_deref());
        parsed.is_none_or(|robots| robots.ruling(path_and_query).allowed)
    }

    /// Where its rules must be read from before they can decide.
    pub(crate) fn unread(&self) -> Option<Position> {
        self.rules().filter(|rules| rules.parsed.is_none()).and_then(|rules| rules.kept_at)
    }

    /// The rules hold on and count as new: the next page is lent by them, however old they are by then.
    pub(crate) fn renew(&mut self, stale: Timestamp, good: Timestamp) {
        if let Self::Known { stale_at, is_used, rules } = self {
            (*stale_at, *is_used) = (stale, false);
            if let Some(rules) = rules {
                rules.good_until = good;
            }
        }
    }

    /// It is fetched again by the first of these times, and its rules hold until the second, at the latest.
    pub(crate) fn hold_until(&mut self, stale: Timestamp, good: Timestamp) {
        match self {
            Self::Known { stale_at, rules, .. } => {
                *stale_at = stale.min(*stale_at);
                if let Some(rules) = rules {
                    rules.good_until = good.min(rules.good_until);
                }
            }
            Self::Moved(detour) => {
                if let Some(before) = &mut detour.before {
                    before.hold_until(stale, good);
                }
            }
            Self::Unknown => {}
        }
    }

    /// It has served its purpose: once stale, it is fetched again.
    pub(crate) fn mark_used(&mut self) {
        if let Self::Known { is_used, rules, .. } = self {
            *is_used = true;
            if let Some(rules) = rules {
                rules.has_lent = true;
            }
        }
    }

    /// Bytes of memory that dropping its rules would free: those that the journal has too.
    pub(crate) fn spare(&self) -> usize {
        let parsed = self.rules().filter(|rules| rules.kept_at.is_some()).and_then(|rules| rules.parsed.as_deref());
        parsed.map_or(0, Robots::memory)
    }

    /// Whether its rules may stay for another round of the clock: a page was lent by them in this one. Takes that note away.
    pub(crate) fn take_turn(&mut self) -> bool {
        self.rules_mut().is_some_and(|rules| rules.parsed.is_some() && std::mem::take(&mut rules.has_lent))
    }

    /// Forgets rules that the journal has, and says how many bytes that freed.
    pub(crate) fn drop_spare(&mut self) -> usize {
        let spare = self.spare();
        if let Some(rules) = self.rules_mut().filter(|_| spare > 0) {
            rules.parsed = None;
        }
        spare
    }

    /// Bytes of memory held beside the host's own.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Moved(detour) => {
                let before = detour.before.as_deref();
                size_of::<RobotsRedirect>()
                    + detour.url.len()
                    + before.map_or(0, |before| size_of::<Self>() + before.memory())
            }
            _ => self.rules().map_or(0, Rules::memory),
        }
    }

    /// The file as it is known, or as it was before it turned out to be elsewhere.
    pub(crate) fn known(&self) -> Option<&Self> {
        match self {
            Self::Known { .. } => Some(self),
            Self::Moved(detour) => detour.before.as_deref(),
            Self::Unknown => None,
        }
    }

    /// The rules in force, those from before a redirect among them.
    pub(crate) fn rules(&self) -> Option<&Rules> {
        match self {
            Self::Known { rules, .. } => rules.as_deref(),
            Self::Moved(detour) => detour.before.as_deref().and_then(Self::rules),
            Self::Unknown => None,
        }
    }

    /// [`known`](Self::known), by value.
    pub(crate) fn into_known(self) -> Option<Self> {
        match self {
            Self::Known { .. } => Some(self),
            Self::Moved(detour) => detour.before.map(|before| *before),
            Self::Unknown => None,
        }
    }

    /// The rules in force, to be dropped or parsed.
    fn rules_mut(&mut self) -> Option<&mut Rules> {
        match self {
            Self::Known { rules, .. } => rules.as_deref_mut(),
            Self::Moved(detour) => detour.before.as_deref_mut().and_then(Self::rules_mut),
            Self::Unknown => None,
        }
    }
}

impl Rules {
    /// Rules that are still to be parsed. The journal has them at `kept_at`, if it keeps any.
    pub(crate) fn unread(kept_at: Option<Position>, crawl_delay: Duration, good_until: Timestamp) -> Self {
        Self { crawl_delay, kept_at, good_until, validators: None, parsed: None, has_lent: false }
    }
}
