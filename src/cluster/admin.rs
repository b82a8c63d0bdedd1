//! The cluster admin: an operator's queries and commands to a crawl on many machines, among them "why was this URL not fetched?".

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs};

use tokio::task::spawn_blocking;

use super::completion::merged;
use super::drops;
use super::error::ClusterError;
use super::nats::{Nats, Servers};
use super::node::draw;
use super::owner::panicked;
use super::snapshot::restore;
use super::terms::{ClusterTerms, RootList, find, has_roots};
use super::transport::{ClusterKey, ClusterSubject, ClusterTransport, KeyKind, Unreachable};
use super::wire::{MarkValue, NodeValue, OwnerValue, StateValue, read_link_batch, read_value, value_to_bytes};
use crate::address::{CanonicalUrl, Canonicalizer};
use crate::crawl::{CrawlError, CrawlOptions};
use crate::driver::explain_among;
use crate::frontier::Explanation;
use crate::gate::DropRule;
use crate::job::{Explained, Job};
use crate::lending::Clock;
use crate::report::Report;

/// The servers may take this long to store a list of drop rules.
const PATIENCE: Duration = Duration::from_secs(30);

/// A crawl on many machines, as seen from outside.
#[derive(Debug)]
pub struct ClusterAdmin {
    nats: std::sync::Arc<Nats>,
    addresses: String,
    crawl: String,
    terms: ClusterTerms,
}

impl ClusterAdmin {
    /// Opens an existing crawl.
    ///
    /// # Errors
    /// If the servers cannot be reached or do not let us in, or there is no such crawl.
    pub async fn open(servers: &Servers, crawl: &str) -> Result<Self, ClusterError> {
        let nats = Nats::connect(servers, crawl, false).await?;
        let addresses = servers.to_string();
        let Some((_, terms)) = find(&*nats, crawl, &addresses).await? else {
            let reason = "it was not begun".to_owned();
            return Err(ClusterError::NoCrawl { crawl: crawl.to_owned(), addresses, reason });
        };
        nats.open_logs(terms.partitions, false, servers).await?;
        Ok(Self { nats, addresses, crawl: crawl.to_owned(), terms })
    }

    fn unreachable(&self, error: Unreachable) -> ClusterError {
        ClusterError::Unreachable { addresses: self.addresses.clone(), reason: error.0 }
    }

    /// Whether the crawl is over.
    ///
    /// # Errors
    /// If the servers do not answer.
    pub async fn has_ended(&self) -> Result<bool, ClusterError> {
        let end = self.nats.last(&ClusterSubject::Key(ClusterKey::End)).await;
        Ok(end.map_err(|error| self.unreachable(error))?.is_some())
    }

    /// Whether no node owns a partition any more. By then, all nodes have stored their last counts.
    ///
    /// # Errors
    /// If the servers do not answer.
    pub async fn is_given_back(&self) -> Result<bool, ClusterError> {
        for partition in 0..self.terms.partitions {
            let owner = self.owner(partition).await;
            if owner.map_err(|error| self.unreachable(error))?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// One report of all partitions, by the latest counts of each.
    ///
    /// # Errors
    /// If the servers do not answer, or a log cannot be read.
    pub async fn report(&self, options: &CrawlOptions) -> Result<Report, ClusterError> {
        let has_ended = self.has_ended().await?;
        merged(&self.nats, self.terms.partitions, has_ended, options).await
    }

    /// The settings of the node that began the crawl, as a file; `None` if they were too long to be stored.
    pub fn settings(&self) -> Option<&str> {
        Some(self.terms.settings.as_str()).filter(|settings| !settings.is_empty())
    }

    /// Says from the logs of their partitions why URLs were not fetched. No node need be running. Each partition is read as a new owner reads
    /// it, into a directory for temporary files. Page records are on the nodes, and are not looked up.
    ///
    /// # Errors
    /// If the servers do not answer, a log cannot be read, or an option differs from the crawl's.
    pub async fn explain(
        &self,
        options: &CrawlOptions,
        urls: &[CanonicalUrl],
    ) -> Result<Vec<(Explanation, PartitionPlace)>, ClusterError> {
        ask(&*self.nats, &self.terms, options, urls).await
    }

    /// The drop rules of the crawl.
    ///
    /// # Errors
    /// If the servers do not answer, or their list cannot be parsed.
    pub async fn dropped(&self) -> Result<Vec<DropRule>, ClusterError> {
        let list = drops::read(&*self.nats).await;
        list.map(|(_, rules)| rules).map_err(|error| self.unreachable(error))
    }

    /// Stops fetching the hosts and URLs that these rules name, in all partitions; with `is_undone`, allows them again. The servers store the
    /// list for the whole crawl, and the nodes apply it within seconds: [`have_heard`](Self::have_heard) says how many partitions do. Returns
    /// the rules before the change.
    ///
    /// # Errors
    /// If the servers do not answer, or the list would be too long.
    pub async fn drop_by(&self, rules: &[DropRule], is_undone: bool) -> Result<Vec<DropRule>, ClusterError> {
        let change = drops::change(&*self.nats, &self.addresses, (rules, is_undone), draw());
        let changed = tokio::time::timeout(PATIENCE, change).await;
        let silent = |_| self.unreachable(Unreachable(format!("no answer within {PATIENCE:?}")));
        changed.map_err(silent)?.map(|(before, _)| before)
    }

    /// How many partitions have an owner, and how many of these apply the newest list of drop rules.
    ///
    /// # Errors
    /// If the servers do not answer.
    pub async fn have_heard(&self) -> Result<(u32, u32), ClusterError> {
        let counted = async {
            let dropped = self.nats.last(&ClusterSubject::Key(ClusterKey::Dropped)).await?;
            let newest = dropped.map_or(0, |last| last.sequence);
            let (mut owned, mut applied) = (0, 0);
            for partition in 0..self.terms.partitions {
                if self.owner(partition).await?.is_some() {
                    owned += 1;
                    applied += u32::from(self.state(partition).await?.dropped == newest);
                }
            }
            Ok((owned, applied))
        };
        counted.await.map_err(|error| self.unreachable(error))
    }

    /// The node that owns a partition.
    async fn owner(&self, partition: u32) -> Result<Option<String>, Unreachable> {
        let owner = self.nats.last(&ClusterSubject::Key(ClusterKey::Owner(partition))).await?;
        Ok(owner.and_then(|owner| read_value::<OwnerValue>(&owner.bytes)?.node))
    }

    /// The state that a partition has last published.
    async fn state(&self, partition: u32) -> Result<StateValue, Unreachable> {
        let state = self.nats.last(&ClusterSubject::Key(ClusterKey::State(partition))).await?;
        Ok(state.and_then(|state| read_value(&state.bytes)).unwrap_or_default())
    }

    /// How many partitions the crawl has.
    pub fn partitions(&self) -> u32 {
        self.terms.partitions
    }

    /// A line on the partitions, a warning if link batches could not be read, and a line for each node.
    ///
    /// # Errors
    /// If the servers do not answer.
    pub async fn status(&self) -> Result<String, ClusterError> {
        let text = self.look().await;
        text.map_err(|error| self.unreachable(error))
    }

    async fn look(&self) -> Result<String, Unreachable> {
        let (mut taken, mut idle, mut unread) = (0, 0, 0);
        for partition in 0..self.terms.partitions {
            taken += u32::from(self.owner(partition).await?.is_some());
            let state = self.state(partition).await?;
            idle += u32::from(state.is_idle);
            unread += state.unread;
        }
        let ended =
            if self.nats.last(&ClusterSubject::Key(ClusterKey::End)).await?.is_some() { ", it is over" } else { "" };
        let mut text =
            format!("crawl {}: {} partitions, {taken} owned, {idle} idle{ended}\n", self.crawl, self.terms.partitions);
        if unread > 0 {
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "!! {unread} link batches could not be read: they are kept in the log, as unread.P");
        }
        for subject in self.nats.keys(KeyKind::Node).await? {
            let ClusterSubject::Key(ClusterKey::Node(node)) = &subject else { continue };
            let value = self.nats.last(&subject).await?.and_then(|last| read_value::<NodeValue>(&last.bytes));
            let Some(NodeValue { name, partitions, pages, is_leaving, .. }) = value.filter(|value| !value.is_gone)
            else {
                continue;
            };
            let leaves = if is_leaving { ", leaving" } else { "" };
            let _ = writeln!(text, "node {node}: {partitions} partitions, {pages} pages{leaves}, {name}");
        }
        Ok(text)
    }

    /// Tells a node to give back its partitions and to end. Returns whether there is such a node.
    ///
    /// # Errors
    /// If the servers do not answer.
    pub async fn drain(&self, node: &str) -> Result<bool, ClusterError> {
        let marked = async {
            let is_name = !node.is_empty() && node.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let key = ClusterSubject::Key(ClusterKey::Node(node.to_owned()));
            let last = if is_name { self.nats.last(&key).await? } else { None };
            let value = last.and_then(|last| read_value::<NodeValue>(&last.bytes));
            if value.is_none_or(|value| value.is_gone) {
                return Ok(false);
            }
            let mark = value_to_bytes(&MarkValue { at: Clock::start().now().to_string(), token: draw() });
            let key = ClusterSubject::Key(ClusterKey::Drain(node.to_owned()));
            let published = self.nats.publish(&key, mark, None, None).await;
            published.map(|_| true).map_err(|error| Unreachable(error.to_string()))
        };
        marked.await.map_err(|error| self.unreachable(error))
    }
}

/// Where a crawl on many machines has a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionPlace {
    /// Its partition.
    pub partition: u32,
    /// The node that owns the partition, and its machine and directory; `None` if none does.
    pub owner: Option<(String, String)>,
    /// The URL is in a link batch that the partition has not taken in yet.
    pub is_in_link_batch: bool,
}

/// Says why these URLs were not fetched. The log of each of their partitions is read as a new owner reads it. So no node is disturbed, and no
/// node need be running. Each partition takes as much memory and time as a new owner needs, and a directory for temporary files. Page records
/// are on the nodes, and are not looked up.
///
/// # Errors
/// If the servers do not answer, or a log is damaged; if the directory cannot be used.
pub(super) async fn ask<T: ClusterTransport>(
    transport: &T,
    terms: &ClusterTerms,
    options: &CrawlOptions,
    urls: &[CanonicalUrl],
) -> Result<Vec<(Explanation, PartitionPlace)>, ClusterError> {
    let mut options = terms.of_partition(options.clone()).frontier;
    (_, options.scope.dropped) = drops::read(transport).await.map_err(|error| ClusterError::Log(error.0))?;
    // Without a limit on the length: the limit here may be lower than that of the node that found a URL.
    let canonicalizer = Canonicalizer::new(&options.keys).with_max_bytes(usize::MAX);
    let roots = RootList::default();
    match terms.roots {
        Some(last) => roots.read_to(transport, &canonicalizer, last).await?,
        None => drop(roots.read_on(transport, &canonicalizer).await),
    }
    let roots = if has_roots(options.scope.kind) { roots.from(0) } else { Vec::new() };
    let mut asked: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (place, url) in urls.iter().enumerate() {
        asked.entry(terms.partitions().of(url)).or_default().push(place);
    }
    let mut answers: Vec<_> = urls.iter().map(|_| None).collect();
    for (partition, places) in asked {
        let scratch = ScratchDirectory::new();
        let (log, _) = restore(transport, partition, Some(&scratch.0.join("frontier"))).await?;
        let job = Job::adopt(&scratch.0, terms.id.wrapping_add(partition.into()), terms.key())?;
        let here: Vec<CanonicalUrl> = places.iter().map(|&place| urls[place].clone()).collect();
        let (options, roots) = (options.clone(), roots.clone());
        let explaining = spawn_blocking(move || {
            let explained = explain_among(&job, &options, &roots, &here, Clock::start().now());
            explained.map(|Explained { explanations, .. }| explanations)
        });
        let explanations = explaining.await.map_err(panicked)?.map_err(CrawlError::Checkpoint)?;
        let owner = owner(transport, partition).await.map_err(|error| ClusterError::Log(error.0))?;
        let waiting = link_batches(transport, partition, log.read, &canonicalizer).await;
        let waiting = waiting.map_err(|error| ClusterError::Log(error.0))?;
        for (place, explanation) in places.into_iter().zip(explanations) {
            let is_in_link_batch = waiting.iter().any(|url| url.key() == urls[place].key());
            answers[place] = Some((explanation, PartitionPlace { partition, owner: owner.clone(), is_in_link_batch }));
        }
    }
    Ok(answers.into_iter().flatten().collect())
}

/// The node that owns a partition, and its name for people.
async fn owner<T: ClusterTransport>(transport: &T, partition: u32) -> Result<Option<(String, String)>, Unreachable> {
    let owner = transport.last(&ClusterSubject::Key(ClusterKey::Owner(partition))).await?;
    let Some(node) = owner.and_then(|owner| read_value::<OwnerValue>(&owner.bytes)?.node) else { return Ok(None) };
    let value = transport.last(&ClusterSubject::Key(ClusterKey::Node(node.clone()))).await?;
    let name = value.and_then(|value| Some(read_value::<NodeValue>(&value.bytes)?.name));
    Ok(Some((node, name.unwrap_or_default())))
}

/// The URLs in the link batches that a partition has not taken in yet.
async fn link_batches<T: ClusterTransport>(
    transport: &T,
    partition: u32,
    mut read: u64,
    canonicalizer: &Canonicalizer,
) -> Result<Vec<CanonicalUrl>, Unreachable> {
    let mut all = Vec::new();
    while let Some(message) = transport.next(&ClusterSubject::Found(partition), read).await? {
        read = message.sequence;
        // A link batch that cannot be read is left out: the owner keeps and counts it.
        all.extend(read_link_batch(&message.bytes, canonicalizer).into_iter().flat_map(|(_, found)| found));
    }
    Ok(all.into_iter().map(|found| found.url).collect())
}

/// A directory for temporary files, which is removed when this is dropped.
struct ScratchDirectory(PathBuf);

impl ScratchDirectory {
    fn new() -> Self {
        Self(env::temp_dir().join(format!("crawler-{:016x}", draw())))
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        // If this fails, the directory stays until the system cleans up its temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::in_process::InProcess;
    use crate::cluster::terms::PartitionBy;
    use crate::cluster::wire::{LinkBatchDraft, LinkBatchId};
    use crate::gate::Found;

    #[tokio::test]
    async fn a_link_that_was_not_taken_in_yet_is_found() {
        let options = CrawlOptions::default();
        let terms = ClusterTerms::of(&options, 4, PartitionBy::Host, &[], "");
        let canonicalizer = Canonicalizer::new(&options.frontier.keys);
        let [sent, other] =
            ["http://a.test/sent", "http://a.test/other"].map(|url| canonicalizer.canonicalize(url).unwrap());
        let partition = terms.partitions().of(&sent);
        let mut draft = LinkBatchDraft::default();
        draft.add(&Found::seed(sent.clone()));
        let link_batch = draft.link_batch(LinkBatchId { token: 1, serial: 1 });
        let transport = InProcess::new(1, 0);
        for bytes in [link_batch, b"no link batch".to_vec()] {
            transport.publish(&ClusterSubject::Found(partition), bytes, None, None).await.unwrap();
        }
        let answers = ask(&*transport, &terms, &options, &[sent, other]).await.unwrap();
        let places: Vec<_> = answers.into_iter().map(|(_, place)| place).collect();
        let place = |is_in_link_batch| PartitionPlace { partition, owner: None, is_in_link_batch };
        assert_eq!(places, [place(true), place(false)]);
    }
}
