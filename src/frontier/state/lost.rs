//! Pages that were done, and whose records are lost: they are queued again.

use super::{Again, Done, Replay};
use crate::frontier::queues::Queued;

impl Replay {
    /// The output was cut to so many bytes. What is there now may be what was there before, or look like it.
    pub(crate) fn resumed(&mut self, output: u64) {
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
    pub(crate) fn queue_lost(&mut self) {
        for (_, (number, queued)) in std::mem::take(&mut self.lost).into_iter().rev() {
            self.queue_first(number, queued);
        }
    }

    pub(crate) fn queue_first(&mut self, number: u32, queued: Queued) {
        self.back.push_front(&mut self.hosts[number].queue, queued);
        self.count.queued += 1;
    }
}
