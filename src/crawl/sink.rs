use std::io::{self, BufWriter, Write};
use std::thread::JoinHandle;

use tokio::sync::mpsc;

use super::PageRecord;

/// Records on their way to the writer at once; beyond it, workers wait (D18: back-pressure, never loss).
const IN_FLIGHT: usize = 1024;

/// Where page records go: one JSON object a line, in the order in which fetches ended, written by a thread of its own
/// so that a slow disk or pipe never holds up the crawl's timers.
#[derive(Clone, Debug)]
pub struct Sink {
    records: mpsc::Sender<PageRecord>,
}

/// The writing side: ends when the last [`Sink`] is dropped.
#[derive(Debug)]
pub struct SinkThread {
    thread: JoinHandle<io::Result<u64>>,
}

impl Sink {
    /// Starts the writer.
    ///
    /// # Errors
    /// Where the thread cannot be started.
    pub fn start(to: impl Write + Send + 'static) -> io::Result<(Self, SinkThread)> {
        let (records, incoming) = mpsc::channel(IN_FLIGHT);
        let thread = std::thread::Builder::new().name("sink".to_owned()).spawn(move || write_all(incoming, to))?;
        Ok((Self { records }, SinkThread { thread }))
    }

    /// Hands a record over; waits while the writer is behind. `false` where the writer has failed: the crawl should end,
    /// [`SinkThread::join`] says why.
    pub async fn write(&self, record: PageRecord) -> bool {
        self.records.send(record).await.is_ok()
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

fn write_all(mut incoming: mpsc::Receiver<PageRecord>, to: impl Write) -> io::Result<u64> {
    let mut to = BufWriter::with_capacity(64 * 1024, to);
    let mut written = 0;
    while let Some(record) = incoming.blocking_recv() {
        serde_json::to_writer(&mut to, &record)?;
        to.write_all(b"\n")?;
        written += 1;
        // Whoever follows the output sees a quiet crawl's records at once, a busy one's by the buffer.
        if incoming.is_empty() {
            to.flush()?;
        }
    }
    to.flush()?;
    Ok(written)
}
