//! A robots.txt that redirects to another host: that host is asked for it by its own clock, as for its own URLs.
//!
//! ```text
//!   A's turn ──▶ its robots.txt is at B ──▶ A waits ──▶ B's turn ──▶ B is asked, once for all that wait for this URL
//!                       │ the copy is known                                │
//!                       └──▶ A has its rules ◀── each of them takes the copy ┘
//! ```
//!
//! A redirect within a host's own origin, or from its http to its https, is followed in the host's own turn. Any other leads to a server
//! with its own clock, group and IP address, and perhaps its own blocklist entry. So that host, B, is lent out for it, by its own rest and
//! with nothing else of it out, and a page of A goes out only once the answer is there. The rules found count for A alone (RFC 9309 section
//! 2.3.1.2); if the URL is B's own robots.txt, they count for B too.
//!
//! A host on a blocklist is not asked. The file then counts as missing, like one after too many redirects.
//!
//! None of this is state. A's record says where its robots.txt is; after a restart A waits again when its turn comes. Copies are for hosts
//! redirected there later, and are bounded: a dropped copy costs a request.

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
    /// If the host's robots.txt is on another host, takes the known copy, or waits for the other host. Returns whether it did either; if
    /// not, the host itself is to be asked.
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

    /// The answer that is known if the URL is the server's own robots.txt, so that it need not be fetched again.
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

    /// A host takes another host's answer as its robots.txt, or as the failure to get it. The host itself was not asked.
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

    /// A host's turn has come, and others wait for a robots.txt from it.
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

    /// The hosts that wait for this URL go on: each takes the answer when its turn comes. If the answer is of no use to others, the URL is
    /// asked for again.
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
            // It is in no list now.
            self.state.seats()[id].state = HostState::Leased;
            self.place(id, now);
        }
    }
}

/// Whether a host itself asks for its robots.txt at this URL: at its own origin, and also at https for a host of http, if both use the
/// default port and share a clock.
fn is_its_own(host: &Host, url: &CanonicalUrl, is_parted: bool) -> bool {
    let (own, there) = (host.key.as_str(), url.origin());
    let name = own.strip_prefix("http://").filter(|_| !is_parted && own.ends_with(host.key.host()));
    own == there || name.is_some_and(|name| there.strip_prefix("https://") == Some(name))
}

fn before(time: Timestamp, by: std::time::Duration) -> Timestamp {
    let micros = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
    Timestamp::from_micros(time.as_micros().saturating_sub(micros))
}
