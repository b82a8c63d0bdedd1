//! The back queues: URLs by host, as positions in the journal.

use std::collections::BTreeMap;
use std::hint::black_box;

use super::{Chunk, Level, NONE, Pool, Queued};
use crate::bytes::varint;
use crate::frontier::Priorities;
use crate::gate::Position;

/// The back queues: for each host, the positions of its URLs, by priority; within a priority in the order in which they were
/// pushed, mostly first come, first served.
///
/// A level holds the positions of one priority of one host. It stores its first and last position in full. If there are more, they are a
/// run of bytes, each position as the [`varint::step`] from the previous one, in a list of 28-byte chunks that are freed as they are read.
/// The best level of a host is stored in the host, its other levels in a list here. So a URL of a busy host costs two to four bytes, since
/// its journal entries are close together, and a wide crawl of a million hosts needs no allocation per host.
///
/// # URLs that are lent out
///
/// A URL that is lent out stays in its place until it is done, and is then removed from there. Only other lent URLs can be before it, so a
/// short search from the front finds it. To remove it, the few URLs before it are taken out and put back. So the queue always looks as if
/// nothing had been lent, and is saved as it is.
///
/// # Calls
///
/// `push` and `push_after` are for found URLs, `push_front` for pages whose records a crash lost. `remove`, `remove_run` and `replace` are
/// for URLs that are done, dropped, or moved to another spelling. `first_but` is the next URL while some are out. The caller keeps the
/// [`Queue`], in the host.
#[derive(Debug, Default)]
pub(crate) struct Back {
    levels: Pool<Level>,
    chunks: Pool<Chunk>,
    /// The used tries of the few queued URLs that have any.
    tried: BTreeMap<Position, u8>,
    /// The order of priorities.
    priorities: Box<Priorities>,
    /// The levels of each priority, over all hosts.
    in_use: InUse,
    moving: Moving,
}

/// Memory that is used again for the moves of the next host.
#[derive(Debug, Default)]
struct Moving {
    /// The URLs that move, each with the rank of the priority that it goes to.
    going: Vec<(u8, Queued)>,
    /// The positions of URLs that stay, up to the last that leaves their level.
    before: Vec<u64>,
}

/// A count for each priority.
#[derive(Debug)]
struct InUse(Box<[u32; 256]>);

impl Default for InUse {
    fn default() -> Self {
        Self(Box::new([0; 256]))
    }
}

impl InUse {
    fn came(&mut self, priority: u8) {
        self.0[usize::from(priority)] += 1;
    }

    fn left(&mut self, priority: u8) {
        self.0[usize::from(priority)] -= 1;
    }
}

/// One host's share of the back queues, stored in the host. Only [`Back`], which has the rest, can change it.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// The level of the best priority; the levels of worse priorities follow it in order. Undefined if nothing is queued.
    best: Level,
    /// URLs of all priorities, including lent ones.
    len: u32,
}

/// A lent URL is among the first `REACH` of its priority: only other lent URLs are before it, and fewer leases of one host are out at once.
const REACH: usize = 256;

impl Queue {
    /// The number of its URLs.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// The next URL: the first of the best priority. Needs no access to [`Back`]: it is in the host's own cache lines.
    pub(crate) fn first(&self) -> Option<Queued> {
        (self.len > 0).then(|| self.best.queued())
    }
}

impl Back {
    /// Queues a URL after all of the same priority. O(priorities in use at the host), mostly one to three.
    pub(crate) fn push(&mut self, queue: &mut Queue, queued: Queued) {
        if let Some((level, chunks)) = self.level(queue, queued) {
            level.push(chunks, queued.position.to_u64());
        }
        queue.len += 1;
    }

    /// Queues a URL after this many of the same priority; as the last if there are fewer. O(`after`).
    pub(crate) fn push_after(&mut self, queue: &mut Queue, queued: Queued, after: u16) {
        let before: Vec<_> = (0..after).map_while(|_| self.pop_of(queue, queued.priority)).collect();
        self.push_front(queue, queued);
        self.rejoin(queue, queued.priority, &before);
    }

    /// The place of a new URL within its priority, if the last goes first: after the pages that are `out` or were tried. These keep their
    /// places, since they are [searched](REACH) at the front.
    pub(crate) fn first_place(&self, queue: &Queue, priority: u8, out: &[Position]) -> u16 {
        if out.is_empty() && self.tried.is_empty() {
            return 0;
        }
        let keeps_place = |position: Position| out.contains(&position) || self.tries(position) > 0;
        let first = (1..).zip(self.of(queue, priority).take(REACH));
        first.filter(|(_, position)| keeps_place(*position)).last().map_or(0, |(places, _)| places)
    }

    /// Queues the next URL of a queue that is loaded: after all others, at its worst level or at a new one after that.
    pub(crate) fn push_loaded(&mut self, queue: &mut Queue, queued: Queued) {
        let Queued { position, priority } = queued;
        queue.len += 1;
        let (mut worst, mut next) = (NONE, if queue.len == 1 { NONE } else { queue.best.next });
        while next != NONE {
            (worst, next) = (next, self.levels[next].next);
        }
        let level = if worst == NONE { &mut queue.best } else { &mut self.levels[worst] };
        if queue.len > 1 && level.priority == priority {
            level.push(&mut self.chunks, position.to_u64());
            return;
        }
        self.in_use.came(priority);
        if queue.len == 1 {
            queue.best = Level::of(queued);
            return;
        }
        let added = self.levels.take(Level::of(queued));
        (if worst == NONE { &mut queue.best } else { &mut self.levels[worst] }).next = added;
    }

    /// Queues a URL before all of the same priority. For pages that are queued again after a crash: they were found before all URLs in the
    /// queue.
    pub(crate) fn push_front(&mut self, queue: &mut Queue, queued: Queued) {
        if let Some((level, chunks)) = self.level(queue, queued) {
            level.push_front(chunks, queued.position.to_u64());
        }
        queue.len += 1;
    }

    /// Removes a URL; says whether it was there. The URLs after it keep their order. O(1) for the next URL; otherwise O(URLs before it).
    #[inline]
    pub(crate) fn remove(&mut self, queue: &mut Queue, queued: Queued) -> bool {
        if queue.first() == Some(queued) {
            self.forget_tries(queued.position);
            self.pop(queue);
            return true;
        }
        self.remove_run(queue, queued, 1) > 0
    }

    /// Removes at most `urls` URLs of one priority, beginning with `from`; says how many it removed.
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

    /// Replaces a URL by another of the same priority that has not been tried; if the old one is not there, puts the new one first. Says
    /// whether the old one was there.
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

    /// The place of a URL, if it is near enough to the front of its priority to have been lent out.
    pub(crate) fn find(&self, queue: &Queue, position: Position) -> Option<Queued> {
        let priorities = self.levels(queue).map(|level| level.priority);
        let places = priorities.map(|priority| Queued { position, priority });
        places.into_iter().find(|queued| self.holds(queue, *queued))
    }

    /// The next URL that is not `out`: the first of the best priority that has one. O(`out`²), and a host has only a few out.
    pub(crate) fn first_but(&self, queue: &Queue, out: &[Position]) -> Option<Queued> {
        self.levels(queue).find_map(|level| {
            let position = self.positions(level).find(|position| !out.contains(position))?;
            Some(Queued { position, priority: level.priority })
        })
    }

    /// The used tries of a queued URL.
    pub(crate) fn tries(&self, position: Position) -> u8 {
        if self.tried.is_empty() { 0 } else { self.tried.get(&position).copied().unwrap_or(0) }
    }

    /// Notes the used tries of a queued URL. They are removed with the URL, so the map grows with the pages that failed and wait, not with
    /// all URLs.
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

    /// Appends the number of URLs from the first of a level to the last that has used a try, and the used tries of each of them. Only URLs
    /// that were lent out have used any, and these are at the front.
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

    /// Reads what [`pop`](Self::pop) will read, so that its cache lines are loaded while other things are done.
    pub(crate) fn prefetch(&self, queue: &Queue) {
        if queue.best.head != NONE {
            black_box(self.chunks[queue.best.head].next);
        }
        if queue.best.next != NONE {
            black_box(self.levels[queue.best.next].next);
        }
    }

    /// Reads what walks over these queues will read first: each level, and its first steps. The queues' waits for memory overlap.
    pub(crate) fn prefetch_all<'a>(&self, queues: impl Iterator<Item = &'a Queue>) {
        /// Levels of a queue beyond these are not read.
        const LEVELS: u32 = 16;
        let mut levels: Vec<&Level> = queues.filter(|queue| queue.len > 0).map(|queue| &queue.best).collect();
        for _ in 0..LEVELS {
            for level in &levels {
                if level.head != NONE {
                    black_box(self.chunks[level.head].next);
                }
                if level.next != NONE {
                    black_box(self.levels[level.next].next);
                }
            }
            levels.retain_mut(|level| {
                let is_there = level.next != NONE;
                if is_there {
                    *level = &self.levels[level.next];
                }
                is_there
            });
            if levels.is_empty() {
                break;
            }
        }
    }

    /// The priority that each front queue stands for.
    #[inline]
    pub(crate) fn priorities(&self) -> &Priorities {
        &self.priorities
    }

    /// The same, to change them.
    pub(crate) fn priorities_mut(&mut self) -> &mut Priorities {
        &mut self.priorities
    }

    /// Whether no URL has this priority.
    pub(crate) fn is_unused(&self, priority: u8) -> bool {
        self.in_use.0[usize::from(priority)] == 0
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        // A map's node may be half empty.
        let tried = self.tried.len() * 2 * size_of::<(Position, u8)>();
        self.levels.memory() + self.chunks.memory() + tried
    }

    /// A host's URLs of one priority, in order, including lent ones.
    pub(crate) fn of<'a>(&'a self, queue: &'a Queue, priority: u8) -> impl Iterator<Item = Position> {
        let level = self.levels(queue).find(|level| level.priority == priority);
        level.into_iter().flat_map(|level| self.positions(level))
    }

    /// Removes and returns the URLs before this one in its level, for [`rejoin`](Self::rejoin). `None` if it is not there: nothing is
    /// removed then, but the whole level was searched.
    fn cut(&mut self, queue: &mut Queue, queued: Queued) -> Option<Vec<Position>> {
        let before = self.of(queue, queued.priority).position(|position| position == queued.position)?;
        Some((0..before).filter_map(|_| self.pop_of(queue, queued.priority)).collect())
    }

    /// Puts back the URLs that [`cut`](Self::cut) removed, in their order and with their tries, which stayed noted meanwhile.
    fn rejoin(&mut self, queue: &mut Queue, priority: u8, before: &[Position]) {
        before.iter().rev().for_each(|&position| self.push_front(queue, Queued { position, priority }));
    }

    /// Forgets the used tries of a URL that leaves its queue. Mostly no URL has any, and nothing is looked up.
    fn forget_tries(&mut self, position: Position) {
        if !self.tried.is_empty() {
            self.tried.remove(&position);
        }
    }

    /// Removes the next URL. If that empties the level, the next worse one takes its place.
    #[inline]
    pub(crate) fn pop(&mut self, queue: &mut Queue) -> Option<Position> {
        let first = queue.first()?.position;
        if !queue.best.advance(&mut self.chunks) {
            self.in_use.left(queue.best.priority);
            if let Some(next) = self.take_level(queue.best.next) {
                queue.best = next;
            }
        }
        queue.len -= 1;
        Some(first)
    }

    /// Removes the first URL of a priority. Its tries stay noted, since it may be put back.
    fn pop_of(&mut self, queue: &mut Queue, priority: u8) -> Option<Position> {
        if queue.first()?.priority == priority {
            return self.pop(queue);
        }
        let (mut before, mut id) = (NONE, queue.best.next);
        while id != NONE && self.levels[id].priority != priority {
            (before, id) = (id, self.levels[id].next);
        }
        let mut level = (id != NONE).then(|| self.levels[id])?;
        let first = level.queued().position;
        if level.advance(&mut self.chunks) {
            self.levels[id] = level;
        } else {
            self.in_use.left(priority);
            let next = self.levels.give_back(id);
            (if before == NONE { &mut queue.best } else { &mut self.levels[before] }).next = next;
        }
        queue.len -= 1;
        Some(first)
    }

    /// Takes a level out of the pool, which may reuse its place. The caller repairs the list that it was in.
    fn take_level(&mut self, id: u32) -> Option<Level> {
        (id != NONE).then(|| {
            let level = self.levels[id];
            self.levels.give_back(id);
            level
        })
    }

    /// The level that `queued` belongs to, with the chunks to write to. If there is none, makes one with this URL alone, in its place among
    /// the levels, which are ordered by priority; then returns `None`, since nothing is left to do.
    fn level<'a>(&'a mut self, queue: &'a mut Queue, queued: Queued) -> Option<(&'a mut Level, &'a mut Pool<Chunk>)> {
        let Self { levels, chunks, priorities, in_use, .. } = self;
        let alone = Level::of(queued);
        let best = &mut queue.best;
        if queue.len == 0 {
            in_use.came(queued.priority);
            *best = alone;
            return None;
        }
        if best.priority == queued.priority {
            return Some((best, chunks));
        }
        let rank = priorities.rank(queued.priority);
        if priorities.rank(best.priority) > rank {
            in_use.came(queued.priority);
            *best = alone.before(levels.take(*best));
            return None;
        }
        let (mut before, mut id) = (NONE, best.next);
        while id != NONE && priorities.rank(levels[id].priority) < rank {
            (before, id) = (id, levels[id].next);
        }
        if id != NONE && levels[id].priority == queued.priority {
            return Some((&mut levels[id], chunks));
        }
        in_use.came(queued.priority);
        let made = levels.take(alone.before(id));
        if before == NONE {
            best.next = made;
        } else {
            levels[before].next = made;
        }
        None
    }
}

mod moves;
#[cfg(test)]
mod tests;
