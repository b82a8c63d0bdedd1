//! A robots.txt that redirects to another host: the other host is asked for it like for anything else of its own.
//!
//! ```text
//!   A's turn ──▶ its robots.txt is at B ──▶ A waits ──▶ B's turn ──▶ B is asked, once for all that wait for this URL
//!                       │ the copy is known                                │
//!                       └──▶ A has its rules ◀── each of them takes the copy ┘
//! ```
//!
//! A redirect within a host's own origin, or from its http to its https, is followed by the host itself. Any other leads to a server that
//! has a clock, a group, an IP address and perhaps an entry in a blocklist of its own. So that host is lent out for it, by its own rest and
//! with nothing of it beside, and a page of A goes out only when the answer is there. What is found counts for A alone (RFC 9309 section
//! 2.3.1.2); where the URL is B's own robots.txt, B has it too.
//!
//! A host that a blocklist names is not asked. The file is then taken to be missing, like one that redirects lead too far from.
//!
//! Nothing of this is state. A's record says where its robots.txt is; after a restart A waits again when its turn comes. Copies are for
//! those that are led there later, and are bounded: one that was dropped costs a request.

use std::io;
use std::sync::Arc;

use super::Frontier;
use super::errands::{RobotsCopy, SharedRobots};
use super::learn_robots::RobotsNews;
use crate::address::CanonicalUrl;
use crate::frontier::durable::Journal;
use crate::frontier::hosts::{Host, HostId, HostState, HostUpdate, RobotsFile};
use crate::frontier::lease::{Setback, Texts};
use crate::frontier::{Lease, Timestamp};

impl<J: Journal> Frontier<J> {
    /// The host waits, if its robots.txt is on another one, or takes the copy that is known; says whether it did either. Else it is to be
    /// asked itself.
    ///
    /// # Errors
    /// If the journal cannot be read or written. The host is as it was.
    pub(super) fn goes_elsewhere(&mut self, id: HostId, priority: u8, now: Timestamp) -> io::Result<bool> {
        let host = self.state.host(id);
        let RobotsFile::Moved(detour) = &host.robots else { return Ok(false) };
        let Ok(url) = self.gate().canonicalizer().clone().with_max_bytes(usize::MAX).canonicalize(&detour.url) else {
            return Ok(false);
        };
        let is_parted = self.treatment(id).one_server == Some(false);
        if is_its_own(host, &url, is_parted) {
            return Ok(false);
        }
        if self.gate().blocklist().is_some_and(|list| list.blocks(&url)) {
            self.take_copy(id, SharedRobots::Missing, now, now)?;
            return Ok(true);
        }
        if let Some((answer, at)) = self.errands.copy(url.wire(), now) {
            self.take_copy(id, answer, at, now)?;
            return Ok(true);
        }
        let server = self.host_of(&url, now)?;
        if let Some((answer, at)) = self.own_copy(server, &url, now)? {
            self.take_copy(id, answer, at, now)?;
            return Ok(true);
        }
        self.errands.wait(server, url.wire(), id, priority);
        self.state.seats()[id].state = HostState::RobotsElsewhere;
        // Its turn depends on another domain's.
        self.domains.compete(id, false);
        if self.state.host(server).seat.state == HostState::Idle {
            self.place(server, now);
        }
        Ok(true)
    }

    /// What a host's own robots.txt says, where that is the URL and it is known: nobody needs to ask for it again.
    fn own_copy(
        &mut self,
        server: HostId,
        url: &CanonicalUrl,
        now: Timestamp,
    ) -> io::Result<Option<(SharedRobots, Timestamp)>> {
        let host = self.state.host(server);
        let RobotsFile::Known { stale_at, rules, .. } = &host.robots else { return Ok(None) };
        if *stale_at <= now || host.key.robots_url() != url.wire() {
            return Ok(None);
        }
        let at = before(*stale_at, self.politeness.robots_ttl);
        let Some(rules) = rules else { return Ok(Some((SharedRobots::Missing, at))) };
        let Some(position) = rules.kept_at else { return Ok(None) };
        Ok(self.journal.rules(position)?.map(|lines| (SharedRobots::Rules(lines.into()), at)))
    }

    /// A host has its robots.txt from another one, or knows that it cannot be had there. It was not asked for that.
    fn take_copy(&mut self, id: HostId, answer: SharedRobots, at: Timestamp, now: Timestamp) -> io::Result<()> {
        let host = self.state.host(id);
        let conduct = HostUpdate::of(host);
        let answer = match answer {
            SharedRobots::Failed(setback) => {
                return self.robots_failed(id, conduct, (*setback).clone(), false, now).map(drop);
            }
            SharedRobots::Rules(lines) => RobotsNews::Rules(lines.to_vec(), None),
            SharedRobots::Missing => RobotsNews::Missing,
            SharedRobots::Moved(to) => {
                self.detour(id, &to).map_or(RobotsNews::Missing, |(hops, url)| RobotsNews::Moved(hops, url))
            }
        };
        let stale_at = at + self.politeness.robots_ttl;
        self.learn(id, conduct, answer, (stale_at, false), now).map(drop)
    }

    /// A host's turn comes, and others wait for a robots.txt that it has.
    pub(super) fn lend_for_others(&mut self, id: HostId, priority: u8, now: Timestamp) -> Option<Lease> {
        let host = self.state.host(id);
        let (url, waits) = self.errands.first(id)?;
        if let Some(ill) = host.ill.as_deref().filter(|ill| ill.is_retired) {
            let url: Box<str> = url.into();
            let answer = SharedRobots::Failed(Arc::new(Setback::failed(ill.trouble.clone())));
            self.answer_others(id, &url, Some(answer), now + self.politeness.backoff, now);
            return None;
        }
        let attempt = u8::try_from(host.failures.saturating_add(1)).unwrap_or(u8::MAX);
        let texts = Texts::new(url, host.key.as_str());
        let for_other = Some(self.state.host(waits).key.as_str().into());
        let mut lease = Lease { texts, priority, attempt, for_other, ..self.blank_lease(id, now) };
        self.note_lent(&mut lease);
        Some(lease)
    }

    /// The hosts that wait for this URL go on: each takes the answer when its turn comes. Where there is none that serves others, the URL
    /// is asked for again.
    pub(super) fn answer_others(
        &mut self,
        server: HostId,
        url: &str,
        answer: Option<SharedRobots>,
        fresh_until: Timestamp,
        now: Timestamp,
    ) {
        let Some(answer) = answer else { return };
        let waiting = self.errands.take(server, url);
        self.errands.keep(url, RobotsCopy { answer, at: now, fresh_until });
        for id in waiting {
            // It is nowhere now.
            self.state.seats()[id].state = HostState::Leased;
            self.place(id, now);
        }
    }
}

/// Whether a host asks for its robots.txt there itself: at its own origin, and, where its port is the default one and has no clock of its
/// own, at the https of its http.
fn is_its_own(host: &Host, url: &CanonicalUrl, is_parted: bool) -> bool {
    let (own, there) = (host.key.as_str(), url.origin());
    let name = own.strip_prefix("http://").filter(|_| !is_parted && own.ends_with(host.key.host()));
    own == there || name.is_some_and(|name| there.strip_prefix("https://") == Some(name))
}

fn before(time: Timestamp, by: std::time::Duration) -> Timestamp {
    let micros = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
    Timestamp::from_micros(time.as_micros().saturating_sub(micros))
}
