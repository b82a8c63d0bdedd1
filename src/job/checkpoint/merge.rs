//! Several runs of hosts, read as one.
//!
//! A checkpoint merges the hosts that it evicts with the runs of similar size; a restore merges all runs to see each host once. Both
//! take the memory of one frame per run, whatever the number of hosts.
//!
//! There are as many sources as runs, at most thirty for a billion hosts. So the next host is the smallest of all heads, found by
//! comparing them all.

use std::ops::Range;
use std::sync::Arc;

use super::CheckpointError;
use super::run::{HostRun, hash_of};
use crate::address::Fingerprint;
use crate::frontier::idle_hosts;
use crate::job::journal::Storage;

/// Reads several runs as one, in the order of the hosts' hashes. If several runs have a host, the newest image counts. One frame of each
/// run is in memory.
pub(super) struct HostMerge {
    job: u64,
    /// The newest first.
    sources: Vec<Source>,
    /// The image that was returned last.
    image: Vec<u8>,
    /// The run and the frame that this image came from; `None` if it came from memory.
    place: Option<(Arc<HostRun>, usize)>,
}

/// A run on disk, or images in memory that are to become one.
struct Source {
    run: Option<Arc<HostRun>>,
    /// The frame that is read next.
    frame: usize,
    buffer: Vec<u8>,
    /// The part of the buffer that is not read yet.
    rest: Range<usize>,
    /// The next host; its image is at the beginning of the rest.
    head: Option<Head>,
}

/// The next host of a source. It has a copy of the key, to compare the sources by.
struct Head {
    hash: Fingerprint,
    key: Box<str>,
    /// Bytes of the image.
    length: usize,
}

impl HostMerge {
    /// Merges `images`, which are in order and the newest, with `runs`, whose last is the newest.
    pub(super) fn of<'a, S: Storage>(
        storage: &mut S,
        job: u64,
        images: Vec<u8>,
        runs: impl DoubleEndedIterator<Item = &'a Arc<HostRun>>,
    ) -> Result<Self, CheckpointError> {
        let rest = 0..images.len();
        let mut sources = vec![Source { run: None, frame: 0, buffer: images, rest, head: None }];
        sources.extend(runs.rev().map(|run| Source {
            run: Some(Arc::clone(run)),
            frame: 0,
            buffer: Vec::new(),
            rest: 0..0,
            head: None,
        }));
        for source in &mut sources {
            source.advance(storage, job)?;
        }
        Ok(Self { job, sources, image: Vec::new(), place: None })
    }

    /// The next host's hash and image; `None` after the last one. Older images of the same host are skipped.
    ///
    /// # Errors
    /// If a frame cannot be read or is damaged.
    pub(super) fn next<S: Storage>(
        &mut self,
        storage: &mut S,
    ) -> Result<Option<(Fingerprint, &[u8])>, CheckpointError> {
        let heads = self.sources.iter().enumerate().filter_map(|(at, source)| Some((source.head.as_ref()?, at)));
        // Among equal hosts, the newest source goes first: its number is the lowest.
        let Some((first, at)) = heads.min_by_key(|(head, at)| (head.hash, &head.key, *at)) else { return Ok(None) };
        let (hash, key) = (first.hash, first.key.clone());
        let source = &self.sources[at];
        self.image.clear();
        self.image.extend_from_slice(&source.buffer[source.rest.start..][..first.length]);
        self.place = source.run.clone().map(|run| (run, source.frame - 1));
        for source in &mut self.sources[at..] {
            if source.head.as_ref().is_some_and(|head| head.hash == hash && head.key == key) {
                source.advance(storage, self.job)?;
            }
        }
        Ok(Some((hash, &self.image)))
    }

    /// The error for the image that was returned last, which came from a run and is not a host.
    pub(super) fn damaged(&self, storage: &impl Storage, reason: &'static str) -> CheckpointError {
        let (run, frame) = self.place.as_ref().expect("it was given, from a run");
        run.damaged(storage, *frame, reason)
    }
}

impl Source {
    /// Goes on to the next host, and reads the next frame if this one is used up.
    fn advance<S: Storage>(&mut self, storage: &mut S, job: u64) -> Result<(), CheckpointError> {
        self.rest.start += self.head.take().map_or(0, |head| head.length);
        if self.rest.is_empty()
            && let Some(run) = self.run.as_ref().filter(|run| self.frame < run.len())
        {
            self.rest = run.frame(storage, self.frame, &mut self.buffer)?;
            self.frame += 1;
        }
        // The frame's checksum was right, and the run was checked when it was opened.
        let next = idle_hosts(&self.buffer[self.rest.clone()]).next();
        self.head =
            next.map(|host| Head { hash: hash_of(job, host.key), key: host.key.into(), length: host.image.len() });
        Ok(())
    }
}
