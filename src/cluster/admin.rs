//! What an operator may ask of a cluster, and tell it.

use std::fmt::Write;
use std::time::Duration;

use super::drops;
use super::error::ClusterError;
use super::inquiry::{PartitionPlace, ask};
use super::nats::Nats;
use super::node::draw;
use super::sign_in::Servers;
use super::subject::{ClusterKey, ClusterSubject, KeyKind};
use super::terms::{ClusterTerms, find};
use super::totals::merged;
use super::transport::{ClusterTransport, Unreachable};
use super::values::{self, MarkValue, NodeValue, OwnerValue, StateValue};
use crate::address::CanonicalUrl;
use crate::crawl::CrawlOptions;
use crate::frontier::Explanation;
use crate::gate::DropRule;
use crate::lending::Clock;
use crate::report::Report;

/// How long the servers may take to store a list of what is dropped.
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
    /// Finds a crawl that was begun.
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

    /// Whether no node owns a partition any more: by then, all have stored their last counts.
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

    /// The settings of the node that began the crawl, as a file; `None` if they were too long to be kept.
    pub fn settings(&self) -> Option<&str> {
        Some(self.terms.settings.as_str()).filter(|settings| !settings.is_empty())
    }

    /// Says why URLs were not fetched, by the logs of their partitions: these have all that counts, whether or not a node is running. Each
    /// partition is read as a new owner reads it, into a directory for temporary files. Page records are on the nodes, and are not looked
    /// up.
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

    /// What was dropped from the crawl.
    ///
    /// # Errors
    /// If the servers do not answer, or their list cannot be parsed.
    pub async fn dropped(&self) -> Result<Vec<DropRule>, ClusterError> {
        let list = drops::read(&*self.nats).await;
        list.map(|(_, rules)| rules).map_err(|error| self.unreachable(error))
    }

    /// Stops fetching what these rules name, in all partitions, whichever nodes own them; with `is_undone`, allows it again. The servers
    /// keep the list for the whole crawl, and nodes apply it within seconds: [`have_heard`](Self::have_heard) tells. Returns what was
    /// dropped before.
    ///
    /// # Errors
    /// If the servers do not answer, or more would be dropped than can be.
    pub async fn drop_by(&self, rules: &[DropRule], is_undone: bool) -> Result<Vec<DropRule>, ClusterError> {
        let change = drops::change(&*self.nats, &self.addresses, (rules, is_undone), draw());
        let changed = tokio::time::timeout(PATIENCE, change).await;
        let silent = |_| self.unreachable(Unreachable(format!("no answer within {PATIENCE:?}")));
        changed.map_err(silent)?.map(|(before, _)| before)
    }

    /// How many partitions have an owner, and how many of these apply the newest list of what is dropped.
    ///
    /// # Errors
    /// If the servers do not answer.
    pub async fn have_heard(&self) -> Result<(u32, u32), ClusterError> {
        let counted = async {
            let dropped = self.nats.last(&ClusterSubject::Key(ClusterKey::Dropped)).await?;
            let newest = dropped.map_or(0, |last| last.sequence);
            let (mut owned, mut heard) = (0, 0);
            for partition in 0..self.terms.partitions {
                if self.owner(partition).await?.is_some() {
                    owned += 1;
                    heard += u32::from(self.state(partition).await?.dropped == newest);
                }
            }
            Ok((owned, heard))
        };
        counted.await.map_err(|error| self.unreachable(error))
    }

    /// The node that owns a partition.
    async fn owner(&self, partition: u32) -> Result<Option<String>, Unreachable> {
        let owner = self.nats.last(&ClusterSubject::Key(ClusterKey::Owner(partition))).await?;
        Ok(owner.and_then(|owner| values::read::<OwnerValue>(&owner.bytes)?.node))
    }

    /// The state that a partition has last published.
    async fn state(&self, partition: u32) -> Result<StateValue, Unreachable> {
        let state = self.nats.last(&ClusterSubject::Key(ClusterKey::State(partition))).await?;
        Ok(state.and_then(|state| values::read(&state.bytes)).unwrap_or_default())
    }

    /// How many partitions the crawl has.
    pub fn partitions(&self) -> u32 {
        self.terms.partitions
    }

    /// The state of the partitions in one line, then one line for each node.
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
            let _ = writeln!(text, "!! {unread} letters could not be read: they are kept in the log, as unread.P");
        }
        for subject in self.nats.keys(KeyKind::Node).await? {
            let ClusterSubject::Key(ClusterKey::Node(node)) = &subject else { continue };
            let value = self.nats.last(&subject).await?.and_then(|last| values::read::<NodeValue>(&last.bytes));
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
        let told = async {
            let is_name = !node.is_empty() && node.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let key = ClusterSubject::Key(ClusterKey::Node(node.to_owned()));
            let last = if is_name { self.nats.last(&key).await? } else { None };
            let value = last.and_then(|last| values::read::<NodeValue>(&last.bytes));
            if value.is_none_or(|value| value.is_gone) {
                return Ok(false);
            }
            let mark = values::to_bytes(&MarkValue { at: Clock::start().now().to_string(), token: draw() });
            let key = ClusterSubject::Key(ClusterKey::Drain(node.to_owned()));
            let told = self.nats.publish(&key, mark, None, None).await;
            told.map(|_| true).map_err(|error| Unreachable(error.to_string()))
        };
        told.await.map_err(|error| self.unreachable(error))
    }
}
