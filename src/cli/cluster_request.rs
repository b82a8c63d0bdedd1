//! What the desk of a cluster is asked.

/// What the desk of a cluster is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClusterRequest {
    /// A node is to give back what it has, and to end.
    Drain { node: String },
    /// How the nodes and the partitions stand.
    Status,
}
