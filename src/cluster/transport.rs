//! The transport of a cluster: the interface of the system that carries its messages, and the subjects of these messages.

use std::fmt;
use std::future::{Future, poll_fn};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

/// A message that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// The message's number in its stream. It grows with each message, over all subjects.
    pub(crate) sequence: u64,
    pub(crate) bytes: Vec<u8>,
}

/// Why a message may not be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PublishError {
    /// The last message of its subject is not the expected one. The message is not kept.
    Refused,
    /// No answer came, or a bad one. The message may still be kept, now or later.
    Unanswered(String),
}

impl fmt::Display for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("another message came before it"),
            Self::Unanswered(reason) => f.write_str(reason),
        }
    }
}

/// Why nothing could be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unreachable(pub(crate) String);

/// A message that has just been kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) message: Message,
    /// The message before it on its subject; 0 if there is none.
    pub(crate) previous: u64,
}

/// Announces the messages of a subject as they are kept, in order. Some may be missing: a gap shows in the next message's `previous`.
pub(crate) struct Arrivals(Box<PollArrival>);

type PollArrival = dyn FnMut(&mut Context<'_>) -> Poll<Arrival> + Send;

impl fmt::Debug for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arrivals").finish_non_exhaustive()
    }
}

impl Arrivals {
    pub(crate) fn new(poll: impl FnMut(&mut Context<'_>) -> Poll<Arrival> + Send + 'static) -> Self {
        Self(Box::new(poll))
    }

    /// Waits for the next message after message `read`. `None` if a message between them was missed.
    pub(crate) async fn next(&mut self, read: u64) -> Option<Message> {
        loop {
            let Arrival { message, previous } = poll_fn(&mut self.0).await;
            if message.sequence > read {
                return Some(message).filter(|_| previous == read);
            }
        }
    }
}

/// A task that ends when this is dropped.
#[derive(Debug)]
pub(crate) struct AbortOnDrop(pub(crate) tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The system that carries the messages of a cluster: ordered logs, which can refuse a message that is not the next one.
///
/// Answers may be lost, and calls may be slow. A read may be out of date by a moment. Only the promises of [`publish`](Self::publish) and
/// of an [arrival](Arrival)'s `previous` are relied on.
pub(crate) trait ClusterTransport: fmt::Debug + Send + Sync + 'static {
    /// Stores a message, and returns its sequence once no crash of a server can lose it. With `after`, the message is stored only if the last
    /// message of its subject has this sequence; 0 means that there is none. Of messages with the same `id` within two minutes, only one is
    /// stored.
    fn publish(
        &self,
        subject: &ClusterSubject,
        bytes: Vec<u8>,
        after: Option<u64>,
        id: Option<String>,
    ) -> impl Future<Output = Result<u64, PublishError>> + Send;

    /// The first message of a subject after a sequence.
    fn next(
        &self,
        subject: &ClusterSubject,
        after: u64,
    ) -> impl Future<Output = Result<Option<Message>, Unreachable>> + Send;

    /// The last message of a subject.
    fn last(&self, subject: &ClusterSubject) -> impl Future<Output = Result<Option<Message>, Unreachable>> + Send;

    /// Removes the messages of a subject before a sequence.
    fn purge(&self, subject: &ClusterSubject, before: u64) -> impl Future<Output = Result<(), Unreachable>> + Send;

    /// The keys of a kind that have values.
    fn keys(&self, kind: KeyKind) -> impl Future<Output = Result<Vec<ClusterSubject>, Unreachable>> + Send;

    /// Announces new messages from now on: all of them, unless something goes wrong.
    fn arrivals(&self, subject: &ClusterSubject) -> impl Future<Output = Result<Arrivals, Unreachable>> + Send;

    /// When the last message of a subject was kept, by the servers' clock.
    fn kept_at(&self, subject: &ClusterSubject)
    -> impl Future<Output = Result<Option<SystemTime>, Unreachable>> + Send;

    /// A stream that the servers say they do not have; `None` if they have all of them.
    fn missing(&self) -> impl Future<Output = Result<Option<String>, Unreachable>> + Send;

    /// Waits.
    fn rest(&self, time: Duration) -> impl Future<Output = ()> + Send;
}

/// The first wait before something is tried again. It doubles each time.
pub(crate) const FIRST_REST: Duration = Duration::from_millis(20);
/// The longest wait.
pub(crate) const LONGEST_REST: Duration = Duration::from_secs(1);

/// How often servers may answer that they do not have a message that they had. This takes about a minute, in which each server gets the
/// messages of the others.
pub(crate) const ANSWERS: u32 = 64;

/// Waits, longer each time.
#[derive(Debug)]
pub(crate) struct Backoff(Duration);

impl Backoff {
    pub(crate) const fn new() -> Self {
        Self(FIRST_REST)
    }

    /// Waits, and doubles the next wait.
    pub(crate) async fn rest<T: ClusterTransport>(&mut self, transport: &T) {
        transport.rest(self.next()).await;
    }

    /// How long to wait now.
    pub(crate) fn next(&mut self) -> Duration {
        let rest = self.0;
        self.0 = (rest * 2).min(LONGEST_REST);
        rest
    }
}

/// The subject that a message goes to. All full subjects of a crawl have its name in their prefix, so a server can restrict a user to them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ClusterSubject {
    /// URLs that were found for a partition.
    Found(u32),
    /// The log of a partition: its owners' epochs, journal pieces and counts.
    Journal(u32),
    /// A value that is replaced: the last message counts.
    Key(ClusterKey),
    /// The names of a partition's snapshots.
    Named(u32),
    /// Seeds, and the URLs that they redirect to: these widen the scope of all partitions.
    Roots,
    /// The files of a partition, as they were at a position of its log.
    Snapshot(u32),
    /// Link batches that could not be read.
    Unread(u32),
}

impl ClusterSubject {
    /// The subject's partition; `None` if it concerns all partitions.
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

/// The key of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ClusterKey {
    /// The terms that all nodes must agree on.
    Crawl,
    /// A node that is told to give back its partitions.
    Drain(String),
    /// The drop rules.
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

/// The part of a subject after the prefix of its stream.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_next_message_is_taken_and_a_gap_is_found() {
        let arrival = |previous, sequence| Arrival { message: Message { sequence, bytes: Vec::new() }, previous };
        let mut all = [arrival(0, 3), arrival(3, 5), arrival(5, 8), arrival(9, 12)].into_iter();
        let mut arrivals = Arrivals::new(move |_| all.next().map_or(Poll::Pending, Poll::Ready));
        let mut next = async |read| arrivals.next(read).await.map(|message| message.sequence);
        assert_eq!(next(3).await, Some(5), "the first was read already");
        assert_eq!(next(5).await, Some(8));
        assert_eq!(next(8).await, None, "message 9 was not told of");
    }
}
