//! The nodes of a cluster, as one of them sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::subject::{ClusterKey, ClusterSubject, KeyKind};
use super::succession::append;
use super::transport::{ClusterTransport, Unreachable};
use super::values::{self, NodeValue};

/// The nodes of a cluster, as one of them sees them. One that has not renewed its lease for the whole of its life, by our own clock from
/// when we saw it last, is gone: we say so in its own place, and then it cannot renew it any more.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    /// The last value of each, and since when it is the last.
    seen: BTreeMap<String, (u64, Instant)>,
    /// Nodes that live.
    alive: BTreeSet<String>,
    /// Those among them that may own partitions, each with its place.
    members: BTreeMap<String, u64>,
    /// Those that were told to go.
    drained: BTreeSet<String>,
}

impl Peers {
    /// Looks at all nodes.
    ///
    /// # Errors
    /// Where the servers do not answer.
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

    /// Whether a node lives.
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
