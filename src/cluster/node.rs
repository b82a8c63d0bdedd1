//! One node of a cluster, from the first renewal of its lease until it deregisters.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::completion::all_idle;
use super::error::ClusterError;
use super::node_context::NodeContext;
use super::owner::{Command, OwnerEnd, own};
use super::peers::{Peers, ServerWatch, clock_ahead, is_gone};
use super::succession::append;
use super::terms::ClusterTerms;
use super::transport::{AbortOnDrop, ClusterKey, ClusterSubject, ClusterTransport, Unreachable};
use super::wire::{MarkValue, NodeValue, OwnerValue, read_value, value_to_bytes};
use crate::crawl::{FinishReason, Stop};
use crate::lending::Clock;

/// The node checks the other nodes at least this often.
const LOOK: Duration = Duration::from_secs(1);
/// Renewals between two comparisons of this machine's clock with the servers' clock.
const COMPARES: u64 = 50;
/// Maximum time to give a partition back, or to deregister.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);

/// How a node has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeEnd {
    /// The crawl is over.
    Drained,
    /// The other nodes have taken it for dead. Its process may join again as another node.
    Lost,
    /// It was told to leave, or cannot continue.
    Left(FinishReason),
}

/// A partition that this node owns.
#[derive(Debug)]
struct Owned {
    commands: watch::Sender<Command>,
    /// The sequence of the message that claims it for this node.
    claim: u64,
}

/// One node of a cluster.
#[derive(Debug)]
pub(crate) struct Node<T: ClusterTransport> {
    context: Arc<NodeContext<T>>,
    name: String,
    peers: Peers,
    watch: ServerWatch,
    owned: BTreeMap<u32, Owned>,
    owners: JoinSet<(u32, Result<OwnerEnd, ClusterError>)>,
    /// Whether the node is leaving: it takes no more partitions, and gives back its own.
    leaving: watch::Sender<bool>,
    end: NodeEnd,
    failed: Option<ClusterError>,
    /// The state messages of all partitions, from the last check; `None` unless it found all of them idle.
    idle: Option<Vec<u64>>,
}

impl<T: ClusterTransport> Node<T> {
    pub(crate) fn new(context: Arc<NodeContext<T>>, name: String) -> Self {
        Self {
            context,
            name,
            peers: Peers::default(),
            watch: ServerWatch::default(),
            owned: BTreeMap::new(),
            owners: JoinSet::new(),
            leaving: watch::Sender::new(false),
            end: NodeEnd::Left(FinishReason::Stopped),
            failed: None,
            idle: None,
        }
    }

    /// Runs the node. It owns its share of the partitions until the crawl is over, or the node is told to leave.
    ///
    /// # Errors
    /// If a partition cannot be read or kept. The other partitions are given back.
    pub(crate) async fn run(mut self, stop: Stop) -> Result<NodeEnd, ClusterError> {
        let context = Arc::clone(&self.context);
        let renewing = tokio::spawn(renew(Arc::clone(&context), self.name.clone(), self.leaving.subscribe()));
        let pausing = tokio::spawn(pause_without_lease(Arc::clone(&context)));
        let widening = tokio::spawn(widen(Arc::clone(&context)));
        let dropping = tokio::spawn(apply_drops(Arc::clone(&context)));
        let (outbound, transport) = (Arc::clone(&context.outbound), Arc::clone(&context.transport));
        let mut carrying = tokio::spawn(async move { outbound.carry(transport).await });
        let _tasks =
            [&renewing, &pausing, &widening, &dropping, &carrying].map(|task| AbortOnDrop(task.abort_handle()));
        let every = context.lease.interval().min(LOOK);
        let mut look_at = Instant::now();
        loop {
            let is_leaving = *self.leaving.borrow();
            if is_leaving && self.owners.is_empty() {
                break;
            }
            tokio::select! {
                biased;
                () = stop.stopping() => {
                    self.command_all(Command::Drop);
                    while self.owners.join_next().await.is_some() {}
                    break;
                }
                () = stop.draining(), if !is_leaving => {
                    self.leave(NodeEnd::Left(stop.reason().unwrap_or(FinishReason::Stopped)));
                }
                Some(ended) = self.owners.join_next() => match ended {
                    Ok((partition, ended)) => self.ended(partition, ended).await,
                    Err(panic) => std::panic::resume_unwind(panic.into_panic()),
                },
                Err(panic) = &mut carrying => std::panic::resume_unwind(panic.into_panic()),
                () = sleep_until(look_at) => {
                    if context.lease.is_lost() && self.end != NodeEnd::Lost {
                        self.leave(NodeEnd::Lost);
                        self.command_all(Command::Drop);
                    } else if context.lease.may_ask() {
                        // If the servers do not answer now, they may answer the next time.
                        if let Ok(Err(error)) = timeout(context.lease.life(), self.look()).await {
                            tracing::debug!(%error, "the servers do not answer");
                        }
                    }
                    if self.failed.is_none() && let Some(error) = self.watch_servers().await {
                        tracing::error!(%error, "this node cannot go on");
                        self.failed = Some(error);
                        self.leave(NodeEnd::Left(FinishReason::StorageFailed));
                        self.command_all(Command::Drop);
                    }
                    look_at = Instant::now() + every;
                }
            }
        }
        renewing.abort();
        let _ = renewing.await;
        if self.end != NodeEnd::Lost {
            let _ = timeout(RELEASE_TIMEOUT, deregister(&context)).await;
        }
        self.failed.map_or(Ok(self.end), Err)
    }

    /// Warns if the servers are silent. Returns an error if they have lost the crawl, so that waiting is useless.
    async fn watch_servers(&mut self) -> Option<ClusterError> {
        let lease = &self.context.lease;
        let (life, now) = (lease.life(), std::time::Instant::now());
        if self.watch.is_silent(lease.is_fresh(), life, now) {
            tracing::warn!("the servers have not answered for {life:?}: nothing is fetched until they do");
        }
        if !self.watch.is_due(life, now) {
            return None;
        }
        // Without an answer, it is not known whether anything is missing.
        let missing = timeout(life, missing(&self.context)).await.ok()?.ok()?;
        let is_gone = self.watch.is_gone(missing.is_some(), life, std::time::Instant::now());
        missing.filter(|_| is_gone).map(|what| ClusterError::Gone { what })
    }

    /// Begins to leave: takes no more partitions, and gives back the node's own.
    fn leave(&mut self, end: NodeEnd) {
        self.end = end;
        self.leaving.send_replace(true);
        self.command_all(Command::Release);
    }

    /// Sends a command to the owners of all partitions of this node.
    fn command_all(&self, command: Command) {
        self.owned.values().for_each(|owned| _ = owned.commands.send_replace(command));
    }

    /// Handles the end of an owner.
    async fn ended(&mut self, partition: u32, ended: Result<OwnerEnd, ClusterError>) {
        let Some(Owned { claim, .. }) = self.owned.remove(&partition) else { return };
        match ended {
            Ok(OwnerEnd::Released) => self.give_back(partition, claim).await,
            Ok(OwnerEnd::Fenced) => {
                tracing::info!(partition, "owned no more");
                // If the claim is still ours, the partition becomes free for the next owner.
                if self.end != NodeEnd::Lost {
                    self.give_back(partition, claim).await;
                }
            }
            Ok(OwnerEnd::Stopped(reason)) => {
                self.give_back(partition, claim).await;
                self.leave(NodeEnd::Left(reason));
            }
            Err(error) => {
                tracing::error!(partition, %error, "a partition cannot go on here");
                self.failed.get_or_insert(error);
                self.leave(NodeEnd::Left(FinishReason::StorageFailed));
            }
        }
    }

    async fn give_back(&self, partition: u32, claim: u64) {
        let value = value_to_bytes(&OwnerValue { node: None, token: draw() });
        let key = ClusterSubject::Key(ClusterKey::Owner(partition));
        // If this fails, another node already has the partition, or no server answers. In that case the other nodes take over when this node's
        // lease has ended.
        let _ = timeout(RELEASE_TIMEOUT, append(&*self.context.transport, &key, claim, value)).await;
    }

    /// Looks at the other nodes, and takes or gives back partitions.
    async fn look(&mut self) -> Result<(), Unreachable> {
        let context = Arc::clone(&self.context);
        let transport = &*context.transport;
        if *self.leaving.borrow() {
            return Ok(());
        }
        if transport.last(&ClusterSubject::Key(ClusterKey::End)).await?.is_some() {
            self.leave(NodeEnd::Drained);
            return Ok(());
        }
        self.peers.look(transport, context.lease.life(), &context.node).await?;
        if self.peers.is_drained(&context.node) {
            self.leave(NodeEnd::Left(FinishReason::Stopped));
            return Ok(());
        }
        for partition in 0..context.partitions.count {
            let is_ours = context.partitions.target(partition, self.peers.members()) == Some(&*context.node);
            match self.owned.get(&partition) {
                Some(owned) if !is_ours => _ = owned.commands.send_replace(Command::Release),
                None if is_ours => self.claim(partition).await?,
                _ => {}
            }
        }
        self.look_for_the_end().await
    }

    /// Takes a partition, if no node has it.
    async fn claim(&mut self, partition: u32) -> Result<(), Unreachable> {
        let context = Arc::clone(&self.context);
        let key = ClusterSubject::Key(ClusterKey::Owner(partition));
        let last = context.transport.last(&key).await?;
        let owner = last.as_ref().and_then(|last| read_value::<OwnerValue>(&last.bytes)?.node);
        let mut claim = last.map_or(0, |last| last.sequence);
        match owner {
            Some(owner) if owner == context.node => {}
            Some(owner) if self.peers.is_alive(&owner) || !is_gone(&*context.transport, &owner).await? => return Ok(()),
            _ => {
                let value = value_to_bytes(&OwnerValue { node: Some(context.node.clone()), token: draw() });
                match append(&*context.transport, &key, claim, value).await {
                    Ok(sequence) => claim = sequence,
                    // Another node was quicker.
                    Err(_) => return Ok(()),
                }
            }
        }
        let (commands, received) = watch::channel(Command::Own);
        self.owned.insert(partition, Owned { commands, claim });
        self.owners.spawn(async move { (partition, own(context, partition, received).await) });
        Ok(())
    }

    /// The owner of the first partition checks whether all of them are idle.
    async fn look_for_the_end(&mut self) -> Result<(), Unreachable> {
        let is_quiet = self.context.parts().values().all(|part| part.handle.is_drained());
        if !self.owned.contains_key(&0) || !is_quiet {
            self.idle = None;
            return Ok(());
        }
        let transport = &*self.context.transport;
        let idle = all_idle(transport, self.context.partitions.count).await?;
        if idle.is_some() && idle == self.idle {
            let mark = MarkValue { at: Clock::start().now().to_string(), token: draw() };
            let _ = append(transport, &ClusterSubject::Key(ClusterKey::End), 0, value_to_bytes(&mark)).await;
        }
        self.idle = idle;
        Ok(())
    }
}

/// The part of the crawl that the servers have lost; `None` if they have all of it.
async fn missing<T: ClusterTransport>(context: &NodeContext<T>) -> Result<Option<String>, Unreachable> {
    let missing = context.transport.missing().await?;
    if missing.is_some() {
        return Ok(missing);
    }
    let terms = context.transport.last(&ClusterSubject::Key(ClusterKey::Crawl)).await?;
    let is_ours =
        terms.and_then(|terms| read_value::<ClusterTerms>(&terms.bytes)).is_some_and(|terms| terms.id == context.id);
    Ok(if is_ours { None } else { Some("the terms".to_owned()) })
}

/// Compares this machine's clock with the servers' clock. The servers stored the last message of `subject` after `sent`. Logs when this
/// machine's clock becomes wrong, and when it is right again.
async fn compare_clocks<T: ClusterTransport>(context: &NodeContext<T>, subject: &ClusterSubject, sent: SystemTime) {
    let asked = timeout(context.lease.interval(), context.transport.kept_at(subject)).await;
    let Ok(Ok(Some(kept))) = asked else { return };
    let ahead = clock_ahead(sent, kept, SystemTime::now());
    let before = context.clock_ahead.swap(ahead, Ordering::Relaxed);
    let length = Duration::from_micros(ahead.unsigned_abs());
    if ahead.signum() != before.signum() {
        if ahead == 0 {
            tracing::info!("this machine's clock is right again");
        } else {
            let side = if ahead > 0 { "ahead of" } else { "behind" };
            tracing::warn!(
                "this machine's clock is {length:.0?} {side} the servers': partitions use the servers' time"
            );
        }
    }
}

/// A random number of 64 bits: practically unique.
pub(crate) fn draw() -> u64 {
    std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), ())
}

/// Renews the lease of a node, until other nodes have taken it for dead.
async fn renew<T: ClusterTransport>(context: Arc<NodeContext<T>>, name: String, leaving: watch::Receiver<bool>) {
    let key = ClusterSubject::Key(ClusterKey::Node(context.node.clone()));
    let (mut last, mut beat, mut renewals) = (0, draw(), 0_u64);
    loop {
        let (sent, sent_at) = (Instant::now(), SystemTime::now());
        beat = beat.wrapping_add(1);
        let progress = context.progress();
        let value = NodeValue {
            name: name.clone(),
            beat,
            is_leaving: *leaving.borrow(),
            is_gone: false,
            partitions: context.parts().len(),
            pages: progress.pages,
            place: context.place,
        };
        let Ok(sequence) = append(&*context.transport, &key, last, value_to_bytes(&value)).await else {
            tracing::warn!(node = context.node, "others have taken this node for dead");
            return context.lease.lose();
        };
        last = sequence;
        // Before the first partition is opened, and after each `COMPARES` renewals.
        if renewals.is_multiple_of(COMPARES) {
            compare_clocks(&context, &key, sent_at).await;
        }
        renewals += 1;
        context.lease.renewed(sent.into_std());
        sleep_until(sent + context.lease.interval()).await;
    }
}

/// Pauses all partitions while the lease is not renewed in time.
async fn pause_without_lease<T: ClusterTransport>(context: Arc<NodeContext<T>>) {
    const STEP: Duration = Duration::from_millis(20);
    let set_late = |is_late| context.parts().values().for_each(|part| part.throttle.set_late(is_late));
    loop {
        if context.lease.may_ask() {
            set_late(false);
            while context.lease.may_ask() {
                sleep_until(context.lease.asks_until().into()).await;
            }
        }
        set_late(true);
        while !context.lease.may_ask() {
            sleep(STEP).await;
        }
    }
}

/// Widens the scope of all partitions by the targets of redirects from seeds.
async fn widen<T: ClusterTransport>(context: Arc<NodeContext<T>>) {
    const STEP: Duration = Duration::from_secs(1);
    let (mut known, mut was_wider) = (0, false);
    loop {
        let count = context.roots.read_on(&*context.transport, &context.canonicalizer()).await;
        for found in context.roots.from(known) {
            context.parts().values().for_each(|part| part.handle.widen(&found));
        }
        // Other nodes learn of it at most one step later.
        let is_wider = count > known;
        if is_wider || was_wider {
            context.outbound.forget_sent();
        }
        (known, was_wider) = (count, is_wider);
        sleep(STEP).await;
    }
}

/// Makes all partitions apply the newest list of drop rules.
async fn apply_drops<T: ClusterTransport>(context: Arc<NodeContext<T>>) {
    const STEP: Duration = Duration::from_secs(1);
    let mut was_shorter = false;
    loop {
        let (before, was) = context.drops.newest();
        context.drops.read_on(&*context.transport).await;
        let (now, is) = context.drops.newest();
        let parts: Vec<_> = context.parts().iter().map(|(number, part)| (*number, Arc::clone(&part.drops))).collect();
        for (number, drops) in parts {
            context.go_by_drops(number, &drops).await;
        }
        // If a rule was removed, links to its URLs may be admitted now. Other nodes learn of it at most one step later.
        let is_shorter = before != now && was.iter().any(|rule| !is.contains(rule));
        if is_shorter || was_shorter {
            context.outbound.forget_sent();
        }
        was_shorter = is_shorter;
        sleep(STEP).await;
    }
}

/// Marks this node as gone, so that the other nodes need not wait for its lease to end.
async fn deregister<T: ClusterTransport>(context: &NodeContext<T>) {
    let key = ClusterSubject::Key(ClusterKey::Node(context.node.clone()));
    mark_dead(&*context.transport, &key).await;
}

/// Marks a node as gone.
pub(crate) async fn mark_dead<T: ClusterTransport>(transport: &T, key: &ClusterSubject) {
    loop {
        let Ok(last) = transport.last(key).await else {
            transport.rest(LOOK).await;
            continue;
        };
        let Some(last) = last else { return };
        let value = read_value::<NodeValue>(&last.bytes).unwrap_or_default();
        let gone = NodeValue { is_gone: true, beat: draw(), ..value };
        if value_is_gone(&last.bytes) || append(transport, key, last.sequence, value_to_bytes(&gone)).await.is_ok() {
            return;
        }
    }
}

fn value_is_gone(bytes: &[u8]) -> bool {
    read_value::<NodeValue>(bytes).is_some_and(|value| value.is_gone)
}
