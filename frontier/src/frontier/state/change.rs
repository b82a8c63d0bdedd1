//! A change of the state: a record, what the state cannot look up for itself, and the parts of the state to which the record is new. Also
//! the sums that are kept as records are applied.

use crate::address::CanonicalUrl;
use crate::frontier::LeaseToken;
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
    /// The lease that came back with it, if that had a token.
    pub(crate) token: Option<LeaseToken>,
    /// The parts of the state that do not have it yet.
    pub(crate) fresh: PendingParts,
}

/// The parts of the state, besides the host, to which a record is new. A record that was just written is new to all of them. On resume, a
/// record is new to the parts that the checkpoint had saved before the record was written: see [`SavedAt`](super::save::SavedAt).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each part answers for itself")]
pub(crate) struct PendingParts {
    /// The sums.
    pub(crate) counts: bool,
    /// The schedule of URLs that wait for a time.
    pub(crate) schedule: bool,
    /// The place in the schedule where this URL was set aside before.
    pub(crate) aside: bool,
    /// The URL's shard of the seen set.
    pub(crate) seen: bool,
}

impl PendingParts {
    /// New to all parts.
    pub(crate) const ALL: Self = Self { counts: true, schedule: true, aside: true, seen: true };
}

/// Sums that would otherwise take a walk over all hosts or over the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// URLs in the queues of hosts, including lent ones.
    pub(crate) queued: u64,
    /// Pages done for good, and pages given up.
    pub(crate) completed: u64,
    /// Leases that will be tried again.
    pub(crate) retries: u64,
    /// Hosts that are not asked again in this run.
    pub(crate) retired_hosts: u64,
    /// Bytes of the first output, by the last receipt.
    pub(crate) output: u64,
}
