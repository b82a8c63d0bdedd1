use std::io;
use std::sync::Arc;

use super::{
    Admitted, Arena, Completion, FrontierError, FrontierOptions, FrontierStatistics, Gate, HostStatistics, Journal,
    Lease, Outcome, Timestamp,
};

/// What to do now.
#[derive(Debug)]
#[must_use = "a lease in it holds its host back until it is completed"]
pub enum Next {
    /// Fetch this, then complete it.
    Fetch(Lease),
    /// No host is due before this time; a completion or submission may bring it forward.
    Wait(Timestamp),
    /// Nothing is queued; what is lent out may bring more.
    Busy,
    /// Nothing is queued and nothing is lent out: the crawl is over.
    Drained,
}

/// URLs known and not yet fetched, and the order they go in.
#[derive(Debug)]
pub struct Frontier<J: Journal = Arena> {
    gate: Arc<Gate>,
    journal: J,
}

impl Frontier {
    /// A frontier in memory.
    ///
    /// # Errors
    /// Where an option is out of its range or does not parse.
    pub fn new(options: &FrontierOptions) -> Result<Self, FrontierError> {
        let _ = options;
        todo!()
    }
}

impl<J: Journal> Frontier<J> {
    /// A frontier over a journal.
    ///
    /// # Errors
    /// Where an option is out of its range or does not parse.
    pub fn with_journal(options: &FrontierOptions, journal: J) -> Result<Self, FrontierError> {
        let _ = (options, journal);
        todo!()
    }

    /// The gate; clone the `Arc` to admit from other threads.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// Queues an admitted URL.
    ///
    /// # Errors
    /// Where the journal's storage fails.
    pub fn submit(&mut self, admitted: Admitted, now: Timestamp) -> io::Result<()> {
        let _ = (admitted, now, &self.journal);
        todo!()
    }

    /// What to do now. O(log hosts).
    ///
    /// # Errors
    /// Where the journal's storage fails.
    pub fn next(&mut self, now: Timestamp) -> io::Result<Next> {
        let _ = now;
        todo!()
    }

    /// Takes a lease back. O(log hosts).
    ///
    /// # Errors
    /// Where the journal's storage fails.
    pub fn complete(&mut self, lease: Lease, outcome: Outcome, now: Timestamp) -> io::Result<Completion> {
        let _ = (lease, outcome, now);
        todo!()
    }

    /// The frontier in numbers.
    pub fn statistics(&self) -> FrontierStatistics {
        todo!()
    }

    /// The hosts with the most requests, most first.
    pub fn top_hosts(&self, most: usize) -> Vec<HostStatistics> {
        let _ = most;
        todo!()
    }
}
