//! Moves URLs of a host to other priorities, many at once.
//!
//! Moving one URL costs a walk to its place. So all moves of a host are made together: each level that URLs leave is walked once, up to the
//! last that leaves it, and the URLs are then put into the levels that they go to, one level after the other.

use super::{Back, Level, Moving, NONE, Queue, Queued};
use crate::frontier::durable::Moves;
use crate::frontier::queues::{Chunk, Pool};
use crate::gate::Position;

/// This many URLs of one host may move without an allocation.
const KEPT: usize = 4096;

impl Back {
    /// Moves URLs to other priorities; says how many it moved. They keep their order: those of better priorities come first, and among them
    /// each goes after all others of its new priority, or after as many as are given. None of them was tried.
    ///
    /// O(URLs up to the last that leaves a level, and priorities in use at the host).
    pub(crate) fn move_urls(&mut self, queue: &mut Queue, moves: Moves<'_>) -> usize {
        let (places, mut levels) = moves.parts();
        // Sorted by the rank of the priority that each goes to; URLs of one priority in their order.
        let mut moving = std::mem::take(&mut self.moving);
        let Moving { going, before } = &mut moving;
        while let Some(from) = levels.begin() {
            let mut next = levels.next();
            self.change_level(queue, from, |level, chunks| {
                let (follower, mut rest) = (level.next, Some(level));
                while let (Some((leaves, to)), Some(level)) = (next, &mut rest) {
                    if level.queued().position == leaves {
                        going.push((0, Queued { position: leaves, priority: to }));
                        next = levels.next();
                    } else {
                        before.push(level.first);
                    }
                    if !level.advance(chunks) {
                        rest = None;
                    }
                }
                let queued = |at| Queued { position: Position::from_u64(at), priority: from };
                let mut before = before.drain(..).rev().map(queued);
                let mut kept = match rest {
                    Some(rest) => rest,
                    None => Level::of(before.next()?).before(follower),
                };
                before.for_each(|queued| kept.push_front(chunks, queued.position.to_u64()));
                Some(kept)
            });
            debug_assert!(next.is_none(), "a URL stays queued until a record takes it out");
            while levels.next().is_some() {}
        }
        queue.len -= u32::try_from(going.len()).expect("no more than are queued");
        for (rank, queued) in &mut *going {
            *rank = self.priorities.rank(queued.priority);
        }
        going.sort_by_key(|(rank, _)| *rank);
        for urls in going.chunk_by(|(one, _), (other, _)| one == other) {
            let priority = urls[0].1.priority;
            let place = places.iter().find(|(front, _)| *front == priority).map(|(_, after)| *after);
            self.push_all(queue, urls, place);
        }
        let urls = going.len();
        going.clear();
        if moving.going.capacity().max(moving.before.capacity()) <= KEPT {
            self.moving = moving;
        }
        urls
    }

    /// Queues URLs of one priority, one after the other: each after all others of it, or after this many.
    fn push_all(&mut self, queue: &mut Queue, urls: &[(u8, Queued)], after: Option<u16>) {
        let Some((_, first)) = urls.first() else { return };
        if let Some(after) = after {
            let before: Vec<_> = (0..after).map_while(|_| self.pop_of(queue, first.priority)).collect();
            for (_, queued) in urls {
                self.push_front(queue, *queued);
            }
            self.rejoin(queue, first.priority, &before);
            return;
        }
        // The first may make the level, and all others find it.
        self.push(queue, *first);
        if let Some((level, chunks)) = self.level(queue, *first).filter(|_| urls.len() > 1) {
            urls[1..].iter().for_each(|(_, queued)| level.push(chunks, queued.position.to_u64()));
        }
        queue.len += u32::try_from(urls.len() - 1).expect("they were queued before");
    }

    /// Changes the level of a priority, or removes it if `change` returns `None`. Nothing happens if there is none.
    fn change_level(
        &mut self,
        queue: &mut Queue,
        priority: u8,
        change: impl FnOnce(Level, &mut Pool<Chunk>) -> Option<Level>,
    ) {
        if queue.len == 0 {
            return;
        }
        if queue.best.priority == priority {
            if let Some(changed) = change(queue.best, &mut self.chunks) {
                queue.best = changed;
                return;
            }
            self.in_use.left(priority);
            if let Some(next) = self.take_level(queue.best.next) {
                queue.best = next;
            }
            return;
        }
        let (mut before, mut id) = (NONE, queue.best.next);
        while id != NONE && self.levels[id].priority != priority {
            (before, id) = (id, self.levels[id].next);
        }
        if id == NONE {
            return;
        }
        if let Some(changed) = change(self.levels[id], &mut self.chunks) {
            self.levels[id] = changed;
            return;
        }
        self.in_use.left(priority);
        let next = self.levels.give_back(id);
        (if before == NONE { &mut queue.best } else { &mut self.levels[before] }).next = next;
    }
}
