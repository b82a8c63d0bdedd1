//! The URLs of one priority of one host, in chunks from a pool.
//!
//! ```text
//!   Level   first ─────────────▶ head ──▶ chunk ──▶ chunk ◀── tail           last
//!                                  ▲                   ▲
//!                               head_at             tail_at
//! ```
//!
//! A chunk is 28 bytes of steps and the number of the next chunk. A step goes from one position to the next; it is a varint, and may
//! straddle two chunks. A chunk is freed when its last byte has been read, so a queue that is read as fast as it is written keeps at most
//! two chunks, however many URLs go through it.
//!
//! A level itself is 32 bytes, and [`Back`](super::Back) copies it freely between the host, which stores the best one, and the pool.
//!
//! # The pool
//!
//! The pool has many small records of one size, which are freed and reused. A record's number takes half the bytes of a pointer, and a
//! record has no header. Free records form a list through themselves, so giving one back and taking it again touches one cache line. The
//! pool never shrinks: a queue may need again what it needed once.

use std::ops::{Index, IndexMut};

use crate::bytes::varint;
use crate::gate::Position;

/// The URLs of one priority of one host: the first and the last position in full, the others as steps.
///
/// One or two URLs are the first and the last alone, and need no chunk: most hosts of a wide crawl have no more. With more URLs, the chunks
/// have every step from the first to the last. No URL follows itself, so a step is never 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    /// The position of the first URL.
    pub(crate) first: u64,
    /// The position of the last URL. The step of the next URL pushed is relative to it.
    pub(crate) last: u64,
    /// The first chunk of the steps; [`NONE`] if the first and the last are the only URLs.
    pub(crate) head: u32,
    /// The last chunk, which is written to; the head, if there is one chunk.
    tail: u32,
    /// The next worse level.
    pub(crate) next: u32,
    /// The place in the head chunk of the next byte to read.
    head_at: u8,
    /// The place in the tail chunk of the next byte to write.
    tail_at: u8,
    /// The priority of all its URLs. The levels of one host are ordered by it, the least first.
    pub(crate) priority: u8,
}

/// Bytes of steps in a chunk: with its link a chunk is half a cache line.
const CHUNK: u8 = 28;

/// A piece of a level's steps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chunk {
    /// The next chunk of the level; of a free chunk, the next free one.
    pub(crate) next: u32,
    bytes: [u8; CHUNK as usize],
}

impl Level {
    /// A level of one URL.
    pub(crate) fn of(Queued { position, priority }: Queued) -> Self {
        let at = position.to_u64();
        Self { first: at, last: at, head: NONE, tail: NONE, next: NONE, head_at: 0, tail_at: 0, priority }
    }

    /// This level, followed by `next`.
    pub(crate) fn before(self, next: u32) -> Self {
        Self { next, ..self }
    }

    /// Adds a URL after the last. The second URL needs no step: the two are the first and the last.
    pub(crate) fn push(&mut self, chunks: &mut Pool<Chunk>, at: u64) {
        if !self.is_one() || at == self.first {
            self.write_step(chunks);
            let (bytes, length) = varint::encode(varint::step(self.last, at));
            bytes[..length].iter().for_each(|&byte| self.write(chunks, byte));
        }
        self.last = at;
    }

    /// Adds a URL before the first. The bytes of its step are written backwards, into the free bytes at the head chunk's beginning or into
    /// a new chunk before the head.
    pub(crate) fn push_front(&mut self, chunks: &mut Pool<Chunk>, at: u64) {
        if !self.is_one() || at == self.first {
            self.write_step(chunks);
            let (bytes, length) = varint::encode(varint::step(at, self.first));
            bytes[..length].iter().rev().for_each(|&byte| self.write_front(chunks, byte));
        }
        self.first = at;
    }

    /// Goes on to the next URL; `false` if there is none: the level is then over. A chunk that has been read is given back.
    #[inline]
    pub(crate) fn advance(&mut self, chunks: &mut Pool<Chunk>) -> bool {
        if self.is_one() {
            return false;
        }
        self.first = if self.head == NONE {
            self.last
        } else {
            let step = varint::decode(|| Some(self.read(chunks)));
            varint::walk(self.first, step.expect("whole numbers are written"))
        };
        true
    }

    /// Its first URL.
    pub(crate) fn queued(&self) -> Queued {
        Queued { position: Position::from_u64(self.first), priority: self.priority }
    }

    /// The steps from the first URL on, each from one position to the next. Removes nothing.
    pub(crate) fn steps(&self, chunks: &Pool<Chunk>) -> impl Iterator<Item = u64> {
        let mut bytes = self.bytes(chunks).flatten().copied();
        self.unwritten().into_iter().chain(std::iter::from_fn(move || varint::decode(|| bytes.next())))
    }

    /// Appends the steps as [`varint`]s.
    pub(crate) fn put_steps(&self, chunks: &Pool<Chunk>, to: &mut Vec<u8>) {
        self.unwritten().into_iter().for_each(|step| varint::put(to, step));
        self.bytes(chunks).for_each(|bytes| to.extend_from_slice(bytes));
    }

    /// Whether it holds a single URL. A level is never empty: its owner drops it with its last URL.
    fn is_one(&self) -> bool {
        self.head == NONE && self.first == self.last
    }

    /// The step between two URLs that need no chunk.
    fn unwritten(&self) -> Option<u64> {
        (self.head == NONE && self.first != self.last).then(|| varint::step(self.first, self.last))
    }

    /// If there are two URLs without a chunk, writes the step between them: a third one comes.
    fn write_step(&mut self, chunks: &mut Pool<Chunk>) {
        if let Some(step) = self.unwritten() {
            let (bytes, length) = varint::encode(step);
            bytes[..length].iter().for_each(|&byte| self.write(chunks, byte));
        }
    }

    /// Writes a byte after the last. A step may straddle two chunks, so no byte stays free at a chunk's end.
    fn write(&mut self, chunks: &mut Pool<Chunk>, byte: u8) {
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

    /// Writes a byte before the first. Only for URLs that are queued again after a crash, and for the few URLs before one that is removed,
    /// so it need not be fast.
    fn write_front(&mut self, chunks: &mut Pool<Chunk>, byte: u8) {
        if self.head == NONE {
            self.start(chunks, CHUNK);
        } else if self.head_at == 0 {
            self.head = chunks.take(Chunk { next: self.head, ..Chunk::default() });
            self.head_at = CHUNK;
        }
        self.head_at -= 1;
        chunks[self.head].bytes[usize::from(self.head_at)] = byte;
    }

    /// Removes and returns the first byte; only called while there is one. When a chunk's last byte has been read, the chunk is given back.
    fn read(&mut self, chunks: &mut Pool<Chunk>) -> u8 {
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

    /// The bytes of the steps, chunk by chunk.
    fn bytes<'a>(&self, chunks: &'a Pool<Chunk>) -> impl Iterator<Item = &'a [u8]> {
        let Self { mut head, mut head_at, tail, tail_at, .. } = *self;
        std::iter::from_fn(move || {
            let chunk = (head != NONE).then(|| &chunks[head])?;
            let is_last = head == tail;
            let bytes = &chunk.bytes[usize::from(head_at)..usize::from(if is_last { tail_at } else { CHUNK })];
            (head, head_at) = (if is_last { NONE } else { chunk.next }, 0);
            Some(bytes)
        })
    }

    /// Starts with one chunk, to be written to from this place: forwards from its beginning, or backwards from its end.
    fn start(&mut self, chunks: &mut Pool<Chunk>, at: u8) {
        let chunk = chunks.take(Chunk { next: NONE, ..Chunk::default() });
        (self.head, self.tail) = (chunk, chunk);
        (self.head_at, self.tail_at) = (at, at);
    }
}

impl Default for Level {
    fn default() -> Self {
        Self::of(Queued { position: Position::from_u64(0), priority: 0 })
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

/// No record: the end of a list.
pub(crate) const NONE: u32 = u32::MAX;

/// Records in one segment: growing allocates one of them and copies nothing.
const SEGMENT: usize = 4096;

/// A record with a field for the number of another one: its follower in a list, or the next free record.
pub(crate) trait Linked: Copy + Default {
    /// The number of its follower; [`NONE`] at the end.
    fn next(&self) -> u32;
    /// Changes its follower.
    fn set_next(&mut self, next: u32);
}

/// Many small records of one kind, known by number, without an allocation or an allocator's header for each. Memory is never freed; the
/// record given back last is the next one taken.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    /// All records, in the order of their numbers.
    segments: Vec<Box<[T]>>,
    /// The number of records ever taken; records beyond it were never touched.
    taken: u32,
    /// The first of the list of records given back.
    free: u32,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { segments: Vec::new(), taken: 0, free: NONE }
    }
}

impl<T: Linked> Pool<T> {
    /// Takes a record and fills it.
    ///
    /// # Panics
    /// If 2³² - 1 records are in use: at 32 bytes each, 128 GiB.
    pub(crate) fn take(&mut self, value: T) -> u32 {
        let id = if self.free == NONE {
            assert!(self.taken < NONE, "2^32 - 1 records are in use");
            if self.taken as usize == self.segments.len() * SEGMENT {
                self.segments.push(vec![T::default(); SEGMENT].into());
            }
            self.taken += 1;
            self.taken - 1
        } else {
            let id = self.free;
            self.free = self[id].next();
            id
        };
        self[id] = value;
        id
    }

    /// Gives a record back; returns the number of its follower.
    pub(crate) fn give_back(&mut self, id: u32) -> u32 {
        let free = self.free;
        let record = &mut self[id];
        let next = record.next();
        record.set_next(free);
        self.free = id;
        next
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        self.segments.len() * SEGMENT * size_of::<T>()
    }
}

/// A record by its number, which must be in use: a pool does not check it.
impl<T> Index<u32> for Pool<T> {
    type Output = T;

    fn index(&self, id: u32) -> &T {
        &self.segments[id as usize / SEGMENT][id as usize % SEGMENT]
    }
}

impl<T> IndexMut<u32> for Pool<T> {
    fn index_mut(&mut self, id: u32) -> &mut T {
        &mut self.segments[id as usize / SEGMENT][id as usize % SEGMENT]
    }
}

/// A queued position and its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    /// Its entry in the journal, which has everything else about it.
    pub(crate) position: Position,
    /// The front queue of its host while this URL is its next; 0 goes before all others.
    pub(crate) priority: u8,
}
