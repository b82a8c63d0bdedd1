//! What becomes of URLs while they wait. Rules that change and the budgets of hosts set them aside, and a later round judges them again.
//! With a host that fails they are given up.
//!
//! # Rounds of rules
//!
//! Rules change while URLs wait: a later run has other settings, or a host is dropped. Each change begins a *round* of rules. A URL that
//! was admitted in an earlier round is judged again when its turn comes. If it is refused then, it is set aside with the reason, and counts
//! as refused and not as admitted. It keeps its entry in the journal. The next round judges it once more: it goes back to its queue, or is
//! set aside in that round.
//!
//! When the rules change, no queue is walked. A URL that was admitted after the change is not judged twice: its journal position tells.
//!
//! # Budgets
//!
//! Hosts, and groups of hosts, may have a budget: the most pages and bytes in all. Usage is state, so it outlives the process. A host has
//! at most as many pages out as its budget leaves, and a group at most as many requests. The bytes of a response are not known before it
//! ends: when the bytes are spent, outstanding requests are still completed.
//!
//! A host whose budget is spent is not asked for its own URLs, so it neither rests nor waits in a queue. Its URLs are set aside as its turn
//! comes, like URLs that rules refuse: each has a record and a reason, and the next round of rules judges it again. A change of the budgets
//! begins a round. The host is still asked for the robots.txt of others, by its clock.
//!
//! # Failing hosts
//!
//! A failing host rests longer each time, while others are asked. It is *retired* once it has failed too often in a row, or once only
//! failing hosts are left and the crawl's patience with them is over. Each of its URLs then comes up as
//! [`Next::GiveUp`](crate::frontier::Next::GiveUp). The URL gets a record of its own, and is *parked* until [`Frontier::ask_again`] queues
//! it again.
//!
//! ```text
//!   well ── a failure that counts ──▶ fails ── host_failures in a row, or patience is over ──▶ retired
//!    ▲                                  │                                                        │
//!    └─────────── a good answer ────────┘◀──────────── ask_again: as if healthy ─────────────────┘
//! ```
//!
//! Patience is for the end of a crawl. While any host is well, failing hosts delay nothing but their own URLs.

use std::io;

use super::rulings::judge_again;
use super::{Frontier, FrontierError};
use crate::address::HostKey;
use crate::frontier::Timestamp;
use crate::frontier::durable::{Aside, AsideRecord, Entry, Journal, Record};
use crate::frontier::hosts::{HostId, HostState, Outlook, Patience};
use crate::gate::{DropRule, Position, Refusal};

/// The most URLs set aside in earlier rounds that one call judges again, so that a million of them do not stop the crawl.
const RETURNS: u32 = 128;
/// The most URLs that are set aside at once when a host is dropped. The others are set aside as their turn comes.
const DROPPED_AT_ONCE: usize = 1 << 16;
/// The most URLs that [`judged_again`](Frontier::judged_again) looks at.
const LOOKED_AT: usize = 1 << 20;

/// What today's rules say of URLs that earlier rules judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JudgedAgain {
    /// URLs that wait and are now refused, by the reason.
    pub refused: std::collections::BTreeMap<Refusal, u64>,
    /// URLs that were refused and are now admitted again.
    pub readmitted: u64,
    /// There are more URLs than were looked at.
    pub is_cut: bool,
}

impl<J: Journal> Frontier<J> {
    /// Stops asking a host: its URLs are refused as [`Dropped`](Refusal::Dropped), both queued and newly found ones. `*.example.org` is
    /// `example.org` and all hosts below it. Requests under way are completed.
    ///
    /// A job stores this with its frontier. [`undo_drop`](Self::undo_drop) takes it back, and no URL is lost.
    ///
    /// ```
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Next, Timestamp};
    /// use crawler_frontier::gate::{DropRule, Refusal};
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

    /// As [`drop_host`](Self::drop_host), for the [queue](crate::frontier::Href::queue) of this name.
    ///
    /// # Errors
    /// [`Rule`](FrontierError::Rule) if it cannot be a queue's name; [`Storage`](FrontierError::Storage).
    pub fn drop_queue(&mut self, name: &str, now: Timestamp) -> Result<(), FrontierError> {
        self.drop_by(DropRule::Queue(name.to_owned()), now)
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

    /// Takes a drop back; says whether there was one. Queued URLs that it set aside are queued again, unless another rule refuses them.
    /// URLs that were found meanwhile are new when they are next found.
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

    /// Stores the new list with the journal first, then gives it to the gate, and begins a round.
    fn change_dropped(&mut self, rules: &[DropRule]) -> Result<(), FrontierError> {
        self.journal.keep_dropped(rules)?;
        self.gate().set_dropped(rules)?;
        let digest = self.state.rules_digest();
        Ok(self.commit(&Record::Rules { digest }, None).map(drop)?)
    }

    /// Sets the URLs of dropped hosts aside at once: a failing host may rest for hours, and its URLs would delay the end of the crawl by
    /// that. O(hosts in memory).
    fn set_aside_dropped(&mut self, now: Timestamp) -> io::Result<()> {
        let mut left = DROPPED_AT_ONCE;
        let ids: Vec<HostId> = self.state.hosts().ids().collect();
        let mut emptied = Vec::new();
        for id in ids {
            let host = self.state.host(id);
            // For a host with one connection it is not known which of its pages is out. That page comes back soon, and the others are set
            // aside then.
            let is_out = host.scheduling.out > 0 && !self.queues.lends_concurrently(&self.state, id);
            if host.queue.len() == 0 || is_out || !self.gate().drops_host(&host.key) {
                continue;
            }
            while left > 0
                && let Some(first) = self.queues.first_free(&self.state, id)
            {
                self.set_aside(id, first, Refusal::Dropped)?;
                left -= 1;
            }
            if self.queues.first_free(&self.state, id).is_none() {
                emptied.push(id);
            }
        }
        let resting =
            |id: &HostId| matches!(self.state.host(*id).scheduling.state, HostState::Asleep | HostState::Snoozed);
        let (resting, others): (Vec<_>, Vec<_>) = emptied.into_iter().partition(resting);
        self.queues.end_rests(&mut self.state, &resting, now);
        for id in others {
            self.queues.end_wait(&mut self.state, id, now);
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
    pub fn has_to_bring_back(&self) -> bool {
        self.state.schedule().first_aside(self.state.rules().number).is_some()
    }

    fn judge_aside(&mut self, now: Timestamp) -> io::Result<()> {
        let round = self.state.rules().number;
        // The limits may be lower now, but only the gate is to refuse for that.
        let canonicalizer = self.gate().canonicalizer().clone().with_max_bytes(usize::MAX);
        for _ in 0..RETURNS {
            let Some((position, from)) = self.state.schedule().first_aside(round) else { break };
            let entry = self.journal.read(position)?;
            let Entry { priority, score, .. } = entry;
            let ruled = judge_again(self.state.gate(), &entry);
            if let Err(refusal) = ruled
                && !from.refusal.is_of_host_budget()
            {
                let record =
                    AsideRecord { host: "", position, priority, to: Aside { round, refusal }, from: Some(from) };
                self.commit(&Record::Aside(record), None)?;
                continue;
            }
            let key = entry.queue_key(&canonicalizer)?;
            let (id, host, from) = (self.row(key.as_str(), now)?, key.as_str(), Some(from));
            if let Some(refusal) = ruled.err().or_else(|| self.state.budget_refusal(id)) {
                let record = AsideRecord { host, position, priority, to: Aside { round, refusal }, from };
                self.commit(&Record::Aside(record), Some(id))?;
                continue;
            }
            self.queue_due((id, host), (position, score), from, now)?;
        }
        Ok(())
    }

    /// What today's rules say of the URLs that earlier rules judged: those still queued, and those set aside. Changes nothing. Reads the
    /// entry of each of these URLs, of at most a million.
    ///
    /// # Errors
    /// If the journal's storage fails.
    pub fn judged_again(&mut self) -> io::Result<JudgedAgain> {
        let rules = self.state.rules();
        let state = &self.state;
        let queued = state.hosts().with_usage().flat_map(|(host, usage)| {
            let spent = state.spent_of(host.policy, usage).map(|spent| spent.refusal);
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
            let entry = self.journal.read(position)?;
            let verdict = judge_again(self.state.gate(), &entry);
            if self.politeness.has_budgets() && was.is_some() && verdict.is_ok() {
                let key = entry.queue_key(self.state.gate().canonicalizer()).ok();
                spent = key.map_or(Ok(None), |key| self.spent_of(&key))?;
            }
            match (verdict.err().or(spent), was) {
                (Some(refusal), None) => *judged.refused.entry(refusal).or_default() += 1,
                (None, Some(_)) => judged.readmitted += 1,
                _ => {}
            }
        }
        Ok(judged)
    }

    /// The refusal by the budget of a host, if that is spent. An evicted host stays evicted.
    fn spent_of(&mut self, key: &HostKey) -> io::Result<Option<Refusal>> {
        if let Some(id) = self.state.look_up(key.as_str()) {
            return Ok(self.state.budget_refusal(id));
        }
        let Some(image) = self.journal.host(key.as_str())? else { return Ok(None) };
        let (host, usage) = self.state.of_image(image, key.as_str())?;
        Ok(self.state.spent_of(host.policy, usage).map(|spent| spent.refusal))
    }

    /// Queues all URLs that were given up, as if nothing had ever been wrong with their hosts, and says how many there were.
    ///
    /// A resumed crawl begins with it: the cause of a host's failures may be gone.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage); URLs not queued yet wait for the next call.
    pub fn ask_again(&mut self, now: Timestamp) -> Result<u64, FrontierError> {
        for host in self.state.hosts().ids() {
            self.forgive(host, now)?;
        }
        // The limits may be lower now; an admitted URL stays admitted.
        let canonicalizer = self.gate().canonicalizer().clone().with_max_bytes(usize::MAX);
        let mut asked = 0;
        while let Some(position) = self.state.schedule().first_parked() {
            let entry = self.journal.read(position)?;
            let (score, key) = (entry.score, entry.queue_key(&canonicalizer)?);
            let host = self.row(key.as_str(), now)?;
            self.forgive(host, now)?;
            self.queue_due((host, key.as_str()), (position, score), None, now)?;
            asked += 1;
        }
        Ok(asked)
    }

    /// A retired host is to be asked again, as if it had never failed. It rests no longer than after a response, unless it said itself when
    /// it may be asked. Any other host is left as it is, even if it fails.
    fn forgive(&mut self, id: HostId, now: Timestamp) -> io::Result<()> {
        let host = self.state.host(id);
        if !host.status.is_retired() {
            return Ok(());
        }
        let mut update = host.status.clone();
        if update.failure_state.as_ref().is_some_and(|failure_state| !failure_state.is_patient) {
            // It rested because it failed, and may have recovered since.
            let rested = now + host.delay(&self.politeness);
            update.due = update.due.min(rested);
            self.queues.cut_rest(id, rested);
        }
        update.recover();
        self.note_host(id, update, false)?;
        // Its URLs were given up without a rest; now it must rest.
        self.queues.end_wait(&mut self.state, id, now);
        Ok(())
    }

    /// Whether the crawl only waits for failing hosts, and until when it will. Once its patience is over and nothing is out, all of them are
    /// retired.
    pub(crate) fn check_patience(&mut self, now: Timestamp) -> io::Result<Patience> {
        let patience = self.queues.patience(&self.state, now);
        if patience != Patience::Over || self.queues.leased() > 0 {
            return Ok(patience);
        }
        self.retire_all(now)?;
        Ok(Patience::Unasked)
    }

    /// Retires all hosts with URLs queued: each of them fails, and nothing is out. Their URLs are given up one by one, as their turn comes,
    /// so that each gets a record. If the journal cannot take a record, only the hosts recorded so far are retired, and the crawl waits for
    /// the others again.
    fn retire_all(&mut self, now: Timestamp) -> io::Result<()> {
        let mut noted = Ok(());
        for id in self.state.hosts().ids() {
            let host = self.state.host(id);
            if host.outlook() != Outlook::Good {
                let mut update = host.status.clone();
                update.retire();
                noted = noted.and_then(|()| self.note_host(id, update, false));
                self.queues.count_outlook(&mut self.state, id);
            }
        }
        self.queues.end_all_rests(&mut self.state, now);
        noted
    }
}
