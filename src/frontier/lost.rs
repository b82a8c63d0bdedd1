//! Pages that were done, and whose records are lost: they are queued again.

use super::back::Queued;
use super::{Position, Replay, Timestamp};

/// A page that is done.
#[derive(Debug)]
pub(super) struct Done {
    /// Where its record ends.
    pub(super) end: u64,
    /// As [`lost`](Replay::lost) would have it.
    pub(super) number: u32,
    pub(super) queued: Queued,
    /// The entry by which it is asked for again.
    pub(super) again: Option<Again>,
}

/// That a page which is done is asked for again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    pub(super) at: Timestamp,
    pub(super) position: Position,
    /// It was given up.
    pub(super) is_parked: bool,
}

impl Replay {
    /// The output was cut to so many bytes. What is there now may be what was there before, or look like it.
    pub(super) fn resumed(&mut self, output: u64) {
        while let Some(Done { number, queued, again, .. }) = self.done.pop_if(|done| done.end > output) {
            match again {
                // Given up, and asked for again since: it is queued by that.
                Some(Again { at, position, is_parked: true }) if !self.schedule.remove(at, position) => continue,
                Some(Again { at, position, is_parked: false }) if self.schedule.remove(at, position) => {
                    self.gate.retract(1);
                }
                _ => {}
            }
            self.lost.insert(queued.position, (number, queued));
            self.count.completed -= 1;
        }
        self.count.output = self.count.output.min(output);
    }

    /// Queues what was lost, in its order and before all else.
    pub(super) fn queue_lost(&mut self) {
        for (_, (number, queued)) in std::mem::take(&mut self.lost).into_iter().rev() {
            self.queue_first(number, queued);
        }
    }

    pub(super) fn queue_first(&mut self, number: u32, queued: Queued) {
        self.back.push_front(&mut self.hosts[number].queue, queued);
        self.count.queued += 1;
    }
}
