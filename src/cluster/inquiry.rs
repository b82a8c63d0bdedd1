//! "Why was this URL not fetched?", asked of a crawl on many machines.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{env, fs};

use tokio::task::spawn_blocking;

use super::drops;
use super::error::ClusterError;
use super::link_batch;
use super::node::draw;
use super::owner::panicked;
use super::roots::{RootList, has_roots};
use super::snapshot::restore;
use super::subject::{ClusterKey, ClusterSubject};
use super::terms::ClusterTerms;
use super::transport::{ClusterTransport, Unreachable};
use super::values::{self, NodeValue, OwnerValue};
use crate::address::{CanonicalUrl, Canonicalizer};
use crate::crawl::{CrawlError, CrawlOptions};
use crate::frontier::Explanation;
use crate::job::{Explained, Job, explain_among};
use crate::lending::Clock;

/// Where a crawl on many machines has a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionPlace {
    /// Its partition.
    pub partition: u32,
    /// The node that owns the partition, and its machine and directory; `None` if none does.
    pub owner: Option<(String, String)>,
    /// It is in a link batch that the partition has not taken in yet.
    pub is_in_letter: bool,
}

/// Answers by the logs of these URLs' partitions, as a new owner would read them: no node is disturbed, and none need be running. Page
/// records are on the nodes, and are not looked up. Takes the memory and the time of a new owner for each partition asked, and a directory
/// for temporary files.
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
    // No limit of length: the one here may be lower than that of the node that found a URL.
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
        let room = Room::new();
        let (fold, _) = restore(transport, partition, Some(&room.0.join("frontier"))).await?;
        let job = Job::adopt(&room.0, terms.id.wrapping_add(partition.into()), terms.key())?;
        let here: Vec<CanonicalUrl> = places.iter().map(|&place| urls[place].clone()).collect();
        let (options, roots) = (options.clone(), roots.clone());
        let explaining = spawn_blocking(move || {
            let explained = explain_among(&job, &options, &roots, &here, Clock::start().now());
            explained.map(|Explained { explanations, .. }| explanations)
        });
        let explanations = explaining.await.map_err(panicked)?.map_err(CrawlError::Checkpoint)?;
        let owner = owner(transport, partition).await.map_err(|error| ClusterError::Log(error.0))?;
        let waiting = link_batches(transport, partition, fold.read, &canonicalizer).await;
        let waiting = waiting.map_err(|error| ClusterError::Log(error.0))?;
        for (place, explanation) in places.into_iter().zip(explanations) {
            let is_in_letter = waiting.iter().any(|url| url.key() == urls[place].key());
            answers[place] = Some((explanation, PartitionPlace { partition, owner: owner.clone(), is_in_letter }));
        }
    }
    Ok(answers.into_iter().flatten().collect())
}

/// The node that owns a partition, and its name for people.
async fn owner<T: ClusterTransport>(transport: &T, partition: u32) -> Result<Option<(String, String)>, Unreachable> {
    let owner = transport.last(&ClusterSubject::Key(ClusterKey::Owner(partition))).await?;
    let Some(node) = owner.and_then(|owner| values::read::<OwnerValue>(&owner.bytes)?.node) else { return Ok(None) };
    let value = transport.last(&ClusterSubject::Key(ClusterKey::Node(node.clone()))).await?;
    let name = value.and_then(|value| Some(values::read::<NodeValue>(&value.bytes)?.name));
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
        // One that cannot be read is for the owner to keep and to count.
        all.extend(link_batch::open(&message.bytes, canonicalizer).into_iter().flat_map(|(_, found)| found));
    }
    Ok(all.into_iter().map(|found| found.url).collect())
}

/// A directory for temporary files, which is removed when this is dropped.
struct Room(PathBuf);

impl Room {
    fn new() -> Self {
        Self(env::temp_dir().join(format!("crawler-{:016x}", draw())))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // If this fails, the cleaner of such directories takes it.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::in_process::InProcess;
    use crate::cluster::link_batch::{LetterId, LinkBatchDraft};
    use crate::cluster::partitions::PartitionBy;
    use crate::gate::Found;

    #[tokio::test]
    async fn what_nobody_has_taken_in_yet_is_told() {
        let options = CrawlOptions::default();
        let terms = ClusterTerms::of(&options, 4, PartitionBy::Host, &[], "");
        let canonicalizer = Canonicalizer::new(&options.frontier.keys);
        let [sent, other] =
            ["http://a.test/sent", "http://a.test/other"].map(|url| canonicalizer.canonicalize(url).unwrap());
        let partition = terms.partitions().of(&sent);
        let mut draft = LinkBatchDraft::default();
        draft.add(&Found::seed(sent.clone()));
        let link_batch = draft.link_batch(LetterId { token: 1, serial: 1 });
        let transport = InProcess::new(1, 0);
        for bytes in [link_batch, b"no letter".to_vec()] {
            transport.publish(&ClusterSubject::Found(partition), bytes, None, None).await.unwrap();
        }
        let told = ask(&*transport, &terms, &options, &[sent, other]).await.unwrap();
        let places: Vec<_> = told.into_iter().map(|(_, place)| place).collect();
        let place = |is_in_letter| PartitionPlace { partition, owner: None, is_in_letter };
        assert_eq!(places, [place(true), place(false)]);
    }
}
