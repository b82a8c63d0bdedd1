//! The counts of a frontier at one moment.

use super::RuleRound;
use crate::gate::{Position, Refusal, ScopeKind};

/// The counts of a frontier and its gate, and what the seeds opened: small, and all of one moment.
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
    /// By which rules URLs are judged.
    pub rules: RuleRound,
    /// What the roots are.
    pub scope: ScopeKind,
    /// The hosts, domains or directories that the seeds opened.
    pub roots: Vec<String>,
    /// Where the seeds are: `https://a.example`.
    pub originals: Vec<String>,
    /// What shapes, hosts and domains have brought, by the numbers of their slots.
    pub evidence: Vec<(u32, u64)>,
}
