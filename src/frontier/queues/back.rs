//! The back queues: URLs by host.

use std::hint::black_box;

use super::{Chunk, Level, NONE, Pool, Queued};
use crate::bytes::varint;
use crate::gate::Position;

/// The back queues: for each host, the positions of its URLs, by priority, first come first served within one.
///
/// A level holds the positions of one priority of one host. Its first and last stand in it as they are; where there are more, they are a
/// run of bytes, each position as the [`varint::step`] from the one before, in a list of 28-byte chunks that is freed as
/// it is read. The best level of a host stands in the host, its others in a list here. So a busy host costs two to four
/// bytes a URL (its journal entries stand close together), and the million hosts of a wide crawl no allocation each.
#[derive(Debug, Default)]
pub(crate) struct Back {
    levels: Pool<Level>,
    chunks: Pool<Chunk>,
}

/// One host's share of the back queues, which stands in the host. Only [`Back`], which has the rest, can change it.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// The level of the best priority; worse and worse ones follow. Of no meaning where nothing is queued.
    best: Level,
    len: u32,
}

impl Queue {
    /// URLs in it.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// What goes next: the first of the best priority. Needs no look at [`Back`]: it is in the host's own cache lines.
    pub(crate) fn first(&self) -> Option<Queued> {
        (self.len > 0).then(|| self.best.queued())
    }
}

impl Back {
    /// Queues behind all of the same priority. O(priorities in use at the host), mostly one to three.
    pub(crate) fn push(&mut self, queue: &mut Queue, priority: u8, position: Position) {
        let pushed = Queued { position, priority, attempts: 0 };
        if let Some((level, chunks)) = self.level(queue, pushed) {
            level.push(chunks, position.to_u64());
        }
        queue.len += 1;
    }

    /// Queues before all of the same priority what came back from there. At most one of a priority may have come back
    /// and not gone again, since a host has one lease at a time and its next takes what came back.
    pub(crate) fn push_front(&mut self, queue: &mut Queue, back: Queued) {
        if let Some((level, chunks)) = self.level(queue, back) {
            level.push_front(chunks, back.position.to_u64(), back.attempts);
        }
        queue.len += 1;
    }

    /// Takes away what goes next. A level that is empty by it gives way to the next worse one.
    #[inline]
    pub(crate) fn pop(&mut self, queue: &mut Queue) -> Option<Queued> {
        let first = queue.first()?;
        if !queue.best.advance(&mut self.chunks)
            && let Some(next) = self.take_level(queue.best.next)
        {
            queue.best = next;
        }
        queue.len -= 1;
        Some(first)
    }

    /// The first URL of a priority.
    pub(crate) fn first_of(&self, queue: &Queue, priority: u8) -> Option<Queued> {
        match queue.first() {
            Some(first) if first.priority != priority => {
                self.levels(queue).find(|level| level.priority == priority).map(Level::queued)
            }
            first => first,
        }
    }

    /// Takes away the first URL of a priority. O(1) where that is the best of its host.
    #[inline]
    pub(crate) fn pop_of(&mut self, queue: &mut Queue, priority: u8) -> Option<Queued> {
        if queue.len == 0 {
            return None;
        }
        if queue.best.priority == priority {
            return self.pop(queue);
        }
        self.pop_worse(queue, priority)
    }

    /// Takes away the first URL of a priority that is not the best.
    fn pop_worse(&mut self, queue: &mut Queue, priority: u8) -> Option<Queued> {
        let (mut before, mut id) = (NONE, queue.best.next);
        while id != NONE && self.levels[id].priority < priority {
            (before, id) = (id, self.levels[id].next);
        }
        let mut level = (id != NONE).then(|| self.levels[id]).filter(|level| level.priority == priority)?;
        let first = level.queued();
        if level.advance(&mut self.chunks) {
            self.levels[id] = level;
        } else {
            let next = self.levels.give_back(id);
            (if before == NONE { &mut queue.best } else { &mut self.levels[before] }).next = next;
        }
        queue.len -= 1;
        Some(first)
    }

    /// A host's URLs by priority, the best first.
    pub(crate) fn levels<'a>(&'a self, queue: &'a Queue) -> impl Iterator<Item = &'a Level> {
        let best = (queue.len > 0).then_some(&queue.best);
        std::iter::successors(best, |level| (level.next != NONE).then(|| &self.levels[level.next]))
    }

    /// The URLs of a level, in order.
    pub(crate) fn positions(&self, level: &Level) -> impl Iterator<Item = Position> {
        let steps = level.steps(&self.chunks);
        let walk = steps.scan(level.first, |at, step| {
            *at = varint::walk(*at, step);
            Some(*at)
        });
        std::iter::once(level.first).chain(walk).map(Position::from_u64)
    }

    /// Appends the steps from each URL of a level to the next, as [`varint`]s.
    pub(crate) fn put_steps(&self, level: &Level, to: &mut Vec<u8>) {
        level.put_steps(&self.chunks, to);
    }

    /// Forgets all URLs of a queue, gives its chunks and levels back, and says how many URLs there were.
    pub(crate) fn clear(&mut self, queue: &mut Queue) -> u64 {
        let Queue { best, len } = std::mem::take(queue);
        let mut level = (len > 0).then_some(best);
        while let Some(Level { mut head, next, .. }) = level {
            while head != NONE {
                head = self.chunks.give_back(head);
            }
            level = self.take_level(next);
        }
        len.into()
    }

    /// Reads what [`pop`](Self::pop) will, so that the line is on its way from memory while other things are done.
    pub(crate) fn prefetch(&self, queue: &Queue) {
        if queue.best.head != NONE {
            black_box(self.chunks[queue.best.head].next);
        }
        if queue.best.next != NONE {
            black_box(self.levels[queue.best.next].next);
        }
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        self.levels.memory() + self.chunks.memory()
    }

    /// Takes a level out of the pool.
    fn take_level(&mut self, id: u32) -> Option<Level> {
        (id != NONE).then(|| {
            let level = self.levels[id];
            self.levels.give_back(id);
            level
        })
    }

    /// The level that `queued` belongs to, with the chunks to write to. `None` where there was none: it was made with this URL alone,
    /// and nothing is left to do. The levels of a queue are in the order of their priorities, so a new one is put in its place.
    fn level<'a>(&'a mut self, queue: &'a mut Queue, queued: Queued) -> Option<(&'a mut Level, &'a mut Pool<Chunk>)> {
        let Self { levels, chunks } = self;
        let alone = Level::of(queued);
        let best = &mut queue.best;
        if queue.len == 0 {
            *best = alone;
            return None;
        }
        if best.priority >= queued.priority {
            if best.priority > queued.priority {
                *best = alone.before(levels.take(*best));
                return None;
            }
            return Some((best, chunks));
        }
        let (mut before, mut id) = (NONE, best.next);
        while id != NONE && levels[id].priority < queued.priority {
            (before, id) = (id, levels[id].next);
        }
        if id != NONE && levels[id].priority == queued.priority {
            return Some((&mut levels[id], chunks));
        }
        let made = levels.take(alone.before(id));
        if before == NONE {
            best.next = made;
        } else {
            levels[before].next = made;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Action {
        Push { host: usize, priority: u8, position: u64 },
        Pop { host: usize },
        PopOf { host: usize, priority: u8 },
        PopAndComeBack { host: usize, position: Option<u64> },
        Clear { host: usize },
    }

    fn actions() -> impl Strategy<Value = Vec<Action>> {
        let host = 0..3usize;
        let position = prop_oneof![0..300u64, 0..1u64 << 40, any::<u64>()];
        let action = prop_oneof![
            8 => (host.clone(), 0..4u8, position.clone()).prop_map(|(host, priority, position)| Action::Push { host, priority, position }),
            4 => host.clone().prop_map(|host| Action::Pop { host }),
            3 => (host.clone(), 0..4u8).prop_map(|(host, priority)| Action::PopOf { host, priority }),
            2 => (host.clone(), proptest::option::of(position))
                .prop_map(|(host, position)| Action::PopAndComeBack { host, position }),
            1 => host.prop_map(|host| Action::Clear { host }),
        ];
        proptest::collection::vec(action, 0..400)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_agrees_with_a_map_of_deques(actions in actions()) {
            let mut back = Back::default();
            let mut queues: [Queue; 3] = Default::default();
            let mut model: [BTreeMap<u8, VecDeque<(u64, u8)>>; 3] = Default::default();
            for action in actions {
                match action {
                    Action::Push { host, priority, position } => {
                        back.push(&mut queues[host], priority, Position::from_u64(position));
                        model[host].entry(priority).or_default().push_back((position, 0));
                    }
                    Action::Pop { host } => {
                        prop_assert_eq!(back.pop(&mut queues[host]), pop(&mut model[host]));
                    }
                    Action::PopOf { host, priority } => {
                        let first = back.first_of(&queues[host], priority);
                        prop_assert_eq!(first, pop_of(&mut model[host], priority));
                        if first.is_some() {
                            prop_assert_eq!(back.pop_of(&mut queues[host], priority), first);
                        }
                    }
                    Action::PopAndComeBack { host, position } => {
                        let popped = back.pop(&mut queues[host]);
                        prop_assert_eq!(popped, pop(&mut model[host]));
                        if let Some(popped) = popped {
                            let position = position.map_or(popped.position, Position::from_u64);
                            let returned = Queued { position, attempts: popped.attempts.wrapping_add(1), ..popped };
                            back.push_front(&mut queues[host], returned);
                            let entry = (position.to_u64(), returned.attempts);
                            model[host].entry(popped.priority).or_default().push_front(entry);
                        }
                    }
                    Action::Clear { host } => {
                        let len: usize = model[host].values().map(VecDeque::len).sum();
                        prop_assert_eq!(back.clear(&mut queues[host]), len as u64);
                        model[host].clear();
                    }
                }
                for (queue, model) in queues.iter().zip(&model) {
                    prop_assert_eq!(queue.len() as usize, model.values().map(VecDeque::len).sum::<usize>());
                }
            }
            for (queue, model) in queues.iter_mut().zip(&mut model) {
                while let Some(queued) = back.pop(queue) {
                    prop_assert_eq!(Some(queued), pop(model));
                }
                prop_assert!(queue.len() == 0 && model.is_empty());
            }
        }
    }

    fn pop(model: &mut BTreeMap<u8, VecDeque<(u64, u8)>>) -> Option<Queued> {
        let best = *model.keys().next()?;
        pop_of(model, best)
    }

    fn pop_of(model: &mut BTreeMap<u8, VecDeque<(u64, u8)>>, priority: u8) -> Option<Queued> {
        let level = model.get_mut(&priority)?;
        let (position, attempts) = level.pop_front()?;
        if level.is_empty() {
            model.remove(&priority);
        }
        Some(Queued { position: Position::from_u64(position), priority, attempts })
    }

    #[test]
    fn what_is_freed_is_used_again() {
        let mut back = Back::default();
        let mut queue = Queue::default();
        let mut after_first_round = 0;
        for round in 0..10 {
            for position in 0..100_000u64 {
                back.push(&mut queue, (position % 3) as u8, Position::from_u64(position * 500));
            }
            match round {
                0 => after_first_round = back.memory(),
                _ if round % 2 == 0 => assert_eq!(back.clear(&mut queue), 100_000),
                _ => while back.pop(&mut queue).is_some() {},
            }
            if round == 0 {
                back.clear(&mut queue);
            }
        }
        assert_eq!(back.memory(), after_first_round);
        assert_eq!(
            after_first_round,
            3 * 4096 * 32,
            "two bytes a step and a chunk's link: two segments, and one of levels"
        );
    }
}
