//! Requests to the cluster admin.

use std::path::PathBuf;

/// A request to the cluster admin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClusterRequest {
    /// A node gives back its partitions, and ends.
    Drain { node: String },
    /// The same for the node of a job directory.
    Leave { job: PathBuf },
    /// Show the state of the nodes and the partitions.
    Status,
}
