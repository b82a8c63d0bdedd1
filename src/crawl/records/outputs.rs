//! The outputs of a running crawl: the page records, and the bytes that each [`Sink`] adds per page.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use super::output::file_name;
use super::page_record::{OutputPlace, PageRecord, line, spare};
use super::sink::{DonePage, Edge, Sink};
use super::writer::{Slot, Writer};
use crate::crawl::bounds::Memory;
use crate::crawl::counters::counters;
use crate::crawl::http::Exchange;
use crate::crawl::lock::lock;
use crate::driver::{PAGES, Receipt, ReceiptsBuf};

/// Bytes reserved for the line of a page.
const LINE: usize = 1024;
/// For a larger body, sinks run on another thread. A body of this size takes them two or three milliseconds.
const INLINE_BODY: usize = 128 * 1024;
/// At most this many bytes of an output wait for the next page.
const MAX_HELD: usize = 4 << 20;

/// The outputs of a crawl, each with the writer of its file.
#[derive(Debug)]
pub(in crate::crawl) struct Outputs {
    /// The page records.
    pub(in crate::crawl) pages: Writer,
    pub(in crate::crawl) sinks: Vec<SinkOutput>,
}

/// A sink, and the writer of its output.
#[derive(Debug)]
pub(in crate::crawl) struct SinkOutput {
    pub(in crate::crawl) sink: Arc<dyn Sink>,
    writer: Writer,
    /// In the lock order, this lock comes after that of the outputs' ends.
    tail: Mutex<Tail>,
}

/// The end of a sink's output.
#[derive(Debug, Default)]
struct Tail {
    /// Where the last file of a series begins; `None` if the next page begins one.
    begins: Option<u64>,
    /// Bytes of responses without a page record, such as a robots.txt. They go before the next page.
    held: Vec<u8>,
}

/// The parts of a page besides its record, each kept only if a sink wants it.
#[derive(Debug, Default)]
pub(in crate::crawl) struct PageExtras {
    pub(in crate::crawl) exchange: Option<Box<Exchange>>,
    pub(in crate::crawl) links: Vec<Edge>,
    pub(in crate::crawl) visit: Vec<u8>,
}

impl PageExtras {
    /// Bytes that sinks read.
    fn bytes(&self) -> usize {
        let links: usize = self.links.iter().map(Edge::memory).sum();
        links + self.exchange.as_ref().map_or(0, |exchange| exchange.body.len())
    }

    /// Lets these sinks add to the page's record. Then returns the bytes that each of them makes of the page.
    fn ask<'s>(&self, sinks: impl Iterator<Item = &'s dyn Sink> + Clone, record: &mut PageRecord) -> Vec<Vec<u8>> {
        if let Some(exchange) = &self.exchange {
            sinks.clone().for_each(|sink| sink.describe(exchange, record));
        }
        let page = DonePage { record, exchange: self.exchange.as_deref(), links: &self.links, visit: &self.visit };
        let made = |sink: &dyn Sink| {
            let mut bytes = Vec::new();
            sink.write(&page, &mut bytes);
            bytes
        };
        sinks.map(made).collect()
    }
}

/// What one page adds to the outputs, with space reserved at each writer.
#[derive(Debug)]
pub(in crate::crawl) struct PendingWrites<'a> {
    /// The page's record, once it is made.
    record: Option<Vec<u8>>,
    slot: Slot<'a>,
    others: Vec<Addition<'a>>,
}

#[derive(Debug)]
struct Addition<'a> {
    output: &'a SinkOutput,
    bytes: Vec<u8>,
    slot: Slot<'a>,
    /// Where a new file of a series begins in the output, if this addition begins one.
    begins: Option<u64>,
}

counters! {
    /// Where an output ends.
    #[derive(Copy, Eq)]
    pub struct OutputEnd {
        /// Bytes in it.
        pub bytes: u64,
        /// Pages that have added to it.
        pub pages: u64,
    }
}

/// Where each output ends, by name. Bytes that are still on the way to the file count.
pub(in crate::crawl) type OutputEnds = BTreeMap<String, OutputEnd>;

impl SinkOutput {
    /// `begins` is the start of the file that the next page goes to.
    pub(in crate::crawl) fn new(sink: Arc<dyn Sink>, writer: Writer, begins: Option<u64>) -> Self {
        Self { sink, writer, tail: Mutex::new(Tail { begins, held: Vec::new() }) }
    }
}

impl Outputs {
    /// Whether a sink wants responses as they came: of pages, or, without `is_page`, of other URLs.
    pub(in crate::crawl) fn need_exchange(&self, is_page: bool) -> bool {
        self.sinks.iter().any(|SinkOutput { sink, .. }| sink.needs_exchange() && (is_page || sink.wants_others()))
    }

    /// The writers of all outputs.
    #[cfg(feature = "cluster")]
    pub(super) fn writers(&self) -> impl Iterator<Item = &Writer> {
        self.sinks.iter().map(|output| &output.writer).chain([&self.pages])
    }

    /// Whether a sink wants the links of pages.
    pub(in crate::crawl) fn need_links(&self) -> bool {
        self.sinks.iter().any(|output| output.sink.needs_links())
    }

    /// Asks each sink what a page adds to it, and waits for space at each writer. `None` if a writer has failed.
    pub(in crate::crawl) async fn additions(
        &self,
        record: &mut PageRecord,
        extras: PageExtras,
        memory: &Memory,
    ) -> Option<PendingWrites<'_>> {
        let made = if self.sinks.is_empty() { Vec::new() } else { self.ask(record, extras, memory).await };
        let slot = self.pages.reserve(LINE).await?;
        let mut others = Vec::new();
        for (output, bytes) in self.sinks.iter().zip(made) {
            if !bytes.is_empty() {
                let slot = output.writer.reserve(bytes.len()).await?;
                others.push(Addition { output, bytes, slot, begins: None });
            }
        }
        Some(PendingWrites { record: None, slot, others })
    }

    /// The bytes that each sink makes of a page.
    async fn ask(&self, record: &mut PageRecord, extras: PageExtras, memory: &Memory) -> Vec<Vec<u8>> {
        let bytes = extras.bytes();
        if bytes <= INLINE_BODY {
            return extras.ask(self.sinks.iter().map(|output| &*output.sink), record);
        }
        let sinks: Vec<_> = self.sinks.iter().map(|output| Arc::clone(&output.sink)).collect();
        let (mut described, permit) = (record.clone(), memory.reader(bytes).await);
        let work = move || {
            // Held until everything else is released.
            let _permit = permit;
            let made = extras.ask(sinks.iter().map(|sink| &**sink), &mut described);
            (made, described)
        };
        match tokio::task::spawn_blocking(work).await {
            Ok((made, described)) => {
                *record = described;
                made
            }
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    }

    /// Keeps the bytes of a response without a page record until the next page is written.
    pub(in crate::crawl) fn hold(&self, record: &PageRecord, exchange: &Exchange) {
        for SinkOutput { sink, tail, .. } in self.sinks.iter().filter(|output| output.sink.wants_others()) {
            let (mut bytes, mut record) = (Vec::new(), record.clone());
            sink.describe(exchange, &mut record);
            sink.write(&DonePage { record: &record, exchange: Some(exchange), links: &[], visit: &[] }, &mut bytes);
            let held = &mut lock(tail).held;
            // If more of them come with no page in between, they are not worth keeping.
            if held.len() + bytes.len() <= MAX_HELD {
                held.append(&mut bytes);
            }
        }
    }
}

impl PendingWrites<'_> {
    /// Makes the line of the page's record, and receipts for all bytes that the page adds after these ends. Without ends there are no
    /// receipts: the outputs cannot be read again. Hold the ends until the page is in the journal, so that the outputs and the journal have
    /// the same order.
    pub(in crate::crawl) fn finish<'a>(
        &mut self,
        record: &mut PageRecord,
        ends: Option<&'a Mutex<OutputEnds>>,
    ) -> (ReceiptsBuf, Option<MutexGuard<'a, OutputEnds>>) {
        // Most crawls have no other outputs. They make the line before the lock, so that pages do not wait for each other.
        self.record = self.others.is_empty().then(|| line(record));
        let ends = ends.map(lock);
        let mut receipts = ReceiptsBuf::default();
        if let Some(ends) = &ends {
            let end = |name: &str| ends.get(name).map_or(0, |end| end.bytes);
            let places = self.others.iter_mut().map(|other| other.place(end(other.output.sink.name()), record));
            let places = places.collect();
            record.outputs = places;
            receipts.push(PAGES, Receipt::of(self.record.get_or_insert_with(|| line(record)), end(PAGES)));
            for (name, place) in &record.outputs {
                receipts.push(name, place.receipt());
            }
        }
        self.record.get_or_insert_with(|| line(record));
        (receipts, ends)
    }

    /// Sends everything to the writers, and advances the ends.
    pub(in crate::crawl) fn put(self, mut ends: Option<&mut OutputEnds>, record: &PageRecord) {
        let mut moved = |name: &str, bytes: &[u8]| {
            let Some(ends) = ends.as_deref_mut() else { return };
            if !ends.contains_key(name) {
                ends.insert(name.to_owned(), OutputEnd::default());
            }
            let end = ends.get_mut(name).expect("it is there");
            (end.bytes, end.pages) = (end.bytes + bytes.len() as u64, end.pages + 1);
        };
        if let Some(line) = self.record {
            moved(PAGES, &line);
            self.slot.put(&line, None);
            spare(line);
        }
        for Addition { output, bytes, slot, begins } in self.others {
            output.sink.remember(record);
            moved(output.sink.name(), &bytes);
            slot.put(&bytes, begins);
            let mut tail = lock(&output.tail);
            (tail.begins, tail.held) = (begins.or(tail.begins), Vec::new());
        }
    }
}

impl Addition<'_> {
    /// Puts bytes that belong before the page's own in front of them, and returns the place of all of them in an output that ends at `end`.
    fn place(&mut self, end: u64, record: &PageRecord) -> (String, OutputPlace) {
        let SinkOutput { sink, tail, .. } = self.output;
        let tail = lock(tail);
        let mut front = Vec::new();
        if let Some(most) = sink.max_file_bytes() {
            let more = (tail.held.len() + self.bytes.len()) as u64;
            if tail.begins.is_none_or(|begins| end > begins && end - begins + more > most) {
                self.begins = Some(end);
                sink.begin(&file_name(sink.name(), end), record, &mut front);
            }
        }
        front.extend_from_slice(&tail.held);
        if !front.is_empty() {
            front.append(&mut self.bytes);
            self.bytes = front;
        }
        (sink.name().to_owned(), OutputPlace::of(end, &self.bytes))
    }
}
