//! By which rules of the gate URLs were judged last.

use crate::gate::{Position, Refusal};

/// By which rules of the gate URLs were judged last.
///
/// A *round* begins with each change of the rules. What was admitted before it is judged again when its turn comes, and what is refused then
/// is set aside: it keeps its entry, and the next round judges it once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleRound {
    /// Tells these rules from others; 0 where none are known yet.
    pub digest: u64,
    /// They judged each URL whose entry stands at this position or after it.
    pub since: Position,
    /// How many rounds there were before this one.
    pub number: u32,
}

/// The place of a URL that is set aside: by which round, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Aside {
    /// The number of the round.
    pub round: u32,
    /// The reason.
    pub refusal: Refusal,
}

impl RuleRound {
    /// The round that follows, of other rules that hold from this position on. A journal that keeps no such records gives none: then all that
    /// waits is asked, whenever it came.
    pub(crate) fn next(self, digest: u64, at: Option<Position>) -> Self {
        let since = at.unwrap_or(Position::from_u64(u64::MAX));
        Self { digest, since, number: self.number.saturating_add(1) }
    }
}
