use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::mpsc;

use super::page_record::PageRecord;
use crate::job::repair::PageLine;

/// Records on their way to the writer at once; beyond it, workers wait (back-pressure, never loss).
const IN_FLIGHT: usize = 1024;
/// Bytes after which a writer that is never done with what there is flushes and tells.
const TELL: u64 = 1 << 20;

/// Where page records go: one JSON object a line, in the order in which fetches ended, written by a thread of its own
/// so that a slow disk or pipe never holds up the crawl's timers.
#[derive(Clone, Debug)]
pub struct Sink {
    lines: mpsc::Sender<Line>,
    written: Written,
}

/// The writing side: ends when the last [`Sink`] is dropped.
#[derive(Debug)]
pub struct SinkThread {
    thread: JoinHandle<io::Result<u64>>,
}

/// A place among the records on their way: who has it need not wait any more.
#[derive(Debug)]
pub(in crate::crawl) struct Slot<'a>(mpsc::Permit<'a, Line>);

/// A record as it stands in the output, with its line end.
pub(in crate::crawl) type Line = Arc<[u8]>;

/// How many bytes the writer has handed on, for who must not go ahead of it.
#[derive(Clone, Debug, Default)]
pub(in crate::crawl) struct Written(Arc<(Mutex<Handed>, Condvar)>);

#[derive(Debug, Default)]
struct Handed {
    bytes: u64,
    ended: bool,
}

impl Sink {
    /// Starts the writer.
    ///
    /// # Errors
    /// Where the thread cannot be started.
    pub fn start(to: impl Write + Send + 'static) -> io::Result<(Self, SinkThread)> {
        let (lines, incoming) = mpsc::channel(IN_FLIGHT);
        let written = Written::default();
        let told = Telling { written: written.clone(), bytes: 0 };
        let work = move || write_all(incoming, to, told);
        let thread = std::thread::Builder::new().name("sink".to_owned()).spawn(work)?;
        Ok((Self { lines, written }, SinkThread { thread }))
    }

    /// Takes a place for one record; waits while the writer is behind. `None` where the writer has failed: the crawl should
    /// end, [`SinkThread::join`] says why.
    pub(in crate::crawl) async fn reserve(&self) -> Option<Slot<'_>> {
        self.lines.reserve().await.ok().map(Slot)
    }

    pub(in crate::crawl) fn written(&self) -> Written {
        self.written.clone()
    }
}

impl Slot<'_> {
    /// Sends a [`line`] on its way.
    pub(in crate::crawl) fn put(self, line: Line) {
        self.0.send(line);
    }
}

impl SinkThread {
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

/// A record as it stands in the output.
pub(in crate::crawl) fn line(record: &PageRecord) -> Line {
    let mut line = serde_json::to_vec(record).expect("a record is plain data");
    line.push(b'\n');
    line.into()
}

/// The record of a line.
pub(in crate::crawl) fn record(line: &[u8]) -> Option<PageRecord> {
    serde_json::from_slice(line).ok()
}

/// What a [repair](crate::job::repair::look) has to know of a line of `pages.jsonl`; `None` where it is no page record.
pub fn page_line(line: &[u8]) -> Option<PageLine> {
    let PageRecord { url, depth, referrer, links, .. } = record(line)?;
    Some(PageLine { url, depth, is_seed: referrer.is_none(), admitted: links.admitted })
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
