//! A node's peers and servers: which nodes are alive; the node's own lease, which limits when it may begin requests; and servers that are
//! silent, have lost the crawl, or have a different time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::succession::append;
use super::transport::{ClusterKey, ClusterSubject, ClusterTransport, KeyKind, Unreachable};
use super::wire::{NodeValue, read_value, value_to_bytes};

/// The nodes of a cluster, as one of them sees them. If we have not seen a node renew its lease for the lease's whole life, by our own clock,
/// it is gone: we mark it as gone under its key, and then it cannot renew its lease any more.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    /// The sequence of each node's last message, and when we first saw it.
    seen: BTreeMap<String, (u64, Instant)>,
    /// Nodes that are alive.
    alive: BTreeSet<String>,
    /// Live nodes that may own partitions, each with its place.
    members: BTreeMap<String, u64>,
    /// Nodes that were told to leave.
    drained: BTreeSet<String>,
}

impl Peers {
    /// Checks all nodes.
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
            let Some(value) = read_value::<NodeValue>(&message.bytes).filter(|value| !value.is_gone) else {
                continue;
            };
            let now = Instant::now();
            let (sequence, since) = *self.seen.entry(node.clone()).or_insert((message.sequence, now));
            if sequence != message.sequence {
                self.seen.insert(node.clone(), (message.sequence, now));
            } else if now.duration_since(since) >= life && node != own {
                let gone = NodeValue { is_gone: true, ..value };
                if append(transport, &subject, message.sequence, value_to_bytes(&gone)).await.is_ok() {
                    tracing::warn!(
                        node,
                        "a node has not renewed its lease for the lease's whole life: it is taken for dead"
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

    /// Whether a node was told to leave.
    pub(crate) fn is_drained(&self, node: &str) -> bool {
        self.drained.contains(node)
    }

    /// The nodes that may own partitions, each with its place.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, u64)> {
        self.members.iter().map(|(node, place)| (node.as_str(), *place))
    }
}

/// Whether a node is gone, by its current value on the servers. This is checked for nodes that are not in `alive`: a node that joined after
/// the last check is not in there, and may already own partitions. A node that the servers do not know is marked as gone, and then it cannot
/// begin.
///
/// # Errors
/// If the servers do not answer.
pub(crate) async fn is_gone<T: ClusterTransport>(transport: &T, node: &str) -> Result<bool, Unreachable> {
    let key = ClusterSubject::Key(ClusterKey::Node(node.to_owned()));
    if let Some(last) = transport.last(&key).await? {
        return Ok(read_value::<NodeValue>(&last.bytes).is_some_and(|value| value.is_gone));
    }
    let gone = NodeValue { is_gone: true, ..NodeValue::default() };
    Ok(append(transport, &key, 0, value_to_bytes(&gone)).await.is_ok())
}

/// Requests may begin in the first three quarters of the lease's life. In the last quarter, requests in flight can end.
const ASKS: (u32, u32) = (3, 4);
/// How often in its life the lease is renewed.
const RENEWALS: u32 = 5;

/// The lease of a node. The node measures its life by its own monotonic clock. The other nodes wait for the whole life by their clocks, and
/// start later: when they see the renewal.
#[derive(Debug)]
pub(crate) struct NodeLease {
    life: Duration,
    started: Instant,
    /// Requests may begin before this, in microseconds from the start.
    asks_until: AtomicU64,
    /// The other nodes have taken the node for dead.
    is_lost: AtomicBool,
}

impl NodeLease {
    /// A lease that is not held yet.
    pub(crate) fn new(life: Duration) -> Self {
        Self { life, started: Instant::now(), asks_until: AtomicU64::new(0), is_lost: AtomicBool::new(false) }
    }

    pub(crate) fn life(&self) -> Duration {
        self.life
    }

    /// The time between two renewals.
    pub(crate) fn interval(&self) -> Duration {
        self.life / RENEWALS
    }

    /// Call this when the lease was renewed, by a message that was sent at `at` or later.
    pub(crate) fn renewed(&self, at: Instant) {
        let until = at.duration_since(self.started) + self.life * ASKS.0 / ASKS.1;
        self.asks_until.fetch_max(u64::try_from(until.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// When requests may no longer begin, unless the lease is renewed.
    pub(crate) fn asks_until(&self) -> Instant {
        self.started + Duration::from_micros(self.asks_until.load(Ordering::Relaxed))
    }

    /// Whether a request may begin.
    pub(crate) fn may_ask(&self) -> bool {
        !self.is_lost() && Instant::now() < self.asks_until()
    }

    /// Whether it was renewed recently.
    pub(crate) fn is_fresh(&self) -> bool {
        let left = self.asks_until().saturating_duration_since(Instant::now());
        left + 2 * self.interval() >= self.life * ASKS.0 / ASKS.1
    }

    /// Call this when the other nodes have taken the node for dead: they may own its partitions.
    pub(crate) fn lose(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }
}

/// Servers must report for at least this long that something is missing: just after their start they may report that wrongly.
const SETTLES: Duration = Duration::from_secs(15);
/// This machine's clock may differ from the servers' clock by at most this much. It can shorten the rests of hosts by no more than that.
const TOLERANCE: Duration = Duration::from_secs(2);

/// A node's watch on its servers. Time is an argument.
#[derive(Debug, Default)]
pub(super) struct ServerWatch {
    silent_since: Option<Instant>,
    was_reported: bool,
    missing_since: Option<Instant>,
    asked: Option<Instant>,
}

impl ServerWatch {
    /// Notes whether the servers have answered recently. Returns true once for each silence: when it has lasted for a lease's life.
    pub(super) fn is_silent(&mut self, has_answered: bool, life: Duration, now: Instant) -> bool {
        if has_answered {
            (self.silent_since, self.was_reported) = (None, false);
            return false;
        }
        let since = *self.silent_since.get_or_insert(now);
        now.duration_since(since) >= life && !std::mem::replace(&mut self.was_reported, true)
    }

    /// Whether to check that the servers still have the crawl: once in a lease's life, and at each call while something is wrong.
    pub(super) fn is_due(&mut self, life: Duration, now: Instant) -> bool {
        let is_well = self.silent_since.is_none() && self.missing_since.is_none();
        if is_well && self.asked.is_some_and(|asked| now.duration_since(asked) < life) {
            return false;
        }
        self.asked = Some(now);
        true
    }

    /// Notes whether a part of the crawl is missing on the servers. Returns true once it has been missing for
    /// `life`, and for [`SETTLES`] at least: then it counts as gone.
    pub(super) fn is_gone(&mut self, is_missing: bool, life: Duration, now: Instant) -> bool {
        if !is_missing {
            self.missing_since = None;
            return false;
        }
        now.duration_since(*self.missing_since.get_or_insert(now)) >= life.max(SETTLES)
    }
}

/// By how many microseconds this machine's clock is ahead of the servers' clock; negative if it is late, and 0 if it is about right. `kept` is
/// the servers' time for a message that they stored between `sent` and `answered` by our clock.
pub(super) fn clock_ahead(sent: SystemTime, kept: SystemTime, answered: SystemTime) -> i64 {
    let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    match (sent.duration_since(kept), kept.duration_since(answered)) {
        (Ok(ahead), _) if ahead > TOLERANCE => micros(ahead),
        (_, Ok(late)) if late > TOLERANCE => -micros(late),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::in_process::InProcess;

    #[tokio::test]
    async fn a_node_that_came_since_the_last_look_is_not_gone() {
        let (transport, mut peers) = (InProcess::new(1, 0), Peers::default());
        let key = |node: &str| ClusterSubject::Key(ClusterKey::Node(node.to_owned()));
        let say = async |node: &str, last, is_gone| {
            let value = value_to_bytes(&NodeValue { is_gone, ..NodeValue::default() });
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

    #[test]
    fn requests_end_before_it_does() {
        let life = Duration::from_secs(20);
        let lease = NodeLease::new(life);
        assert!(!lease.may_ask(), "not before it is held");
        let sent = Instant::now();
        lease.renewed(sent);
        assert!(lease.may_ask());
        assert_eq!(lease.asks_until().duration_since(sent).as_secs(), 14, "fifteen, less a part of a microsecond");
        lease.renewed(sent.checked_sub(life).unwrap_or(lease.started));
        assert!(lease.may_ask(), "an old answer takes nothing back");
        lease.lose();
        assert!(!lease.may_ask());
    }

    const LIFE: Duration = Duration::from_secs(20);

    #[test]
    fn silence_is_reported_once_and_again_after_an_answer() {
        let (mut watch, start) = (ServerWatch::default(), Instant::now());
        let mut is_silent =
            |has_answered, after| watch.is_silent(has_answered, LIFE, start + Duration::from_secs(after));
        assert!(!is_silent(true, 0) && !is_silent(false, 10) && !is_silent(false, 29));
        assert!(is_silent(false, 30) && !is_silent(false, 31) && !is_silent(false, 300));
        assert!(!is_silent(true, 301) && !is_silent(false, 302) && is_silent(false, 322));
    }

    #[test]
    fn what_is_missing_for_a_moment_is_not_gone() {
        let (mut watch, start) = (ServerWatch::default(), Instant::now());
        let at = |after| start + Duration::from_secs(after);
        assert!(watch.is_due(LIFE, at(0)) && !watch.is_due(LIFE, at(19)) && watch.is_due(LIFE, at(20)));
        assert!(!watch.is_gone(true, LIFE, at(20)) && watch.is_due(LIFE, at(21)) && !watch.is_gone(true, LIFE, at(39)));
        assert!(!watch.is_gone(false, LIFE, at(40)) && !watch.is_gone(true, LIFE, at(41)));
        assert!(watch.is_gone(true, LIFE, at(61)));
    }

    #[test]
    fn a_clock_is_compared_with_the_moments_around_an_answer() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(clock_ahead(at(100), at(103), at(110)), 0, "a slow answer");
        assert_eq!(clock_ahead(at(100), at(99), at(101)), 0);
        assert_eq!(clock_ahead(at(4_000), at(400), at(4_001)), 3_600_000_000);
        assert_eq!(clock_ahead(at(100), at(3_701), at(101)), -3_600_000_000);
    }
}
