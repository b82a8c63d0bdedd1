//! The writer of an output: records gather in memory, and a thread writes them in groups.
//!
//! ```text
//!   page ──reserve──▶ room ──put──▶ the group ──10 ms or 256 KiB──▶ write(2) ──▶ Written
//! ```
//!
//! The thread sleeps while there are no records. The first record of a group wakes it; it then waits for more, so that a crawl of ten
//! thousand pages a second wakes it a hundred times. A record's room is freed when the record is written.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, Semaphore, SemaphorePermit};

use crate::crawl::lock::lock;

/// At most this many bytes of records are on the way to the writer at once. Beyond that, workers wait, and nothing is lost. A larger record
/// goes alone.
const QUEUE: usize = 8 << 20;
/// Room is reserved in steps of this many bytes.
const STEP: usize = 1 << 10;
const ROOM: usize = QUEUE / STEP;
/// The first record of a group waits for more records for at most this long.
const GROUP_TIME: Duration = Duration::from_millis(10);
/// A group with this many bytes does not wait for more.
const GROUP_BYTES: usize = 256 << 10;

/// Begins the next file of a series, at this position of the output.
pub(super) type NextFile<W> = Box<dyn FnMut(u64) -> io::Result<W> + Send>;

/// Writes an output on its own thread, so that a slow disk or pipe never holds up the crawl's timers. An output is the page records, one
/// JSON object a line in the order in which pages are done, or what a [`Sink`](super::Sink) adds for each page.
///
/// Records are written in groups: each is with the operating system 10 ms after it was made, or sooner.
#[derive(Clone, Debug)]
pub struct Writer {
    group: Arc<Open>,
    written: Written,
}

/// The thread of a [`Writer`]. It ends when the last clone of the writer is dropped.
#[derive(Debug)]
pub struct WriterThread {
    thread: JoinHandle<io::Result<u64>>,
}

/// Reserved room for one record on the way to the writer. Its owner can send the record without waiting.
#[derive(Debug)]
pub(in crate::crawl) struct Slot<'a> {
    room: SemaphorePermit<'a>,
    group: &'a Group,
}

/// The records that wait to be written.
#[derive(Debug)]
struct Group {
    room: Semaphore,
    gathered: Mutex<Gathered>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Gathered {
    batch: Batch,
    /// When the first of them arrived.
    since: Option<Instant>,
    /// No more will come.
    is_closed: bool,
    /// Bytes received so far.
    received: u64,
}

/// Records that are written together.
#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    records: u64,
    /// The steps of room that they take.
    room: usize,
    /// Where files of a series begin: in `bytes`, and in the output.
    files: Vec<(usize, u64)>,
}

/// A group that may get more records. Dropping the last clone of a [`Writer`] closes it.
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
    /// If the thread cannot be started.
    pub fn start(to: impl Write + Send + 'static) -> io::Result<(Self, WriterThread)> {
        Self::start_series(Some(to), Box::new(|_| Err(io::ErrorKind::Unsupported.into())))
    }

    /// Starts the writer of a series of files. `open` is the file that it continues, if there is one.
    pub(super) fn start_series<W>(open: Option<W>, next: NextFile<W>) -> io::Result<(Self, WriterThread)>
    where
        W: Write + Send + 'static,
    {
        let (room, gathered, changed) = (Semaphore::new(ROOM), Mutex::default(), Condvar::new());
        let group = Arc::new(Group { room, gathered, changed });
        let written = Written::default();
        let writer_loop = WriterLoop { group: Arc::clone(&group), written: written.clone() };
        let thread =
            std::thread::Builder::new().name("writer".to_owned()).spawn(move || writer_loop.write_all(open, next))?;
        Ok((Self { group: Arc::new(Open(group)), written }, WriterThread { thread }))
    }

    /// Reserves room for a record of about `bytes` bytes. Waits if the writer cannot keep up. `None` if the writer has failed: the crawl
    /// should end, and [`WriterThread::join`] says why.
    pub(in crate::crawl) async fn reserve(&self, bytes: usize) -> Option<Slot<'_>> {
        let group = &*self.group.0;
        let steps = bytes.div_ceil(STEP).clamp(1, ROOM);
        let room = group.room.acquire_many(steps.try_into().expect("few steps")).await.ok()?;
        Some(Slot { room, group })
    }

    pub(in crate::crawl) fn written(&self) -> Written {
        self.written.clone()
    }

    /// Bytes of all records received so far.
    #[cfg(feature = "cluster")]
    pub(super) fn received(&self) -> u64 {
        lock(&self.group.0.gathered).received
    }
}

impl Slot<'_> {
    /// Sends a record to the writer. With `begins`, the record begins a file of a series at that position of the output.
    pub(in crate::crawl) fn put(self, record: &[u8], begins: Option<u64>) {
        let room = self.room.num_permits();
        // The writer releases the room once the record is written.
        self.room.forget();
        self.group.put(record, room, begins);
    }
}

impl Group {
    fn put(&self, record: &[u8], room: usize, begins: Option<u64>) {
        let mut gathered = lock(&self.gathered);
        let was_full = gathered.is_full();
        gathered.received += record.len() as u64;
        let batch = &mut gathered.batch;
        batch.files.extend(begins.map(|start| (batch.bytes.len(), start)));
        batch.bytes.extend_from_slice(record);
        (batch.records, batch.room) = (batch.records + 1, batch.room + room);
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

    /// Waits for a group, and swaps it with an empty batch. Returns `false` once the group is closed.
    fn take(&self, batch: &mut Batch) -> bool {
        let waited =
            self.changed.wait_while(lock(&self.gathered), |gathered| gathered.since.is_none() && !gathered.is_closed);
        let gathered = waited.unwrap_or_else(PoisonError::into_inner);
        let Some(since) = gathered.since else { return false };
        let left = GROUP_TIME.saturating_sub(since.elapsed());
        let is_growing = |gathered: &mut Gathered| !gathered.is_full() && !gathered.is_closed;
        let waited = self.changed.wait_timeout_while(gathered, left, is_growing);
        let mut gathered = waited.unwrap_or_else(PoisonError::into_inner).0;
        std::mem::swap(batch, &mut gathered.batch);
        gathered.since = None;
        true
    }
}

impl Gathered {
    /// Whether the group need not wait for more.
    fn is_full(&self) -> bool {
        self.batch.bytes.len() >= GROUP_BYTES
    }
}

impl WriterThread {
    /// Waits until the last record is written and flushed. Returns the number of records. Blocks.
    ///
    /// # Errors
    /// If a write failed; records after it are not written.
    pub fn join(self) -> io::Result<u64> {
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the writer of page records panicked")))
    }
}

/// The writer's side of a group. Once it is dropped, nothing waits for the writer any more, whether the writer has failed or not.
struct WriterLoop {
    group: Arc<Group>,
    written: Written,
}

impl WriterLoop {
    fn write_all<W: Write>(self, open: Option<W>, mut next: NextFile<W>) -> io::Result<u64> {
        let (mut records, mut batch, mut to) = (0, Batch::default(), open);
        while self.group.take(&mut batch) {
            let mut from = 0;
            for (end, start) in batch.files.drain(..) {
                write(&mut to, &batch.bytes[from..end])?;
                (from, to) = (end, Some(next(start)?));
            }
            write(&mut to, &batch.bytes[from..])?;
            records += batch.records;
            self.written.add(batch.bytes.len() as u64);
            self.group.room.add_permits(batch.room);
            batch.bytes.clear();
            // The buffer may have grown by records that are longer than a group.
            batch.bytes.shrink_to(2 * GROUP_BYTES);
            (batch.records, batch.room) = (0, 0);
        }
        Ok(records)
    }
}

fn write(to: &mut Option<impl Write>, bytes: &[u8]) -> io::Result<()> {
    match to {
        _ if bytes.is_empty() => Ok(()),
        Some(to) => to.write_all(bytes).and_then(|()| to.flush()),
        None => Err(io::Error::other("no file of the series is begun")),
    }
}

impl Drop for WriterLoop {
    fn drop(&mut self) {
        self.group.room.close();
        self.written.end();
    }
}

/// How many bytes the writer has written, for callers that wait for it.
#[derive(Clone, Debug, Default)]
pub(in crate::crawl) struct Written(Arc<Progress>);

#[derive(Debug, Default)]
struct Progress {
    handed: Mutex<Handed>,
    /// Wakes waiting threads.
    changed: Condvar,
    /// Wakes waiting tasks.
    more: Notify,
}

#[derive(Debug, Default)]
struct Handed {
    bytes: u64,
    ended: bool,
}

impl Written {
    /// Blocks until `bytes` are written. Returns `false` if the writer stopped first.
    pub(in crate::crawl) fn wait_for(&self, bytes: u64) -> bool {
        let Progress { handed, changed, .. } = &*self.0;
        let waited = changed.wait_while(lock(handed), |handed| handed.bytes < bytes && !handed.ended);
        waited.unwrap_or_else(PoisonError::into_inner).bytes >= bytes
    }

    /// As [`wait_for`](Self::wait_for), for a task.
    #[cfg(feature = "cluster")]
    pub(in crate::crawl) async fn reached(&self, bytes: u64) -> bool {
        loop {
            // Registered before the check, so that no change is missed.
            let mut more = std::pin::pin!(self.0.more.notified());
            more.as_mut().enable();
            {
                let handed = lock(&self.0.handed);
                if handed.bytes >= bytes || handed.ended {
                    return handed.bytes >= bytes;
                }
            }
            more.await;
        }
    }

    /// Bytes written so far.
    pub(in crate::crawl) fn bytes(&self) -> u64 {
        lock(&self.0.handed).bytes
    }

    /// Adds bytes that were written.
    pub(in crate::crawl) fn add(&self, bytes: u64) {
        self.update(|handed| handed.bytes += bytes);
    }

    /// Ends it: nothing more will be written.
    pub(super) fn end(&self) {
        self.update(|handed| handed.ended = true);
    }

    fn update(&self, change: impl FnOnce(&mut Handed)) {
        let Progress { handed, changed, more } = &*self.0;
        change(&mut lock(handed));
        changed.notify_all();
        more.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::time::timeout;

    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    /// An output that reports each write, and finishes it when told to.
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
    async fn records_are_written_in_groups_to_the_last() {
        let (writer, thread, came, done) = start();
        writer.reserve(1).await.unwrap().put(b"first\n", None);
        // No other record comes, and the writer is not closed.
        assert_eq!(came.recv_timeout(LONG).unwrap(), b"first\n");
        // Everything that arrives while the disk is busy is one write.
        for _ in 0..500 {
            writer.reserve(1).await.unwrap().put(b"later\n", None);
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
    async fn the_last_record_is_written_before_the_thread_ends() {
        let (writer, thread, came, done) = start();
        drop(done);
        let other = writer.clone();
        writer.reserve(1).await.unwrap().put(b"a", None);
        drop(writer);
        other.reserve(1).await.unwrap().put(b"b", None);
        let written = other.written();
        drop(other);
        assert_eq!((thread.join().unwrap(), written.bytes()), (2, 2));
        assert!(written.wait_for(2) && !written.wait_for(3));
        assert_eq!(came.iter().collect::<Vec<_>>().concat(), b"ab");
    }

    #[tokio::test]
    async fn a_slow_writer_makes_callers_wait() {
        let (writer, thread, came, done) = start();
        writer.reserve(1).await.unwrap().put(b"x", None);
        came.recv_timeout(LONG).unwrap();
        // A record being written takes room, too. Unused room is released.
        let mut slots = Vec::new();
        for _ in 1..ROOM {
            slots.push(writer.reserve(1).await.unwrap());
        }
        assert!(timeout(Duration::ZERO, writer.reserve(1)).await.is_err(), "no room is left");
        drop(slots.pop());
        slots.push(writer.reserve(1).await.unwrap());
        for slot in slots {
            slot.put(b"x", None);
        }
        assert!(timeout(Duration::ZERO, writer.reserve(1)).await.is_err(), "the disk is busy");
        drop(done);
        timeout(LONG, writer.reserve(1)).await.expect("there is room again").unwrap().put(b"x", None);
        drop(writer);
        assert_eq!(thread.join().unwrap(), ROOM as u64 + 1);
    }

    #[tokio::test]
    async fn a_failed_writer_releases_its_callers() {
        let (writer, thread, came, done) = start();
        let (early, written) = (writer.reserve(1).await.unwrap(), writer.written());
        writer.reserve(1).await.unwrap().put(b"x", None);
        came.recv_timeout(LONG).unwrap();
        let waiting = std::thread::spawn({
            let written = written.clone();
            move || written.wait_for(1)
        });
        done.send(Err(io::ErrorKind::BrokenPipe.into())).unwrap();
        assert!(!waiting.join().unwrap());
        assert!(timeout(LONG, writer.reserve(1)).await.expect("it does not wait").is_none());
        early.put(b"nobody reads it", None);
        drop(writer);
        assert_eq!(thread.join().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_full_group_does_not_wait() {
        let group = Group { room: Semaphore::new(0), gathered: Mutex::default(), changed: Condvar::new() };
        assert!(!lock(&group.gathered).is_full());
        group.put(&vec![b'x'; GROUP_BYTES], 1, None);
        assert!(lock(&group.gathered).is_full());
    }

    #[tokio::test]
    async fn room_is_counted_in_bytes_and_a_larger_record_goes_alone() {
        let (writer, thread, came, done) = start();
        writer.reserve(QUEUE / 2).await.unwrap().put(b"half", None);
        came.recv_timeout(LONG).unwrap();
        let second = writer.reserve(QUEUE / 2).await.unwrap();
        assert!(timeout(Duration::ZERO, writer.reserve(1)).await.is_err(), "two halves are all");
        drop(second);
        assert!(timeout(Duration::ZERO, writer.reserve(5 * QUEUE)).await.is_err(), "beside another");
        drop(done);
        let alone = timeout(LONG, writer.reserve(5 * QUEUE)).await.expect("alone").unwrap();
        assert!(timeout(Duration::ZERO, writer.reserve(1)).await.is_err(), "beside it");
        alone.put(b"whole", None);
        drop(writer);
        assert_eq!(thread.join().unwrap(), 2);
    }

    #[tokio::test]
    async fn a_record_goes_to_the_file_that_it_begins() {
        let (begun, files) = mpsc::channel();
        let file = |begun: &mpsc::Sender<_>, start| {
            let (writes, came) = mpsc::channel();
            begun.send((start, came)).unwrap();
            Ok(Slow { writes, ends: mpsc::channel().1 })
        };
        let open = file(&begun, 0).unwrap();
        let (writer, thread) = Writer::start_series(Some(open), Box::new(move |start| file(&begun, start))).unwrap();
        for (record, begins) in [("a", None), ("b", None), ("c", Some(2)), ("d", Some(3)), ("e", None)] {
            writer.reserve(1).await.unwrap().put(record.as_bytes(), begins);
        }
        drop(writer);
        assert_eq!(thread.join().unwrap(), 5);
        let files: Vec<_> =
            files.iter().map(|(start, came)| (start, came.iter().collect::<Vec<_>>().concat())).collect();
        assert_eq!(files, [(0, b"ab".to_vec()), (2, b"c".to_vec()), (3, b"de".to_vec())]);
    }

    #[cfg(feature = "cluster")]
    #[tokio::test(start_paused = true)]
    async fn a_task_waits_for_written_bytes_or_the_end() {
        let (written, moment) = (Written::default(), Duration::from_secs(1));
        written.add(5);
        assert!(written.reached(5).await);
        assert!(timeout(moment, written.reached(6)).await.is_err());
        let writing = async {
            tokio::task::yield_now().await;
            written.add(1);
            tokio::task::yield_now().await;
            written.add(1);
        };
        let (reached, ()) = tokio::join!(timeout(moment, written.reached(7)), writing);
        assert_eq!(reached, Ok(true));
        let (reached, ()) = tokio::join!(timeout(moment, written.reached(8)), async { written.end() });
        assert_eq!(reached, Ok(false));
    }
}
