//! What is known of a host's robots.txt, and the headers by which its server can tell whether it has changed.
//!
//! ```text
//!   Unknown ──▶ Moved ──▶ ... ──▶ Known: no rules, or rules
//!      ▲                            │ stale, and a page was lent by it
//!      └── not to be had ◀── asked for again
//! ```
//!
//! Known rules are never given up for an answer that says nothing about them. They hold while the file is asked for again, even through
//! redirects, and up to 30 days while it cannot be had. The journal has the text of the rules; the parsed rules are a cache.
//!
//! [`Validators`] are for robots.txt alone, which is asked for once a day. A 304 costs neither side a body, and the rules need not be
//! parsed again.

use std::time::Duration;

use crate::frontier::Timestamp;
use crate::frontier::robots::{Preferences, Purpose, Robots};
use crate::gate::{Position, Refusal};

/// How long stale rules hold while no newer ones can be had (RFC 9309 section 2.3.1.4).
pub(crate) const RULES_HOLD: Duration = Duration::from_secs(30 * 24 * 3600);

/// What is known of a host's robots.txt.
#[derive(Debug)]
pub(crate) enum RobotsFile {
    /// Not yet fetched, or it could not be had: all pages wait for it.
    Unknown,
    /// It redirects elsewhere (RFC 9309 section 2.3.1.2).
    Moved(Box<RobotsRedirect>),
    /// Fetched, or known to be missing.
    Known {
        /// When it should be fetched again.
        stale_at: Timestamp,
        /// Whether a page that was lent by it has come back, or no page was left to lend. Until then the file is good, however old it is:
        /// with very many hosts, the time to a host's next turn may exceed `robots_ttl`, and otherwise only robots.txt would ever be
        /// fetched.
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
    /// How long they hold while no newer ones can be had (RFC 9309 section 2.3.1.4).
    pub(crate) good_until: Timestamp,
    /// The validators for a conditional request.
    pub(crate) validators: Option<Box<Validators>>,
    /// `None` if they must first be read from the journal.
    pub(crate) parsed: Option<Box<Robots>>,
    /// Whether they were used since the hand of the [`RulesCache`](super::RulesCache)'s clock last passed.
    pub(crate) has_lent: bool,
}

/// A robots.txt whose redirects are being followed.
#[derive(Debug)]
pub(crate) struct RobotsRedirect {
    /// Redirects so far.
    pub(crate) hops: u8,
    /// Where to ask next: the wire URL.
    pub(crate) url: Box<str>,
    /// What was known before, which holds until the last redirect is answered.
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

    /// Whether it was asked for, and no page lent by it has come back yet.
    pub(crate) fn is_unused(&self) -> bool {
        matches!(self, Self::Moved(_) | Self::Known { is_used: false, .. })
    }

    /// Why this path and query may not be fetched, or not for this purpose. Rules that are unknown or not read yet allow everything here: a
    /// lease waits for the rules before it asks.
    pub(crate) fn refusal(&self, path_and_query: &str, purpose: Option<Purpose>) -> Option<Refusal> {
        let robots = self.parsed()?;
        if !robots.ruling(path_and_query).allowed {
            return Some(Refusal::Robots);
        }
        let denies = |purpose| robots.preferences(path_and_query).denies(purpose);
        purpose.is_some_and(denies).then_some(Refusal::Preference)
    }

    /// What its lines prefer this path and query to be used for.
    pub(crate) fn preferences(&self, path_and_query: &str) -> Preferences {
        self.parsed().map_or_else(Preferences::default, |robots| robots.preferences(path_and_query))
    }

    /// Its rules, if they are in memory.
    fn parsed(&self) -> Option<&Robots> {
        self.rules().and_then(|rules| rules.parsed.as_deref())
    }

    /// Where its rules must be read from before they can decide; `None` if they need not be.
    pub(crate) fn unread(&self) -> Option<Position> {
        self.rules().filter(|rules| rules.parsed.is_none()).and_then(|rules| rules.kept_at)
    }

    /// Renews the rules: the next page is lent by them, however old they are by then.
    pub(crate) fn renew(&mut self, stale: Timestamp, good: Timestamp) {
        if let Self::Known { stale_at, is_used, rules } = self {
            (*stale_at, *is_used) = (stale, false);
            if let Some(rules) = rules {
                rules.good_until = good;
            }
        }
    }

    /// Limits its times: it is stale at `stale` at the latest, and its rules hold until `good` at the latest.
    pub(crate) fn hold_until(&mut self, stale: Timestamp, good: Timestamp) {
        match self {
            Self::Known { stale_at, rules, .. } => {
                *stale_at = stale.min(*stale_at);
                if let Some(rules) = rules {
                    rules.good_until = good.min(rules.good_until);
                }
            }
            Self::Moved(redirect) => {
                if let Some(before) = &mut redirect.before {
                    before.hold_until(stale, good);
                }
            }
            Self::Unknown => {}
        }
    }

    /// A page that was lent by it has come back, or no page is left to lend: from now on it is fetched again once it is stale.
    pub(crate) fn mark_used(&mut self) {
        if let Self::Known { is_used, rules, .. } = self {
            *is_used = true;
            if let Some(rules) = rules {
                rules.has_lent = true;
            }
        }
    }

    /// Bytes of memory that dropping its rules would free; 0 if the journal does not have them.
    pub(crate) fn spare(&self) -> usize {
        let parsed = self.rules().filter(|rules| rules.kept_at.is_some()).and_then(|rules| rules.parsed.as_deref());
        parsed.map_or(0, Robots::memory)
    }

    /// Whether its rules stay for another round of the clock, because they were used in this one. Clears that flag.
    pub(crate) fn take_turn(&mut self) -> bool {
        self.rules_mut().is_some_and(|rules| rules.parsed.is_some() && std::mem::take(&mut rules.has_lent))
    }

    /// Drops parsed rules that the journal has; returns the bytes freed.
    pub(crate) fn drop_spare(&mut self) -> usize {
        let spare = self.spare();
        if let Some(rules) = self.rules_mut().filter(|_| spare > 0) {
            rules.parsed = None;
        }
        spare
    }

    /// Bytes of memory held outside the host itself.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Moved(redirect) => {
                let before = redirect.before.as_deref();
                size_of::<RobotsRedirect>()
                    + redirect.url.len()
                    + before.map_or(0, |before| size_of::<Self>() + before.memory())
            }
            _ => self.rules().map_or(0, Rules::memory),
        }
    }

    /// The file as it is known, or as it was known before a redirect.
    pub(crate) fn known(&self) -> Option<&Self> {
        match self {
            Self::Known { .. } => Some(self),
            Self::Moved(redirect) => redirect.before.as_deref(),
            Self::Unknown => None,
        }
    }

    /// The rules in force, including those from before a redirect.
    pub(crate) fn rules(&self) -> Option<&Rules> {
        match self {
            Self::Known { rules, .. } => rules.as_deref(),
            Self::Moved(redirect) => redirect.before.as_deref().and_then(Self::rules),
            Self::Unknown => None,
        }
    }

    /// [`known`](Self::known), by value.
    pub(crate) fn into_known(self) -> Option<Self> {
        match self {
            Self::Known { .. } => Some(self),
            Self::Moved(redirect) => redirect.before.map(|before| *before),
            Self::Unknown => None,
        }
    }

    /// The rules in force, to be dropped or parsed.
    fn rules_mut(&mut self) -> Option<&mut Rules> {
        match self {
            Self::Known { rules, .. } => rules.as_deref_mut(),
            Self::Moved(redirect) => redirect.before.as_deref_mut().and_then(Self::rules_mut),
            Self::Unknown => None,
        }
    }
}

impl Rules {
    /// Rules that are still to be parsed. The journal has them at `kept_at`, if it keeps rules.
    pub(crate) fn unread(kept_at: Option<Position>, crawl_delay: Duration, good_until: Timestamp) -> Self {
        Self { crawl_delay, kept_at, good_until, validators: None, parsed: None, has_lent: false }
    }
}

/// The validators of a response (RFC 9110 section 8.8), for a conditional request. They are kept in memory, with parsed rules, and are lost
/// with the process: the file is then fetched as if for the first time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    /// The `ETag` header, for `If-None-Match`.
    pub etag: Option<Box<str>>,
    /// The `Last-Modified` header, for `If-Modified-Since`.
    pub last_modified: Option<Box<str>>,
}

impl Validators {
    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        let texts = [&self.etag, &self.last_modified].into_iter().flatten();
        size_of::<Self>() + texts.map(|text| text.len()).sum::<usize>()
    }
}
