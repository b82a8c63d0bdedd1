//! The writer of an output: a thread of its own, and how far it has come.

use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::mpsc;

/// Records on their way to the writer at once; beyond it, workers wait (back-pressure, never loss).
const IN_FLIGHT: usize = 1024;
/// Bytes after which a writer that is never done with what there is flushes and tells.
const TELL: u64 = 1 << 20;

/// Where an output goes: page records, one JSON object a line, in the order in which fetches ended, or what a
/// [`Sink`](super::Sink) adds for each of them. A thread of its own writes, so that a slow disk or pipe never holds up the
/// crawl's timers.
#[derive(Clone, Debug)]
pub struct Writer {
    lines: mpsc::Sender<Line>,
    written: Written,
}

/// The writing side: ends when the last [`Writer`] is dropped.
#[derive(Debug)]
pub struct WriterThread {
    thread: JoinHandle<io::Result<u64>>,
}

/// A place among the records on their way: who has it need not wait any more.
#[derive(Debug)]
pub(in crate::crawl) struct Slot<'a>(mpsc::Permit<'a, Line>);

/// What is appended for one page: its record with a line end, or what a sink adds.
pub(in crate::crawl) type Line = Arc<[u8]>;

/// How many bytes the writer has handed on, for who must not go ahead of it.
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
        let told = Telling { written: written.clone(), bytes: 0 };
        let work = move || write_all(incoming, to, told);
        let thread = std::thread::Builder::new().name("writer".to_owned()).spawn(work)?;
        Ok((Self { lines, written }, WriterThread { thread }))
    }

    /// Takes a place for one record; waits while the writer is behind. `None` where the writer has failed: the crawl should
    /// end, [`WriterThread::join`] says why.
    pub(in crate::crawl) async fn reserve(&self) -> Option<Slot<'_>> {
        self.lines.reserve().await.ok().map(Slot)
    }

    pub(in crate::crawl) fn written(&self) -> Written {
        self.written.clone()
    }
}

impl Slot<'_> {
    /// Sends it on its way.
    pub(in crate::crawl) fn put(self, line: Line) {
        self.0.send(line);
    }
}

impl WriterThread {
    /// Waits for the last record to be written and flushed; how many there were. Blocks.
    ///
    /// # Errors
    /// Where a write failed; records after it are not written.
    pub fn join(self) -> io::Result<u64> {
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the writer of page records panicked")))
    }
}

impl Written {
    /// Waits until so many bytes are handed on; `false` where they never will be.
    pub(in crate::crawl) fn wait_for(&self, bytes: u64) -> bool {
        let (handed, changed) = &*self.0;
        let handed = handed.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = changed.wait_while(handed, |handed| handed.bytes < bytes && !handed.ended);
        waited.unwrap_or_else(PoisonError::into_inner).bytes >= bytes
    }

    /// How many they are now.
    pub(in crate::crawl) fn bytes(&self) -> u64 {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    fn tell(&self, bytes: u64, ended: bool) {
        let (handed, changed) = &*self.0;
        *handed.lock().unwrap_or_else(PoisonError::into_inner) = Handed { bytes, ended };
        changed.notify_all();
    }
}

/// The writer's side of [`Written`]: however it ends, nobody waits for it any more.
struct Telling {
    written: Written,
    bytes: u64,
}

impl Telling {
    fn tell(&mut self, bytes: u64) {
        self.bytes = bytes;
        self.written.tell(bytes, false);
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        self.written.tell(self.bytes, true);
    }
}

fn write_all(mut incoming: mpsc::Receiver<Line>, to: impl Write, mut told: Telling) -> io::Result<u64> {
    let mut to = BufWriter::with_capacity(64 * 1024, to);
    let (mut records, mut bytes) = (0, 0);
    while let Some(line) = incoming.blocking_recv() {
        to.write_all(&line)?;
        records += 1;
        bytes += line.len() as u64;
        // Whoever follows the output sees a quiet crawl's records at once, a busy one's by the buffer.
        if incoming.is_empty() || bytes - told.bytes >= TELL {
            to.flush()?;
            told.tell(bytes);
        }
    }
    to.flush()?;
    told.tell(bytes);
    Ok(records)
}
