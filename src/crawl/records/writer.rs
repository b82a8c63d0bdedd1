//! The writer of an output: a thread of its own, and how far it has come.

use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::mpsc;

use crate::crawl::lock::lock;

/// Records on the way to the writer at once. Beyond that workers wait, and nothing is lost.
const IN_FLIGHT: usize = 1024;
/// Bytes after which a busy writer flushes, and tells how far it is.
const TELL: u64 = 1 << 20;

/// Writes an output on a thread of its own, so that a slow disk or pipe never holds up the crawl's timers. An output is the page
/// records, one JSON object a line in the order in which pages are done, or what a [`Sink`](super::Sink) adds for each page.
#[derive(Clone, Debug)]
pub struct Writer {
    lines: mpsc::Sender<Line>,
    written: Written,
}

/// The thread of a [`Writer`]. It ends when the last clone of that is dropped.
#[derive(Debug)]
pub struct WriterThread {
    thread: JoinHandle<io::Result<u64>>,
}

/// A place among the records on the way to the writer. Whoever has one need not wait.
#[derive(Debug)]
pub(in crate::crawl) struct Slot<'a>(mpsc::Permit<'a, Line>);

/// What one page appends: its record with a line end, or what a sink adds.
pub(in crate::crawl) type Line = Arc<[u8]>;

/// How many bytes the writer has written, for whoever must wait for it.
#[derive(Clone, Debug, Default)]
pub(in crate::crawl) struct Written(Arc<(Mutex<Handed>, Condvar)>);

#[derive(Debug, Default)]
struct Handed {
    bytes: u64,
    ended: bool,
}

impl Writer {
    /// Starts the writer.
    ///
    /// # Errors
    /// Where the thread cannot be started.
    pub fn start(to: impl Write + Send + 'static) -> io::Result<(Self, WriterThread)> {
        let (lines, incoming) = mpsc::channel(IN_FLIGHT);
        let written = Written::default();
        let telling = Telling(written.clone());
        let work = move || write_all(incoming, to, &telling);
        let thread = std::thread::Builder::new().name("writer".to_owned()).spawn(work)?;
        Ok((Self { lines, written }, WriterThread { thread }))
    }

    /// Takes a place for one record. Waits while the writer is behind. `None` if the writer has failed: the crawl should end, and
    /// [`WriterThread::join`] says why.
    pub(in crate::crawl) async fn reserve(&self) -> Option<Slot<'_>> {
        self.lines.reserve().await.ok().map(Slot)
    }

    pub(in crate::crawl) fn written(&self) -> Written {
        self.written.clone()
    }
}

impl Slot<'_> {
    /// Sends a record to the writer.
    pub(in crate::crawl) fn put(self, line: Line) {
        self.0.send(line);
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

/// The writer's side of [`Written`]. However the writer ends, nobody waits for it any more.
struct Telling(Written);

impl Drop for Telling {
    fn drop(&mut self) {
        self.0.tell(|handed| handed.ended = true);
    }
}

fn write_all(mut incoming: mpsc::Receiver<Line>, to: impl Write, telling: &Telling) -> io::Result<u64> {
    let mut to = BufWriter::with_capacity(64 * 1024, to);
    let (mut records, mut bytes, mut told) = (0, 0, 0);
    while let Some(line) = incoming.blocking_recv() {
        to.write_all(&line)?;
        records += 1;
        bytes += line.len() as u64;
        // A quiet crawl's records are in the file at once, those of a busy one a buffer at a time.
        if incoming.is_empty() || bytes - told >= TELL {
            to.flush()?;
            telling.0.tell(|handed| handed.bytes = bytes);
            told = bytes;
        }
    }
    to.flush()?;
    telling.0.tell(|handed| handed.bytes = bytes);
    Ok(records)
}
