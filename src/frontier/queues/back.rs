//! The back queues: URLs by host.

use std::collections::BTreeMap;
use std::hint::black_box;

use super::{Chunk, Level, NONE, Pool, Queued};
use crate::bytes::varint;
use crate::gate::Position;

/// The back queues: for each host, the positions of its URLs, by priority, first come first served within one.
///
/// A level holds the positions of one priority of one host. Its first and last stand in it as they are; where there are more, they are a
/// run of bytes, each position as the [`varint::step`] from the one before, in a list of 28-byte chunks that is freed as
/// it is read. The best level of a host stands in the host, its others in a list here. So a URL of a busy
/// host costs two to four bytes, since its journal entries stand close together. And a wide crawl of a million hosts needs no
/// allocation for each of them.
///
/// # URLs that are lent out
///
/// A URL that is lent out stays where it is, and leaves from there once it is done. It has no URL before it but others that were lent
/// out with it, so it is found by a short look from the front. The few before it are taken out with it, and put back. So the queue is at
/// each moment what it would be had nothing been lent, and is saved as it is.
///
/// # Calls
///
/// `push` is for what is found, `push_front` for what a crash lost. `remove`, `remove_run` and `replace` are for what is done, dropped,
/// or moved to another spelling. `first_but` says what goes next while some are out. The caller keeps the [`Queue`], since it
/// stands in the host.
#[derive(Debug, Default)]
pub(crate) struct Back {
    levels: Pool<Level>,
    chunks: Pool<Chunk>,
    /// Tries that are used up, of the few queued URLs that have any.
    tried: BTreeMap<Position, u8>,
}

/// One host's share of the back queues, which stands in the host. Only [`Back`], which has the rest, can change it.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// The level of the best priority; worse and worse ones follow. It means nothing where nothing is queued.
    best: Level,
    /// URLs of all priorities, those that are lent out too.
    len: u32,
}

/// No URL that is lent out has so many of its priority before it: fewer leases of one host are out at once.
const REACH: usize = 256;

impl Queue {
    /// URLs in it.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// The URL that goes next: the first of the best priority. Needs no look at [`Back`]: it is in the host's own cache lines.
    pub(crate) fn first(&self) -> Option<Queued> {
        (self.len > 0).then(|| self.best.queued())
    }
}

impl Back {
    /// Queues behind all of the same priority. O(priorities in use at the host), mostly one to three.
    pub(crate) fn push(&mut self, queue: &mut Queue, queued: Queued) {
        if let Some((level, chunks)) = self.level(queue, queued) {
            level.push(chunks, queued.position.to_u64());
        }
        queue.len += 1;
    }

    /// Queues before all of the same priority. For pages that a crash put back: they were found before all that wait.
    pub(crate) fn push_front(&mut self, queue: &mut Queue, queued: Queued) {
        if let Some((level, chunks)) = self.level(queue, queued) {
            level.push_front(chunks, queued.position.to_u64());
        }
        queue.len += 1;
    }

    /// Takes a URL away, and says whether it was there. What is behind it keeps its order. O(1) where it goes next; otherwise O(URLs before
    /// it).
    #[inline]
    pub(crate) fn remove(&mut self, queue: &mut Queue, queued: Queued) -> bool {
        if queue.first() == Some(queued) {
            self.forget_tries(queued.position);
            self.pop(queue);
            return true;
        }
        self.remove_run(queue, queued, 1) > 0
    }

    /// Takes away so many URLs of one priority from this one on, and says how many there were.
    pub(crate) fn remove_run(&mut self, queue: &mut Queue, from: Queued, urls: u32) -> u32 {
        let Some(before) = self.cut(queue, from) else { return 0 };
        let mut removed = 0;
        while removed < urls
            && let Some(position) = self.pop_of(queue, from.priority)
        {
            self.forget_tries(position);
            removed += 1;
        }
        self.rejoin(queue, from.priority, &before);
        removed
    }

    /// Puts a URL, which was not tried yet, in the place of another of its priority; where that is not there, before all. Says whether
    /// it was there.
    pub(crate) fn replace(&mut self, queue: &mut Queue, replaced: Position, by: Queued) -> bool {
        let before = self.cut(queue, Queued { position: replaced, ..by });
        if before.is_some() {
            self.forget_tries(replaced);
            self.pop_of(queue, by.priority);
        }
        self.push_front(queue, by);
        self.rejoin(queue, by.priority, before.as_deref().unwrap_or_default());
        before.is_some()
    }

    /// Whether a URL is near enough to the front to have been lent out.
    pub(crate) fn holds(&self, queue: &Queue, queued: Queued) -> bool {
        self.of(queue, queued.priority).take(REACH).any(|position| position == queued.position)
    }

    /// The URL that goes next of those that are not `out`: the best priority that has one, and of it the first. O(`out`²), and a host
    /// has a few out.
    pub(crate) fn first_but(&self, queue: &Queue, out: &[Position]) -> Option<Queued> {
        self.levels(queue).find_map(|level| {
            let position = self.positions(level).find(|position| !out.contains(position))?;
            Some(Queued { position, priority: level.priority })
        })
    }

    /// Tries of a queued URL that are used up.
    pub(crate) fn tries(&self, position: Position) -> u8 {
        if self.tried.is_empty() { 0 } else { self.tried.get(&position).copied().unwrap_or(0) }
    }

    /// Notes the tries of a queued URL that are used up. They leave with the URL. So there are as many as pages that failed and wait, and
    /// not as many as URLs.
    pub(crate) fn set_tries(&mut self, position: Position, tries: u8) {
        if tries == 0 {
            self.forget_tries(position);
        } else {
            self.tried.insert(position, tries);
        }
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

    /// Appends how many URLs there are from the first of a level to its last that was tried, and the tries of each of them. Only URLs
    /// that were lent out have any, and these are at its front.
    pub(crate) fn put_tries(&self, level: &Level, to: &mut Vec<u8>) {
        let count = to.len();
        to.push(0);
        if !self.tried.is_empty() {
            to.extend(self.positions(level).take(REACH - 1).map(|position| self.tries(position)));
            let used = to[count + 1..].iter().rposition(|&tries| tries > 0).map_or(0, |last| last + 1);
            to.truncate(count + 1 + used);
            to[count] = u8::try_from(used).expect("below the reach");
        }
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
        // A map's node has room for as much again.
        let tried = self.tried.len() * 2 * size_of::<(Position, u8)>();
        self.levels.memory() + self.chunks.memory() + tried
    }

    /// A host's URLs of one priority, in order; those that are lent out are among them.
    pub(crate) fn of<'a>(&'a self, queue: &'a Queue, priority: u8) -> impl Iterator<Item = Position> {
        let level = self.levels(queue).find(|level| level.priority == priority);
        level.into_iter().flat_map(|level| self.positions(level))
    }

    /// Takes away the URLs of one priority before this one, for [`rejoin`](Self::rejoin); `None` where it is not there. Nothing is taken
    /// away then, but all of the level was looked through.
    fn cut(&mut self, queue: &mut Queue, queued: Queued) -> Option<Vec<Position>> {
        let before = self.of(queue, queued.priority).position(|position| position == queued.position)?;
        Some((0..before).filter_map(|_| self.pop_of(queue, queued.priority)).collect())
    }

    /// Puts back what [`cut`](Self::cut) took away, in its order and with its tries, which stayed noted meanwhile.
    fn rejoin(&mut self, queue: &mut Queue, priority: u8, before: &[Position]) {
        before.iter().rev().for_each(|&position| self.push_front(queue, Queued { position, priority }));
    }

    /// A URL that leaves its queue has no tries any more. Mostly no URL at all has any, and nothing is looked up.
    fn forget_tries(&mut self, position: Position) {
        if !self.tried.is_empty() {
            self.tried.remove(&position);
        }
    }

    /// Takes away what goes next. A level that is empty by it gives way to the next worse one.
    #[inline]
    pub(crate) fn pop(&mut self, queue: &mut Queue) -> Option<Position> {
        let first = queue.first()?.position;
        if !queue.best.advance(&mut self.chunks)
            && let Some(next) = self.take_level(queue.best.next)
        {
            queue.best = next;
        }
        queue.len -= 1;
        Some(first)
    }

    /// Takes away the first URL of a priority. Its tries stay noted: it may be put back.
    fn pop_of(&mut self, queue: &mut Queue, priority: u8) -> Option<Position> {
        if queue.first()?.priority == priority {
            return self.pop(queue);
        }
        let (mut before, mut id) = (NONE, queue.best.next);
        while id != NONE && self.levels[id].priority < priority {
            (before, id) = (id, self.levels[id].next);
        }
        let mut level = (id != NONE).then(|| self.levels[id]).filter(|level| level.priority == priority)?;
        let first = level.queued().position;
        if level.advance(&mut self.chunks) {
            self.levels[id] = level;
        } else {
            let next = self.levels.give_back(id);
            (if before == NONE { &mut queue.best } else { &mut self.levels[before] }).next = next;
        }
        queue.len -= 1;
        Some(first)
    }

    /// Takes a level out of the pool, whose place goes to the next one that is made. The caller mends the list that it stood in.
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
        let Self { levels, chunks, .. } = self;
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
mod tests;
