//! The errors of a cluster: why a node cannot begin or continue, or why a query to the servers fails.

use std::io;

use super::succession::SuccessionError;
use crate::crawl::CrawlError;
use crate::job::JobError;

/// Why a node of a cluster cannot begin or continue, or why a query to the servers fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// A crawl of that name was begun with other settings.
    #[error("the crawl {crawl} was begun with another {what}: {theirs}, not {ours}")]
    Another {
        /// Its name.
        crawl: String,
        /// Which setting differs.
        what: &'static str,
        /// The value that the crawl was begun with.
        theirs: String,
        /// The value that this node asks for.
        ours: String,
    },
    /// The crawl was begun by another version.
    #[error("the crawl {crawl} was begun by another version of crawler, whose messages this one does not know")]
    Version {
        /// Its name.
        crawl: String,
    },
    /// The job directory belongs to another crawl.
    #[error("{directory} holds a node of another crawl, {theirs}")]
    Foreign {
        /// The directory.
        directory: String,
        /// The crawl that it belongs to.
        theirs: String,
    },
    /// The crawl of a partition cannot be opened or kept.
    #[error(transparent)]
    Crawl(#[from] CrawlError),
    /// The directory of the job, or of a partition, cannot be used.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The servers have lost the crawl.
    #[error("the servers do not have {what} of this crawl any more: it was deleted, or their store was lost")]
    Gone {
        /// The part that they have lost.
        what: String,
    },
    /// The crawl's data on the servers cannot be read, or is incomplete.
    #[error("the log of the crawl is damaged: {0}")]
    Log(String),
    /// There is no such crawl.
    #[error("the servers {addresses} have no crawl {crawl}: {reason}")]
    NoCrawl {
        /// Its name.
        crawl: String,
        /// The servers.
        addresses: String,
        /// Their answer.
        reason: String,
    },
    /// There are no seeds to begin with.
    #[error("the crawl {crawl} is not begun yet, and no seeds are given")]
    NoSeeds {
        /// Its name.
        crawl: String,
    },
    /// A directory holds no node.
    #[error("{directory} holds no node of a crawl on many machines")]
    NoNode {
        /// The directory.
        directory: String,
        /// Why its description, `cluster.toml`, cannot be read.
        source: io::Error,
    },
    /// The servers refused our credentials.
    #[error("the servers {addresses} do not let us in: see cluster.sign_in")]
    NotLetIn {
        /// The servers.
        addresses: String,
    },
    /// The credentials for the servers cannot be used.
    #[error("{key}: {reason}")]
    SignIn {
        /// The setting that names them.
        key: &'static str,
        /// Why not. It contains no secret.
        reason: String,
    },
    /// A file cannot be written on this machine.
    #[error("cannot keep {what}")]
    Storage {
        /// The thing that cannot be kept.
        what: String,
        /// Why.
        source: io::Error,
    },
    /// More rules than can be dropped.
    #[error("no more than {rules} hosts and patterns, of {bytes} bytes, can be dropped from a crawl on many machines")]
    TooManyDrops {
        /// Maximum number of rules.
        rules: usize,
        /// Maximum bytes of all rules.
        bytes: usize,
    },
    /// No server can be reached.
    #[error("the servers {addresses} cannot be reached: {reason}")]
    Unreachable {
        /// The servers.
        addresses: String,
        /// Why.
        reason: String,
    },
}

impl From<SuccessionError> for ClusterError {
    fn from(error: SuccessionError) -> Self {
        match error {
            SuccessionError::Damaged { .. } | SuccessionError::Purged(_) => Self::Log(error.to_string()),
            SuccessionError::Storage(source) => Self::Storage { what: "the journal of a partition".to_owned(), source },
        }
    }
}

impl ClusterError {
    /// For `map_err`: a directory's description cannot be read.
    pub(crate) fn reading(directory: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let directory = directory.display().to_string();
        move |source| Self::NoNode { directory, source }
    }

    /// For `map_err`: a file cannot be written.
    pub(crate) fn storing(what: &str) -> impl FnOnce(io::Error) -> Self {
        let what = what.to_owned();
        move |source| Self::Storage { what, source }
    }
}
