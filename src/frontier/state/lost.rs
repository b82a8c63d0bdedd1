//! Pages that were done but whose records are lost: they are queued again.
//!
//! A page is done once two things are on disk: the journal's record that says so, and the page's own record in each output. A crash may
//! keep the first and lose the second. So on resume, for each page that the journal calls done, the outputs are checked for the bytes of
//! its receipts. If they do not have them, the page was never done, and is queued again.
//!
//! A frontier that was opened after an earlier crash did the same, and queued its lost pages then. So the replay queues them at the same
//! place: at the record that the journal was opened again.

use std::collections::BTreeMap;

use super::State;
use crate::frontier::Timestamp;
use crate::frontier::hosts::{HostCost, HostId};
use crate::frontier::queues::Queued;
use crate::gate::Position;

/// Pages whose records the output may not have: a resume may have cut the output before a record's end.
#[derive(Debug, Default)]
pub(super) struct Lost {
    /// Pages whose records are lost. They are queued before all others, at the point of the replay at which the frontier queued them: when
    /// it was opened again, or at the end of this resume.
    pages: BTreeMap<Position, LostPage>,
    /// Pages that are done, unless the output later proves to have been cut before their records.
    done: Vec<Done>,
}

/// A page that is queued again if its record is lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct LostPage {
    /// Its host, which stays in memory: nothing is evicted during a resume.
    pub(super) host: HostId,
    /// Its position and priority in the queue.
    pub(super) queued: Queued,
    /// The tries that it had used before.
    pub(super) tries: u8,
    /// Where its record ends.
    pub(super) end: u64,
    /// What it used of its host's budget.
    pub(super) cost: HostCost,
}

impl LostPage {
    /// Queues it before all others of its priority.
    fn queue(self, state: &mut State) {
        state.queue_first(self.host, self.queued, self.tries);
    }
}

/// A page that is done.
#[derive(Debug)]
pub(super) struct Done {
    /// The page to queue if its record proves to be lost.
    pub(super) page: LostPage,
    /// The entry by which it is to be fetched again.
    pub(super) again: Option<Again>,
}

/// How a page that is done is to be fetched again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    /// The time that it waits for.
    pub(super) at: Timestamp,
    /// The entry by which it waits.
    pub(super) position: Position,
    /// Whether it was given up.
    pub(super) is_parked: bool,
}

impl Lost {
    /// Adds a page whose record is lost.
    pub(super) fn add(&mut self, page: LostPage) {
        self.pages.insert(page.queued.position, page);
    }

    /// Adds a page that is done and whose record is there.
    pub(super) fn add_done(&mut self, done: Done) {
        self.done.push(done);
    }

    /// If this page's record was lost, queues it: a later record is about it, so it was in its queue again.
    pub(super) fn queue(&mut self, page: Position, state: &mut State) {
        if let Some(page) = self.pages.remove(&page) {
            page.queue(state);
        }
    }

    /// The frontier was opened again here, and the output cut to `output` bytes: pages whose records ended after that were queued then. The
    /// bytes that are there now may be of other pages.
    pub(super) fn cut(&mut self, output: u64, state: &mut State) {
        while let Some(Done { page, again }) = self.done.pop_if(|done| done.page.end > output) {
            match again {
                // It was given up and asked for again since, which has queued it.
                Some(Again { at, position, is_parked: true }) if !state.schedule_mut().remove(at, position) => continue,
                Some(Again { at, position, is_parked: false }) if state.schedule_mut().remove(at, position) => {
                    state.gate().retract(1);
                }
                _ => {}
            }
            state.take_back(page.host, page.cost);
            self.add(page);
            state.count_mut().completed -= 1;
        }
        let count = state.count_mut();
        count.output = count.output.min(output);
        let pages = std::mem::take(&mut self.pages).into_iter();
        let (kept, queued) = pages.partition(|(_, page)| page.end <= output);
        self.pages = queued;
        self.queue_all(state);
        self.pages = kept;
    }

    /// Queues all pages whose records are lost, in their order, before all others.
    pub(super) fn queue_all(&mut self, state: &mut State) {
        std::mem::take(&mut self.pages).into_values().rev().for_each(|page| page.queue(state));
    }
}
