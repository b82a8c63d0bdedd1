//! The counts of a frontier at one moment.

use super::RuleRound;
use crate::gate::{Position, Refusal, ScopeKind};

/// The counts of a frontier and its gate, and the scope that the seeds opened: small, and all of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// The journal's end at that moment.
    pub position: Position,
    /// URLs admitted, without those refused later.
    pub admitted: u64,
    /// URLs refused, by reason.
    pub refused: Vec<(Refusal, u64)>,
    /// Page leases completed for good.
    pub completed: u64,
    /// Leases that were tried again.
    pub retries: u64,
    /// Bytes of the first output.
    pub output: u64,
    /// Leases that were out.
    pub leased: u64,
    /// The round of rules by which URLs are judged.
    pub rules: RuleRound,
    /// The kind of the roots.
    pub scope: ScopeKind,
    /// The hosts, domains or directories that the seeds opened.
    pub roots: Vec<String>,
    /// The origins of the seeds: `https://a.example`.
    pub originals: Vec<String>,
    /// The evidence of shapes, hosts and domains for the budgets, by slot number.
    pub evidence: Vec<(u32, u64)>,
}
