//! Hosts that are idle need no place in memory: they leave once a journal's owner has them safe, and come back with
//! their clock, their failures and their robots.txt.
//!
//! A host leaves as the bytes that a slice has it as, its *image*, and only while it is exactly that: idle, with
//! nothing queued or lent. Away, nothing happens to it. Whatever is to happen brings it back first, by
//! [`Journal::host`]. So the newest image of a host that is away is the host.

use std::io;

use super::most_first;
use super::{Host, HostSpread, HostStatistics, Politeness, in_numbers};
use crate::address::{CanonicalUrl, HostKey};
use crate::frontier::durable::idle_hosts;
use crate::frontier::durable::{BadSlice, Journal, image};
use crate::frontier::queues::Back;
use crate::frontier::state::Replay;
use crate::frontier::{Frontier, Timestamp};

/// The most of [`Frontier::top_hosts`] that are exact, whoever is away.
const TOP: usize = 100;

/// What is known without a look at the disk of the hosts that are away.
#[derive(Debug, Default)]
pub(crate) struct Away {
    /// How many they are.
    pub(crate) hosts: u64,
    /// Those with the most requests when they left, most first. Who is not among them had a hundred before it then. These have as
    /// many requests now, or more, and are still here, or in memory: so the first hundred of both together are the first
    /// of all.
    pub(crate) top: Vec<HostStatistics>,
    pub(crate) spread: HostSpread,
    /// The process before died, and nobody knows whom it asked last: until then, nobody is asked within their rest of this.
    pub(crate) since: Option<Timestamp>,
}

impl Away {
    fn left(&mut self, row: HostStatistics) {
        self.hosts += 1;
        self.spread.add(row.requests);
        let place = self.top.partition_point(|other| most_first(other, &row).is_lt());
        if place < TOP {
            self.top.truncate(TOP - 1);
            self.top.insert(place, row);
        }
    }

    fn came(&mut self, host: &Host) {
        self.hosts -= 1;
        self.spread.remove(host.requests.into());
        self.top.retain(|row| row.host != host.key);
    }

    /// Its clock, as the frontier that lives now has to keep to it.
    fn due(&self, host: &Host, politeness: &Politeness, now: Timestamp) -> Timestamp {
        let rested = self.since.map_or(host.due, |since| host.due.max(since + host.delay(politeness)));
        // No rest was longer, should the clock have been set back since.
        rested.min(now + politeness.longest_rest())
    }
}

impl<J: Journal> Frontier<J> {
    /// Lets those of these hosts leave memory that are still what their images say, and says how many that were. From here on, the
    /// journal must [have](Journal::host) each image, as its host's newest, and keep it.
    ///
    /// Costs about two microseconds a host.
    pub fn leave(&mut self, images: &[u8]) -> usize {
        let mut left = 0;
        let mut image = Vec::new();
        for idle in idle_hosts(images) {
            let Some(number) = self.hosts.find(idle.key).filter(|&number| self.hosts[number].may_leave()) else {
                continue;
            };
            image.clear();
            image::save(&self.hosts[number], &self.back, &mut image);
            if image == idle.image {
                self.dismiss(number);
                left += 1;
            }
        }
        left
    }

    fn dismiss(&mut self, number: u32) {
        let host = self.hosts.take(number);
        self.count.rules -= host.robots.memory();
        self.clock.forget(&host);
        self.away.left(in_numbers(&host, &self.politeness));
    }

    /// The number of a URL's host, which comes back where it is away, or is new.
    pub(crate) fn host_of(&mut self, url: &CanonicalUrl, now: Timestamp) -> io::Result<u32> {
        let origin = url.origin();
        if let Some(number) = self.hosts.number(origin) {
            return Ok(number);
        }
        let host = match self.journal.host(origin)? {
            None => Host::new(url.host_key()),
            Some(image) => {
                let mut host = read(image, origin)?;
                self.away.came(&host);
                host.due = self.away.due(&host, &self.politeness, now);
                self.count.rules += host.robots.memory();
                host
            }
        };
        Ok(self.hosts.put(host).expect("it was not there"))
    }
}

impl Replay {
    /// A host that may be away, with its newest image: those that no slice had are. To be told behind the slices, each once.
    ///
    /// # Errors
    /// Where it is no host, or one that is not idle.
    pub fn away(&mut self, image: &[u8]) -> Result<(), BadSlice> {
        let idle = idle_hosts(image).next().ok_or(BadSlice)?;
        if self.hosts.find(idle.key).is_none() {
            let host = read(image, idle.key).map_err(|_| BadSlice)?;
            self.count.retired_hosts += u64::from(host.is_retired());
            self.away.left(in_numbers(&host, &self.options.politeness));
        }
        Ok(())
    }

    /// The number of the host with this key, which comes back where it is away; `None` where it is new.
    pub(crate) fn recall(
        &mut self,
        key: &str,
        host: impl FnOnce(&str) -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<Option<u32>> {
        if let Some(number) = self.hosts.number(key) {
            return Ok(Some(number));
        }
        let Some(image) = host(key)? else { return Ok(None) };
        let host = read(&image, key)?;
        self.away.came(&host);
        self.count.rules += host.robots.memory();
        Ok(self.hosts.put(host))
    }

    /// As [`recall`](Self::recall), and adds the host where it is new.
    pub(crate) fn recall_or_add(
        &mut self,
        key: &str,
        host: impl FnOnce(&str) -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<u32> {
        let known = self.recall(key, host)?;
        Ok(known.unwrap_or_else(|| self.hosts.put(Host::new(HostKey::of_origin(key))).expect("it was not there")))
    }
}

/// The host that a journal has the image of.
pub(crate) fn read(mut image: &[u8], key: &str) -> io::Result<Host> {
    let host = image::load(&mut image, &mut Back::default());
    let is_sound = |host: &Host| host.key.as_str() == key && host.may_leave() && host.queue.len() == 0;
    host.filter(is_sound).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, BadSlice))
}
