//! Runs: files of evicted hosts, which are written once, searched, read, and merged.
//!
//! The first hash of each frame is in memory. So a host is found with one read of 4 KiB: a binary search finds its frame, and a linear
//! search the host in it. A frame is closed once it has 4 KiB, so one with a large host is longer.
//!
//! A run is written once, synced, and never changed. It counts when the summary of a checkpoint lists it. If a power cut leaves part of a
//! run, no checkpoint lists that file, and the next process removes it. The page of [checkpoints](super) says which hosts are in a run, and
//! why an image in it needs no position.
//!
//! | act | reads | memory |
//! |---|---|---|
//! | find a host | one frame, usually of 4 KiB | that frame |
//! | open a run | all of it, once | 16 bytes a frame, and the longest frame |
//! | merge runs | all of them, once, frame by frame | one frame per run, and a write buffer of 256 KiB |
//!
//! # Several runs, read as one
//!
//! A checkpoint merges the hosts that it evicts with the runs of similar size; a restore merges all runs to see each host once. Both
//! take the memory of one frame per run, whatever the number of hosts.
//!
//! A billion hosts have at most thirty runs. So the next host is found by comparing the next hosts of all runs.

use std::ops::Range;
use std::sync::Arc;

use super::CheckpointError;
use super::files::{self, BUFFER, EVICTED, RUN, name};
use crate::address::{Fingerprint, FingerprintKey};
use crate::bytes::{FileError, FrameWriter, HEAD_OF_FRAME, Header, open_frame, size_of_frame};
use crate::frontier::{IdleHost, idle_hosts};
use crate::job::journal::Storage;

/// A frame is closed when it has this many bytes of hosts. A search for one host reads one frame.
const FRAME: usize = 4096;

/// A file of evicted hosts in the order of their keys' hashes. It never changes once it is written.
///
/// Sixteen bytes a frame are in memory: a quarter of a byte for each host of 60 bytes.
#[derive(Debug)]
pub(super) struct HostRun {
    /// Part of the file's name and header, and the seed of its frames' checksums.
    pub(super) number: u64,
    /// The hash of each frame's first host, and where the frame begins.
    frames: Vec<(Fingerprint, u64)>,
    /// Where the last of these frames ends.
    end: u64,
    /// The number of hosts. A new run merges the newest runs that have few enough.
    pub(super) hosts: u64,
}

/// The hash that a job's hosts are sorted by. It is seeded with the job's id, which no site knows, so a site cannot choose names that
/// all fall into one frame.
pub(super) fn hash_of(job: u64, key: &str) -> Fingerprint {
    FingerprintKey::from_u64(job).fingerprint(key)
}

impl HostRun {
    /// Reads and checks a whole run, and shows the hash of each host.
    ///
    /// # Errors
    /// Besides the errors of its frames: if a payload is not a list of hosts, or a host does not follow the previous one in the order of
    /// hashes and keys. A search would miss a host in the wrong place, and the host would be treated as new.
    pub(super) fn read<S: Storage>(
        storage: &mut S,
        job: u64,
        number: u64,
        mut show: impl FnMut(Fingerprint),
    ) -> Result<Self, CheckpointError> {
        let mut run = Self { number, frames: Vec::new(), end: Header::SIZE as u64, hosts: 0 };
        files::read(storage, RUN, EVICTED, (job, number), |frames| {
            let mut last = None;
            loop {
                let images = frames.next()?.to_vec();
                if images.is_empty() {
                    return frames.end();
                }
                let mut bytes = 0;
                for (nth, host) in idle_hosts(&images).enumerate() {
                    bytes += host.image.len();
                    let this = (hash_of(job, host.key), host.key.to_owned());
                    if last.as_ref().is_some_and(|last| *last >= this) {
                        return Err(frames.damaged("hosts out of order"));
                    }
                    if nth == 0 {
                        run.frames.push((this.0, frames.offset()));
                    }
                    show(this.0);
                    last = Some(this);
                    run.hosts += 1;
                }
                if bytes != images.len() {
                    return Err(frames.damaged("invalid hosts"));
                }
                run.end = frames.offset() + size_of_frame(images.len());
            }
        })?;
        Ok(run)
    }

    /// The number of frames.
    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    /// Reads a frame into a buffer, and returns the range of its hosts there. The beginning of the next frame gives its length, so one read
    /// is enough. The checksum is checked each time: the disk may have failed since the run was opened.
    pub(super) fn frame<S: Storage>(
        &self,
        storage: &mut S,
        frame: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<Range<usize>, CheckpointError> {
        let offset = self.frames[frame].1;
        let end = self.frames.get(frame + 1).map_or(self.end, |next| next.1);
        let name = name(RUN, self.number);
        buffer.resize(usize::try_from(end - offset).unwrap_or(usize::MAX), 0);
        let read = storage.read_at(&name, offset, buffer).map_err(FileError::of("read", storage.path(&name)))?;
        let images = open_frame(&buffer[..read], self.number, frame as u64);
        let images = images.map_err(|reason| self.damaged(storage, frame, reason))?;
        Ok(HEAD_OF_FRAME..HEAD_OF_FRAME + images.len())
    }

    /// The error for a damaged frame.
    pub(super) fn damaged(&self, storage: &impl Storage, frame: usize, reason: &'static str) -> CheckpointError {
        let path = storage.path(&name(RUN, self.number));
        FileError::Damaged { path, offset: self.frames[frame].1, reason }.into()
    }

    /// Reads the image of a host into a buffer, and returns its range there; `None` if this run lacks the host. Costs one read.
    pub(super) fn find<S: Storage>(
        &self,
        storage: &mut S,
        hash: Fingerprint,
        key: &str,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<Range<usize>>, CheckpointError> {
        // The last frame that does not begin after the hash: all hosts of one hash are in one frame.
        let Some(frame) = self.frames.partition_point(|(first, _)| *first <= hash).checked_sub(1) else {
            return Ok(None);
        };
        let images = self.frame(storage, frame, buffer)?;
        let mut at = images.start;
        for host in idle_hosts(&buffer[images]) {
            let image = at..at + host.image.len();
            if host.key == key {
                return Ok(Some(image));
            }
            at = image.end;
        }
        Ok(None)
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.frames.capacity() * size_of::<(Fingerprint, u64)>()
    }
}

/// Writes a run, host by host, in order. If that fails, the file stays until the draft that began it removes it.
pub(super) struct HostRunWriter {
    name: String,
    /// Frames that the storage does not have yet: 256 KiB, and at most one frame more.
    frames: FrameWriter<Vec<u8>>,
    /// The hosts of the frame that is being filled.
    images: Vec<u8>,
    /// The hash of the last host.
    last: Option<Fingerprint>,
    run: HostRun,
}

impl HostRunWriter {
    /// Begins a run with this number. Its file is written in parts, since the runs that are merged into it are read from the same storage
    /// meanwhile.
    pub(super) fn begin<S: Storage>(storage: &mut S, job: u64, number: u64) -> Result<Self, CheckpointError> {
        let name = name(RUN, number);
        storage.create(&name).map_err(FileError::of("create", storage.path(&name)))?;
        let frames = files::begin(Vec::new(), EVICTED, job, number);
        let frames = frames.map_err(FileError::of("write", storage.path(&name)))?;
        let run = HostRun { number, frames: Vec::new(), end: Header::SIZE as u64, hosts: 0 };
        Ok(Self { name, frames, images: Vec::new(), last: None, run })
    }

    /// Appends a host, which must follow the last one in the order of hashes and keys. A full frame stays open for more hosts of the
    /// same hash, so that a search reads only one frame.
    pub(super) fn push<S: Storage>(
        &mut self,
        storage: &mut S,
        hash: Fingerprint,
        image: &[u8],
    ) -> Result<(), CheckpointError> {
        if self.images.len() >= FRAME && self.last != Some(hash) {
            self.close_frame(storage)?;
        }
        if self.images.is_empty() {
            self.run.frames.push((hash, self.run.end));
        }
        self.images.extend_from_slice(image);
        self.last = Some(hash);
        self.run.hosts += 1;
        if self.frames.to().len() >= BUFFER {
            self.write(storage)?;
        }
        Ok(())
    }

    /// Ends the run and syncs it. The caller syncs its name.
    pub(super) fn end<S: Storage>(mut self, storage: &mut S) -> Result<HostRun, CheckpointError> {
        if !self.images.is_empty() {
            self.close_frame(storage)?;
        }
        self.close(storage)?;
        self.write(storage)?;
        storage.sync(&self.name).map_err(FileError::of("sync", storage.path(&self.name)))?;
        Ok(self.run)
    }

    /// Closes a frame that has hosts, and counts its bytes.
    fn close_frame<S: Storage>(&mut self, storage: &S) -> Result<(), CheckpointError> {
        self.close(storage)?;
        self.run.end += size_of_frame(self.images.len());
        self.images.clear();
        Ok(())
    }

    /// Closes the frame. Without hosts it is the empty frame at the end.
    fn close<S: Storage>(&mut self, storage: &S) -> Result<(), CheckpointError> {
        let closed = self.frames.put(&self.images).end();
        Ok(closed.map_err(FileError::of("write", storage.path(&self.name)))?)
    }

    /// Hands the gathered frames to the storage.
    fn write<S: Storage>(&mut self, storage: &mut S) -> Result<(), CheckpointError> {
        let bytes = std::mem::take(self.frames.to());
        Ok(storage.append(&self.name, &bytes).map_err(FileError::of("write", storage.path(&self.name)))?)
    }
}

/// Hosts in the order of a run, with their hashes. Hosts of one hash are sorted by their keys, so that the order is total and a merge
/// meets equal hosts next to each other.
pub(super) fn in_order<'a>(job: u64, hosts: impl Iterator<Item = IdleHost<'a>>) -> Vec<(Fingerprint, IdleHost<'a>)> {
    let mut hosts: Vec<_> = hosts.map(|host| (hash_of(job, host.key), host)).collect();
    hosts.sort_unstable_by_key(|(hash, host)| (*hash, host.key));
    hosts
}

/// Reads several runs as one, in the order of the hosts' hashes. If several runs have a host, the newest image counts. One frame of each
/// run is in memory.
pub(super) struct HostMerge {
    job: u64,
    /// The newest first.
    sources: Vec<Source>,
    /// The image of the host that was returned last.
    image: Vec<u8>,
    /// The run and the frame that this image came from; `None` if it came from memory.
    place: Option<(Arc<HostRun>, usize)>,
}

/// A run on disk, or images in memory that are to become a run.
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
