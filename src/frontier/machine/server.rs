//! The ports of one name are one server to its owner.
//!
//! A robots.txt is an origin's (RFC 9309 section 2.3), and so are queues and rules. But the default ports of a name, 80 of http and 443 of
//! https, are one server: they share a clock. Its rest is the slower of both, and what is out of one counts for the other. Other ports are
//! hosts of their own. A rule of hosts joins all ports of a name, or parts them ([`one_server`](crate::frontier::HostRule::one_server)).
//!
//! They share failures, too, where these are the server's: no answer in time, a status of too much load, a name that cannot be resolved.
//! Such a failure of one port is one more in a row of each. A good answer makes up for those of its own port alone: where https answers
//! and http never does, http is given up in the end, and each of its failures is the first of a row for https. A port that takes no
//! connection, or has a bad certificate, says nothing of the others. Where a port asks for a rest, all of them take it.
//!
//! The rate group of a server is made when its second host comes to memory: most hosts never have one. A host of the default ports brings
//! the other one back from where it was evicted to, so that the slower rest holds. All that must outlive a process stands in the hosts.

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
    /// The host of the other default port, brought back to memory where it was evicted; `None` where there is none, or where it shares
    /// nothing.
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

    /// A host has come to memory: it shares the clock of its server's other ports, where there are any.
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

    /// A host is one of a server's. It may have been asked already, or be out.
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

    /// When the rest after a host's last answer is over, as far as its clock tells: one that fails rests longer by itself.
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

    /// A lease is back, and its host stands as that made it. The other ports of its server stand otherwise too, where it speaks of them. A
    /// port of which the journal cannot take the record stands as before, until the next failure.
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
        // One that was evicted comes back: nothing may happen to it while it is away.
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

    /// What the other ports of a host's server may have to hear of a lease's outcome, before that is judged.
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

/// What one port of a server has to tell the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServerNews {
    /// Its failures in a row before.
    failures: u16,
    /// It has failed, and that may be the server's.
    fails: bool,
    /// It has asked for a rest.
    asks: Option<Duration>,
}

/// Whether what is wrong is wrong with the server, and not with one of its ports.
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
