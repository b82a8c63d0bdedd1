//! Robots rules in memory, within a bound.
//!
//! With a million hosts, parsed rules would take more memory than everything else known of them. A host needs its rules only when one of
//! its pages is lent, and the journal has their text. So rules beyond a bound are dropped, and read again when they are needed. Rules that
//! the journal does not have stay.
//!
//! All changes to what is known of a robots.txt go through here, to keep the sums right.

use std::collections::VecDeque;

use super::{Host, HostId, Hosts, RULES_HOLD, RobotsFile, RobotsRedirect, Rules};
use crate::frontier::Validators;
use crate::frontier::durable::RobotsRecord;
use crate::frontier::robots::Robots;
use crate::gate::Position;

/// The hosts whose robots rules are both in memory and in the journal, so that they may be dropped.
///
/// A clock with a hand (Corbató 1968): rules by which a page was lent since the hand last passed stay for another round, others are
/// dropped. That is nearly LRU, at four bytes a host and no work when rules are used.
#[derive(Debug, Default)]
pub(crate) struct RulesCache {
    /// Each host once; hosts whose rules were removed otherwise are passed over.
    clock: VecDeque<HostId>,
    /// Bytes that would be free without these rules.
    spare: usize,
    /// Bytes of all rules, including those that may not be dropped.
    all: usize,
}

impl RulesCache {
    /// Replaces what is known of a host's robots.txt, and returns what was known before. Any other way to change it leaves the sums
    /// wrong.
    pub(crate) fn replace(&mut self, hosts: &mut Hosts, id: HostId, file: RobotsFile) -> RobotsFile {
        let robots = &mut hosts[id].robots;
        self.all -= robots.memory();
        self.spare -= robots.spare();
        let before = std::mem::replace(robots, file);
        self.all += robots.memory();
        self.note_spare(hosts, id);
        before
    }

    /// A record, at `at` in the journal, changes what is known of a robots.txt. The old rules are taken out first, so that their memory is
    /// counted once.
    ///
    /// New rules are not parsed here: while running, the machine has parsed them and passes them to [`fill`](Self::fill); on resume, they
    /// wait for the host's first lease.
    pub(crate) fn learn(&mut self, hosts: &mut Hosts, id: HostId, robots: RobotsRecord<'_>, at: Option<Position>) {
        let mut known = || self.replace(hosts, id, RobotsFile::Unknown).into_known();
        let file = match robots {
            RobotsRecord::Moved { hops, url } => {
                RobotsFile::Moved(Box::new(RobotsRedirect { hops, url: url.into(), before: known().map(Box::new) }))
            }
            RobotsRecord::Renewed { stale_at, good_until } => {
                let mut file = known().unwrap_or(RobotsFile::Unknown);
                file.renew(stale_at, good_until);
                file
            }
            RobotsRecord::Known { stale_at, crawl_delay, rules } => {
                let rules = rules.map(|_| Box::new(Rules::unread(at, crawl_delay, stale_at + RULES_HOLD)));
                RobotsFile::Known { stale_at, is_used: false, rules }
            }
            RobotsRecord::Unknown => RobotsFile::Unknown,
        };
        self.replace(hosts, id, file);
    }

    /// Stores the parsed rules of a host, and the validators for conditional requests. The state must know the rules already: these are the
    /// same, in a form that can decide.
    pub(crate) fn fill(&mut self, hosts: &mut Hosts, id: HostId, robots: Robots, validators: Option<Box<Validators>>) {
        let host = &mut hosts[id];
        let RobotsFile::Known { rules: Some(rules), .. } = &mut host.robots else { return };
        let before = rules.memory();
        let is_kept = rules.kept_at.is_some();
        self.spare -= rules.parsed.as_deref().filter(|_| is_kept).map_or(0, Robots::memory);
        rules.parsed = Some(Box::new(robots));
        rules.validators = validators.or(rules.validators.take());
        self.all = self.all - before + rules.memory();
        self.note_spare(hosts, id);
    }

    /// Counts the rules of a host that comes into memory.
    pub(crate) fn came(&mut self, host: &Host) {
        self.all += host.robots.memory();
    }

    /// Takes the rules of an evicted host from the sums. Its number stays on the clock, for the next host with that number.
    pub(crate) fn left(&mut self, host: &Host) {
        self.all -= host.robots.memory();
        self.spare -= host.robots.spare();
    }

    /// Drops rules until the rest is within the bound. O(1), amortized over the rules that were read.
    pub(crate) fn shrink(&mut self, hosts: &mut Hosts, bound: usize) {
        while self.spare > bound
            && let Some(id) = self.clock.pop_front()
        {
            let host = &mut hosts[id];
            if host.robots.take_turn() {
                self.clock.push_back(id);
                continue;
            }
            host.is_on_clock = false;
            let dropped = host.robots.drop_spare();
            self.spare -= dropped;
            self.all -= dropped;
        }
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        self.all + self.clock.capacity() * size_of::<HostId>()
    }

    /// Puts a host on the clock, if its rules may be dropped and it is not there yet.
    fn note_spare(&mut self, hosts: &mut Hosts, id: HostId) {
        let host = &mut hosts[id];
        let spare = host.robots.spare();
        self.spare += spare;
        if spare > 0 && !host.is_on_clock {
            host.is_on_clock = true;
            self.clock.push_back(id);
        }
    }
}

impl Rules {
    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        let validators = self.validators.as_deref().map_or(0, Validators::memory);
        size_of::<Self>() + validators + self.parsed.as_deref().map_or(0, Robots::memory)
    }
}
