//! What the desk of a cluster is asked.

use std::path::PathBuf;

/// What the desk of a cluster is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClusterRequest {
    /// A node is to give back what it has, and to end.
    Drain { node: String },
    /// The node of a job directory is to do so.
    Leave { job: PathBuf },
    /// How the nodes and the partitions stand.
    Status,
}
