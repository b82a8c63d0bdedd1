//! The writer of an output: records gather in memory, and a thread writes them in groups.
//!
//! ```text
//!   page ──reserve──▶ a place ──put──▶ the group ──10 ms, 256 KiB or 512 records──▶ write(2) ──▶ Written
//! ```
//!
//! The thread sleeps while there is nothing. The first record of a group wakes it, and it waits for others then, so that a crawl of
//! ten thousand pages a second wakes it a hundred times. A place is free again when its record is written.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::crawl::lock::lock;

/// Records on the way to the writer at once. Beyond that workers wait, and nothing is lost.
const PLACES: usize = 1024;
/// The first record of a group waits so long for others,
const GROUP_TIME: Duration = Duration::from_millis(10);
/// unless they have so many bytes,
const GROUP_BYTES: usize = 256 << 10;
/// or are so many.
const GROUP_RECORDS: usize = PLACES / 2;

/// Writes an output on a thread of its own, so that a slow disk or pipe never holds up the crawl's timers. An output is the page
/// records, one JSON object a line in the order in which pages are done, or what a [`Sink`](super::Sink) adds for each page.
///
/// Records are written in groups: one is with the operating system 10 ms after it was made, or sooner.
#[derive(Clone, Debug)]
pub struct Writer {
    group: Arc<Open>,
    written: Written,
}

/// The thread of a [`Writer`]. It ends when the last clone of that is dropped.
#[derive(Debug)]
pub struct WriterThread {
    thread: JoinHandle<io::Result<u64>>,
}

/// A place among the records on the way to the writer. Whoever has one need not wait.
#[derive(Debug)]
pub(in crate::crawl) struct Slot<'a> {
    place: SemaphorePermit<'a>,
    group: &'a Group,
}

/// How many bytes the writer has written, for whoever must wait for it.
#[derive(Clone, Debug, Default)]
pub(in crate::crawl) struct Written(Arc<(Mutex<Handed>, Condvar)>);

#[derive(Debug, Default)]
struct Handed {
    bytes: u64,
    ended: bool,
}

/// The records that gather.
#[derive(Debug)]
struct Group {
    places: Semaphore,
    gathered: Mutex<Gathered>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Gathered {
    bytes: Vec<u8>,
    records: usize,
    /// When the first of them came.
    since: Option<Instant>,
    /// No more will come.
    is_closed: bool,
}

/// A group that may get more records. The last clone of a [`Writer`] that is dropped closes it.
#[derive(Debug)]
struct Open(Arc<Group>);

impl Drop for Open {
    fn drop(&mut self) {
        lock(&self.0.gathered).is_closed = true;
        self.0.changed.notify_one();
    }
}

impl Writer {
    /// Starts the writer.
    ///
    /// # Errors
    /// Where the thread cannot be started.
    pub fn start(to: impl Write + Send + 'static) -> io::Result<(Self, WriterThread)> {
        let (places, gathered, changed) = (Semaphore::new(PLACES), Mutex::default(), Condvar::new());
        let group = Arc::new(Group { places, gathered, changed });
        let written = Written::default();
        let telling = Telling { group: Arc::clone(&group), written: written.clone() };
        let thread = std::thread::Builder::new().name("writer".to_owned()).spawn(move || telling.write_all(to))?;
        Ok((Self { group: Arc::new(Open(group)), written }, WriterThread { thread }))
    }

    /// Takes a place for one record. Waits while the writer is behind. `None` if the writer has failed: the crawl should end, and
    /// [`WriterThread::join`] says why.
    pub(in crate::crawl) async fn reserve(&self) -> Option<Slot<'_>> {
        let group = &*self.group.0;
        let place = group.places.acquire().await.ok()?;
        Some(Slot { place, group })
    }

    pub(in crate::crawl) fn written(&self) -> Written {
        self.written.clone()
    }
}

impl Slot<'_> {
    /// Sends a record to the writer.
    pub(in crate::crawl) fn put(self, record: &[u8]) {
        // The writer gives it back.
        self.place.forget();
        self.group.put(record);
    }
}

impl Group {
    fn put(&self, record: &[u8]) {
        let mut gathered = lock(&self.gathered);
        let was_full = gathered.is_full();
        gathered.bytes.extend_from_slice(record);
        gathered.records += 1;
        let is_first = gathered.since.is_none();
        if is_first {
            gathered.since = Some(Instant::now());
        }
        let wakes = is_first || !was_full && gathered.is_full();
        drop(gathered);
        if wakes {
            self.changed.notify_one();
        }
    }

    /// Waits for a group, and takes it: its bytes into an empty buffer, and how many records they are. `None` once it is closed.
    fn take(&self, buffer: &mut Vec<u8>) -> Option<usize> {
        let waited =
            self.changed.wait_while(lock(&self.gathered), |gathered| gathered.since.is_none() && !gathered.is_closed);
        let gathered = waited.unwrap_or_else(PoisonError::into_inner);
        let left = GROUP_TIME.saturating_sub(gathered.since?.elapsed());
        let is_growing = |gathered: &mut Gathered| !gathered.is_full() && !gathered.is_closed;
        let waited = self.changed.wait_timeout_while(gathered, left, is_growing);
        let mut gathered = waited.unwrap_or_else(PoisonError::into_inner).0;
        std::mem::swap(buffer, &mut gathered.bytes);
        gathered.since = None;
        Some(std::mem::take(&mut gathered.records))
    }
}

impl Gathered {
    /// Whether it need not wait for more.
    fn is_full(&self) -> bool {
        self.bytes.len() >= GROUP_BYTES || self.records >= GROUP_RECORDS
    }
}

impl WriterThread {
    /// Waits until the last record is written and flushed. Returns how many there were. Blocks.
    ///
    /// # Errors
    /// Where a write failed; records after it are not written.
    pub fn join(self) -> io::Result<u64> {
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the writer of page records panicked")))
    }
}

impl Written {
    /// Waits until so many bytes are written. Returns `false` if they never will be.
    pub(in crate::crawl) fn wait_for(&self, bytes: u64) -> bool {
        let (handed, changed) = &*self.0;
        let waited = changed.wait_while(lock(handed), |handed| handed.bytes < bytes && !handed.ended);
        waited.unwrap_or_else(PoisonError::into_inner).bytes >= bytes
    }

    /// How many there are now.
    pub(in crate::crawl) fn bytes(&self) -> u64 {
        lock(&self.0.0).bytes
    }

    fn tell(&self, change: impl FnOnce(&mut Handed)) {
        let (handed, changed) = &*self.0;
        change(&mut lock(handed));
        changed.notify_all();
    }
}

/// The writer's side. However the writer ends, nobody waits for it any more.
struct Telling {
    group: Arc<Group>,
    written: Written,
}

impl Telling {
    fn write_all(self, mut to: impl Write) -> io::Result<u64> {
        let (mut records, mut bytes) = (0, Vec::new());
        while let Some(more) = self.group.take(&mut bytes) {
            to.write_all(&bytes)?;
            to.flush()?;
            records += more as u64;
            self.written.tell(|handed| handed.bytes += bytes.len() as u64);
            self.group.places.add_permits(more);
            bytes.clear();
            // After records that are longer than a group.
            bytes.shrink_to(2 * GROUP_BYTES);
        }
        Ok(records)
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        self.group.places.close();
        self.written.tell(|handed| handed.ended = true);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::time::timeout;

    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    /// An output that tells each write, and ends it when it is told to.
    struct Slow {
        writes: mpsc::Sender<Vec<u8>>,
        ends: mpsc::Receiver<io::Result<()>>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.writes.send(bytes.to_vec()).unwrap();
            self.ends.recv().unwrap_or(Ok(())).map(|()| bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    type Started = (Writer, WriterThread, mpsc::Receiver<Vec<u8>>, mpsc::Sender<io::Result<()>>);

    fn start() -> Started {
        let ((to, came), (done, ends)) = (mpsc::channel(), mpsc::channel());
        let (writer, thread) = Writer::start(Slow { writes: to, ends }).unwrap();
        (writer, thread, came, done)
    }

    #[tokio::test]
    async fn records_are_written_in_groups_and_the_last_one_is_not_left() {
        let (writer, thread, came, done) = start();
        writer.reserve().await.unwrap().put(b"first\n");
        // Nobody adds another, and the writer is not closed.
        assert_eq!(came.recv_timeout(LONG).unwrap(), b"first\n");
        // All that comes while the disk is busy is one write.
        for _ in 0..500 {
            writer.reserve().await.unwrap().put(b"later\n");
        }
        done.send(Ok(())).unwrap();
        assert_eq!(came.recv_timeout(LONG).unwrap(), b"later\n".repeat(500));
        assert!(came.try_recv().is_err(), "and no more");
        done.send(Ok(())).unwrap();
        assert!(writer.written().wait_for(501 * 6));
        drop(writer);
        assert_eq!(thread.join().unwrap(), 501);
    }

    #[tokio::test]
    async fn what_was_put_last_is_written_before_the_thread_ends() {
        let (writer, thread, came, done) = start();
        drop(done);
        let other = writer.clone();
        writer.reserve().await.unwrap().put(b"a");
        drop(writer);
        other.reserve().await.unwrap().put(b"b");
        let written = other.written();
        drop(other);
        assert_eq!((thread.join().unwrap(), written.bytes()), (2, 2));
        assert!(written.wait_for(2) && !written.wait_for(3));
        assert_eq!(came.iter().collect::<Vec<_>>().concat(), b"ab");
    }

    #[tokio::test]
    async fn a_writer_that_is_behind_holds_up_whoever_wants_a_place() {
        let (writer, thread, came, done) = start();
        writer.reserve().await.unwrap().put(b"x");
        came.recv_timeout(LONG).unwrap();
        // The record that is being written has its place, too. One that is not used goes back.
        let mut slots = Vec::new();
        for _ in 1..PLACES {
            slots.push(writer.reserve().await.unwrap());
        }
        assert!(timeout(Duration::ZERO, writer.reserve()).await.is_err(), "no place is left");
        drop(slots.pop());
        slots.push(writer.reserve().await.unwrap());
        for slot in slots {
            slot.put(b"x");
        }
        assert!(timeout(Duration::ZERO, writer.reserve()).await.is_err(), "the disk is busy");
        drop(done);
        timeout(LONG, writer.reserve()).await.expect("there is a place again").unwrap().put(b"x");
        drop(writer);
        assert_eq!(thread.join().unwrap(), PLACES as u64 + 1);
    }

    #[tokio::test]
    async fn a_writer_that_fails_lets_nobody_wait() {
        let (writer, thread, came, done) = start();
        let (early, written) = (writer.reserve().await.unwrap(), writer.written());
        writer.reserve().await.unwrap().put(b"x");
        came.recv_timeout(LONG).unwrap();
        let waiting = std::thread::spawn({
            let written = written.clone();
            move || written.wait_for(1)
        });
        done.send(Err(io::ErrorKind::BrokenPipe.into())).unwrap();
        assert!(!waiting.join().unwrap());
        assert!(timeout(LONG, writer.reserve()).await.expect("it does not wait").is_none());
        early.put(b"nobody reads it");
        drop(writer);
        assert_eq!(thread.join().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_full_group_does_not_wait() {
        for (records, bytes) in [(GROUP_RECORDS, 1), (1, GROUP_BYTES)] {
            let group = Group { places: Semaphore::new(0), gathered: Mutex::default(), changed: Condvar::new() };
            assert!(!lock(&group.gathered).is_full());
            (0..records).for_each(|_| group.put(&vec![b'x'; bytes]));
            assert!(lock(&group.gathered).is_full());
        }
    }
}
