//! What all nodes of a crawl must agree on.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::ClusterError;
use super::partitions::{PartitionBy, Partitions};
use super::roots::add_seeds;
use super::subject::{ClusterKey, ClusterSubject};
use super::succession::append;
use super::transport::{Backoff, ClusterTransport};
use super::values;
use crate::address::{CanonicalUrl, FINGERPRINT_STRATEGY, FingerprintKey, KEY_RULES_VERSION};
use crate::crawl::CrawlOptions;
use crate::frontier::Politeness;
use crate::seen::SeenOptions;

/// The version of messages and terms.
const VERSION: u32 = 3;
/// Bytes of settings that are kept, at most.
const MOST_SETTINGS: usize = 256 << 10;
/// How often the servers are asked before a node gives up.
const TRIES: u32 = 20;
/// URLs that the filter of a partition is sized for, at least, unless the crawl's is smaller.
const LEAST_CAPACITY: u64 = 10_000;
/// How often a node checks whether another one has given the seeds.
const WAIT: Duration = Duration::from_millis(200);

/// What all nodes of a crawl must agree on. The first node says it, and it never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClusterTerms {
    version: u32,
    rules: [u32; 2],
    /// Drawn by the node that began the crawl.
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
    /// The last message of the seeds; `None` until all are there.
    pub(crate) roots: Option<u64>,
}

impl ClusterTerms {
    /// What a node wants. Numbers are drawn, in case it is the first.
    pub(crate) fn of(
        options: &CrawlOptions,
        partitions: u32,
        by: PartitionBy,
        seeds: &[CanonicalUrl],
        settings: &str,
    ) -> Self {
        let key = options.frontier.fingerprint_key.unwrap_or_else(FingerprintKey::random);
        // How much a machine may keep in memory is its own matter, and no host notices it.
        let politeness =
            Politeness { robots_memory: Politeness::default().robots_memory, ..options.frontier.politeness.clone() };
        let filter = SeenOptions { key: FingerprintKey::from_u64(0), directory: None, ..options.frontier.seen.clone() };
        Self {
            version: VERSION,
            rules: [FINGERPRINT_STRATEGY, KEY_RULES_VERSION],
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

    /// The options of the crawl, changed to those of each of its partitions.
    pub(crate) fn of_partition(&self, mut options: CrawlOptions) -> CrawlOptions {
        options.frontier.fingerprint_key = Some(self.key());
        let seen = &mut options.frontier.seen;
        // Hosts are not equally large, so a partition may get more than its share.
        seen.capacity = (seen.capacity / u64::from(self.partitions) * 3 / 2).max(LEAST_CAPACITY.min(seen.capacity));
        options
    }

    /// Checks that a crawl that was begun is the one that a node wants. A node without seeds takes the crawl's.
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
/// If the servers do not answer, or it is of another version.
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
                let terms = values::read(&message.bytes);
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

/// Begins a crawl, or agrees to one that was begun. Returns once no crash can lose its seeds.
///
/// # Errors
/// If it was begun with something else; if it was not begun, and there are no seeds; if the servers do not answer.
pub(crate) async fn agree<T: ClusterTransport>(
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
            let _ = append(transport, &key, 0, values::to_bytes(wanted)).await;
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
        // Two nodes may do this at once: a seed that is given twice counts once.
        let last = add_seeds(transport, terms.id, seeds).await;
        let _ = append(transport, &key, sequence, values::to_bytes(&ClusterTerms { roots: Some(last), ..terms })).await;
    }
}
