//! Many at once: requests come in with [`Frontier::admit_batch`], and leases go out with [`Frontier::next_batch`].

use super::{Frontier, FrontierError};
use crate::frontier::durable::Journal;
use crate::frontier::{Lease, Next, Timestamp};
use crate::gate::{Admission, Found, Refusal};

impl<J: Journal> Frontier<J> {
    /// Shows requests from different places to the gate, and queues the admitted ones. Returns an answer to each request, in their order:
    /// `None` if it is queued, or the reason of its refusal. Of two requests with one identity, the second is refused as seen; but a seed
    /// goes first, and widens the scope for the others.
    ///
    /// Each lock of the seen set is taken once, and a job's journal gets the batch as one group of records, with the next write. After a
    /// crash the batch is there as a whole or not at all. A batch that takes more than 1 MiB in the journal, about 10,000 URLs, is several
    /// groups, each whole or not there; the same call then queues the others.
    ///
    /// ```
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Timestamp};
    /// use crawler_frontier::gate::{Found, Refusal, Via};
    ///
    /// let (mut frontier, now) = (Frontier::new(&FrontierOptions::default())?, Timestamp::from_micros(0));
    /// let canonicalizer = frontier.gate().canonicalizer();
    /// let link = |text, depth| canonicalizer.canonicalize(text).map(|url| Found { depth, via: Via::Link, ..Found::seed(url) });
    /// let batch = vec![
    ///     link("https://example.org/news", 3)?,
    ///     link("https://example.org/news#top", 1)?,
    ///     link("https://elsewhere.example/", 1)?,
    ///     Found::seed(canonicalizer.canonicalize("https://example.org/")?),
    /// ];
    /// let refused = frontier.admit_batch(batch, now)?;
    /// assert_eq!(refused, [None, Some(Refusal::Seen), Some(Refusal::OutOfScope), None]);
    /// assert_eq!(frontier.statistics().queued, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Metadata`](FrontierError::Metadata), if there is no room for all of it: nothing has changed then.
    /// [`Storage`](FrontierError::Storage): the requests that were not queued yet are lost, as with [`submit`](Self::submit).
    pub fn admit_batch(&mut self, found: Vec<Found>, now: Timestamp) -> Result<Vec<Option<Refusal>>, FrontierError> {
        let mut held = 0;
        for Found { metadata, .. } in &found {
            self.gate().fits_beside(metadata, held)?;
            held += metadata.len() as u64;
        }
        let admissions = self.gate().admit_batch(found);
        self.journal.begin_group();
        let refused = self.submit_all(admissions, now);
        self.journal.end_group();
        refused
    }

    fn submit_all(
        &mut self,
        admissions: Vec<Admission>,
        now: Timestamp,
    ) -> Result<Vec<Option<Refusal>>, FrontierError> {
        let queued = admissions.into_iter().map(|admission| match admission {
            Admission::Admitted(admitted) => self.submit(admitted, now).map(|()| None),
            Admission::Refused(refusal) => Ok(Some(refusal)),
        });
        let refused = queued.collect::<Result<_, _>>()?;
        self.move_up(now)?;
        Ok(refused)
    }

    /// Shows one request to the gate, and queues it if it is admitted.
    pub(super) fn admit(&mut self, found: Found, now: Timestamp) -> Result<Option<Refusal>, FrontierError> {
        match self.gate().admit(found) {
            Admission::Admitted(admitted) => self.submit(admitted, now).map(|()| None),
            Admission::Refused(refusal) => {
                self.move_up(now)?;
                Ok(Some(refusal))
            }
        }
    }

    /// Appends up to `most` leases, each as [`next`](Self::next) lends it: one a host, unless the host may have more. Returns why there are
    /// fewer; `None` if there are as many. A lease with a [trouble](crate::frontier::Lease::trouble) is to be given up.
    ///
    /// ```
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Next, Timestamp};
    ///
    /// let (mut frontier, now) = (Frontier::new(&FrontierOptions::default())?, Timestamp::from_micros(0));
    /// for seed in ["https://a.example/", "https://a.example/b", "https://c.example/"] {
    ///     frontier.seed(seed, now)?;
    /// }
    /// let mut leases = Vec::new();
    /// assert!(matches!(frontier.next_batch(10, &mut leases, now)?, Some(Next::Busy)));
    /// let asked: Vec<&str> = leases.iter().map(|lease| lease.url()).collect();
    /// assert_eq!(asked, ["https://a.example/robots.txt", "https://c.example/robots.txt"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`next`](Self::next); the leases before that were appended.
    pub fn next_batch(
        &mut self,
        most: usize,
        leases: &mut Vec<Lease>,
        now: Timestamp,
    ) -> Result<Option<Next>, FrontierError> {
        for _ in 0..most {
            match self.next(now)? {
                Next::Fetch(lease) | Next::GiveUp(lease) => leases.push(lease),
                none => return Ok(Some(none)),
            }
        }
        Ok(None)
    }
}
