//! The nodes of a cluster, as one of them sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::subject::{ClusterKey, ClusterSubject, KeyKind};
use super::succession::append;
use super::transport::{ClusterTransport, Unreachable};
use super::values::{self, NodeValue};

/// The nodes of a cluster, as one of them sees them. A node that has not renewed its lease for the lease's whole life, by our own clock
/// since we last saw it renewed, is gone: we write so under its key, and then it cannot renew its lease any more.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    /// The last value of each node, and since when we know it.
    seen: BTreeMap<String, (u64, Instant)>,
    /// Nodes that are alive.
    alive: BTreeSet<String>,
    /// Live nodes that may own partitions, each with its place.
    members: BTreeMap<String, u64>,
    /// Nodes that were told to go.
    drained: BTreeSet<String>,
}

impl Peers {
    /// Looks at all nodes.
    ///
    /// # Errors
    /// If the servers do not answer.
    pub(crate) async fn look<T: ClusterTransport>(
        &mut self,
        transport: &T,
        life: Duration,
        own: &str,
    ) -> Result<(), Unreachable> {
        let (mut alive, mut members) = (BTreeSet::new(), BTreeMap::new());
        let drained = transport.keys(KeyKind::Drain).await?.into_iter().filter_map(|subject| match subject {
            ClusterSubject::Key(ClusterKey::Drain(node)) => Some(node),
            _ => None,
        });
        let drained: BTreeSet<String> = drained.collect();
        for subject in transport.keys(KeyKind::Node).await? {
            let ClusterSubject::Key(ClusterKey::Node(node)) = &subject else { continue };
            let Some(message) = transport.last(&subject).await? else { continue };
            let Some(value) = values::read::<NodeValue>(&message.bytes).filter(|value| !value.is_gone) else {
                continue;
            };
            let now = Instant::now();
            let (sequence, since) = *self.seen.entry(node.clone()).or_insert((message.sequence, now));
            if sequence != message.sequence {
                self.seen.insert(node.clone(), (message.sequence, now));
            } else if now.duration_since(since) >= life && node != own {
                let gone = NodeValue { is_gone: true, ..value };
                if append(transport, &subject, message.sequence, values::to_bytes(&gone)).await.is_ok() {
                    tracing::warn!(
                        node,
                        "a node has not been heard of for the life of its lease: it is taken for dead"
                    );
                    continue;
                }
            }
            alive.insert(node.clone());
            if !value.is_leaving && !drained.contains(node) {
                members.insert(node.clone(), value.place);
            }
        }
        (self.alive, self.members, self.drained) = (alive, members, drained);
        Ok(())
    }

    /// Whether a node is alive.
    pub(crate) fn is_alive(&self, node: &str) -> bool {
        self.alive.contains(node)
    }

    /// Whether a node was told to go.
    pub(crate) fn is_drained(&self, node: &str) -> bool {
        self.drained.contains(node)
    }

    /// The nodes that may own partitions, each with its place.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, u64)> {
        self.members.iter().map(|(node, place)| (node.as_str(), *place))
    }
}

/// Whether a node is gone, by what the servers have now. A node that joined since the last look is not in `alive`, and may own partitions
/// by now. A node that the servers do not know is marked as gone, and then it cannot begin.
///
/// # Errors
/// If the servers do not answer.
pub(crate) async fn is_gone<T: ClusterTransport>(transport: &T, node: &str) -> Result<bool, Unreachable> {
    let key = ClusterSubject::Key(ClusterKey::Node(node.to_owned()));
    if let Some(last) = transport.last(&key).await? {
        return Ok(values::read::<NodeValue>(&last.bytes).is_some_and(|value| value.is_gone));
    }
    let gone = NodeValue { is_gone: true, ..NodeValue::default() };
    Ok(append(transport, &key, 0, values::to_bytes(&gone)).await.is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::in_process::InProcess;

    #[tokio::test]
    async fn who_came_since_the_last_look_is_not_gone() {
        let (transport, mut peers) = (InProcess::new(1, 0), Peers::default());
        let key = |node: &str| ClusterSubject::Key(ClusterKey::Node(node.to_owned()));
        let say = async |node: &str, last, is_gone| {
            let value = values::to_bytes(&NodeValue { is_gone, ..NodeValue::default() });
            append(&*transport, &key(node), last, value).await
        };
        let first = say("first", 0, false).await.unwrap();
        peers.look(&*transport, Duration::MAX, "own").await.unwrap();
        say("second", 0, false).await.unwrap();
        assert!(peers.is_alive("first") && !peers.is_alive("second"));
        assert_eq!(is_gone(&*transport, "second").await, Ok(false));
        say("first", first, true).await.unwrap();
        assert_eq!(is_gone(&*transport, "first").await, Ok(true));
        assert_eq!(is_gone(&*transport, "third").await, Ok(true));
        assert!(say("third", 0, false).await.is_err(), "it cannot begin any more");
    }
}
