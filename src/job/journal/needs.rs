//! What is needed of a journal, of which parts may have been removed.

use std::ops::Range;

use crate::gate::Position;

/// What is needed of a journal: all from a position on, and of the segments before it those in which a URL stands that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    from: Position,
    /// Oldest first, each with whether it is needed.
    segments: Vec<(Range<Position>, bool)>,
}

impl Needs {
    /// All from this position on, and nothing of what is before.
    #[cfg(feature = "crawl")]
    pub(crate) fn from_on(from: Position) -> Self {
        Self { from, segments: Vec::new() }
    }

    /// All from this position on, and so far none of these segments, oldest first.
    pub(super) fn of(from: Position, segments: impl Iterator<Item = Range<Position>>) -> Self {
        Self { from, segments: segments.map(|segment| (segment, false)).collect() }
    }

    /// All from this position on, and these segments, oldest first.
    pub(in crate::job) fn with(from: Position, segments: impl Iterator<Item = Range<Position>>) -> Self {
        Self { from, segments: segments.map(|segment| (segment, true)).collect() }
    }

    /// From here on, all is needed.
    pub(crate) fn from(&self) -> Position {
        self.from
    }

    /// What stands at this position is needed as well. O(log segments).
    pub(crate) fn add(&mut self, position: Position) {
        let behind = self.segments.partition_point(|(segment, _)| segment.start <= position);
        if let Some(at) = behind.checked_sub(1) {
            self.segments[at].1 = true;
        }
    }

    /// The segments that are needed, oldest first; of one that was written to then, what it held.
    pub(crate) fn segments(&self) -> impl Iterator<Item = &Range<Position>> {
        self.segments.iter().filter(|(_, is_needed)| *is_needed).map(|(segment, _)| segment)
    }

    /// Whether anything is needed of this part of the journal.
    pub(crate) fn any_in(&self, part: &Range<Position>) -> bool {
        let overlaps = |segment: &Range<Position>| segment.start < part.end && part.start < segment.end;
        part.end > self.from || self.segments().any(overlaps)
    }
}
