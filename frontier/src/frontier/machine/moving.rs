//! Waiting URLs move to other priorities, many at once: the steps of [`reprioritize`](super::Frontier::reprioritize) and of
//! [`move_up`](super::Frontier::move_up).
//!
//! ```text
//!   positions ──▶ one walk over what waits ──▶ front queues ──▶ a record for each host ──▶ its levels, rebuilt once
//! ```
//!
//! A URL in a host's queue has the priority of its level there, and nothing else says where it is. So one walk over the queues looks up
//! each waiting URL among the names, and all moves of a host are made together. A URL that waits for a time, is set aside or was given up
//! is in no host's queue: it keeps its place, and its new priority is [kept](crate::frontier::state::Rescored) until it is queued.
//!
//! - **A URL that is lent out stays where it is**, and so does one that was tried and goes next: a lent URL must be found near the front of
//!   its level. The answer counts them as `out`.
//! - **Moved URLs are queued as if they were found now**, in the order in which they stood: after all others of their new priority, or
//!   before them with the order [last in, first out](crate::frontier::QueueOrder::Lifo).
//! - **The journal has each move**, before it is made. A host's moves are in one record, or in several of a MiB.
//! - **Beyond 256 priorities**, URLs share the front queue of the closest priority, as single URLs do. If this call empties front queues,
//!   the priorities that had to share get them.

use std::hint::black_box;
use std::io;
use std::ops::Range;

use super::host_queues::HostQueues;
use super::move_ups::MoveUps;
use super::score_table::{ScoreTable, new_fronts};
use crate::frontier::durable::{Journal, MovedRecord, MovesBuf, Record, ScoresBuf};
use crate::frontier::hosts::HostId;
use crate::frontier::queues::{Back, Level};
use crate::frontier::state::State;
use crate::frontier::{Priorities, Timestamp};
use crate::gate::Position;

/// What became of new priorities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reprioritized {
    /// URLs that have their new priority now.
    pub moved: u64,
    /// URLs that had it already.
    pub unchanged: u64,
    /// URLs that are lent out, or were tried and go next: they keep their priority and their place.
    pub out: u64,
    /// Names of no URL that waits: it is done, dropped, or was never admitted.
    pub unknown: u64,
}

/// At most this many passes. Each gives front queues that the moves of the pass before have emptied to priorities that had to share.
const PASSES: u32 = 4;
/// If at most one in this many waiting URLs is named, the entries of the named ones are read to find their hosts: an entry takes a
/// microsecond, a walk 15 ns a URL.
const FEW: u64 = 64;

/// This many URLs are looked up at once, so that their waits for memory overlap.
const AT_ONCE: usize = 1024;
/// At most this many hosts are looked at together, as long as they have no more than [`AT_ONCE`] URLs in all: otherwise a host with ten
/// URLs would wait for memory as often as one with a thousand.
const HOSTS_AT_ONCE: usize = 64;

/// What moves read and change of a frontier.
pub(super) struct Moving<'a, J> {
    pub(super) state: &'a mut State,
    pub(super) journal: &'a mut J,
    pub(super) queues: &'a mut HostQueues,
    pub(super) move_ups: &'a mut MoveUps,
    /// How many URLs shared a front queue with others of the closest priority.
    pub(super) shared_priorities: &'a mut u64,
    pub(super) now: Timestamp,
}

impl<J: Journal> Moving<'_, J> {
    /// Gives the URLs at these positions other priorities.
    pub(super) fn move_all(&mut self, named: &ScoreTable) -> io::Result<Reprioritized> {
        if named.len() == 0 {
            return Ok(Reprioritized::default());
        }
        let hosts = self.hosts_of(named)?;
        let mut done = None;
        for pass in 1..=PASSES {
            self.take_fronts(named.scores().collect())?;
            let mut walk = Walk::over(named);
            match &hosts {
                Some(hosts) => self.move_hosts(hosts.iter().copied(), &mut walk)?,
                None => self.move_hosts(self.state.hosts().ids(), &mut walk)?,
            }
            done.get_or_insert(walk.done);
            if walk.shared == 0 || pass == PASSES || !has_free_front(self.state.back()) {
                *self.shared_priorities += walk.shared;
                break;
            }
        }
        let mut done = done.unwrap_or_default();
        let (moved, unchanged) = self.rescore(named)?;
        (done.moved, done.unchanged) = (done.moved + moved, done.unchanged + unchanged);
        done.unknown = named.len() as u64 - done.moved - done.unchanged - done.out;
        Ok(done)
    }

    /// The numbers of the hosts that have the URLs at these positions. `None` means all hosts: with as many URLs named, a walk over all
    /// hosts takes no longer.
    fn hosts_of(&mut self, named: &ScoreTable) -> io::Result<Option<Vec<HostId>>> {
        if (named.len() as u64).saturating_mul(FEW) >= self.state.count().queued {
            return Ok(None);
        }
        let canonicalizer = self.state.gate().canonicalizer().clone().with_max_bytes(usize::MAX);
        let mut hosts = Vec::new();
        for name in named.names() {
            let entry = match self.journal.read(Position::from_u64(name)) {
                Ok(entry) => entry,
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => continue,
                // It is no position, or its record is damaged: the queues say whether it waits.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(None),
                Err(error) => return Err(error),
            };
            let key = entry.queue_key(&canonicalizer).ok();
            hosts.extend(key.and_then(|key| self.state.look_up(key.as_str())));
        }
        hosts.sort_unstable();
        hosts.dedup();
        Ok(Some(hosts))
    }

    /// Lets front queues without URLs stand for these priorities, as far as there are enough.
    pub(super) fn take_fronts(&mut self, scores: Vec<i64>) -> io::Result<()> {
        for (priority, front) in new_fronts(self.state.back(), scores) {
            self.state.commit(self.journal, &Record::Priority { front, priority }, None)?;
            self.queues.reorder(self.state);
        }
        Ok(())
    }

    /// Journals and makes the moves of these hosts, one after the other.
    fn move_hosts(&mut self, mut hosts: impl Iterator<Item = HostId>, walk: &mut Walk<'_>) -> io::Result<()> {
        loop {
            walk.hosts.clear();
            walk.hosts.extend(hosts.by_ref().take(HOSTS_AT_ONCE).map(|id| (id, 0)));
            if walk.hosts.is_empty() {
                return Ok(());
            }
            let state = &*self.state;
            state.back().prefetch_all(walk.hosts.iter().map(|(id, _)| &state.host(*id).queue));
            for (id, _) in &walk.hosts {
                black_box(state.host(*id).key.as_str().as_bytes().first());
            }
            let mut at = 0;
            while let Some((first, _)) = walk.hosts.get(at).copied() {
                let (from, back) = (at, self.state.back());
                walk.next.clear();
                while let Some((id, end)) = walk.hosts.get_mut(at) {
                    let queue = &self.state.host(*id).queue;
                    if walk.next.len() + queue.len() as usize > AT_ONCE {
                        break;
                    }
                    walk.next.extend(back.levels(queue).flat_map(|level| places(back, level)));
                    *end = walk.next.len();
                    at += 1;
                }
                if at == from {
                    self.move_host(first, walk)?;
                    at += 1;
                    continue;
                }
                walk.look_up();
                let mut begin = 0;
                for host in from..at {
                    let (id, end) = walk.hosts[host];
                    if begin < end {
                        let lists = walk.list_moves(self.state, self.queues, id, Some(begin..end));
                        self.make_moves(id, walk, lists)?;
                    }
                    begin = end;
                }
            }
        }
    }

    /// Journals and makes the moves of a host.
    pub(super) fn move_host(&mut self, id: HostId, walk: &mut Walk<'_>) -> io::Result<()> {
        if self.state.host(id).queue.len() == 0 {
            return Ok(());
        }
        let lists = walk.list_moves(self.state, self.queues, id, None);
        self.make_moves(id, walk, lists)
    }

    /// Journals and makes the moves in this many lists.
    fn make_moves(&mut self, id: HostId, walk: &mut Walk<'_>, lists: usize) -> io::Result<()> {
        if lists == 0 {
            return Ok(());
        }
        walk.key.clear();
        walk.key.push_str(self.state.host(id).key.as_str());
        for list in &mut walk.lists[..lists] {
            let moves = list.list();
            let record = MovedRecord { host: &walk.key, moves };
            self.state.commit(self.journal, &Record::Moved(record), Some(id))?;
            self.move_ups.note_moves(moves);
        }
        self.queues.moved(self.state, id, self.now);
        Ok(())
    }

    /// Gives new priorities to those of these URLs that are in no host's queue; says how many changed, and how many had theirs already.
    fn rescore(&mut self, named: &ScoreTable) -> io::Result<(u64, u64)> {
        let scores = self.state.schedule().iter().filter_map(|at| Some((at, named.get(at.to_u64())?)));
        let scores: Vec<(Position, i64)> = scores.collect();
        let (mut moved, mut unchanged) = (0, 0);
        let mut list = ScoresBuf::default();
        for (position, score) in scores {
            let known = self
                .state
                .rescored()
                .get(position)
                .map_or_else(|| self.journal.read(position).map(|entry| entry.score), Ok)?;
            if known == score {
                unchanged += 1;
                continue;
            }
            moved += 1;
            list.url(position, score);
            if list.is_full() {
                self.state.commit(self.journal, &Record::Rescored(std::mem::take(&mut list).list()), None)?;
            }
        }
        if !list.is_empty() {
            self.state.commit(self.journal, &Record::Rescored(list.list()), None)?;
        }
        Ok((moved, unchanged))
    }
}

fn has_free_front(back: &Back) -> bool {
    (0..=u8::MAX).any(|front| back.is_unused(front))
}

/// How many of a host's moves are listed so far.
struct Listed {
    is_lifo: bool,
    /// The lists before the last.
    lists: usize,
    is_any: bool,
    /// The level that URLs leave now.
    level: Option<u8>,
}

/// The URLs of a level, each with its front queue, and its place there.
fn places<'a>(back: &'a Back, level: &'a Level) -> impl Iterator<Item = (Position, u8, usize)> + 'a {
    back.positions(level).enumerate().map(|(place, position)| (position, level.priority, place))
}

/// A walk over what waits, with memory that is used again for each host.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    pub(super) named: &'a ScoreTable,
    /// The front queues in which named URLs may be; `None` for all.
    pub(super) levels: Option<[bool; 256]>,
    pub(super) done: Reprioritized,
    /// URLs that share a front queue with others of the closest priority.
    pub(super) shared: u64,
    /// The moves of a host.
    pub(super) lists: Vec<MovesBuf>,
    /// The next hosts, each with the end of its URLs in `next`.
    pub(super) hosts: Vec<(HostId, usize)>,
    /// The next URLs, each with its front queue, and its place there; and their new priorities.
    pub(super) next: Vec<(Position, u8, usize)>,
    pub(super) scores: Vec<Option<i64>>,
    /// Priorities that were looked up, each with the closest front queue.
    closest: Box<[Option<(i64, u8)>; 256]>,
    /// Where URLs near the front of their levels left, and where URLs went; only for hosts whose order is last in, first out.
    pub(super) left: Vec<(u8, usize)>,
    pub(super) to: Vec<u8>,
    /// The text of a host's key.
    pub(super) key: String,
}

impl<'a> Walk<'a> {
    pub(super) fn over(named: &'a ScoreTable) -> Self {
        Self {
            named,
            levels: None,
            done: Reprioritized::default(),
            shared: 0,
            lists: vec![MovesBuf::default()],
            hosts: Vec::new(),
            next: Vec::new(),
            scores: Vec::new(),
            closest: Box::new([None; 256]),
            left: Vec::new(),
            to: Vec::new(),
            key: String::new(),
        }
    }

    /// Looks the next URLs up.
    pub(super) fn look_up(&mut self) {
        let names = self.next.iter().map(|(position, ..)| position.to_u64());
        self.named.prefetch(names.clone());
        self.scores.clear();
        self.scores.extend(names.map(|name| self.named.get(name)));
    }

    /// The front queue that is closest to a priority. During a walk, it does not change.
    pub(super) fn closest(&mut self, score: i64, priorities: &Priorities) -> u8 {
        let [.., place] = score.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        match &mut self.closest[usize::from(place)] {
            Some((known, front)) if *known == score => *front,
            place => place.insert((score, priorities.closest(score))).1,
        }
    }

    /// Over these front queues only.
    pub(super) fn over_levels(named: &'a ScoreTable, levels: [bool; 256]) -> Self {
        Self { levels: Some(levels), ..Self::over(named) }
    }

    /// URLs that moved.
    pub(super) fn moved(&self) -> u64 {
        self.done.moved
    }

    /// Of these, URLs that share a front queue with others of the closest priority.
    pub(super) fn shared(&self) -> u64 {
        self.shared
    }

    /// Lists the moves of a host for its records; says how many lists there are. URLs that stay with the closest priority are left out. If
    /// the host's URLs were looked up, they are this range of `next`.
    fn list_moves(&mut self, state: &State, queues: &HostQueues, id: HostId, known: Option<Range<usize>>) -> usize {
        let is_lifo = queues.is_lifo(state, id);
        let mut listed = Listed { is_lifo, lists: 0, is_any: false, level: None };
        self.lists[0].begin();
        self.left.clear();
        self.to.clear();
        if let Some(known) = known {
            self.list_some(state, queues, id, known, &mut listed);
        } else {
            let (asked, back) = (self.levels, state.back());
            let is_asked = |level: &&Level| asked.is_none_or(|asked| asked[usize::from(level.priority)]);
            let mut each =
                back.levels(&state.host(id).queue).filter(is_asked).flat_map(|level| places(back, level)).fuse();
            loop {
                self.next.clear();
                self.next.extend(each.by_ref().take(AT_ONCE));
                if self.next.is_empty() {
                    break;
                }
                self.look_up();
                self.list_some(state, queues, id, 0..self.next.len(), &mut listed);
            }
        }
        if !listed.is_any {
            return 0;
        }
        if is_lifo {
            self.give_places(state, queues, id, listed.lists + 1);
        }
        listed.lists + 1
    }

    /// Lists the moves of some URLs of a host.
    fn list_some(&mut self, state: &State, queues: &HostQueues, id: HostId, some: Range<usize>, listed: &mut Listed) {
        let back = state.back();
        let (out, alone) = (queues.pages_of(id), queues.alone_out(state, id));
        let keeps_place = |position: Position, front, place| {
            (place == 0 && alone == Some(front)) || out.contains(&position) || back.tries(position) > 0
        };
        for at in some {
            let (Some(score), (position, front, place)) = (self.scores[at], self.next[at]) else { continue };
            if keeps_place(position, front, place) {
                self.done.out += 1;
                continue;
            }
            if score == back.priorities().of(front) {
                self.done.unchanged += 1;
                continue;
            }
            self.done.moved += 1;
            let to = self.closest(score, back.priorities());
            self.shared += u64::from(back.priorities().of(to) != score);
            if to == front {
                continue;
            }
            if self.lists[listed.lists].is_full() {
                (listed.lists, listed.level) = (listed.lists + 1, None);
                if self.lists.len() == listed.lists {
                    self.lists.push(MovesBuf::default());
                }
                self.lists[listed.lists].begin();
            }
            if listed.level != Some(front) {
                self.lists[listed.lists].level(front);
                listed.level = Some(front);
            }
            self.lists[listed.lists].url(position, to);
            listed.is_any = true;
            if listed.is_lifo {
                self.left.push((front, place));
                self.to.push(to);
            }
        }
    }

    /// For a host whose order is last in, first out: writes into the lists after how many URLs of each priority the new ones go.
    fn give_places(&mut self, state: &State, queues: &HostQueues, id: HostId, lists: usize) {
        self.to.sort_unstable();
        self.to.dedup();
        let place = |front: u8| {
            let after = queues.first_place(state, id, front);
            // In several records, some leave after others have come.
            let is_before = |(from, place): &&(u8, usize)| *from == front && *place < after.into() && lists == 1;
            let leave = self.left.iter().filter(is_before).count();
            (front, after - u16::try_from(leave).unwrap_or(after))
        };
        let places: Vec<_> = self.to.iter().map(|front| place(*front)).collect();
        self.lists[..lists].iter_mut().for_each(|list| list.places(&places));
    }
}
