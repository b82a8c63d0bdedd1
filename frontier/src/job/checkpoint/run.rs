//! Runs: files of evicted hosts, which are written once, searched, read, and merged.
//!
//! Each block of a [run](crate::bytes::RunIndex) is a frame here, and the keys are the hashes of the hosts. The first hash of each frame is
//! in memory. So a host is found with one read of 4 KiB: a binary search finds its frame, and a linear search the host in it. A frame is
//! closed once it has 4 KiB, so one with a large host is longer.
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

use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::CheckpointError;
use super::files::{self, BUFFER, EVICTED, RUN, name};
use crate::address::{Fingerprint, FingerprintKey};
use crate::bytes::{
    BlockWriter, FileError, FrameWriter, HEAD_OF_FRAME, Header, Merge, RunCursor, RunIndex, open_frame, size_of_frame,
};
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
    frames: RunIndex<Fingerprint>,
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
        let frames = files::read(storage, RUN, EVICTED, (job, number), |frames| {
            let mut index = RunIndex::beginning_at(Header::SIZE as u64);
            let mut last = None;
            loop {
                let images = frames.next()?.to_vec();
                if images.is_empty() {
                    return frames.end().map(|()| index);
                }
                let (mut bytes, mut hosts, mut first) = (0, 0, None);
                for host in idle_hosts(&images) {
                    bytes += host.image.len();
                    let this = (hash_of(job, host.key), host.key.to_owned());
                    if last.as_ref().is_some_and(|last| *last >= this) {
                        return Err(frames.damaged("hosts out of order"));
                    }
                    show(this.0);
                    first.get_or_insert(this.0);
                    last = Some(this);
                    hosts += 1;
                }
                let first = first.filter(|_| bytes == images.len()).ok_or_else(|| frames.damaged("invalid hosts"))?;
                index.push(first, size_of_frame(images.len()), hosts);
            }
        })?;
        Ok(Self { number, frames })
    }

    /// The number of hosts. A new run merges the newest runs that have few enough.
    pub(super) fn hosts(&self) -> u64 {
        self.frames.records()
    }

    /// Reads a frame into a buffer, and returns the range of its hosts there. The beginning of the next frame gives its length, so one read
    /// is enough. The checksum is checked each time: the disk may have failed since the run was opened.
    fn frame<S: Storage>(
        &self,
        storage: &mut S,
        frame: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<Range<usize>, CheckpointError> {
        let name = name(RUN, self.number);
        buffer.resize(self.frames.size(frame), 0);
        let read = storage.read_at(&name, self.frames.begin(frame), buffer);
        let read = read.map_err(FileError::of("read", storage.path(&name)))?;
        let images = open_frame(&buffer[..read], self.number, frame as u64);
        let images = images.map_err(|reason| self.damaged(storage, frame, reason))?;
        Ok(HEAD_OF_FRAME..HEAD_OF_FRAME + images.len())
    }

    /// The error for a damaged frame.
    fn damaged(&self, storage: &impl Storage, frame: usize, reason: &'static str) -> CheckpointError {
        let path = storage.path(&name(RUN, self.number));
        FileError::Damaged { path, offset: self.frames.begin(frame), reason }.into()
    }

    /// Reads the image of a host into a buffer, and returns its range there; `None` if this run lacks the host. Costs one read.
    pub(super) fn find<S: Storage>(
        &self,
        storage: &mut S,
        hash: Fingerprint,
        key: &str,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<Range<usize>>, CheckpointError> {
        let Some(frame) = self.frames.block_of(hash) else { return Ok(None) };
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
        self.frames.memory()
    }
}

/// Writes a run, host by host, in order. If that fails, the file stays until the draft that began it removes it.
pub(super) struct HostRunWriter {
    number: u64,
    name: String,
    blocks: BlockWriter<Fingerprint>,
    /// Frames that the storage does not have yet: 256 KiB, and at most one frame more.
    frames: FrameWriter<Vec<u8>>,
}

impl HostRunWriter {
    /// Begins a run with this number. Its file is written in parts, since the runs that are merged into it are read from the same storage
    /// meanwhile.
    pub(super) fn begin<S: Storage>(storage: &mut S, job: u64, number: u64) -> Result<Self, CheckpointError> {
        let name = name(RUN, number);
        storage.create(&name).map_err(FileError::of("create", storage.path(&name)))?;
        let frames = files::begin(Vec::new(), EVICTED, job, number);
        let frames = frames.map_err(FileError::of("write", storage.path(&name)))?;
        Ok(Self { number, name, blocks: BlockWriter::new(FRAME, Header::SIZE as u64), frames })
    }

    /// Appends a host, which must follow the last one in the order of hashes and keys.
    pub(super) fn push<S: Storage>(
        &mut self,
        storage: &mut S,
        hash: Fingerprint,
        image: &[u8],
    ) -> Result<(), CheckpointError> {
        let pushed =
            self.blocks.push(hash, |block| block.extend_from_slice(image), |block| seal(&mut self.frames, block));
        pushed.map_err(FileError::of("write", storage.path(&self.name)))?;
        if self.frames.to().len() >= BUFFER {
            self.write(storage)?;
        }
        Ok(())
    }

    /// Ends the run with the empty frame, and syncs it. The caller syncs its name.
    pub(super) fn end<S: Storage>(mut self, storage: &mut S) -> Result<HostRun, CheckpointError> {
        let closed = self.blocks.close(|block| seal(&mut self.frames, block)).and_then(|()| self.frames.end());
        closed.map_err(FileError::of("write", storage.path(&self.name)))?;
        self.write(storage)?;
        storage.sync(&self.name).map_err(FileError::of("sync", storage.path(&self.name)))?;
        Ok(HostRun { number: self.number, frames: self.blocks.into_index() })
    }

    /// Hands the gathered frames to the storage.
    fn write<S: Storage>(&mut self, storage: &mut S) -> Result<(), CheckpointError> {
        let bytes = std::mem::take(self.frames.to());
        Ok(storage.append(&self.name, &bytes).map_err(FileError::of("write", storage.path(&self.name)))?)
    }
}

/// Writes a block as a frame.
fn seal(frames: &mut FrameWriter<Vec<u8>>, block: &[u8]) -> io::Result<u64> {
    frames.put(block).end()?;
    Ok(size_of_frame(block.len()))
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
    merge: Merge<(Fingerprint, Box<str>)>,
    /// The image of the host that was returned last.
    image: Vec<u8>,
    /// The run and the frame that this image came from; `None` if it came from memory.
    place: Option<(Arc<HostRun>, usize)>,
}

/// A run on disk, or images in memory that are to become a run.
struct Source {
    run: Option<Arc<HostRun>>,
    /// At the image of the next host.
    cursor: RunCursor,
    /// Bytes of this image.
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
        let mut sources = vec![Source { run: None, cursor: RunCursor::over(images), length: 0 }];
        sources.extend(runs.rev().map(|run| Source {
            run: Some(Arc::clone(run)),
            cursor: RunCursor::default(),
            length: 0,
        }));
        let merge = Merge::of(sources.len(), |at| sources[at].advance(storage, job))?;
        Ok(Self { job, sources, merge, image: Vec::new(), place: None })
    }

    /// The next host's hash and image; `None` after the last one. Older images of the same host are skipped.
    ///
    /// # Errors
    /// If a frame cannot be read or is damaged.
    pub(super) fn next<S: Storage>(
        &mut self,
        storage: &mut S,
    ) -> Result<Option<(Fingerprint, &[u8])>, CheckpointError> {
        let Self { job, sources, merge, image, place } = self;
        let first = merge.next(|at| {
            let Source { run, cursor, length } = &sources[at];
            image.clear();
            image.extend_from_slice(&cursor.rest()[..*length]);
            *place = run.clone().map(|run| (run, cursor.block()));
            sources[at].advance(storage, *job)
        })?;
        let Some(first) = first else { return Ok(None) };
        while merge.least() == Some(&first) {
            merge.next(|at| sources[at].advance(storage, *job))?;
        }
        Ok(Some((first.0, image)))
    }

    /// The error for the image that was returned last, which came from a run and is not a host.
    pub(super) fn damaged(&self, storage: &impl Storage, reason: &'static str) -> CheckpointError {
        let (run, frame) = self.place.as_ref().expect("it was given, from a run");
        run.damaged(storage, *frame, reason)
    }
}

impl Source {
    /// Goes on to the next host, and returns its hash and key. Reads the next frame if this one is used up.
    fn advance<S: Storage>(
        &mut self,
        storage: &mut S,
        job: u64,
    ) -> Result<Option<(Fingerprint, Box<str>)>, CheckpointError> {
        self.cursor.skip(self.length);
        if let Some(run) = &self.run {
            self.cursor.fill(&run.frames, |frame, buffer| run.frame(storage, frame, buffer))?;
        }
        // The frame's checksum was right, and the run was checked when it was opened.
        let next = idle_hosts(self.cursor.rest()).next();
        self.length = next.as_ref().map_or(0, |host| host.image.len());
        Ok(next.map(|host| (hash_of(job, host.key), host.key.into())))
    }
}
