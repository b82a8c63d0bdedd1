//! The default ports of one name are one server, and share a clock.
//!
//! A robots.txt belongs to an origin (RFC 9309 section 2.3), and so do queues and rules. But the default ports of a name, 80 of http and
//! 443 of https, are one server to its owner: they share a clock. Its rest is the slower of the two, and a request out to one counts for
//! the other. Other ports are hosts of their own. A host rule can join all ports of a name, or separate them
//! ([`one_server`](crate::frontier::HostRule::one_server)).
//!
//! They also share failures that are the server's: no answer in time, a status of too much load, a name that cannot be resolved. Such a
//! failure of one port counts as one more in a row for each port. A good answer resets the count of its own port alone: if https answers
//! and http never does, http is retired in the end, and each of its failures is the first in a row for https. A port that takes no
//! connection, or has a bad certificate, says nothing about the others. If one port asks for a rest, all of them take it.
//!
//! A server's rate group is made when its second host comes into memory: most hosts never have one. A host of a default port brings the
//! other back if that was evicted, so that the slower rest holds. Everything that must outlive the process is stored in the hosts.

use std::io;
use std::time::Duration;

use super::Frontier;
use crate::address::HostKey;
use crate::frontier::durable::Journal;
use crate::frontier::hosts::{Host, HostId, HostState, HostUpdate};
use crate::frontier::lease::Blame;
use crate::frontier::queues::RateGroupId;
use crate::frontier::{Failure, Lease, Outcome, Timestamp};

impl<J: Journal> Frontier<J> {
    /// The host of the other default port, brought back to memory if it was evicted; `None` if there is none, or if the two share nothing.
    pub(super) fn twin_of(&mut self, key: &HostKey, now: Timestamp) -> io::Result<Option<HostId>> {
        let Some(twin) = twin_origin(key) else { return Ok(None) };
        let number = self.politeness.number_for(key);
        if self.politeness.treatment(number).one_server == Some(false) {
            return Ok(None);
        }
        if let Some(id) = self.state.hosts().find(&twin) {
            return Ok(Some(id));
        }
        let Some(image) = self.journal.host(&twin)? else { return Ok(None) };
        let (mut host, usage) = self.state.of_image(image, &twin)?;
        self.state.evicted().set_clock(&mut host, &self.politeness, now);
        Ok(Some(self.state.bring_back(host, usage)))
    }

    /// A host has come into memory: it shares the clock of its server's other ports, if there are any.
    pub(super) fn join_server(&mut self, id: HostId, twin: Option<HostId>, now: Timestamp) {
        let treatment = *self.treatment(id);
        let is_joined = treatment.one_server == Some(true);
        if !is_joined && twin.is_none() {
            return;
        }
        let name = self.state.host(id).key.host();
        let known = self.rate_groups.server_named(name);
        let rate_group = known.unwrap_or_else(|| self.rate_groups.add_server(name, treatment.connections, now));
        for port in twin.into_iter().chain([id]) {
            self.add_port(rate_group, port, now);
        }
        if !is_joined {
            self.rate_groups.all_here(rate_group);
        }
        self.rate_groups.set_delay(rate_group, self.server_delay(rate_group), None);
    }

    /// Adds a host to its server. It may have been asked already, or be lent out.
    fn add_port(&mut self, rate_group: RateGroupId, id: HostId, now: Timestamp) {
        if self.rate_groups.server_of(id).is_some() {
            return;
        }
        let host = self.state.host(id);
        let is_asked = host.seat.state == HostState::LeasedRobots;
        let out = if host.is_retired() { 0 } else { host.seat.out + u8::from(is_asked) };
        let rested = self.rested(host).min(now + host.delay(&self.politeness));
        self.rate_groups.join_server(rate_group, id, out);
        self.rate_groups.rest_until(rate_group, rested);
    }

    /// When the rest after a host's last answer is over, as far as its clock tells. The longer rest of a failing host is its own, not the
    /// server's.
    fn rested(&self, host: &Host) -> Timestamp {
        let delay = host.delay(&self.politeness);
        match &host.ill {
            Some(ill) if host.failures > 0 && !ill.is_patient => {
                let backoff = self.politeness.backoff_of(host.failures.into());
                Timestamp::default() + host.due.since(Timestamp::default() + delay.max(backoff)) + delay
            }
            _ => host.due,
        }
    }

    /// The slowest rest of a server's ports.
    fn server_delay(&self, rate_group: RateGroupId) -> Duration {
        let delays = self.rate_groups.ports(rate_group).iter().map(|id| self.state.host(*id).delay(&self.politeness));
        delays.max().unwrap_or_default()
    }

    /// A lease is back, and has changed the status of its host. Changes the status of the server's other ports too, as far as the outcome
    /// concerns them. A port whose record the journal cannot take keeps its status until the next failure.
    pub(super) fn share_standing(
        &mut self,
        lease: &Lease,
        ServerNews { failures, fails, asks }: ServerNews,
        answered_at: Timestamp,
        now: Timestamp,
    ) {
        let Some(rate_group) = self.rate_groups.server_of(lease.host) else { return };
        self.rate_groups.set_delay(rate_group, self.server_delay(rate_group), Some(answered_at));
        let asked = HostUpdate::of(self.state.host(lease.host));
        let fails = fails && asked.failures > failures;
        if !fails && asks.is_none() {
            return;
        }
        // An evicted port comes back, because an evicted host cannot change.
        let key = self.state.host(lease.host).key.clone();
        if let Ok(Some(twin)) = self.twin_of(&key, now) {
            self.join_server(twin, Some(lease.host), now);
        }
        let ports = self.rate_groups.ports(rate_group).to_vec();
        let row =
            ports.iter().filter(|id| **id != lease.host).map(|id| self.state.host(*id).failures.saturating_add(1));
        let row = row.chain([asked.failures]).min().unwrap_or_default();
        let rest = asks
            .map_or_else(|| self.politeness.backoff_of(row.into()), |rest| rest.min(self.politeness.max_retry_after));
        let until = answered_at + rest;
        self.rate_groups.rest_until(rate_group, until);
        for id in ports.into_iter().filter(|id| *id != lease.host) {
            let mut conduct = HostUpdate::of(self.state.host(id));
            if conduct.is_retired() {
                continue;
            }
            if let Some(ill) = asked.ill.as_ref().filter(|_| fails) {
                conduct.fail_with(ill, &self.politeness);
            }
            conduct.due = conduct.due.max(until);
            if self.note_host(id, &conduct, false).is_err() {
                return;
            }
            if fails {
                self.lent.begin_wave(id);
            }
            if conduct.is_retired() && self.leaves_its_queue(id) {
                self.wake_groups(id, now);
                self.place(id, now);
            } else {
                self.count_prospect(id);
            }
        }
    }

    /// What a lease's outcome may mean for the other ports of its server. Taken before the outcome is judged.
    #[inline]
    pub(super) fn server_news(&self, lease: &Lease, outcome: &Outcome) -> Option<ServerNews> {
        let was_sent = lease.trouble.is_none() && !matches!(outcome, Outcome::Released | Outcome::GivenUp);
        self.rate_groups.server_of(lease.host).filter(|_| was_sent)?;
        let fails = match outcome {
            Outcome::Failed(trouble) => is_servers(trouble.failure),
            Outcome::Response { status, .. } | Outcome::Robots { status, .. } => Blame::of_status(*status).is_some(),
            _ => false,
        };
        Some(ServerNews { failures: self.state.host(lease.host).failures, fails, asks: outcome.asks_for() })
    }
}

/// What an outcome at one port means for the server's other ports.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServerNews {
    /// The port's failures in a row before the outcome.
    failures: u16,
    /// It failed, and the failure may be the server's.
    fails: bool,
    /// The rest that it asked for.
    asks: Option<Duration>,
}

/// Whether a failure is the server's, and not one port's.
const fn is_servers(failure: Failure) -> bool {
    matches!(failure, Failure::Dns | Failure::NoSuchHost | Failure::Timeout)
}

/// The same name at the default port of the other scheme; `None` at other ports.
fn twin_origin(key: &HostKey) -> Option<String> {
    let name = key.host();
    match key.as_str().strip_suffix(name)? {
        "http://" => Some(format!("https://{name}")),
        "https://" => Some(format!("http://{name}")),
        _ => None,
    }
}
