//! [`Frontier::host_was_asked`]: requests that other software sent to a host.
//!
//! A host rests after each request, also after those of other software, and so do its group, server and address. Such a request is no
//! lease: nothing of it comes back, and it counts neither for connections nor for the rate of the whole crawl.
//!
//! A host stays in the queue that its old clock has put it into. So its clock is read once more when it is taken from there: if it rests,
//! it goes to the agenda.

use super::{Frontier, FrontierError};
use crate::address::HostKey;
use crate::frontier::durable::Journal;
use crate::frontier::hosts::HostStatus;
use crate::frontier::{Href, Timestamp};

impl<J: Journal> Frontier<J> {
    /// Notes that other software sent a request to a host at this time: a browser for an image, a downloader for a robots.txt. The host
    /// rests as after a request of this frontier, and so do its group, its server and its IP address. `at` is in the past or now; a time
    /// before the host's last request changes nothing.
    ///
    /// Any URL of the host names it; with a [queue](Href::queue), the request counts for the queue and not for the host. The host need not
    /// be known yet: it then rests before its first lease. The rest is journaled. Requests of the host or its group that are out go on, and
    /// the rate of the whole crawl ([`request_rate`](super::FrontierOptions)) stays as it is.
    ///
    /// ```
    /// use std::time::Duration;
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Next, Timestamp};
    ///
    /// let (mut frontier, now) = (Frontier::new(&FrontierOptions::default())?, Timestamp::from_micros(0));
    /// frontier.seed("https://example.org/", now)?;
    /// // A browser fetches an image there.
    /// frontier.host_was_asked("https://example.org/logo.png", now)?;
    /// let Next::Wait(until) = frontier.next(now)? else { panic!("the host rests") };
    /// assert_eq!(until, now + Duration::from_secs(1));
    /// assert!(matches!(frontier.next(until)?, Next::Fetch(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Address`](FrontierError::Address) if it is no URL; [`Storage`](FrontierError::Storage): the host's own rest has not changed then.
    pub fn host_was_asked<'a>(&mut self, of: impl Into<Href<'a>>, at: Timestamp) -> Result<(), FrontierError> {
        let href = of.into();
        let url = self.gate().canonicalizer().canonicalize(href.text)?;
        let queue = href.queue_key();
        let id = self.row(queue.as_ref().map_or(url.origin(), HostKey::as_str), at)?;
        self.queues.was_asked(&self.state, id, at);
        let host = self.state.host(id);
        let rested = at + host.delay(&self.politeness);
        if host.status.due < rested {
            let update = HostStatus { due: rested, ..host.status.clone() };
            // It is not counted: were it a request of ours, a robots.txt that is out would be back.
            self.note_host(id, update, false)?;
        }
        Ok(())
    }
}
