//! The terms of a crawl, on which all nodes must agree: its scope and politeness; which partition a URL is in; and the roots, which are the
//! seeds and the URLs that they redirect to. Roots define the scope, so every partition must know all of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::ClusterError;
use super::succession::append;
use super::transport::{ANSWERS, Backoff, ClusterKey, ClusterSubject, ClusterTransport};
use super::wire::{LinkBatchDraft, LinkBatchId, read_link_batch, read_value, value_to_bytes};
use crate::address::{CanonicalUrl, Canonicalizer, FingerprintKey, KeyRules};
use crate::crawl::CrawlOptions;
use crate::driver::domain;
use crate::frontier::Politeness;
use crate::gate::{Found, ScopeKind};

/// The version of messages and terms.
const VERSION: u32 = 4;
/// Settings of more bytes than this are not stored.
const MOST_SETTINGS: usize = 256 << 10;
/// A node retries this many times before it gives up on the servers.
const TRIES: u32 = 20;
/// The filter of a partition is sized for at least this many URLs, unless the crawl's filter is smaller.
const LEAST_CAPACITY: u64 = 10_000;
/// How often a node checks whether another one has given the seeds.
const WAIT: Duration = Duration::from_millis(200);

/// The terms of a crawl. The first node writes them. They change only once: when all seeds are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClusterTerms {
    version: u32,
    rules: [u32; 2],
    /// The id of the crawl, drawn by the node that began it.
    pub(crate) id: u64,
    key: u64,
    pub(crate) partitions: u32,
    partition_by: String,
    scope: String,
    keys: String,
    filter: String,
    politeness: String,
    host_rules: String,
    seeds: String,
    /// The settings of the node that began the crawl, for later questions about it; empty if they are too long for one message.
    #[serde(default)]
    pub(crate) settings: String,
    /// The sequence of the last message with seeds; `None` until all seeds are stored.
    pub(crate) roots: Option<u64>,
}

impl ClusterTerms {
    /// The terms that a node wants. The id and the key are drawn, in case it is the first node.
    pub(crate) fn of(
        options: &CrawlOptions,
        partitions: u32,
        by: PartitionBy,
        seeds: &[CanonicalUrl],
        settings: &str,
    ) -> Self {
        let key = options.frontier.fingerprint_key.unwrap_or_else(FingerprintKey::random);
        // Machines may use different amounts of memory for robots rules: no host notices that.
        let mut politeness = options.frontier.politeness.clone();
        politeness.robots_memory = Politeness::default().robots_memory;
        let mut filter = options.frontier.seen.clone();
        (filter.key, filter.directory) = (FingerprintKey::from_u64(0), None);
        Self {
            version: VERSION,
            rules: [FingerprintKey::STRATEGY, KeyRules::VERSION],
            id: FingerprintKey::random().to_u64(),
            key: key.to_u64(),
            partitions,
            partition_by: by.name().to_owned(),
            scope: format!("{:?}", options.frontier.scope),
            keys: format!("{:?}", options.frontier.keys),
            filter: format!("{filter:?}"),
            politeness: format!("{politeness:#?}"),
            host_rules: format!("{:#?}", options.frontier.rules),
            seeds: digest(seeds),
            settings: if settings.len() > MOST_SETTINGS { String::new() } else { settings.to_owned() },
            roots: None,
        }
    }

    pub(crate) fn key(&self) -> FingerprintKey {
        FingerprintKey::from_u64(self.key)
    }

    pub(crate) fn partitions(&self) -> Partitions {
        let by = if self.partition_by == PartitionBy::Domain.name() { PartitionBy::Domain } else { PartitionBy::Host };
        Partitions { count: self.partitions, by, key: self.key() }
    }

    /// The options of one partition, made from the options of the crawl.
    pub(crate) fn of_partition(&self, mut options: CrawlOptions) -> CrawlOptions {
        options.frontier.fingerprint_key = Some(self.key());
        let seen = &mut options.frontier.seen;
        // Hosts are not equally large, so a partition may get more than its share.
        seen.capacity = (seen.capacity / u64::from(self.partitions) * 3 / 2).max(LEAST_CAPACITY.min(seen.capacity));
        options
    }

    /// Checks that the terms of the crawl are the ones that a node wants. A node without seeds accepts the crawl's seeds.
    fn check(&self, wanted: &Self, crawl: &str, has_seeds: bool) -> Result<(), ClusterError> {
        if (self.version, self.rules) != (wanted.version, wanted.rules) {
            return Err(ClusterError::Version { crawl: crawl.to_owned() });
        }
        let politeness = difference(&self.politeness, &wanted.politeness);
        let host_rules = difference(&self.host_rules, &wanted.host_rules);
        let number = |terms: &Self| terms.partitions.to_string();
        for (what, theirs, ours) in [
            ("number of partitions (cluster.partitions)", &number(self), &number(wanted)),
            ("rule of partitions (cluster.partition_by)", &self.partition_by, &wanted.partition_by),
            ("scope (scope.*)", &self.scope, &wanted.scope),
            ("rule of keys (keys.*)", &self.keys, &wanted.keys),
            ("filter (seen.*)", &self.filter, &wanted.filter),
            ("politeness or agent (politeness.*, fetch.agent)", &politeness.0, &politeness.1),
            ("rule for hosts (hosts, groups)", &host_rules.0, &host_rules.1),
            ("list of seeds", &self.seeds, if has_seeds { &wanted.seeds } else { &self.seeds }),
        ] {
            if theirs != ours {
                let (crawl, theirs, ours) = (crawl.to_owned(), theirs.clone(), ours.clone());
                return Err(ClusterError::Another { crawl, what, theirs, ours });
            }
        }
        Ok(())
    }
}

/// The first line in which two texts differ, from each.
fn difference(theirs: &str, ours: &str) -> (String, String) {
    let mut lines = theirs.lines().zip(ours.lines());
    let named = |line: &str| line.trim().trim_end_matches(',').to_owned();
    let different = lines.find(|(theirs, ours)| theirs != ours);
    different.map_or_else(Default::default, |(theirs, ours)| (named(theirs), named(ours)))
}

/// How many seeds there are, and a digest that does not depend on their order.
fn digest(seeds: &[CanonicalUrl]) -> String {
    let mut all: Vec<u64> = seeds.iter().map(|url| url.fingerprint(FingerprintKey::from_u64(0)).bits()).collect();
    all.sort_unstable();
    all.dedup();
    let bytes: Vec<u8> = all.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    format!("{} seeds, {:016x}", all.len(), FingerprintKey::from_u64(0).fingerprint_bytes(&bytes).bits())
}

/// Reads the terms of a crawl; `None` if it was not begun.
///
/// # Errors
/// If the servers do not answer, or the crawl was begun by another version.
pub(crate) async fn find<T: ClusterTransport>(
    transport: &T,
    crawl: &str,
    addresses: &str,
) -> Result<Option<(u64, ClusterTerms)>, ClusterError> {
    let (mut backoff, mut tries) = (Backoff::new(), 0);
    loop {
        match transport.last(&ClusterSubject::Key(ClusterKey::Crawl)).await {
            Ok(None) => return Ok(None),
            Ok(Some(message)) => {
                let terms = read_value(&message.bytes);
                let terms = terms.ok_or_else(|| ClusterError::Version { crawl: crawl.to_owned() })?;
                return Ok(Some((message.sequence, terms)));
            }
            Err(error) if tries == TRIES => {
                return Err(ClusterError::Unreachable { addresses: addresses.to_owned(), reason: error.0 });
            }
            Err(_) => {
                tries += 1;
                backoff.rest(transport).await;
            }
        }
    }
}

/// Begins a crawl, or joins one that was begun. Returns once no crash can lose its seeds.
///
/// # Errors
/// If it was begun with other settings; if it was not begun, and there are no seeds; if the servers do not answer.
pub(crate) async fn begin_or_join<T: ClusterTransport>(
    transport: &T,
    wanted: &ClusterTerms,
    seeds: &[CanonicalUrl],
    crawl: &str,
    addresses: &str,
) -> Result<ClusterTerms, ClusterError> {
    let mut has_waited = false;
    let key = ClusterSubject::Key(ClusterKey::Crawl);
    loop {
        let Some((sequence, terms)) = find(transport, crawl, addresses).await? else {
            if seeds.is_empty() {
                return Err(ClusterError::NoSeeds { crawl: crawl.to_owned() });
            }
            // The first node's terms are kept; all nodes read them again.
            let _ = append(transport, &key, 0, value_to_bytes(wanted)).await;
            continue;
        };
        terms.check(wanted, crawl, !seeds.is_empty())?;
        if terms.roots.is_some() {
            return Ok(terms);
        }
        if seeds.is_empty() {
            if !std::mem::replace(&mut has_waited, true) {
                tracing::warn!(crawl, "waiting for the node that gives the seeds");
            }
            transport.rest(WAIT).await;
            continue;
        }
        // Two nodes may do this at once: a seed that is stored twice counts once.
        let last = add_seeds(transport, terms.id, seeds).await;
        let _ = append(transport, &key, sequence, value_to_bytes(&ClusterTerms { roots: Some(last), ..terms })).await;
    }
}

/// The most partitions that a crawl may have.
pub(crate) const MOST_PARTITIONS: u32 = 1024;

/// Which part of a URL decides its partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartitionBy {
    /// Its registrable domain: all hosts of a site together.
    Domain,
    /// Its host's name: http and https together, and all ports.
    #[default]
    Host,
}

impl PartitionBy {
    /// Its name in settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Domain => "domain",
            Self::Host => "host",
        }
    }
}

/// Which partition a URL is in: the same on all machines, for as long as the crawl lasts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partitions {
    pub(crate) count: u32,
    pub(crate) by: PartitionBy,
    pub(crate) key: FingerprintKey,
}

impl Partitions {
    /// The partition of a URL.
    pub(crate) fn of(&self, url: &CanonicalUrl) -> u32 {
        let text = match self.by {
            PartitionBy::Domain => domain(url.host()),
            // http and https of a name belong to one server.
            PartitionBy::Host => url.host(),
        };
        let bits = self.key.fingerprint(text).bits();
        u32::try_from(bits % u64::from(self.count.max(1))).unwrap_or_default()
    }

    /// The node that should own a partition, by rendezvous hashing (Thaler and Ravishankar 1998): the node whose place has the highest hash for
    /// the partition. So a new node takes its share from all others, and a node that leaves gives its partitions to all others. A node that
    /// returns to its place gets back the partitions that it had.
    pub(crate) fn target<'a>(&self, partition: u32, nodes: impl Iterator<Item = (&'a str, u64)>) -> Option<&'a str> {
        let draw = |place: u64| self.key.fingerprint(&format!("{partition} {place}")).bits();
        nodes.max_by_key(|(node, place)| (draw(*place), *node)).map(|(node, _)| node)
    }
}

/// The roots: all seeds, and the URLs that they redirect to, as far as they were read.
#[derive(Debug, Default)]
pub(crate) struct RootList {
    found: Mutex<Vec<Found>>,
    /// The last message that was read.
    read: AtomicU64,
}

impl RootList {
    fn found(&self) -> MutexGuard<'_, Vec<Found>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The roots from an index on.
    pub(crate) fn from(&self, first: usize) -> Vec<Found> {
        self.found().get(first..).unwrap_or_default().to_vec()
    }

    /// Reads on until it has read message `last`. Waits without end for servers that do not answer.
    ///
    /// # Errors
    /// If they keep answering that they do not have it.
    pub(crate) async fn read_to<T: ClusterTransport>(
        &self,
        transport: &T,
        canonicalizer: &Canonicalizer,
        last: u64,
    ) -> Result<(), ClusterError> {
        let mut backoff = Backoff::new();
        for _ in 0..ANSWERS {
            if self.read_on(transport, canonicalizer).await > 0 && self.read.load(Ordering::Acquire) >= last {
                return Ok(());
            }
            backoff.rest(transport).await;
        }
        Err(ClusterError::Log(format!("the servers have lost its seeds, up to message {last}")))
    }

    /// Reads on to the end of the list as it is now, and returns its length. Retries while the servers cannot be reached.
    pub(crate) async fn read_on<T: ClusterTransport>(&self, transport: &T, canonicalizer: &Canonicalizer) -> usize {
        let mut backoff = Backoff::new();
        loop {
            let read = self.read.load(Ordering::Acquire);
            match transport.next(&ClusterSubject::Roots, read).await {
                Ok(Some(message)) => {
                    match read_link_batch(&message.bytes, canonicalizer) {
                        Ok((_, found)) => self.found().extend(found),
                        Err(reason) => {
                            tracing::error!(sequence = message.sequence, reason, "seeds that cannot be read");
                        }
                    }
                    self.read.store(message.sequence, Ordering::Release);
                }
                Ok(None) => return self.found().len(),
                Err(_) => backoff.rest(transport).await,
            }
        }
    }
}

/// Whether seeds define the scope.
pub(crate) fn has_roots(kind: ScopeKind) -> bool {
    !matches!(kind, ScopeKind::Any | ScopeKind::Page)
}

/// Sends seeds to all partitions. Returns the sequence of the last message. Retries without end while no answer comes.
pub(crate) async fn add_seeds<T: ClusterTransport>(transport: &T, token: u64, seeds: &[CanonicalUrl]) -> u64 {
    let (mut last, mut serial, mut draft) = (0, 0, LinkBatchDraft::default());
    for (number, seed) in (1..).zip(seeds) {
        draft.add(&Found::seed(seed.clone()));
        if draft.is_full() || number == seeds.len() {
            serial += 1;
            let id = LinkBatchId { token, serial };
            let link_batch = std::mem::take(&mut draft).link_batch(id);
            last = deliver(transport, &ClusterSubject::Roots, id, &link_batch).await;
        }
    }
    last
}

/// Sends a link batch, and returns once no crash of a server can lose it.
pub(crate) async fn deliver<T: ClusterTransport>(
    transport: &T,
    to: &ClusterSubject,
    id: LinkBatchId,
    link_batch: &[u8],
) -> u64 {
    let name = format!("{:016x}-{}", id.token, id.serial);
    let mut backoff = Backoff::new();
    loop {
        if let Ok(sequence) = transport.publish(to, link_batch.to_vec(), None, Some(name.clone())).await {
            return sequence;
        }
        backoff.rest(transport).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::{Canonicalizer, KeyRules};
    use crate::cluster::in_process::InProcess;

    #[test]
    fn hosts_of_a_site_are_together_by_domain_and_apart_by_host() {
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        let of = |by, text: &str| {
            let partitions = Partitions { count: 64, by, key: FingerprintKey::from_u64(7) };
            partitions.of(&canonicalizer.canonicalize(text).unwrap())
        };
        let pages = |by| [1, 2, 3, 4, 5].map(|host| of(by, &format!("https://www{host}.example.co.uk/{host}")));
        assert_eq!(pages(PartitionBy::Domain), [of(PartitionBy::Domain, "http://example.co.uk/"); 5]);
        let apart = pages(PartitionBy::Host);
        assert!(apart.iter().any(|partition| *partition != apart[0]));
        let ports = ["http://a.test/b", "http://a.test/c?d", "https://a.test/", "https://a.test:8443/"];
        assert_eq!(ports.map(|port| of(PartitionBy::Host, port)), [of(PartitionBy::Host, ports[0]); 4]);
    }

    #[test]
    fn a_node_that_goes_moves_its_partitions_alone() {
        let partitions = Partitions { count: 1000, by: PartitionBy::Host, key: FingerprintKey::from_u64(7) };
        let nodes = [("a", 1), ("b", 2), ("c", 3), ("d", 4)];
        let all: Vec<_> = (0..1000).map(|partition| partitions.target(partition, nodes.into_iter()).unwrap()).collect();
        for (node, _) in nodes {
            let owned = all.iter().filter(|owner| **owner == node).count();
            assert!((200..300).contains(&owned), "{owned}");
        }
        for (partition, owner) in (0..).zip(&all) {
            let without = partitions.target(partition, nodes.into_iter().filter(|(node, _)| *node != "b")).unwrap();
            assert!(without == *owner || *owner == "b");
        }
        assert_eq!(partitions.target(1, std::iter::empty()), None);
        let again = nodes.map(|(node, place)| (if node == "b" { "e" } else { node }, place));
        for (partition, owner) in (0..).zip(&all) {
            let owner = if *owner == "b" { "e" } else { owner };
            assert_eq!(partitions.target(partition, again.into_iter()), Some(owner), "b came back to its place");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn seeds_that_are_lost_are_not_waited_for() {
        let (transport, roots) = (InProcess::new(1, 0), RootList::default());
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        let error = roots.read_to(&*transport, &canonicalizer, 1).await.unwrap_err().to_string();
        assert!(error.ends_with("the servers have lost its seeds, up to message 1"), "{error}");
        let last = add_seeds(&*transport, 7, &[canonicalizer.canonicalize("http://a.example/").unwrap()]).await;
        roots.read_to(&*transport, &canonicalizer, last).await.unwrap();
        assert_eq!(roots.from(0).len(), 1);
        assert!(roots.read_to(&*transport, &canonicalizer, last + 1).await.is_err());
    }
}
