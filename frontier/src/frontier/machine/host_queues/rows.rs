//! Hosts come into memory, and leave it.
//!
//! A host with nothing queued or lent need not be in memory. The job takes the images of such hosts from the chunks of a checkpoint, and
//! evicts the hosts once the images are safe on disk. A host that has changed since stays. An evicted host comes back with the next URL
//! that is queued for it: its image is then read through the journal, and it joins the clock of its server's other port.
//!
//! ```text
//!   checkpoint: chunk ──▶ images of idle hosts ──▶ on disk, safe ──▶ evict: is it still the same? then it leaves
//!   later:      a URL of it ──▶ its image from the journal ──▶ back in memory, with its clock and rules
//! ```
//!
//! An evicted host cannot change. So its newest image is the host, and a crawl behaves the same whether hosts are evicted or not.

use std::io;

use super::HostQueues;
use crate::address::HostKey;
use crate::frontier::Timestamp;
use crate::frontier::durable::{Journal, idle_hosts, image};
use crate::frontier::hosts::{Host, HostId};
use crate::frontier::state::State;

impl HostQueues {
    /// Evicts the hosts of these images that have not changed since, and says how many it evicted.
    pub(crate) fn evict(&mut self, state: &mut State, images: &[u8]) -> usize {
        let mut evicted = 0;
        let mut image = Vec::new();
        for idle in idle_hosts(images) {
            let hosts = state.hosts();
            let Some(id) = hosts.find(idle.key).filter(|&id| hosts[id].may_be_evicted()) else { continue };
            image.clear();
            image::save(&hosts[id], hosts.usage(id), state.back(), &mut image);
            if image == idle.image {
                self.forget(state, id);
                state.evict(id, &self.politeness);
                evicted += 1;
            }
        }
        evicted
    }

    /// The row of the host table with this key: an origin's, or a queue's. If it was evicted, it is brought back; if it is new, it is added.
    /// Only reading an image costs more than a lookup.
    #[inline]
    pub(crate) fn row(
        &mut self,
        state: &mut State,
        journal: &mut impl Journal,
        key: &str,
        now: Timestamp,
    ) -> io::Result<HostId> {
        match state.look_up(key) {
            Some(id) => Ok(id),
            None => self.bring_in(state, journal, key, now),
        }
    }

    /// The row with this key, if anything is known of it.
    pub(crate) fn known_row(
        &mut self,
        state: &mut State,
        journal: &mut impl Journal,
        key: &str,
        now: Timestamp,
    ) -> io::Result<Option<HostId>> {
        match state.look_up(key) {
            Some(id) => Ok(Some(id)),
            None if journal.host(key)?.is_some() => self.bring_in(state, journal, key, now).map(Some),
            None => Ok(None),
        }
    }

    /// A row that is not in memory.
    fn bring_in(
        &mut self,
        state: &mut State,
        journal: &mut impl Journal,
        key: &str,
        now: Timestamp,
    ) -> io::Result<HostId> {
        let host = match journal.host(key)? {
            Some(image) => Some(state.of_image(image, key)?),
            None => None,
        };
        let key = HostKey::of_origin(key);
        let other = self.other_port_of(state, journal, &key, now)?;
        let id = match host {
            Some((mut host, usage)) => {
                state.evicted().set_clock(&mut host, &self.politeness, now);
                state.bring_back(host, usage)
            }
            None => state.add_host(Host::new(key)),
        };
        self.join_server(state, id, other, now);
        Ok(id)
    }

    /// Joins each host in memory to the clock of its server's other ports. Called once, at the end of a resume.
    pub(crate) fn join_servers(
        &mut self,
        state: &mut State,
        journal: &mut impl Journal,
        now: Timestamp,
    ) -> io::Result<()> {
        for id in state.hosts().ids() {
            let host = state.host(id);
            if !host.is_hole() {
                let other = self.other_port_of(state, journal, &host.key.clone(), now)?;
                self.join_server(state, id, other, now);
            }
        }
        Ok(())
    }

    /// The host of the other default port, brought back to memory if it was evicted; `None` if there is none, or if a rule separates the
    /// two.
    pub(crate) fn other_port_of(
        &self,
        state: &mut State,
        journal: &mut impl Journal,
        key: &HostKey,
        now: Timestamp,
    ) -> io::Result<Option<HostId>> {
        let Some(other) = at_other_port(key) else { return Ok(None) };
        let number = self.politeness.number_for(key);
        if self.politeness.policy(number).one_server == Some(false) {
            return Ok(None);
        }
        if let Some(id) = state.hosts().find(&other) {
            return Ok(Some(id));
        }
        let Some(image) = journal.host(&other)? else { return Ok(None) };
        let (mut host, usage) = state.of_image(image, &other)?;
        state.evicted().set_clock(&mut host, &self.politeness, now);
        Ok(Some(state.bring_back(host, usage)))
    }
}

/// The same name at the default port of the other scheme; `None` at other ports, and for a queue.
fn at_other_port(key: &HostKey) -> Option<String> {
    let name = key.host();
    match key.as_str().strip_suffix(name)? {
        "http://" => Some(format!("https://{name}")),
        "https://" => Some(format!("http://{name}")),
        _ => None,
    }
}
