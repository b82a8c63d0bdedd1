//! The outputs of a crawl while it runs: the page records, and what each [`Sink`] adds for a page.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use super::page_record::{OutputPlace, PageRecord, line};
use super::sink::Sink;
use super::writer::{Slot, Writer};
use crate::crawl::http::Exchange;
use crate::crawl::lock::lock;
use crate::frontier::ReceiptsBuf;
use crate::job::PAGES;

/// The outputs of a crawl, each with the writer of its file.
#[derive(Debug)]
pub(in crate::crawl) struct Outputs {
    /// The page records.
    pub(in crate::crawl) pages: Writer,
    pub(in crate::crawl) sinks: Vec<(Arc<dyn Sink>, Writer)>,
}

/// What one page adds to the outputs, with a place on the way to each writer.
#[derive(Debug)]
pub(in crate::crawl) struct Additions<'a> {
    /// The page's record, once it is made.
    record: Option<Vec<u8>>,
    slot: Slot<'a>,
    others: Vec<Addition<'a>>,
}

#[derive(Debug)]
struct Addition<'a> {
    name: &'a str,
    bytes: Vec<u8>,
    slot: Slot<'a>,
}

/// Where each output ends, by its name. What is on the way to it counts.
pub(in crate::crawl) type OutputEnds = BTreeMap<String, u64>;

impl Outputs {
    /// Whether a sink wants responses as they came.
    pub(in crate::crawl) fn need_exchange(&self) -> bool {
        self.sinks.iter().any(|(sink, _)| sink.needs_exchange())
    }

    /// Asks each sink what a page adds to it, and waits for a place on the way to each writer. `None` where a writer has failed.
    pub(in crate::crawl) async fn additions(
        &self,
        record: &PageRecord,
        exchange: Option<&Exchange>,
    ) -> Option<Additions<'_>> {
        let slot = self.pages.reserve().await?;
        let mut others = Vec::new();
        for (sink, writer) in &self.sinks {
            let mut bytes = Vec::new();
            sink.write(record, exchange, &mut bytes);
            if !bytes.is_empty() {
                others.push(Addition { name: sink.name(), bytes, slot: writer.reserve().await? });
            }
        }
        Some(Additions { record: None, slot, others })
    }
}

impl Additions<'_> {
    /// Makes the page's record, and receipts for all that it adds behind these ends. Without ends there are no receipts: the outputs
    /// cannot be read again. Hold the ends until the page is in the journal, so that the outputs have the journal's order.
    pub(in crate::crawl) fn finish<'a>(
        &mut self,
        record: &mut PageRecord,
        ends: Option<&'a Mutex<OutputEnds>>,
    ) -> (ReceiptsBuf, Option<MutexGuard<'a, OutputEnds>>) {
        // Most crawls have no other outputs. Their pages need not wait for each other here.
        self.record = self.others.is_empty().then(|| line(record));
        let ends = ends.map(lock);
        let mut receipts = ReceiptsBuf::default();
        if let Some(ends) = &ends {
            let end = |name: &str| ends.get(name).copied().unwrap_or_default();
            let place = |other: &Addition<'_>| (other.name.to_owned(), OutputPlace::of(end(other.name), &other.bytes));
            record.outputs = self.others.iter().map(place).collect();
            receipts.add(PAGES, self.record.get_or_insert_with(|| line(record)), end(PAGES));
            for (name, place) in &record.outputs {
                receipts.push(name, place.receipt());
            }
        }
        self.record.get_or_insert_with(|| line(record));
        (receipts, ends)
    }

    /// Sends all to the writers, and moves the ends.
    pub(in crate::crawl) fn put(self, mut ends: Option<&mut OutputEnds>) {
        let record = self.record.map(|bytes| Addition { name: PAGES, bytes, slot: self.slot });
        for Addition { name, bytes, slot } in record.into_iter().chain(self.others) {
            if let Some(ends) = ends.as_deref_mut() {
                match ends.get_mut(name) {
                    Some(end) => *end += bytes.len() as u64,
                    None => _ = ends.insert(name.to_owned(), bytes.len() as u64),
                }
            }
            slot.put(&bytes);
        }
    }
}
