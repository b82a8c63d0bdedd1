//! The parts of a journal that must not be removed.
//!
//! A URL that waits is a position in a queue, and its text stands in the journal alone. So a segment stays for as long as one of its
//! URLs waits, however old it is. While a checkpoint is written, each URL that it saves marks its segment here.

use std::ops::Range;

use crate::gate::Position;

/// What is needed of a journal: everything from a position on, and before it the segments that hold a URL which still waits. A
/// checkpoint keeps this list, so that old segments can be removed when no checkpoint needs them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    from: Position,
    /// The segments before that position, oldest first, and whether each is needed.
    segments: Vec<(Range<Position>, bool)>,
}

impl Needs {
    /// Everything from this position on, and nothing before it.
    #[cfg(feature = "crawl")]
    pub(crate) fn from_on(from: Position) -> Self {
        Self { from, segments: Vec::new() }
    }

    /// Everything from this position on, and so far none of these segments, oldest first.
    pub(super) fn of(from: Position, segments: impl Iterator<Item = Range<Position>>) -> Self {
        Self { from, segments: segments.map(|segment| (segment, false)).collect() }
    }

    /// Everything from this position on, and these segments, oldest first.
    pub(in crate::job) fn with(from: Position, segments: impl Iterator<Item = Range<Position>>) -> Self {
        Self { from, segments: segments.map(|segment| (segment, true)).collect() }
    }

    /// The position from which everything is needed: a replay begins here.
    pub(crate) fn from(&self) -> Position {
        self.from
    }

    /// Adds the segment that holds this position. O(log segments).
    pub(crate) fn add(&mut self, position: Position) {
        let behind = self.segments.partition_point(|(segment, _)| segment.start <= position);
        if let Some(at) = behind.checked_sub(1) {
            self.segments[at].1 = true;
        }
    }

    /// The needed segments, oldest first. For the segment that was written to at the time, the part that it held then.
    pub(crate) fn segments(&self) -> impl Iterator<Item = &Range<Position>> {
        self.segments.iter().filter(|(_, is_needed)| *is_needed).map(|(segment, _)| segment)
    }

    /// Whether anything in this part of the journal is needed.
    pub(crate) fn any_in(&self, part: &Range<Position>) -> bool {
        let overlaps = |segment: &Range<Position>| segment.start < part.end && part.start < segment.end;
        part.end > self.from || self.segments().any(overlaps)
    }
}
