use super::Position;
use super::pool::{Linked, NONE, Pool};
use super::varint;

/// The back queues: for each host, the positions of its URLs, by priority, first come first served within one.
///
/// A level holds the positions of one priority of one host. Its first and last stand in it as they are; those between are a
/// run of bytes, each position as the [`varint::step`] from the one before, in a list of 28-byte chunks that is freed as
/// it is read. So a host with one URL costs one level, 32 bytes; a busy host two to four bytes a URL (its journal entries
/// stand close together); the million hosts of a wide crawl no allocation each.
#[derive(Debug, Default)]
pub(super) struct Back {
    levels: Pool<Level>,
    chunks: Pool<Chunk>,
}

/// One host's share of the back queues.
#[derive(Debug)]
pub(super) struct Queue {
    /// The level of the best priority; the others follow, worse and worse.
    best: u32,
    len: u32,
}

/// A position that is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Queued {
    pub(super) position: Position,
    pub(super) priority: u8,
    /// Tries used up before.
    pub(super) attempts: u8,
}

#[derive(Clone, Copy, Debug, Default)]
struct Level {
    first: u64,
    last: u64,
    /// The chunks of the steps from the first to the last; none where they are one.
    head: u32,
    tail: u32,
    next: u32,
    /// Where in the head chunk reading goes on.
    head_at: u8,
    /// Where in the tail chunk writing goes on.
    tail_at: u8,
    priority: u8,
    /// Tries of the first that are used up. Only a URL that came back has any, and it comes back to the front.
    attempts: u8,
}

const CHUNK: u8 = 28;

#[derive(Clone, Copy, Debug, Default)]
struct Chunk {
    next: u32,
    bytes: [u8; CHUNK as usize],
}

impl Default for Queue {
    fn default() -> Self {
        Self { best: NONE, len: 0 }
    }
}

impl Queue {
    pub(super) fn len(&self) -> u32 {
        self.len
    }
}

impl Back {
    /// Queues behind all of the same priority. O(priorities in use at the host), mostly one to three.
    pub(super) fn push(&mut self, queue: &mut Queue, priority: u8, position: Position) {
        let at = position.to_u64();
        if let Some(id) = self.level(queue, priority, at, 0) {
            let level = &mut self.levels[id];
            let (bytes, length) = varint::encode(varint::step(level.last, at));
            level.last = at;
            for &byte in &bytes[..length] {
                level.push(&mut self.chunks, byte);
            }
        }
        queue.len += 1;
    }

    /// Queues before all of the same priority what came back from there. At most one of a priority may have come back
    /// and not gone again, since a host has one lease at a time and its next takes what came back.
    pub(super) fn push_front(&mut self, queue: &mut Queue, back: Queued) {
        let at = back.position.to_u64();
        if let Some(id) = self.level(queue, back.priority, at, back.attempts) {
            let level = &mut self.levels[id];
            let (bytes, length) = varint::encode(varint::step(at, level.first));
            (level.first, level.attempts) = (at, back.attempts);
            for &byte in bytes[..length].iter().rev() {
                level.push_front(&mut self.chunks, byte);
            }
        }
        queue.len += 1;
    }

    /// What goes next: the first of the best priority.
    pub(super) fn first(&self, queue: &Queue) -> Option<Queued> {
        (queue.best != NONE).then(|| {
            let level = &self.levels[queue.best];
            let position = Position::from_u64(level.first);
            Queued { position, priority: level.priority, attempts: level.attempts }
        })
    }

    /// Takes away what goes next.
    pub(super) fn pop(&mut self, queue: &mut Queue) -> Option<Queued> {
        let first = self.first(queue)?;
        let level = &mut self.levels[queue.best];
        if level.head == NONE {
            queue.best = self.levels.give_back(queue.best);
        } else {
            level.attempts = 0;
            let step = varint::decode(|| Some(level.pop(&mut self.chunks)));
            level.first = varint::walk(level.first, step.expect("whole numbers are written"));
        }
        queue.len -= 1;
        Some(first)
    }

    /// Forgets all of a host's URLs, and says how many there were.
    pub(super) fn clear(&mut self, queue: &mut Queue) -> u64 {
        let len = std::mem::take(&mut queue.len);
        while queue.best != NONE {
            let mut chunk = self.levels[queue.best].head;
            while chunk != NONE {
                chunk = self.chunks.give_back(chunk);
            }
            queue.best = self.levels.give_back(queue.best);
        }
        u64::from(len)
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.levels.memory() + self.chunks.memory()
    }

    /// The level of a priority; where there is none yet, makes it with this one position, and there is nothing left to do.
    fn level(&mut self, queue: &mut Queue, priority: u8, at: u64, attempts: u8) -> Option<u32> {
        let (mut before, mut id) = (NONE, queue.best);
        while id != NONE && self.levels[id].priority < priority {
            (before, id) = (id, self.levels[id].next);
        }
        if id != NONE && self.levels[id].priority == priority {
            return Some(id);
        }
        let alone =
            Level { first: at, last: at, head: NONE, tail: NONE, next: id, priority, attempts, ..Level::default() };
        let made = self.levels.take(alone);
        if before == NONE {
            queue.best = made;
        } else {
            self.levels[before].next = made;
        }
        None
    }
}

impl Level {
    fn push(&mut self, chunks: &mut Pool<Chunk>, byte: u8) {
        if self.tail == NONE {
            self.start(chunks, 0);
        } else if self.tail_at == CHUNK {
            let added = chunks.take(Chunk { next: NONE, ..Chunk::default() });
            chunks[self.tail].next = added;
            (self.tail, self.tail_at) = (added, 0);
        }
        chunks[self.tail].bytes[usize::from(self.tail_at)] = byte;
        self.tail_at += 1;
    }

    fn push_front(&mut self, chunks: &mut Pool<Chunk>, byte: u8) {
        if self.head == NONE {
            self.start(chunks, CHUNK);
        } else if self.head_at == 0 {
            self.head = chunks.take(Chunk { next: self.head, ..Chunk::default() });
            self.head_at = CHUNK;
        }
        self.head_at -= 1;
        chunks[self.head].bytes[usize::from(self.head_at)] = byte;
    }

    /// Only called while there are bytes.
    fn pop(&mut self, chunks: &mut Pool<Chunk>) -> u8 {
        let byte = chunks[self.head].bytes[usize::from(self.head_at)];
        self.head_at += 1;
        if self.head == self.tail {
            if self.head_at == self.tail_at {
                chunks.give_back(self.head);
                (self.head, self.tail) = (NONE, NONE);
            }
        } else if self.head_at == CHUNK {
            self.head = chunks.give_back(self.head);
            self.head_at = 0;
        }
        byte
    }

    fn start(&mut self, chunks: &mut Pool<Chunk>, at: u8) {
        let chunk = chunks.take(Chunk { next: NONE, ..Chunk::default() });
        (self.head, self.tail) = (chunk, chunk);
        (self.head_at, self.tail_at) = (at, at);
    }
}

impl Linked for Level {
    fn next(&self) -> u32 {
        self.next
    }

    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

impl Linked for Chunk {
    fn next(&self) -> u32 {
        self.next
    }

    fn set_next(&mut self, next: u32) {
        self.next = next;
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
        PopAndComeBack { host: usize, position: Option<u64> },
        Clear { host: usize },
    }

    fn actions() -> impl Strategy<Value = Vec<Action>> {
        let host = 0..3usize;
        let position = prop_oneof![0..300u64, 0..1u64 << 40, any::<u64>()];
        let action = prop_oneof![
            8 => (host.clone(), 0..4u8, position.clone()).prop_map(|(host, priority, position)| Action::Push { host, priority, position }),
            4 => host.clone().prop_map(|host| Action::Pop { host }),
            2 => (host.clone(), proptest::option::of(position))
                .prop_map(|(host, position)| Action::PopAndComeBack { host, position }),
            1 => host.prop_map(|host| Action::Clear { host }),
        ];
        proptest::collection::vec(action, 0..400)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

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
        let mut best = model.first_entry()?;
        let priority = *best.key();
        let (position, attempts) = best.get_mut().pop_front()?;
        if best.get().is_empty() {
            best.remove();
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
