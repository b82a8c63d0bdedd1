//! The values of a cluster's keys: JSON, so that an operator of the servers can read them.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::report::Report;

/// A node, while it lives. It writes this again and again, each time with another `beat`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NodeValue {
    /// Its name for people: its machine, and its job directory.
    pub(crate) name: String,
    pub(crate) beat: u64,
    /// It takes no more partitions, and gives back those that it has.
    pub(crate) is_leaving: bool,
    /// It has left, or others have taken it for dead.
    pub(crate) is_gone: bool,
    /// Partitions that it owns.
    pub(crate) partitions: usize,
    /// Pages that it has recorded.
    pub(crate) pages: u64,
    /// Drawn once for the job directory: a later node there has the same place, and so the same partitions.
    #[serde(default)]
    pub(crate) place: u64,
}

/// The owner of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnerValue {
    /// The node; `None` if the partition was given back.
    pub(crate) node: Option<String>,
    /// Drawn by the writer, so that no two values are the same.
    pub(crate) token: u64,
}

/// Whether a partition has anything to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StateValue {
    pub(crate) is_idle: bool,
    /// The last message of its log at that time.
    pub(crate) journal: u64,
    /// The last link batch that it had taken in.
    pub(crate) read: u64,
    /// Link batches that could not be read.
    pub(crate) unread: u64,
    /// The message with the list of what is dropped that it applies; 0 if there is none.
    #[serde(default)]
    pub(crate) dropped: u64,
}

/// What the user has dropped from the crawl.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DroppedValue {
    /// Rules as a job's `dropped.txt` has them.
    pub(crate) rules: Vec<String>,
    pub(crate) token: u64,
}

/// Where a snapshot of a partition is. This is in the log: a key's value could be replaced by an older one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SnapshotValue {
    /// Drawn by the writer.
    pub(crate) token: u64,
    /// Its messages come after this one.
    pub(crate) behind: u64,
    /// The message of the log at which it was made.
    pub(crate) last: u64,
    /// Where the journal ended there.
    pub(crate) end: u64,
    /// It has what link batches up to here brought.
    pub(crate) read: u64,
    /// Bytes of its files.
    pub(crate) bytes: u64,
}

/// A node that is to give back what it has, or the end of the crawl.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MarkValue {
    pub(crate) at: String,
    pub(crate) token: u64,
}

/// The counts of a partition, as its log has them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CountsValue {
    /// For its next owner.
    pub(crate) carried: String,
    /// Its report so far.
    pub(crate) report: Option<Report>,
}

/// The bytes that are kept.
pub(crate) fn to_bytes(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain data")
}

/// Reads a value. One that cannot be parsed counts as missing: another version has other values.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}
