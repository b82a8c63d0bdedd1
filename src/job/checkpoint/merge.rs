//! Runs of hosts, merged in the order of their hashes.

use std::ops::Range;
use std::sync::Arc;

use super::CheckpointError;
use super::run::{HostRun, hash_of};
use crate::address::Fingerprint;
use crate::frontier::idle_hosts;
use crate::job::journal::Storage;

/// The hosts of some runs in one order; of one that several have, the newest image. A frame of each is in memory.
pub(super) struct HostMerge {
    job: u64,
    /// The newest first.
    sources: Vec<Source>,
    /// The image that was given last.
    image: Vec<u8>,
    /// The run and the frame that it is of.
    place: Option<(Arc<HostRun>, usize)>,
}

/// A run that is read, or the images that one shall be made of.
struct Source {
    run: Option<Arc<HostRun>>,
    /// The frame that is read next.
    frame: usize,
    buffer: Vec<u8>,
    /// What is left in it.
    rest: Range<usize>,
    /// The host that comes next, its image at the begin of the rest.
    head: Option<Head>,
}

struct Head {
    hash: Fingerprint,
    key: Box<str>,
    /// Bytes of the image.
    length: usize,
}

impl HostMerge {
    /// Of `images`, in their order, and `runs`, of which the last is the newest.
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

    /// The next host's hash and image.
    pub(super) fn next<S: Storage>(
        &mut self,
        storage: &mut S,
    ) -> Result<Option<(Fingerprint, &[u8])>, CheckpointError> {
        let heads = self.sources.iter().enumerate().filter_map(|(at, source)| Some((source.head.as_ref()?, at)));
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

    /// The image that was given last, from a run, says what cannot be.
    pub(super) fn damaged(&self, storage: &impl Storage, reason: &'static str) -> CheckpointError {
        let (run, frame) = self.place.as_ref().expect("it was given, from a run");
        run.damaged(storage, *frame, reason)
    }
}

impl Source {
    fn advance<S: Storage>(&mut self, storage: &mut S, job: u64) -> Result<(), CheckpointError> {
        self.rest.start += self.head.take().map_or(0, |head| head.length);
        if self.rest.is_empty()
            && let Some(run) = self.run.as_ref().filter(|run| self.frame < run.len())
        {
            self.rest = run.frame(storage, self.frame, &mut self.buffer)?;
            self.frame += 1;
        }
        // What is behind a checksum was written by us, and read before.
        let next = idle_hosts(&self.buffer[self.rest.clone()]).next();
        self.head =
            next.map(|host| Head { hash: hash_of(job, host.key), key: host.key.into(), length: host.image.len() });
        Ok(())
    }
}
