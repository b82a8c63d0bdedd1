//! Pages that were done, and whose records are lost: they are queued again.

use super::back::Queued;
use super::host::HostState;
use super::{Position, Refusal, Replay, Timestamp};

/// A page that is done.
#[derive(Debug)]
pub(super) struct Done {
    /// Where its record ends.
    pub(super) end: u64,
    /// As [`lost`](Replay::lost) would have it.
    pub(super) number: u32,
    pub(super) queued: Queued,
    /// When it is asked for again, and the entry that says so.
    pub(super) again: Option<(Timestamp, Position)>,
}

impl Replay {
    /// The output was cut to so many bytes. What is there now may be what was there before, or look like it.
    pub(super) fn resumed(&mut self, output: u64) {
        while let Some(Done { number, queued, again, .. }) = self.done.pop_if(|done| done.end > output) {
            self.lost.insert(queued.position, (number, queued));
            self.count.completed -= 1;
            if again.is_some_and(|(at, position)| self.schedule.remove(at, position)) {
                self.gate.retract(1);
            }
        }
        self.count.output = self.count.output.min(output);
    }

    /// Queues what was lost, in its order and before all else.
    pub(super) fn queue_lost(&mut self) {
        for (_, (number, queued)) in std::mem::take(&mut self.lost).into_iter().rev() {
            if self.hosts[number].state == HostState::Retired {
                self.gate.withdraw(Refusal::HostRetired, 1);
            } else {
                self.queue_first(number, queued);
            }
        }
    }

    pub(super) fn queue_first(&mut self, number: u32, queued: Queued) {
        self.back.push_front(&mut self.hosts[number].queue, queued);
        self.count.queued += 1;
    }
}
