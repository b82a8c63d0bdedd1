//! Hosts are evicted from memory, and come back.
//!
//! A host with nothing queued or lent need not be in memory. The owner of a checkpoint keeps the images of such hosts from its chunks, and
//! evicts the hosts once the checkpoint is safe. A host that has changed since stays. An evicted host comes back with the next URL that is
//! queued for it: its image is then read from the journal.
//!
//! ```text
//!   checkpoint: slice ──▶ images of idle hosts ──▶ on disk, safe ──▶ evict: still the same? then it leaves
//!   later:      a URL of it ──▶ its image from the journal ──▶ back in memory, with its clock and rules
//! ```
//!
//! An evicted host cannot change. So its newest image is the host, and a crawl behaves the same whether hosts are evicted or not.

use std::io;

use super::Frontier;
use crate::address::CanonicalUrl;
use crate::frontier::Timestamp;
use crate::frontier::durable::{Journal, idle_hosts, image};
use crate::frontier::hosts::{Host, HostId};

impl<J: Journal> Frontier<J> {
    /// Evicts the hosts of these images that have not changed since, and says how many. From now on, the journal must keep each of these
    /// images as its host's newest.
    ///
    /// Costs about two microseconds a host.
    pub(crate) fn evict(&mut self, images: &[u8]) -> usize {
        let mut evicted = 0;
        let mut image = Vec::new();
        for idle in idle_hosts(images) {
            let hosts = self.state.hosts();
            let Some(id) = hosts.find(idle.key).filter(|&id| hosts[id].may_be_evicted()) else { continue };
            image.clear();
            image::save(&hosts[id], hosts.usage(id), self.state.back(), &mut image);
            if image == idle.image {
                if let Some(address) = self.state.host(id).seat.address {
                    self.rate_groups.part(address);
                }
                self.domains.part(id);
                let delay = self.state.host(id).delay(&self.politeness);
                self.rate_groups.leave_server(id, delay);
                self.state.evict(id, &self.politeness);
                evicted += 1;
            }
        }
        evicted
    }

    /// The host of a URL. An evicted host is brought back first; a new one is added. Only reading an image costs more than a lookup.
    pub(crate) fn host_of(&mut self, url: &CanonicalUrl, now: Timestamp) -> io::Result<HostId> {
        let origin = url.origin();
        if let Some(id) = self.state.look_up(origin) {
            return Ok(id);
        }
        let host = match self.journal.host(origin)? {
            Some(image) => Some(self.state.of_image(image, origin)?),
            None => None,
        };
        let key = url.host_key();
        let twin = self.twin_of(&key, now)?;
        let id = match host {
            Some((mut host, usage)) => {
                self.state.evicted().set_clock(&mut host, &self.politeness, now);
                self.state.bring_back(host, usage)
            }
            None => self.state.add_host(Host::new(key)),
        };
        self.join_server(id, twin, now);
        Ok(id)
    }

    /// Joins each host in memory to the clock of its server's other ports. Once, at the end of a resume.
    pub(super) fn join_servers(&mut self, now: Timestamp) -> io::Result<()> {
        for id in self.state.hosts().ids() {
            let host = self.state.host(id);
            if !host.is_hole() {
                let twin = self.twin_of(&host.key.clone(), now)?;
                self.join_server(id, twin, now);
            }
        }
        Ok(())
    }
}
