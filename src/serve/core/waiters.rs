//! Calls that wait for a lease, first come, first served; and lending to them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::mpsc::Sender;

use tokio::sync::oneshot;

use super::command::{CallError, CrawlCommand, LeaseCall, LentBatch, Waiting};
use crate::frontier::{Frontier, Lease, Next, Outcome, Timestamp};
use crate::job::JobJournal;

/// An answer, to be sent once the journal is flushed.
#[derive(Debug)]
pub(super) struct Answered(LeaseCall, LentBatch);

impl Answered {
    pub(super) fn send(self, flushed: Result<(), &CallError>) {
        let Self(call, mut lent) = self;
        let answer = match flushed {
            Ok(()) => Ok(lent),
            Err(error) => {
                // The frontier that lent them is gone, and is opened again without these leases.
                lent.leases.clear();
                Err(error.clone())
            }
        };
        // If the client has gone, the leases are dropped, which gives them back.
        _ = call.to.send(answer);
    }

    /// How many leases go out.
    pub(super) fn leases(&self) -> usize {
        self.1.leases.len()
    }
}

/// The calls that wait for leases.
#[derive(Debug)]
pub(super) struct Waiters {
    /// First come, first served.
    calls: BTreeMap<u64, LeaseCall>,
    deadlines: BTreeSet<(Timestamp, u64)>,
    next: u64,
    /// When to try again; `None` if only a command can change anything.
    due: Option<Timestamp>,
    owner: Sender<CrawlCommand>,
}

/// Rounds of giving up URLs of unreachable hosts, before other work has its turn.
const TURNS: usize = 64;

impl Waiters {
    pub(super) fn new(owner: Sender<CrawlCommand>) -> Self {
        Self { calls: BTreeMap::new(), deadlines: BTreeSet::new(), next: 0, due: None, owner }
    }

    pub(super) fn push(&mut self, call: LeaseCall) {
        self.deadlines.insert((call.until, self.next));
        self.calls.insert(self.next, call);
        self.next += 1;
    }

    fn remove(&mut self, number: u64) -> Option<LeaseCall> {
        let call = self.calls.remove(&number)?;
        self.deadlines.remove(&(call.until, number));
        Some(call)
    }

    /// Removes all calls, so that each can be told why it gets no lease.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = oneshot::Sender<Result<LentBatch, CallError>>> {
        self.deadlines.clear();
        std::mem::take(&mut self.calls).into_values().map(|call| call.to)
    }

    /// When to call [`serve`](Self::serve) again, if nothing else happens first.
    pub(super) fn due(&self) -> Option<Timestamp> {
        let deadline = self.deadlines.first().map(|(until, _)| *until);
        if self.calls.is_empty() { None } else { self.due.into_iter().chain(deadline).min() }
    }

    /// Lends due URLs to waiting calls, and answers the calls whose time is over.
    ///
    /// # Errors
    /// If the storage fails.
    pub(super) fn serve(
        &mut self,
        frontier: &mut Frontier<JobJournal>,
        is_paused: bool,
        now: Timestamp,
        answered: &mut Vec<Answered>,
    ) -> io::Result<()> {
        let mut waiting = if is_paused { Waiting::Paused } else { Waiting::No };
        self.due = None;
        while waiting == Waiting::No
            && let Some((&number, call)) = self.calls.first_key_value()
        {
            if call.to.is_closed() {
                self.remove(number);
                continue;
            }
            let most = call.most;
            let (leases, then) = lend(frontier, most, now)?;
            waiting = then;
            if !leases.is_empty()
                && let Some(call) = self.remove(number)
            {
                answered.push(Answered(call, LentBatch { leases, waiting, owner: self.owner.clone() }));
            }
        }
        if let Waiting::Until(until) = waiting {
            self.due = Some(until);
        }
        while let Some(&(until, number)) = self.deadlines.first()
            && until <= now
            && let Some(call) = self.remove(number)
        {
            answered.push(Answered(call, LentBatch { leases: Vec::new(), waiting, owner: self.owner.clone() }));
        }
        Ok(())
    }
}

/// Up to `most` leases. Pages of unreachable hosts are given up here: a worker could do nothing about them.
fn lend(frontier: &mut Frontier<JobJournal>, most: usize, now: Timestamp) -> io::Result<(Vec<Lease>, Waiting)> {
    let mut leases = Vec::with_capacity(most.min(16));
    for _ in 0..TURNS {
        let begun = leases.len();
        let next = frontier.next_batch(most - begun, &mut leases, now)?;
        let given_up: Vec<_> = leases.extract_if(begun.., |lease| lease.trouble().is_some()).collect();
        let is_again = matches!(next, Some(Next::Wait(until)) if until <= now) || !given_up.is_empty();
        for lease in given_up {
            frontier.complete(lease, Outcome::GivenUp, now)?;
        }
        if leases.len() == most {
            return Ok((leases, Waiting::No));
        }
        if !is_again {
            return Ok((
                leases,
                match next {
                    Some(Next::Wait(until)) => Waiting::Until(until),
                    Some(Next::Drained) => Waiting::Drained,
                    _ => Waiting::Busy,
                },
            ));
        }
    }
    Ok((leases, Waiting::Until(now)))
}
