//! Fetching a URL again: at a given time, whether it was seen or not; and forgetting that it was seen.

use std::io;

use super::{Frontier, FrontierError};
use crate::address::Canonicalizer;
use crate::frontier::durable::{DueRecord, Entry, Journal, Record};
use crate::frontier::{Href, Lease, Timestamp};
use crate::gate::{Found, Position, Refusal};
use crate::seen::Removal;

/// The most URLs that one call moves to their hosts' queues as their time comes, so that a million due at once do not stop the crawl.
const RELEASES: u32 = 128;

impl<J: Journal> Frontier<J> {
    /// Queues a URL that is not to be fetched before a time, whether it was seen or not: the URL is added to the seen set, but not tested
    /// against it. If the gate refuses it for another reason, says why. It is found anew, like a seed: at depth 0, and it widens the scope.
    /// A page that keeps its depth is scheduled by [its lease](Self::schedule_again).
    ///
    /// It goes to the end of its host's queue within a second of its time, at the next call of [`next`](Self::next); robots.txt and
    /// politeness then apply as to any other. A URL that is scheduled twice is fetched twice.
    ///
    /// Works with every [layout](crate::seen::Layout) of the seen set. Besides the journal's entry it costs two to four bytes of memory a
    /// URL, or about a hundred if no other URL has the same second. If the journal is durable, so is this; the journal segment with its
    /// entry is kept until then.
    ///
    /// ```
    /// use std::time::Duration;
    /// use crawler::frontier::{Frontier, FrontierOptions, Next, Outcome, Timestamp};
    ///
    /// // Each page once a day. No page links to another here.
    /// let day = Duration::from_secs(24 * 3600);
    /// let begin = Timestamp::from_micros(0);
    /// let (mut frontier, mut now, mut visits) = (Frontier::new(&FrontierOptions::default())?, begin, Vec::new());
    /// frontier.seed("https://example.org/", now)?;
    /// while now < begin + 3 * day {
    ///     match frontier.next(now)? {
    ///         Next::Fetch(lease) => {
    ///             if lease.url() == "https://example.org/" {
    ///                 visits.push(now.since(begin).as_secs() / 3600);
    ///             }
    ///             frontier.schedule_again(&lease, now + day)?;
    ///             let outcome = Outcome::response(&lease, 200, b"");
    ///             frontier.complete(lease, outcome, now)?;
    ///         }
    ///         Next::Wait(until) => now = until,
    ///         Next::GiveUp(_) | Next::Busy | Next::Drained => unreachable!("it never ends"),
    ///     }
    /// }
    /// assert_eq!(visits, [0, 24, 48]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Address`](FrontierError::Address) or [`Storage`](FrontierError::Storage).
    pub fn schedule<'a>(&mut self, href: impl Into<Href<'a>>, at: Timestamp) -> Result<Option<Refusal>, FrontierError> {
        let href = href.into();
        let url = self.gate().canonicalizer().canonicalize(href.text)?;
        Ok(self.schedule_found(&Found::seed(url).said(&href), at)?)
    }

    /// Queues a page again whose last try failed, at the depth it was found at, whether it was seen or not.
    ///
    /// # Errors
    /// As [`schedule`](Self::schedule).
    #[cfg(feature = "crawl")]
    pub(crate) fn retry(
        &mut self,
        text: &str,
        via: crate::gate::Via,
        depth: u32,
        now: Timestamp,
    ) -> Result<Option<Refusal>, FrontierError> {
        let url = self.gate().canonicalizer().canonicalize(text)?;
        Ok(self.schedule_found(&Found { depth, via, ..Found::seed(url) }, now)?)
    }

    /// Schedules the page that `lease` is for, as it was found: it keeps its depth, so that recrawling brings no page nearer to a seed.
    ///
    /// Call it before the lease is completed. The page is then done and scheduled in one record, so whenever the process dies, it is queued
    /// exactly once. If the completion leads to another try, or to another spelling of the page, nothing is scheduled: call it again with
    /// the next lease. A robots.txt is never scheduled: it is fetched again by itself.
    ///
    /// # Errors
    /// [`ForeignLease`](FrontierError::ForeignLease) if another frontier lent it.
    pub fn schedule_again(&mut self, lease: &Lease, at: Timestamp) -> Result<Option<Refusal>, FrontierError> {
        self.check_is_out(lease)?;
        let Some(position) = lease.position() else { return Ok(None) };
        let found = |url| Found { depth: lease.depth(), via: lease.via(), ..Found::seed(url) };
        let url = self.gate().canonicalizer().canonicalize(lease.url());
        // The limits may be lower than when it was admitted.
        let verdict = url.map_err(|error| Refusal::from(&error)).and_then(|url| self.gate().check(&found(url)));
        if let Err(refusal) = verdict {
            self.gate().refuse(refusal);
            return Ok(Some(refusal));
        }
        self.again.insert(position, at);
        Ok(None)
    }

    /// Takes a URL from the seen set, so that it is new when it is next found. If it is queued, scheduled, given up or lent out, it stays
    /// so.
    ///
    /// Only the counting and the exact [layout](crate::seen::Layout::forgets) can forget. In the counting layout, forgetting a URL that was
    /// never found may make another one new, at the filter's false-positive rate. If the journal is durable, so is this. The call waits
    /// while a checkpoint writes the URL's shard. The URL must not be admitted and not yet submitted at that moment.
    ///
    /// ```
    /// use crawler::frontier::{Frontier, FrontierOptions, Timestamp};
    /// use crawler::gate::Refusal;
    /// use crawler::seen::{Layout, Removal};
    ///
    /// let mut options = FrontierOptions::default();
    /// options.seen.layout = Layout::Exact;
    /// let (mut frontier, now) = (Frontier::new(&options)?, Timestamp::from_micros(0));
    /// frontier.seed("https://example.org/", now)?;
    /// assert_eq!(frontier.seed("https://example.org/", now)?, Some(Refusal::Seen));
    /// assert_eq!(frontier.forget("https://example.org/")?, Removal::Removed);
    /// assert_eq!(frontier.seed("https://example.org/", now)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`](FrontierError::Unsupported) with the layout's name, if that cannot forget; [`Address`](FrontierError::Address);
    /// [`Storage`](FrontierError::Storage): nothing is forgotten then.
    pub fn forget(&mut self, text: &str) -> Result<Removal, FrontierError> {
        let url = self.gate().canonicalizer().canonicalize(text)?;
        let fingerprint = url.fingerprint(self.gate().fingerprint_key());
        if self.gate().seen().options().layout.forgets() {
            self.journal.append(&Record::Forgotten { fingerprint })?;
        }
        Ok(self.state.forget(fingerprint)?)
    }

    /// Checks a URL by the rules of the gate, but not the seen test, and schedules it. Applying the record adds it to the seen set.
    fn schedule_found(&mut self, found: &Found, at: Timestamp) -> io::Result<Option<Refusal>> {
        if let Err(refusal) = self.gate().check(found) {
            self.gate().refuse(refusal);
            return Ok(Some(refusal));
        }
        let entry = Entry { not_before: Some(at), ..Entry::of(found, found.front_queue()) };
        self.commit(&Record::Admitted(entry), None, Some(&found.url))?;
        Ok(None)
    }

    /// Moves URLs whose time has come to their hosts' queues, up to the bound.
    pub(crate) fn release(&mut self, now: Timestamp) -> io::Result<()> {
        if self.state.schedule().first_due(now).is_none() {
            return Ok(());
        }
        // The limits may be lower now; an admitted URL stays admitted.
        let canonicalizer = self.gate().canonicalizer().clone().with_max_bytes(usize::MAX);
        for _ in 0..RELEASES {
            let Some(position) = self.state.schedule().first_due(now) else { break };
            self.release_first(position, &canonicalizer, now)?;
        }
        Ok(())
    }

    /// Moves one URL from the schedule to its host's queue. The entry is read for the URL's text, since its host may be evicted, or new.
    fn release_first(&mut self, position: Position, canonicalizer: &Canonicalizer, now: Timestamp) -> io::Result<()> {
        let Entry { wire, priority, .. } = self.journal.read(position)?;
        let url = canonicalizer.canonicalize(wire);
        let url = url.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let host = self.host_of(&url, now)?;
        self.commit(&Record::Due(DueRecord { host: url.origin(), position, priority, from: None }), Some(host), None)?;
        self.arrived(host, priority, now);
        Ok(())
    }
}
