//! Evicted hosts: they are no longer in memory, but in runs on disk.
//!
//! Looking up a host costs nothing if the filter does not know it. Otherwise it costs one read per run, from the newest on, until the host
//! is found. A new run merges the runs of similar size, so each image is rewritten about as often as there are runs.
//!
//! A run in use is not removed: its file stays while a checkpoint lists it, and a reader holds the lock of the list of runs.
//!
//! # When a host leaves
//!
//! 1. The draft of a checkpoint chooses idle hosts and [writes](EvictedHosts::write) their images. The hosts are still in memory, and the
//!    run with their images is not read yet.
//! 2. The checkpoint is committed, and [publishes](EvictedHosts::publish) the run.
//! 3. The frontier drops each host that still equals its image. From then on the image is the host.
//!
//! A draft that fails leaves the keys of its hosts in the filter. That costs a useless read for each of them, and nothing else.
//!
//! # Which hosts leave
//!
//! The chunks of a checkpoint are examined as they are written, so nothing is read again, and the frontier is not locked. Only hosts
//! with nothing queued or leased are chosen: a host that has URLs is asked soon, and would come back at once.
//!
//! The host with the longest rest goes first: the one that was due earliest. That is nearly the choice of an LRU cache, without a list of
//! hosts in the order of their use.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use super::CheckpointError;
use super::run::{HostMerge, HostRun, HostRunWriter, hash_of, in_order};
use crate::address::FingerprintKey;
use crate::frontier::{IdleHost, InvalidChunk, Timestamp, idle_hosts};
use crate::job::journal::Storage;
use crate::seen::{SeenOptions, SeenSet};

/// A new run merges the newest runs before it that have at most this many times its hosts.
const MERGE_RATIO: u64 = 2;
/// The share of never-evicted hosts for which the runs are read anyway. The filter takes 10 bits an evicted host.
const FILTER_RATE: f64 = 1e-2;
/// The filter is sized for at least this many hosts; it grows.
const FILTER_HOSTS: u64 = 4096;

/// The outcome of writing a run.
#[derive(Debug)]
pub(super) struct WrittenRuns {
    /// All runs there are now, to be [published](EvictedHosts::publish).
    pub(super) runs: Vec<Arc<HostRun>>,
    /// The images of the hosts that may be evicted once the runs are published, in batches of 64.
    pub(super) evictable: Vec<Vec<u8>>,
}

/// All evicted hosts. A clone is cheap and shares them: the checkpoint's writer adds runs, and the journal reads them.
///
/// Each run has more than twice the hosts of the next newer one, so the number of runs grows with the logarithm of the hosts. A filter
/// holds the keys of all of them. Most hosts that are not in memory are new, and the filter spares them the lookup in the runs.
#[derive(Clone, Debug)]
pub(super) struct EvictedHosts(Arc<Shared>);

/// The part that all clones share. The journal reads it while a checkpoint is written, and waits only for
/// [`publish`](EvictedHosts::publish).
#[derive(Debug)]
struct Shared {
    job: u64,
    /// The newest last. A reader holds this lock, so that no run is removed while it is read.
    runs: RwLock<Vec<Arc<HostRun>>>,
    /// Made when the first host is evicted: in most crawls none is.
    filter: OnceLock<SeenSet>,
    /// Bytes of memory that runs and filter take.
    memory: AtomicUsize,
}

impl EvictedHosts {
    /// No evicted hosts yet.
    pub(super) fn none(job: u64) -> Self {
        Self::of(job, Vec::new(), OnceLock::new())
    }

    /// Opens these runs, the newest last. Each is read and checked, and the filter is rebuilt from all their hosts: it is not kept on disk.
    /// So an opening costs a read of all images, some 60 bytes a host, and the hash of each key.
    pub(super) fn open<S: Storage>(storage: &mut S, job: u64, numbers: &[u64]) -> Result<Self, CheckpointError> {
        let mut hashes = Vec::new();
        let mut read = |number: &u64| HostRun::read(storage, job, *number, |hash| hashes.push(hash)).map(Arc::new);
        let runs: Vec<_> = numbers.iter().map(&mut read).collect::<Result<_, _>>()?;
        // The filter has room for a quarter more before it must grow.
        let known = OnceLock::new();
        if !hashes.is_empty() {
            let filter = known.get_or_init(|| filter(job, hashes.len() as u64 / 4 * 5));
            for hash in hashes {
                filter.insert(hash);
            }
        }
        Ok(Self::of(job, runs, known))
    }

    fn of(job: u64, runs: Vec<Arc<HostRun>>, filter: OnceLock<SeenSet>) -> Self {
        let evicted = Self(Arc::new(Shared { job, runs: RwLock::default(), filter, memory: AtomicUsize::new(0) }));
        evicted.publish(runs);
        evicted
    }

    /// Shows the newest image of each host, in the order of their hashes. A restore uses it to count the evicted hosts.
    ///
    /// # Errors
    /// If a run cannot be read, or `show` refuses an image: the error names the frame that the image came from.
    pub(super) fn each<S: Storage>(
        &self,
        storage: &mut S,
        mut show: impl FnMut(&[u8]) -> Result<(), InvalidChunk>,
    ) -> Result<(), CheckpointError> {
        let mut hosts = HostMerge::of(storage, self.0.job, Vec::new(), self.runs().iter())?;
        while let Some((_, image)) = hosts.next(storage)? {
            if let Err(InvalidChunk) = show(image) {
                return Err(hosts.damaged(storage, "an invalid host"));
            }
        }
        Ok(())
    }

    /// Reads the newest image of a host into a buffer; `None` if the host was never evicted. It also finds the image of a host that has
    /// come back since, so call it only for a host that is not in memory.
    ///
    /// One in a hundred of the hosts that were never evicted costs one read per run: the filter's false-positive rate.
    pub(super) fn find<'a, S: Storage>(
        &self,
        storage: &mut S,
        key: &str,
        buffer: &'a mut Vec<u8>,
    ) -> Result<Option<&'a [u8]>, CheckpointError> {
        let Shared { job, runs, filter, .. } = &*self.0;
        let hash = hash_of(*job, key);
        if !filter.get().is_some_and(|filter| filter.contains(hash)) {
            return Ok(None);
        }
        for run in runs.read().unwrap_or_else(PoisonError::into_inner).iter().rev() {
            if let Some(image) = run.find(storage, hash, key, buffer)? {
                return Ok(Some(&buffer[image]));
            }
        }
        Ok(None)
    }

    /// Writes a run of these hosts, merged with the newest runs before it that are of similar size. It is not searched before it is
    /// [published](Self::publish); the runs that it merged serve until then.
    ///
    /// Takes twice the memory of the images: once for the merge, and once in batches for the frontier.
    pub(super) fn write<'a, S: Storage>(
        &self,
        storage: &mut S,
        number: u64,
        hosts: impl Iterator<Item = IdleHost<'a>>,
    ) -> Result<WrittenRuns, CheckpointError> {
        let job = self.0.job;
        let hosts = in_order(job, hosts);
        let mut size = hosts.len() as u64;
        let mut runs = self.runs();
        let mut merged = Vec::new();
        while let Some(run) = runs.pop_if(|run| run.hosts() <= MERGE_RATIO * size) {
            size += run.hosts();
            merged.insert(0, run);
        }
        // The filter comes first. A host that is only in the filter costs a useless read; a host that is only in a run would be lost.
        let filter = self.0.filter.get_or_init(|| filter(job, 0));
        for (hash, _) in &hosts {
            filter.insert(*hash);
        }
        let images: Vec<u8> = hosts.iter().flat_map(|(_, host)| host.image).copied().collect();
        let batches = hosts.chunks(64).map(|batch| batch.iter().flat_map(|(_, host)| host.image).copied().collect());
        let batches = batches.collect();
        drop(hosts);
        let mut merge = HostMerge::of(storage, job, images, merged.iter())?;
        let mut run = HostRunWriter::begin(storage, job, number)?;
        while let Some((hash, image)) = merge.next(storage)? {
            run.push(storage, hash, image)?;
        }
        runs.push(Arc::new(run.end(storage)?));
        Ok(WrittenRuns { runs, evictable: batches })
    }

    /// Makes these the runs that lookups read. Waits for the lookups that are under way: each takes as long as the search for one host.
    pub(super) fn publish(&self, runs: Vec<Arc<HostRun>>) {
        let filter = self.0.filter.get().map_or(0, SeenSet::bytes);
        let memory = usize::try_from(filter).unwrap_or(usize::MAX) + runs.iter().map(|run| run.memory()).sum::<usize>();
        *self.0.runs.write().unwrap_or_else(PoisonError::into_inner) = runs;
        self.0.memory.store(memory, Ordering::Relaxed);
    }

    /// The numbers of the runs, the newest last: a checkpoint lists them.
    pub(super) fn numbers(&self) -> Vec<u64> {
        numbers(&self.runs())
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.0.memory.load(Ordering::Relaxed)
    }

    /// The current runs. Holding one of them does not keep its file: only the lock does.
    fn runs(&self) -> Vec<Arc<HostRun>> {
        self.0.runs.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The numbers of these runs.
pub(super) fn numbers(runs: &[Arc<HostRun>]) -> Vec<u64> {
    runs.iter().map(|run| run.number).collect()
}

/// A filter for the keys of this many hosts. It has one shard, since one thread at a time evicts hosts or looks them up.
fn filter(job: u64, hosts: u64) -> SeenSet {
    let key = FingerprintKey::from_u64(job);
    let options = SeenOptions {
        capacity: hosts.max(FILTER_HOSTS),
        open_ended: true,
        false_positive_rate: FILTER_RATE,
        shards: 1,
        audit: 0,
        key,
        ..SeenOptions::default()
    };
    SeenSet::new(&options).expect("options within their ranges")
}

/// Chooses the hosts to evict: up to a number of idle hosts, the longest rested first.
#[derive(Debug)]
pub(super) struct Eviction {
    most: usize,
    /// The images of the hosts, one after another.
    images: Vec<u8>,
    /// When each host may be asked again, and where its image is.
    hosts: Vec<(Timestamp, Range<usize>)>,
}

impl Eviction {
    /// A choice of at most this many hosts.
    pub(super) fn up_to(most: u64) -> Self {
        Self { most: usize::try_from(most).unwrap_or(usize::MAX), images: Vec::new(), hosts: Vec::new() }
    }

    /// Adds the idle hosts of a chunk to the choice. A chunk that cannot be read is skipped: its reader reports it.
    pub(super) fn look_at(&mut self, chunk: &[u8]) {
        if self.most == 0 {
            return;
        }
        for host in idle_hosts(chunk) {
            let begin = self.images.len();
            self.images.extend_from_slice(host.image);
            self.hosts.push((host.due, begin..self.images.len()));
        }
        // Choosing early keeps at most twice as many as are wanted. Each image is moved once or twice.
        if self.hosts.len() / 2 > self.most {
            self.choose();
        }
    }

    /// Keeps only the longest-rested hosts and their images. O(hosts): a selection, not a sort.
    fn choose(&mut self) {
        if self.hosts.len() <= self.most {
            return;
        }
        self.hosts.select_nth_unstable_by_key(self.most, |(due, _)| *due);
        self.hosts.truncate(self.most);
        let mut images = Vec::new();
        for (_, image) in &mut self.hosts {
            let begin = images.len();
            images.extend_from_slice(&self.images[image.clone()]);
            *image = begin..images.len();
        }
        self.images = images;
    }

    /// Whether no host is to be evicted: then no run is written.
    pub(super) fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// The chosen hosts, in no particular order.
    pub(super) fn hosts(&mut self) -> impl Iterator<Item = IdleHost<'_>> {
        self.choose();
        idle_hosts(&self.images)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;

    use super::*;
    use crate::bytes::{FileError, HEAD_OF_FRAME, checksum};
    use crate::frontier::idle_hosts;
    use crate::job::journal::Disk;

    const JOB: u64 = 77;

    fn key(host: u64) -> String {
        format!("https://h{host}.example")
    }

    /// A host in the layout of `durable/image.rs`: it has answered, was asked `requests` times, and has nothing queued.
    fn image(host: u64, requests: u8) -> Vec<u8> {
        let key = key(host);
        [&[u8::try_from(key.len()).unwrap()], key.as_bytes(), &[1, 9, requests, 0, 0, 0, 0, 0, 0]].concat()
    }

    fn write(evicted: &EvictedHosts, disk: &mut Disk, number: u64, images: &[u8]) {
        let written = evicted.write(disk, number, idle_hosts(images)).unwrap();
        let evictable: Vec<u8> = written.evictable.concat();
        assert_eq!(idle_hosts(&evictable).count(), idle_hosts(images).count());
        evicted.publish(written.runs);
    }

    /// Small numbers, the same in each run (Marsaglia's xorshift).
    fn below(state: &mut u64, bound: u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state % bound
    }

    #[test]
    fn the_newest_image_is_found_whatever_was_merged() {
        let directory = tempfile::tempdir().unwrap();
        let mut disk = Disk::at(directory.path()).unwrap();
        let mut evicted = EvictedHosts::none(JOB);
        let mut model = BTreeMap::new();
        let (mut state, mut most, mut buffer) = (0x1d1e, 0, Vec::new());
        for round in 1..=60 {
            let size = below(&mut state, 10);
            let hosts = 1 + below(&mut state, 1 << size);
            let hosts: BTreeMap<String, Vec<u8>> = (0..hosts)
                .map(|_| below(&mut state, 3000))
                .map(|host| (key(host), image(host, u8::try_from(round).unwrap())))
                .collect();
            write(&evicted, &mut disk, round, &hosts.values().flatten().copied().collect::<Vec<_>>());
            model.extend(hosts);
            if round % 7 == 0 {
                evicted = EvictedHosts::open(&mut disk, JOB, &evicted.numbers()).unwrap();
            }
            for host in (round % 5..3100).step_by(5) {
                let found = evicted.find(&mut disk, &key(host), &mut buffer).unwrap();
                assert_eq!(found, model.get(&key(host)).map(Vec::as_slice), "round {round}, host {host}");
            }
            let mut all = BTreeMap::new();
            let show = |image: &[u8]| {
                let key = idle_hosts(image).next().unwrap().key.to_owned();
                assert_eq!(all.insert(key, image.to_vec()), None, "each host once");
                Ok(())
            };
            evicted.each(&mut disk, show).unwrap();
            assert_eq!(all, model);
            let sizes: Vec<_> = evicted.runs().iter().map(|run| run.hosts()).collect();
            assert!(sizes.windows(2).all(|pair| pair[0] > MERGE_RATIO * pair[1]), "{sizes:?}");
            most = most.max(sizes.len());
        }
        assert!(most > 3, "there are several, and they are merged");
    }

    #[test]
    fn an_evicted_host_takes_a_few_bytes_of_memory() {
        let directory = tempfile::tempdir().unwrap();
        let mut disk = Disk::at(directory.path()).unwrap();
        let evicted = EvictedHosts::none(JOB);
        for number in 0..8 {
            let images: Vec<u8> = (0..16_000).flat_map(|host| image(number * 16_000 + host, 1)).collect();
            write(&evicted, &mut disk, number + 1, &images);
        }
        // A filter that has just grown has room for four times as many.
        for (evicted, most) in [(&evicted, 8), (&EvictedHosts::open(&mut disk, JOB, &evicted.numbers()).unwrap(), 4)] {
            let memory = evicted.memory();
            assert!((128_000..most * 128_000).contains(&memory), "{memory} bytes for 128,000 hosts");
        }
    }

    #[test]
    fn every_flipped_bit_is_told_and_where() {
        let directory = tempfile::tempdir().unwrap();
        let mut disk = Disk::at(directory.path()).unwrap();
        let evicted = EvictedHosts::none(JOB);
        write(&evicted, &mut disk, 3, &(0..400).flat_map(|host| image(host, 1)).collect::<Vec<_>>());
        let path = directory.path().join("evicted-000003");
        let whole = fs::read(&path).unwrap();
        assert!(whole.len() > 2 * 4096, "some frames");
        let told = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            match EvictedHosts::open(&mut Disk::at(directory.path()).unwrap(), JOB, &[3]).map(drop) {
                Err(CheckpointError::File(FileError::Damaged { path: told, offset, .. })) => {
                    assert_eq!(told, path);
                    usize::try_from(offset).unwrap()
                }
                other => panic!("{other:?}"),
            }
        };
        for byte in (0..whole.len()).filter(|byte| *byte < 300 || byte % 7 == 0) {
            let mut flipped = whole.clone();
            flipped[byte] ^= 1 << (byte % 8);
            let offset = told(&flipped);
            assert!(offset <= byte && byte < offset + 5000, "byte {byte} is told at {offset}");
            if byte > 32 {
                // And when one host is looked up.
                let mut buffer = Vec::new();
                let found = (0..400).map(|host| evicted.find(&mut disk, &key(host), &mut buffer).map(|_| ()));
                let errors = found.filter_map(Result::err).collect::<Vec<_>>();
                assert!(byte > whole.len() - 13 || !errors.is_empty(), "byte {byte}");
                assert!(errors.iter().all(CheckpointError::is_damage));
            }
        }
        for length in [0, 31, 32, 5000, whole.len() - 12, whole.len() - 1] {
            assert!(told(&whole[..length]) <= length);
        }
        assert_eq!(told(&[&whole[..], b"x"].concat()), whole.len());
    }

    #[test]
    fn an_image_that_cannot_be_is_told_and_where_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let mut disk = Disk::at(directory.path()).unwrap();
        let evicted = EvictedHosts::none(JOB);
        for (number, hosts) in [(3, 0..400), (9, 1000..1020)] {
            write(&evicted, &mut disk, number, &hosts.flat_map(|host| image(host, 1)).collect::<Vec<_>>());
        }
        let begin = |bytes: &[u8], key: &str| bytes.windows(key.len()).position(|window| window == key.as_bytes());
        let mut offsets = BTreeSet::new();
        for (name, host) in (0..40).map(|host| ("evicted-000003", host)).chain([("evicted-000009", 1007)]) {
            let bad = image(host, 1);
            let each = evicted.each(&mut disk, |image| if image == bad { Err(InvalidChunk) } else { Ok(()) });
            let Err(CheckpointError::File(FileError::Damaged { path, offset, .. })) = each else { panic!("{each:?}") };
            assert_eq!(path, directory.path().join(name));
            let offset = usize::try_from(offset).unwrap();
            let frame = &fs::read(path).unwrap()[offset..];
            let length = usize::try_from(u32::from_le_bytes(*frame.first_chunk().unwrap())).unwrap();
            assert!(begin(&frame[HEAD_OF_FRAME..][..length], &key(host)).is_some(), "host {host} is not at {offset}");
            offsets.insert((name, offset));
        }
        assert!(offsets.len() > 3, "in some frames: {offsets:?}");
    }

    /// The expected bytes are written by hand, from the pictures in the docs.
    #[test]
    fn version_1_is_written_as_ever() {
        let directory = tempfile::tempdir().unwrap();
        let mut disk = Disk::at(directory.path()).unwrap();
        let images = [image(1, 5), image(2, 6)];
        write(&EvictedHosts::none(JOB), &mut disk, 9, &images.concat());
        let head = b"evicted\n\x01\0\0\0\x4d\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0";
        let mut picture = [&head[..], &checksum(0, head).to_le_bytes()[..4]].concat();
        let mut in_order = images.to_vec();
        in_order.sort_by_key(|image| checksum(JOB, &image[1..=usize::from(image[0])]));
        for (frame, payload) in [in_order.concat(), Vec::new()].into_iter().enumerate() {
            picture.extend(u32::try_from(payload.len()).unwrap().to_le_bytes());
            picture.extend(&payload);
            picture.extend(checksum(9 ^ frame as u64, &payload).to_le_bytes());
        }
        assert_eq!(fs::read(directory.path().join("evicted-000009")).unwrap(), picture);
    }
}
