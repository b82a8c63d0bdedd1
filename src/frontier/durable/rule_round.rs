//! The round of rules by which URLs were last judged.

use crate::gate::{Position, Refusal};

/// The round of rules by which URLs were last judged.
///
/// Each change of the rules begins a *round*. A URL admitted before it is judged again when its turn comes. If it is refused then, it is
/// set aside: it keeps its entry, and the next round judges it once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleRound {
    /// A digest that distinguishes these rules from others; 0 if none are known yet.
    pub digest: u64,
    /// They judged each URL whose entry is at or after this position.
    pub since: Position,
    /// The number of rounds before this one.
    pub number: u32,
}

/// The place of a URL that is set aside: the round and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Aside {
    /// The number of the round.
    pub round: u32,
    /// The reason.
    pub refusal: Refusal,
}

impl RuleRound {
    /// The next round, with other rules that hold from this position on. If the journal keeps no such records, there is no position: then
    /// all queued URLs are judged again, whenever they came.
    pub(crate) fn next(self, digest: u64, at: Option<Position>) -> Self {
        let since = at.unwrap_or(Position::from_u64(u64::MAX));
        Self { digest, since, number: self.number.saturating_add(1) }
    }
}
