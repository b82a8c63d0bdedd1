//! Pages that were done, and whose records are lost: they are queued again.
//!
//! A page is done once two things are on disk: the journal's record that says so, and the page's own record in each output. A crash
//! may keep the first and lose the second. So at a resume the outputs are asked, for each page that the journal calls done, whether they
//! have what its receipts say. Where they have not, the page was never done, and waits again.
//!
//! The frontier that was opened after an earlier crash did the same, and queued its lost pages then. So they are queued at the same
//! place of the replay: where the journal says that it was opened again.

use std::collections::BTreeMap;

use super::State;
use crate::frontier::Timestamp;
use crate::frontier::hosts::{HostCost, HostId};
use crate::frontier::queues::Queued;
use crate::gate::Position;

/// Pages whose records the output may not have: a record may be behind the end to which the output was cut at a resume.
#[derive(Debug, Default)]
pub(super) struct Lost {
    /// Pages whose records are lost. They are queued before all else where the frontier queued them: when it was opened again, or in
    /// the end.
    pages: BTreeMap<Position, LostPage>,
    /// Pages that are done: the output may still prove to have been shorter.
    done: Vec<Done>,
}

/// A page that is queued again, should its record be lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct LostPage {
    /// Its host, which stays in memory: nothing is evicted at a resume.
    pub(super) host: HostId,
    /// Its place in the queue, as it was.
    pub(super) queued: Queued,
    /// The tries that it had used up then.
    pub(super) tries: u8,
    /// Where its record ends.
    pub(super) end: u64,
    /// What it took of its host's budget.
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
    /// The page to queue, should its record be lost after all.
    pub(super) page: LostPage,
    /// The entry by which it is asked for again.
    pub(super) again: Option<Again>,
}

/// How a page that is done is asked for again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    /// The time that it waits for.
    pub(super) at: Timestamp,
    /// The entry by which it waits.
    pub(super) position: Position,
    /// It was given up.
    pub(super) is_parked: bool,
}

impl Lost {
    /// The record of a page is lost.
    pub(super) fn add(&mut self, page: LostPage) {
        self.pages.insert(page.queued.position, page);
    }

    /// A page is done whose record is there.
    pub(super) fn add_done(&mut self, done: Done) {
        self.done.push(done);
    }

    /// Queues a page whose record was lost, because it was lent again afterwards.
    pub(super) fn queue(&mut self, page: Position, state: &mut State) {
        if let Some(page) = self.pages.remove(&page) {
            page.queue(state);
        }
    }

    /// The frontier was opened again, and the output cut to so many bytes: pages whose records were behind them were queued then.
    /// Bytes that are there now may be others than those that were there before.
    pub(super) fn cut(&mut self, output: u64, state: &mut State) {
        while let Some(Done { page, again }) = self.done.pop_if(|done| done.page.end > output) {
            match again {
                // Given up, and asked for again since: it is queued by that.
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

    /// Queues all pages whose records are lost, in their order and before all else.
    pub(super) fn queue_all(&mut self, state: &mut State) {
        std::mem::take(&mut self.pages).into_values().rev().for_each(|page| page.queue(state));
    }
}
