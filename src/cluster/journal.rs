//! A partition's journal on its way to the log: the pieces that are not in the log yet, and the bound on their number; the journal that is
//! rebuilt from the log; and the local copy of both.
//!
//! If a node is killed, pages that were fetched but are not in the log yet are fetched again. So a [`Backlog`] counts them, and if there are
//! too many, a [`FetchThrottle`] stops new fetches of the partition.
//!
//! # The local copy
//!
//! If this machine owned a partition before, it has a local copy, and its next owner here need not read all of it from the servers.
//!
//! The state of the log is stored beside the partition's files, in the file `fold`: after the owner's first round, and whenever counts go to
//! the log. Up to that state, the local journal equals the log, byte by byte, and checkpoints that end before it are valid. The next owner
//! removes everything after it, and then reads the later messages of the log, as after a snapshot. If some of these were purged, the servers'
//! snapshots are used instead.
//!
//! The files are not synced for this: a kill loses nothing that was written, but a power cut may. So the copy is valid only until the machine
//! restarts.
//!
//! ```text
//! fold:  0  version   u8
//!        1  job       u64, the partition's
//!        9  start     u64, identifies the start of the machine
//!       17  the state of the log
//!           checksum  u32, of all before; little-endian, as all numbers
//! ```

use std::fs::{self, File, OpenOptions};
use std::future::Future;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

use super::succession::LogState;
use super::wire::{JournalPiece, seal, unseal};
use crate::address::FingerprintKey;
use crate::crawl::Stop;
use crate::driver::{Checkpoints, Fields, JournalObserver, segment_name, segment_start};
use crate::gate::Position;
use crate::job::journal::Disk;

/// One message has at most this many bytes: servers accept 1 MiB by default.
const MOST_BYTES: usize = 512 << 10;

/// The bytes that a partition's journal has written and that are not in the log yet.
#[derive(Debug)]
pub(crate) struct JournalPieces {
    waiting: Mutex<Vec<JournalPiece>>,
    /// The journal has the links of all link batches up to this sequence. Changes only while nothing else can be written to the journal.
    read: AtomicU64,
    /// The same for link batches whose journal bytes wait here or were taken from here.
    safe: AtomicU64,
    wake: Arc<Notify>,
}

impl JournalPieces {
    /// `read` is the last link batch whose links the journal has.
    pub(crate) fn new(read: u64, wake: Arc<Notify>) -> Self {
        Self { waiting: Mutex::default(), read: AtomicU64::new(read), safe: AtomicU64::new(read), wake }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<JournalPiece>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out the waiting bytes, in pieces that fit into a message.
    pub(crate) fn take(&self) -> Vec<JournalPiece> {
        std::mem::take(&mut self.waiting())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting().is_empty()
    }

    /// Notes that the journal has the links of this link batch. Call this while nothing else can be written to the journal.
    pub(crate) fn has_read(&self, sequence: u64) {
        self.read.store(sequence, Ordering::Release);
    }

    /// Notes that the links of this link batch are written, and their bytes wait here or were taken from here.
    pub(crate) fn has_written(&self, sequence: u64) {
        self.safe.store(sequence, Ordering::Release);
        self.wake.notify_one();
    }

    /// The last link batch whose links are all in bytes that wait here or were taken from here. Call this before [`take`](Self::take).
    pub(crate) fn read(&self) -> u64 {
        self.safe.load(Ordering::Acquire)
    }

    /// Adds the bytes of a journal's files from a position on. They were written before this object observed the journal.
    pub(crate) fn add_files(&self, directory: &Path, from: u64) -> io::Result<()> {
        for segment in starts(directory)? {
            let mut file = File::open(directory.join(segment_name(segment)))?;
            let skipped = from.saturating_sub(segment);
            if file.metadata()?.len() > skipped {
                file.seek(SeekFrom::Start(skipped))?;
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                self.written(segment, segment + skipped, &bytes);
            }
        }
        Ok(())
    }
}

impl JournalObserver for JournalPieces {
    fn written(&self, segment: u64, mut at: u64, bytes: &[u8]) {
        let read = self.read.load(Ordering::Acquire);
        let mut waiting = self.waiting();
        for part in bytes.chunks(MOST_BYTES) {
            match waiting.last_mut() {
                Some(last) if last.segment == segment && last.bytes.len() + part.len() <= MOST_BYTES => {
                    last.bytes.extend_from_slice(part);
                    // The last of these bytes have the links of the link batches that were read in between.
                    last.read = read;
                }
                _ => waiting.push(JournalPiece { segment, at, read, bytes: part.to_vec() }),
            }
            at += part.len() as u64;
        }
        drop(waiting);
        self.wake.notify_one();
    }
}

/// The files of a journal that is being rebuilt, byte by byte.
#[derive(Debug)]
pub(crate) struct JournalFiles {
    directory: PathBuf,
    open: Option<(u64, File)>,
}

impl JournalFiles {
    /// The files of a directory, which may have some already.
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        let mut files = Self { directory: directory.to_owned(), open: None };
        if let Some(last) = starts(directory)?.pop() {
            files.open = Some((last, files.segment(last)?));
        }
        Ok(files)
    }

    fn segment(&self, start: u64) -> io::Result<File> {
        let path = self.directory.join(segment_name(start));
        OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)
    }

    /// Writes a piece. It replaces everything from its position on.
    pub(crate) fn keep(&mut self, piece: &JournalPiece) -> io::Result<()> {
        if piece.bytes.is_empty() {
            return Ok(());
        }
        if self.open.as_ref().is_none_or(|(segment, _)| *segment != piece.segment) {
            let file = self.segment(piece.segment)?;
            if self.open.as_ref().is_some_and(|(segment, _)| *segment > piece.segment) {
                // The last segment was torn before its first record.
                self.remove_after(piece.segment)?;
            }
            self.open = Some((piece.segment, file));
        }
        if let Some((segment, file)) = &mut self.open {
            let offset = piece.at - *segment;
            file.set_len(offset)?;
            file.seek(SeekFrom::Start(offset))?;
            file.write_all(&piece.bytes)?;
        }
        Ok(())
    }

    fn remove_after(&self, segment: u64) -> io::Result<()> {
        let mut later = starts(&self.directory)?.into_iter().filter(|start| *start > segment);
        later.try_for_each(|start| fs::remove_file(self.directory.join(segment_name(start))))
    }
}

/// The positions at which the segments of a directory start, ascending.
fn starts(directory: &Path) -> io::Result<Vec<u64>> {
    let mut starts = Vec::new();
    for entry in fs::read_dir(directory)? {
        starts.extend(entry?.file_name().to_str().and_then(segment_start));
    }
    starts.sort_unstable();
    Ok(starts)
}

/// Once a node has this many unlogged pages, the next page makes its partition publish at once, instead of together with the others.
const MANY_UNLOGGED: u64 = 128;
/// Once a node has this many unlogged pages, a partition that is publishing starts no new fetches until it is done. Each request in flight
/// may still add a page.
const MOST_UNLOGGED: u64 = 192;
/// If publishing takes longer than this, the partition starts no new fetches until it is done.
const SLOW: Duration = Duration::from_millis(200);

/// The number of pages of one partition that are not in the log yet, and the sum over all partitions of its node.
#[derive(Debug)]
pub(crate) struct Backlog {
    of_node: Arc<AtomicU64>,
    own: AtomicU64,
    /// Notified when a page is added while the node has at least `MANY_UNLOGGED`.
    many: Notify,
    /// Notified when a page is added while the node has at least `MOST_UNLOGGED`.
    most: Notify,
}

impl Backlog {
    /// Empty, for a node with this count of unlogged pages.
    pub(crate) fn new(of_node: &Arc<AtomicU64>) -> Self {
        Self { of_node: Arc::clone(of_node), own: AtomicU64::new(0), many: Notify::default(), most: Notify::default() }
    }

    /// A page was fetched.
    pub(crate) fn add(&self) {
        // The node's count comes first: `take` must never subtract a page that is not in it yet.
        let of_node = self.of_node.fetch_add(1, Ordering::Relaxed) + 1;
        self.own.fetch_add(1, Ordering::Release);
        if of_node >= MANY_UNLOGGED {
            self.many.notify_one();
        }
        if of_node >= MOST_UNLOGGED {
            self.most.notify_one();
        }
    }

    /// The count of this partition alone.
    pub(crate) fn own(&self) -> u64 {
        self.own.load(Ordering::Acquire)
    }

    /// Call this when `pages` of the partition's pages are in the log.
    pub(crate) fn take(&self, pages: u64) {
        self.own.fetch_sub(pages, Ordering::Relaxed);
        self.of_node.fetch_sub(pages, Ordering::Relaxed);
    }

    /// Resolves once this partition has added a page, since the last call, while the node had at least `MANY_UNLOGGED` unlogged pages.
    pub(crate) async fn is_long(&self) {
        self.many.notified().await;
    }

    /// Runs `publishing`. If it takes longer than `SLOW`, or the node reaches `MOST_UNLOGGED` meanwhile, no new fetches start until it is done.
    pub(crate) async fn throttled<R>(&self, throttle: &FetchThrottle, publishing: impl Future<Output = R>) -> R {
        let mut publishing = std::pin::pin!(publishing);
        tokio::select! {
            biased;
            published = &mut publishing => return published,
            () = self.most.notified() => {}
            () = sleep(SLOW) => {}
        }
        throttle.set_behind(true);
        let published = publishing.await;
        throttle.set_behind(false);
        published
    }
}

impl Drop for Backlog {
    fn drop(&mut self) {
        // These pages will not be published here any more.
        self.take(self.own());
    }
}

/// Pauses the fetches of a partition, for either of two reasons.
#[derive(Debug)]
pub(crate) struct FetchThrottle {
    stop: Stop,
    /// Too many of its pages are not in the log yet, or publishing takes too long.
    is_behind: AtomicBool,
    /// The node's lease was not renewed in time.
    is_late: AtomicBool,
}

impl FetchThrottle {
    pub(crate) fn new(stop: Stop, is_late: bool) -> Self {
        let throttle = Self { stop, is_behind: AtomicBool::new(false), is_late: AtomicBool::new(is_late) };
        throttle.apply();
        throttle
    }

    pub(crate) fn set_behind(&self, is_behind: bool) {
        self.is_behind.store(is_behind, Ordering::Relaxed);
        self.apply();
    }

    pub(crate) fn set_late(&self, is_late: bool) {
        self.is_late.store(is_late, Ordering::Relaxed);
        self.apply();
    }

    fn apply(&self) {
        if self.is_behind.load(Ordering::Relaxed) || self.is_late.load(Ordering::Relaxed) {
            self.stop.pause();
        } else {
            self.stop.resume();
        }
    }
}

const COPY_VERSION: u8 = 2;
/// The file with the state of the log.
const LOG_STATE_FILE: &str = "fold";
/// The directory with the files of the partition.
pub(super) const FRONTIER: &str = "frontier";
/// The directory with the earlier files, while the files to keep are moved back.
const BEFORE: &str = "before";

/// Stores the state of the log. The journal up to that state has already been written to its files.
pub(super) fn keep_copy(directory: &Path, job: u64, log: &LogState) -> io::Result<()> {
    let mut bytes = vec![COPY_VERSION];
    let Some(start) = start_of_machine() else { return Ok(()) };
    bytes.extend(job.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    log.put(&mut bytes);
    seal(&mut bytes);
    let beside = directory.join(format!("{LOG_STATE_FILE}.new"));
    fs::write(&beside, bytes)?;
    fs::rename(beside, directory.join(LOG_STATE_FILE))
}

/// Restores the directory to the stored state of the log: keeps the files up to that state, removes the rest, and returns the state. `None`
/// if the copy cannot be used.
pub(super) fn take_copy(directory: &Path, job: u64) -> Option<LogState> {
    let log = fs::read(directory.join(LOG_STATE_FILE)).ok().and_then(|bytes| read_copy(&bytes, job))?;
    let [frontier, before] = [FRONTIER, BEFORE].map(|name| directory.join(name));
    let _ = fs::remove_dir_all(&before);
    fs::rename(&frontier, &before).and_then(|()| fs::create_dir(&frontier)).ok()?;
    let is_whole = choose(&before, &frontier, job, log.end)?;
    let _ = fs::remove_dir_all(&before);
    is_whole.then_some(log)
}

fn read_copy(bytes: &[u8], job: u64) -> Option<LogState> {
    let mut fields = Fields::of(unseal(bytes).ok()?);
    let is_ours = fields.u8().ok()? == COPY_VERSION && fields.u64().ok()? == job;
    let is_ours = fields.u64().ok() == start_of_machine() && is_ours;
    let log = LogState::take_off(&mut fields).ok().filter(|_| is_ours)?;
    fields.end().is_ok().then_some(log)
}

/// A number that changes when the machine restarts; `None` if the system has none.
fn start_of_machine() -> Option<u64> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(FingerprintKey::from_u64(0).fingerprint(id.trim()).bits())
}

/// Moves the files that belong to a journal up to `end`. Returns whether the journal is complete up to there.
fn choose(from: &Path, to: &Path, job: u64, end: u64) -> Option<bool> {
    let mut checkpoints = Checkpoints::look(Disk::for_reading(from), job).ok()?;
    let (_, files) = checkpoints.copies(Position::from_u64(end)).ok()??;
    let mut reached = 0;
    for file in files {
        let path = to.join(&file.name);
        fs::rename(from.join(&file.name), &path).ok()?;
        if let Some(start) = segment_start(&file.name) {
            OpenOptions::new().write(true).open(path).ok()?.set_len(file.length).ok()?;
            reached = reached.max(start + file.length);
        }
    }
    Some(reached == end)
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use tokio::time::timeout;

    use super::*;

    #[test]
    fn a_journal_is_made_again_byte_by_byte() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let pieces = JournalPieces::new(3, Arc::default());
        let long = vec![7; 2 * MOST_BYTES + 5];
        pieces.written(0, 0, b"head");
        pieces.has_read(9);
        pieces.written(0, 4, &long);
        let second = 4 + long.len() as u64;
        pieces.written(second, second, b"the next segment");
        let mut files = JournalFiles::open(here.path()).unwrap();
        let taken = pieces.take();
        assert!(taken.len() == 5 && taken.iter().all(|piece| piece.bytes.len() <= MOST_BYTES), "{}", taken.len());
        assert_eq!((taken[0].read, taken[1].read, pieces.is_empty()), (3, 9, true));
        for piece in &taken {
            files.keep(piece).unwrap();
        }
        // A torn end is replaced.
        files.keep(&JournalPiece { segment: second, at: second + 4, read: 0, bytes: b"other".to_vec() }).unwrap();
        let read = |directory: &Path, start| fs::read(directory.join(segment_name(start))).unwrap();
        assert_eq!(read(here.path(), 0), [b"head".as_slice(), &long].concat());
        assert_eq!(read(here.path(), second), b"the other");

        pieces.add_files(here.path(), 2).unwrap();
        let mut files = JournalFiles::open(there.path()).unwrap();
        files.keep(&JournalPiece { segment: 0, at: 0, read: 0, bytes: b"he".to_vec() }).unwrap();
        pieces.take().iter().for_each(|piece| files.keep(piece).unwrap());
        for start in [0, second] {
            assert_eq!(read(there.path(), start), read(here.path(), start));
        }
        files.keep(&JournalPiece { segment: 0, at: 4, read: 0, bytes: b"!".to_vec() }).unwrap();
        assert_eq!(
            (read(there.path(), 0), there.path().join(segment_name(second)).exists()),
            (b"head!".to_vec(), false)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn too_many_unlogged_pages_pause_the_partition_that_publishes() {
        let of_node = Arc::default();
        let (one, other) = (Backlog::new(&of_node), Backlog::new(&of_node));
        (1..MANY_UNLOGGED).for_each(|_| other.add());
        assert!(timeout(SLOW, other.is_long()).await.is_err());
        one.add();
        timeout(SLOW, one.is_long()).await.expect("the node has many");
        assert!(timeout(SLOW, other.is_long()).await.is_err(), "none has come since");

        let stop = Stop::new();
        let throttle = FetchThrottle::new(stop.clone(), false);
        let (end, ended) = oneshot::channel::<()>();
        let publishing = async {
            sleep(SLOW / 4).await;
            let before = stop.is_paused();
            (MANY_UNLOGGED..MOST_UNLOGGED).for_each(|_| one.add());
            ended.await.unwrap();
            (before, stop.is_paused())
        };
        let watching = async {
            sleep(SLOW / 2).await;
            let is_halted = stop.is_paused();
            end.send(()).unwrap();
            is_halted
        };
        assert_eq!(tokio::join!(one.throttled(&throttle, publishing), watching), ((false, true), true));
        assert!(!stop.is_paused());

        one.take(one.own());
        assert_eq!((one.own(), of_node.load(Ordering::Relaxed)), (0, MANY_UNLOGGED - 1));
        let slow = async {
            sleep(SLOW * 2).await;
            stop.is_paused()
        };
        assert!(one.throttled(&throttle, slow).await, "by time, too");
        drop(other);
        assert_eq!(of_node.load(Ordering::Relaxed), 0);
    }
}
