//! A record on its way into the state.

use crate::address::CanonicalUrl;
use crate::frontier::durable::Record;
use crate::frontier::hosts::HostId;
use crate::gate::Position;

/// A record on its way into the state, with what the state cannot look up for itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    /// What happened, as the journal has it.
    pub(crate) record: &'a Record<'a>,
    /// Where the journal has it; `None` where the journal keeps no such records.
    pub(crate) at: Option<Position>,
    /// The host that it is about, which is in memory. `None` where it is about none, or where the host has the record already.
    pub(crate) host: Option<HostId>,
    /// The URL that it admits, where the gate has not remembered it yet.
    pub(crate) remember: Option<&'a CanonicalUrl>,
    /// The parts of the state that do not have it yet.
    pub(crate) fresh: PendingParts,
}

/// The parts of the state, beside the host, to which a record is new. A record that was just written is new to all of them. One
/// that is read again is new to those that a checkpoint saved before it was written: see [`SavedAt`](super::saved_at::SavedAt).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each part answers for itself")]
pub(crate) struct PendingParts {
    /// The sums.
    pub(crate) counts: bool,
    /// The URLs that wait for a time.
    pub(crate) schedule: bool,
    /// The set of URLs with which this one was set aside before.
    pub(crate) aside: bool,
    /// The shard of the seen set that the URL is in.
    pub(crate) seen: bool,
}

impl PendingParts {
    /// New to all parts.
    pub(crate) const ALL: Self = Self { counts: true, schedule: true, aside: true, seen: true };
}
