//! Rules that change while URLs wait: a later run has other settings, or a host is dropped.
//!
//! Each change begins a *round* of rules. A URL admitted in an earlier round is judged again when its turn comes. If it is refused then, it
//! is set aside with its reason, and counts as refused and not as admitted. It keeps its entry in the journal. The next round judges it
//! once more: it goes back to its queue, or is set aside for that round.
//!
//! Nothing is walked when the rules change. A URL that came since is not judged twice: its journal position tells.

use std::io;

use super::{Frontier, FrontierError};
#[cfg(feature = "cli")]
use crate::address::CanonicalUrl;
use crate::frontier::Timestamp;
use crate::frontier::durable::{Aside, AsideRecord, DueRecord, Entry, Journal, Record};
use crate::frontier::hosts::{HostId, HostState};
#[cfg(feature = "cli")]
use crate::gate::Position;
use crate::gate::{DropRule, Refusal};

/// The most URLs set aside in earlier rounds that one call judges again, so that a million of them do not stop the crawl.
const RETURNS: u32 = 128;
/// The most URLs that are set aside at once when a host is dropped. The others are set aside as their turn comes.
const DROPPED_AT_ONCE: usize = 1 << 16;
/// The most URLs that `judged_again` looks at.
#[cfg(feature = "cli")]
const LOOKED_AT: usize = 1 << 20;

/// What today's rules say of URLs that earlier rules judged.
#[cfg(feature = "cli")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JudgedAgain {
    /// URLs that wait and are now refused, by the reason.
    pub(crate) refused: std::collections::BTreeMap<Refusal, u64>,
    /// URLs that were refused and are now admitted again.
    pub(crate) readmitted: u64,
    /// There are more URLs than were looked at.
    pub(crate) is_cut: bool,
}

impl<J: Journal> Frontier<J> {
    /// Stops asking a host: its URLs are refused as [`Dropped`](Refusal::Dropped), both queued and newly found ones. `*.example.org` is
    /// `example.org` and all hosts below it. Requests under way are completed.
    ///
    /// A job stores this with its frontier. [`undo_drop`](Self::undo_drop) takes it back, and no URL is lost.
    ///
    /// ```
    /// use crawler::frontier::{Frontier, FrontierOptions, Next, Timestamp};
    /// use crawler::gate::{DropRule, Refusal};
    ///
    /// let (mut frontier, now) = (Frontier::new(&FrontierOptions::default())?, Timestamp::from_micros(0));
    /// frontier.seed("https://example.org/", now)?;
    /// frontier.drop_host("example.org", now)?;
    /// assert!(matches!(frontier.next(now)?, Next::Drained));
    /// assert_eq!(frontier.seed("https://example.org/a", now)?, Some(Refusal::Dropped));
    /// frontier.undo_drop(&DropRule::Host("example.org".to_owned()), now)?;
    /// assert!(matches!(frontier.next(now)?, Next::Fetch(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Rule`](FrontierError::Rule) if the name is not a host's; [`Storage`](FrontierError::Storage).
    pub fn drop_host(&mut self, host: &str, now: Timestamp) -> Result<(), FrontierError> {
        self.drop_by(DropRule::Host(host.to_owned()), now)
    }

    /// Drops by any rule, as [`drop_host`](Self::drop_host) does.
    ///
    /// # Errors
    /// [`Rule`](FrontierError::Rule) if the name is not a host's, or the pattern does not compile; [`Storage`](FrontierError::Storage).
    pub fn drop_by(&mut self, rule: DropRule, now: Timestamp) -> Result<(), FrontierError> {
        rule.check()?;
        let mut rules = self.gate().dropped();
        if rules.contains(&rule) {
            return Ok(());
        }
        rules.push(rule);
        self.change_dropped(&rules)?;
        Ok(self.set_aside_dropped(now)?)
    }

    /// Takes a drop back; says whether there was one. URLs that it refused while queued are queued again, unless another rule refuses them.
    /// URLs found meanwhile are new when they are next found.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage).
    pub fn undo_drop(&mut self, rule: &DropRule, now: Timestamp) -> Result<bool, FrontierError> {
        let mut rules = self.gate().dropped();
        let before = rules.len();
        rules.retain(|kept| kept != rule);
        if rules.len() == before {
            return Ok(false);
        }
        self.change_dropped(&rules)?;
        self.bring_back(now)?;
        Ok(true)
    }

    /// Gives the new list to the journal's owner first, then to the gate. This begins a round.
    fn change_dropped(&mut self, rules: &[DropRule]) -> Result<(), FrontierError> {
        self.journal.keep_dropped(rules)?;
        self.gate().set_dropped(rules)?;
        let digest = self.state.rules_digest();
        Ok(self.commit(&Record::Rules { digest }, None, None).map(drop)?)
    }

    /// Sets the URLs of dropped hosts aside at once: a failing host may rest for hours, and its URLs would delay the end of the crawl by
    /// that. O(hosts in memory).
    fn set_aside_dropped(&mut self, now: Timestamp) -> io::Result<()> {
        let mut left = DROPPED_AT_ONCE;
        let ids: Vec<HostId> = self.state.hosts().ids().collect();
        let mut emptied = Vec::new();
        for id in ids {
            let host = self.state.host(id);
            // For a host with one connection, which page is out is not recorded. It comes back soon, and the others are set aside then.
            let is_out = host.seat.out > 0 && !self.lends_concurrently(id);
            if host.queue.len() == 0 || is_out || !self.gate().drops_host(&host.key) {
                continue;
            }
            while left > 0
                && let Some(first) = self.first_free(self.state.host(id), id)
            {
                self.set_aside(id, first, Refusal::Dropped)?;
                left -= 1;
            }
            if self.first_free(self.state.host(id), id).is_none() {
                emptied.push(id);
            }
        }
        let resting = |id: &HostId| matches!(self.state.host(*id).seat.state, HostState::Asleep | HostState::Snoozed);
        let (resting, others): (Vec<_>, Vec<_>) = emptied.into_iter().partition(resting);
        self.agenda.remove(|id| resting.contains(&id));
        for id in resting {
            self.place(id, now);
        }
        for id in others {
            if self.leaves_its_queue(id) {
                self.wake_groups(id, now);
                self.place(id, now);
            }
        }
        Ok(())
    }

    /// Judges URLs again that earlier rounds set aside, up to the bound.
    #[inline]
    pub(crate) fn bring_back(&mut self, now: Timestamp) -> io::Result<()> {
        if self.has_to_bring_back() { self.judge_aside(now) } else { Ok(()) }
    }

    /// Whether any URL is still set aside by an earlier round.
    #[inline]
    pub(crate) fn has_to_bring_back(&self) -> bool {
        self.state.schedule().first_aside(self.state.rules().number).is_some()
    }

    fn judge_aside(&mut self, now: Timestamp) -> io::Result<()> {
        let round = self.state.rules().number;
        // The limits may be lower now, but only the gate is to refuse for that.
        let canonicalizer = self.gate().canonicalizer().clone().with_max_bytes(usize::MAX);
        for _ in 0..RETURNS {
            let Some((position, from)) = self.state.schedule().first_aside(round) else { break };
            let Entry { wire, priority, via, depth, redirects, .. } = self.journal.read(position)?;
            let ruled = self.state.gate().judge_again(wire, (via, depth, redirects));
            if let Err(refusal) = ruled
                && !from.refusal.is_of_host_budget()
            {
                let record =
                    AsideRecord { host: "", position, priority, to: Aside { round, refusal }, from: Some(from) };
                self.commit(&Record::Aside(record), None, None)?;
                continue;
            }
            let url = canonicalizer.canonicalize(wire);
            let url = url.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            let host = self.host_of(&url, now)?;
            let from = Some(from);
            if let Some(refusal) = ruled.err().or_else(|| self.spent(host)) {
                let record = AsideRecord { host: url.origin(), position, priority, to: Aside { round, refusal }, from };
                self.commit(&Record::Aside(record), Some(host), None)?;
                continue;
            }
            self.commit(&Record::Due(DueRecord { host: url.origin(), position, priority, from }), Some(host), None)?;
            self.arrived(host, priority, now);
        }
        Ok(())
    }

    /// What today's rules say of the URLs that earlier rules judged: those still queued, and those set aside. Changes nothing. Reads the
    /// entry of each of them, at most a million.
    ///
    /// # Errors
    /// If the journal's storage fails.
    #[cfg(feature = "cli")]
    pub(crate) fn judged_again(&mut self) -> io::Result<JudgedAgain> {
        let rules = self.state.rules();
        let state = &self.state;
        let queued = state.hosts().with_usage().flat_map(|(host, usage)| {
            let spent = state.spent_of(host.treatment, usage).map(|spent| spent.refusal);
            let positions = state.back().levels(&host.queue).flat_map(|level| state.back().positions(level));
            positions.map(move |position| (position, None, spent))
        });
        let queued = queued.filter(|(position, ..)| *position < rules.since);
        let aside = state.schedule().each_aside().map(|(position, refusal)| (position, Some(refusal), None));
        let all = queued.chain(aside);
        let mut all: Vec<(Position, Option<Refusal>, Option<Refusal>)> = all.take(LOOKED_AT + 1).collect();
        let mut judged = JudgedAgain { is_cut: all.len() > LOOKED_AT, ..JudgedAgain::default() };
        all.truncate(LOOKED_AT);
        // In the order of the disk.
        all.sort_unstable_by_key(|(position, ..)| *position);
        for (position, was, mut spent) in all {
            let Entry { wire, via, depth, redirects, .. } = self.journal.read(position)?;
            let verdict = self.state.gate().judge_again(wire, (via, depth, redirects));
            if self.politeness.has_budgets() && was.is_some() && verdict.is_ok() {
                let url = self.state.gate().canonicalizer().canonicalize(wire).ok();
                spent = url.map_or(Ok(None), |url| self.spent_of(&url))?;
            }
            match (verdict.err().or(spent), was) {
                (Some(refusal), None) => *judged.refused.entry(refusal).or_default() += 1,
                (None, Some(_)) => judged.readmitted += 1,
                _ => {}
            }
        }
        Ok(judged)
    }

    /// The refusal by the budget of a URL's host, if that is spent. An evicted host stays evicted.
    #[cfg(feature = "cli")]
    fn spent_of(&mut self, url: &CanonicalUrl) -> io::Result<Option<Refusal>> {
        if let Some(id) = self.state.look_up(url.origin()) {
            return Ok(self.spent(id));
        }
        let Some(image) = self.journal.host(url.origin())? else { return Ok(None) };
        let (host, usage) = self.state.of_image(image, url.origin())?;
        Ok(self.state.spent_of(host.treatment, usage).map(|spent| spent.refusal))
    }
}
