//! The parts of a journal that must not be removed.
//!
//! A waiting URL is a position in a queue, and its text is only in the journal. So a segment stays until none of its URLs waits,
//! however old it is. While a checkpoint is written, each URL that it saves marks its segment here.

use std::ops::Range;

use crate::gate::Position;

/// The parts of a journal that are needed: everything from a position on, and before it the segments with a URL that still waits. A
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

    /// Everything from this position on, and none of these segments (oldest first) so far.
    pub(super) fn of(from: Position, segments: impl Iterator<Item = Range<Position>>) -> Self {
        Self { from, segments: segments.map(|segment| (segment, false)).collect() }
    }

    /// Everything from this position on, and all of these segments (oldest first).
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

    /// The needed segments, oldest first. Of the segment that was being written then, the part that it held.
    pub(crate) fn segments(&self) -> impl Iterator<Item = &Range<Position>> {
        self.segments.iter().filter(|(_, is_needed)| *is_needed).map(|(segment, _)| segment)
    }

    /// Whether anything in this part of the journal is needed.
    pub(crate) fn any_in(&self, part: &Range<Position>) -> bool {
        let overlaps = |segment: &Range<Position>| segment.start < part.end && part.start < segment.end;
        part.end > self.from || self.segments().any(overlaps)
    }
}
