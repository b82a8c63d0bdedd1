//! A record to be applied to the state.

use crate::address::CanonicalUrl;
use crate::frontier::durable::Record;
use crate::frontier::hosts::HostId;
use crate::gate::Position;

/// A record to be applied to the state, with what the state cannot look up for itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    /// What happened, as journaled.
    pub(crate) record: &'a Record<'a>,
    /// Its position in the journal; `None` if the journal keeps no such records.
    pub(crate) at: Option<Position>,
    /// The host that it is about, which is in memory. `None` if it is about none, or if the host already has the record.
    pub(crate) host: Option<HostId>,
    /// The URL that it admits, if the gate has not remembered it yet.
    pub(crate) remember: Option<&'a CanonicalUrl>,
    /// The parts of the state that do not have it yet.
    pub(crate) fresh: PendingParts,
}

/// The parts of the state, besides the host, to which a record is new. A record that was just written is new to all of them. On resume, a
/// record is new to the parts that the checkpoint saved before it was written: see [`SavedAt`](super::saved_at::SavedAt).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each part answers for itself")]
pub(crate) struct PendingParts {
    /// The sums.
    pub(crate) counts: bool,
    /// The schedule of URLs that wait for a time.
    pub(crate) schedule: bool,
    /// The round and reason by which this URL was set aside before.
    pub(crate) aside: bool,
    /// The URL's shard of the seen set.
    pub(crate) seen: bool,
}

impl PendingParts {
    /// New to all parts.
    pub(crate) const ALL: Self = Self { counts: true, schedule: true, aside: true, seen: true };
}
