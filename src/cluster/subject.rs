//! Where the messages of a cluster go.

use std::fmt;

/// Where a message goes. All subjects of a crawl begin with its name, so a server can restrict a user to them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ClusterSubject {
    /// URLs that were found for a partition.
    Found(u32),
    /// What an owner of a partition has journaled.
    Journal(u32),
    /// A value that is replaced: the last message counts.
    Key(ClusterKey),
    /// The names of a partition's snapshots.
    Named(u32),
    /// Seeds, and where seeds redirect to: these widen the scope of all partitions.
    Roots,
    /// The files of a partition, as they were at a position of its log.
    Snapshot(u32),
    /// Link batches that could not be read.
    Unread(u32),
}

impl ClusterSubject {
    /// The partition whose messages go there; `None` if they concern all.
    pub(crate) fn partition(&self) -> Option<u32> {
        match self {
            Self::Found(partition)
            | Self::Journal(partition)
            | Self::Named(partition)
            | Self::Snapshot(partition)
            | Self::Unread(partition) => Some(*partition),
            Self::Key(_) | Self::Roots => None,
        }
    }
}

/// What a value is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ClusterKey {
    /// What all nodes must agree on.
    Crawl,
    /// A node that is told to give back what it has.
    Drain(String),
    /// What the user has dropped.
    Dropped,
    /// The crawl has ended.
    End,
    /// A node, while it lives.
    Node(String),
    /// The owner of a partition.
    Owner(u32),
    /// Whether a partition has anything to do.
    State(u32),
}

/// Keys of one kind, which can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyKind {
    Drain,
    Node,
}

impl KeyKind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::Node => "node",
        }
    }

    /// The key of this kind with this ending.
    pub(crate) fn key(self, end: &str) -> ClusterKey {
        match self {
            Self::Drain => ClusterKey::Drain(end.to_owned()),
            Self::Node => ClusterKey::Node(end.to_owned()),
        }
    }
}

#[cfg(test)]
impl ClusterKey {
    /// Whether it is of this kind.
    pub(crate) fn is_of(&self, kind: KeyKind) -> bool {
        matches!((self, kind), (Self::Drain(_), KeyKind::Drain) | (Self::Node(_), KeyKind::Node))
    }
}

impl fmt::Display for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crawl => f.write_str("crawl"),
            Self::Drain(node) => write!(f, "drain.{node}"),
            Self::Dropped => f.write_str("dropped"),
            Self::End => f.write_str("end"),
            Self::Node(node) => write!(f, "node.{node}"),
            Self::Owner(partition) => write!(f, "owner.{partition}"),
            Self::State(partition) => write!(f, "state.{partition}"),
        }
    }
}

/// What follows the prefix of its stream.
impl fmt::Display for ClusterSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found(partition) => write!(f, "found.{partition}"),
            Self::Journal(partition) => write!(f, "journal.{partition}"),
            Self::Key(key) => key.fmt(f),
            Self::Named(partition) => write!(f, "named.{partition}"),
            Self::Roots => f.write_str("roots"),
            Self::Snapshot(partition) => write!(f, "snapshot.{partition}"),
            Self::Unread(partition) => write!(f, "unread.{partition}"),
        }
    }
}
