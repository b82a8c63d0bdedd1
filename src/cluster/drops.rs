//! Drop rules: hosts and URLs that a crawl on many machines must not request any more.
//!
//! The list of rules is one key of the crawl's bucket, so the death of a node cannot lose it. Each node reads it before it takes a partition,
//! and then once a second. Its partitions apply the list as a job does: queued URLs are set aside with the reason, and links to dropped URLs
//! are refused. A partition publishes which list it applies, so the user learns when all partitions do. The crawl does not end before that:
//! otherwise URLs that a removed rule had held back would be lost.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::ClusterError;
use super::succession::append;
use super::transport::{Backoff, ClusterKey, ClusterSubject, ClusterTransport, Unreachable};
use super::wire::{DroppedValue, read_value, value_to_bytes};
use crate::crawl::PartitionHandle;
use crate::gate::{DropRule, Found};

/// A list has at most this many rules.
const MOST_RULES: usize = 4096;
/// The rules of a list have at most this many bytes.
const MOST_BYTES: usize = 256 << 10;

const KEY: ClusterSubject = ClusterSubject::Key(ClusterKey::Dropped);

/// The newest list that a node has read, and its message's sequence.
#[derive(Debug, Default)]
pub(crate) struct DropList(Mutex<(u64, Vec<DropRule>)>);

impl DropList {
    fn list(&self) -> MutexGuard<'_, (u64, Vec<DropRule>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest list, and its message's sequence; 0 and an empty list if nothing was ever dropped.
    pub(crate) fn newest(&self) -> (u64, Vec<DropRule>) {
        self.list().clone()
    }

    /// The sequence of the newest list's message.
    pub(crate) fn message(&self) -> u64 {
        self.list().0
    }

    /// Reads the list as it is now. Retries while the servers cannot be reached. If the list cannot be parsed, that is logged, and the
    /// previous list holds.
    pub(crate) async fn read_on<T: ClusterTransport>(&self, transport: &T) {
        let mut backoff = Backoff::new();
        let message = loop {
            match transport.last(&KEY).await {
                Ok(message) => break message,
                Err(_) => backoff.rest(transport).await,
            }
        };
        let Some(message) = message.filter(|message| message.sequence > self.list().0) else { return };
        if let Some(rules) = rules(&message.bytes) {
            *self.list() = (message.sequence, rules);
        } else {
            tracing::error!("the key `dropped` of this crawl cannot be read: the previous drop rules stay in force");
            self.list().0 = message.sequence;
        }
    }
}

/// The list that one partition applies.
#[derive(Debug)]
pub(crate) struct PartDrops {
    handle: PartitionHandle,
    /// The sequence of the list's message.
    applied: AtomicU64,
    /// Held while a newer list is applied.
    turn: Mutex<()>,
}

impl PartDrops {
    /// A partition that was opened with this list.
    pub(crate) fn new(handle: PartitionHandle, applied: u64) -> Self {
        Self { handle, applied: AtomicU64::new(applied), turn: Mutex::default() }
    }

    /// The sequence of the list's message.
    pub(crate) fn applied(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }

    /// Applies this list, if it is newer. `seeds` returns the partition's seeds: a seed that was refused because of a rule is admitted once
    /// the rule is gone. If the journal's storage fails, the previous list holds until the next call. Blocks: queued URLs are set aside, and
    /// that is journaled.
    pub(crate) fn go_by(&self, (message, rules): (u64, Vec<DropRule>), seeds: impl FnOnce() -> Vec<Found>) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if message <= self.applied() {
            return;
        }
        let taken = self.handle.set_drops(&rules).and_then(|is_undone| {
            // Seeds that were never dropped are known already, and change nothing.
            if is_undone { Ok(self.handle.take(seeds(), || {})?) } else { Ok(()) }
        });
        match taken {
            Ok(()) => self.applied.store(message, Ordering::Release),
            Err(error) => tracing::warn!(%error, "the drop rules cannot be stored in the journal yet"),
        }
    }
}

/// The list of a crawl, and its message's sequence; 0 and an empty list if nothing was ever dropped.
///
/// # Errors
/// If the servers do not answer, or their list cannot be parsed.
pub(super) async fn read<T: ClusterTransport>(transport: &T) -> Result<(u64, Vec<DropRule>), Unreachable> {
    let Some(message) = transport.last(&KEY).await? else { return Ok((0, Vec::new())) };
    let reason = "the key `dropped` of the crawl is not a list of rules: remove it, and drop again";
    let rules = rules(&message.bytes).ok_or_else(|| Unreachable(reason.to_owned()))?;
    Ok((message.sequence, rules))
}

/// Adds rules to the list of a crawl, or removes them. `token` tells this change from others. Returns the rules before the change, and the
/// sequence of the message that has the list now.
///
/// # Errors
/// If the servers do not answer, or the list would be too long.
pub(super) async fn change<T: ClusterTransport>(
    transport: &T,
    addresses: &str,
    (rules, is_undone): (&[DropRule], bool),
    token: u64,
) -> Result<(Vec<DropRule>, u64), ClusterError> {
    loop {
        let list = read(transport).await;
        let unreachable =
            |error: Unreachable| ClusterError::Unreachable { addresses: addresses.to_owned(), reason: error.0 };
        let (message, before) = list.map_err(unreachable)?;
        let mut after = before.clone();
        after.retain(|rule| !is_undone || !rules.contains(rule));
        if !is_undone {
            let known: HashSet<_> = before.iter().collect();
            after.extend(rules.iter().filter(|rule| !known.contains(rule)).cloned());
        }
        if after == before {
            return Ok((before, message));
        }
        let texts: Vec<String> = after.iter().map(ToString::to_string).collect();
        if !is_undone && (after.len() > MOST_RULES || texts.iter().map(String::len).sum::<usize>() > MOST_BYTES) {
            return Err(ClusterError::TooManyDrops { rules: MOST_RULES, bytes: MOST_BYTES });
        }
        let value = value_to_bytes(&DroppedValue { rules: texts, token });
        // If this fails, another change came first: try again with its list.
        if let Ok(message) = append(transport, &KEY, message, value).await {
            return Ok((before, message));
        }
    }
}

/// The rules of a list; `None` if it cannot be parsed. A key that was removed leaves a message without bytes.
fn rules(bytes: &[u8]) -> Option<Vec<DropRule>> {
    let value = if bytes.is_empty() { DroppedValue::default() } else { read_value(bytes)? };
    value.rules.iter().map(|text| DropRule::parse(text).ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::cluster::in_process::InProcess;

    async fn add(transport: &InProcess, rules: &[DropRule], token: u64) -> Result<(Vec<DropRule>, u64), ClusterError> {
        change(transport, "", (rules, false), token).await
    }

    fn host(name: &str) -> DropRule {
        DropRule::Host(name.to_owned())
    }

    #[tokio::test]
    async fn a_change_of_the_list_loses_nothing_of_others() {
        let transport = InProcess::new(3, 20);
        let names: Vec<String> = (0..20).map(|number| format!("h{number}.example")).collect();
        let drops = (1..).zip(&names).map(|(token, name)| {
            let (transport, rule) = (Arc::clone(&transport), host(name));
            tokio::spawn(async move { while add(&transport, std::slice::from_ref(&rule), token).await.is_err() {} })
        });
        for done in drops.collect::<Vec<_>>() {
            done.await.unwrap();
        }
        transport.mend();
        let (message, rules) = read(&*transport).await.unwrap();
        let mut kept: Vec<String> = rules.iter().map(ToString::to_string).collect();
        kept.sort();
        let mut all: Vec<String> = names.iter().map(|name| format!("host {name}")).collect();
        all.sort();
        assert_eq!(kept, all);
        let list = DropList::default();
        list.read_on(&*transport).await;
        assert_eq!(list.newest(), (message, rules.clone()));

        assert_eq!(add(&transport, &rules[..3], 30).await.unwrap(), (rules.clone(), message), "known already");
        let (before, message) = change(&*transport, "", (&rules[..19], true), 31).await.unwrap();
        assert_eq!(before, rules);
        assert_eq!(read(&*transport).await.unwrap(), (message, rules[19..].to_vec()));
        list.read_on(&*transport).await;
        assert_eq!(list.newest(), (message, rules[19..].to_vec()));
    }

    #[tokio::test]
    async fn a_list_is_bounded_and_what_is_none_changes_nothing() {
        let transport = InProcess::new(1, 0);
        let many: Vec<_> = (0..=MOST_RULES).map(|number| host(&format!("h{number}.example"))).collect();
        let error = add(&transport, &many, 1).await.unwrap_err().to_string();
        assert!(error.contains("no more than 4096 hosts and patterns"), "{error}");
        assert_eq!(read(&*transport).await.unwrap(), (0, Vec::new()));
        let list = DropList::default();
        add(&transport, &many[..2], 2).await.unwrap();
        list.read_on(&*transport).await;
        for bytes in [&b"no list"[..], br#"{"rules": ["urls ("], "token": 1}"#] {
            transport.publish(&KEY, bytes.to_vec(), None, None).await.unwrap();
            list.read_on(&*transport).await;
            assert_eq!(list.newest().1, many[..2]);
            assert!(read(&*transport).await.is_err());
        }
        let removed = transport.publish(&KEY, Vec::new(), None, None).await.unwrap();
        list.read_on(&*transport).await;
        assert_eq!((list.newest(), read(&*transport).await.unwrap()), ((removed, Vec::new()), (removed, Vec::new())));
    }
}
