//! Many small records of one size, freed and reused.
//!
//! A record's number takes half the bytes of a pointer, and a record has no header. Free records form a list through themselves, so giving
//! one back and taking it again touches one cache line. The pool never shrinks: what a queue needed once it may need again.

use std::ops::{Index, IndexMut};

/// No record: the end of a list.
pub(crate) const NONE: u32 = u32::MAX;

/// Records in one segment: growing allocates one of them and copies nothing.
const SEGMENT: usize = 4096;

/// A record that has room for the number of another: its follower in a list, or the next free one.
pub(crate) trait Linked: Copy + Default {
    /// The number of its follower; [`NONE`] at the end.
    fn next(&self) -> u32;
    /// Changes its follower.
    fn set_next(&mut self, next: u32);
}

/// Many small records of one kind, known by number and reused, without an allocation or an allocator's header for each. Memory is never
/// freed: the record given back last is the next one taken.
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
