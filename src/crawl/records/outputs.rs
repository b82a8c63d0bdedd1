//! The outputs beside the page records, while a crawl runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::page_record::{OutputPlace, PageRecord};
use super::sink::Sink;
use super::writer::{Line, Slot, Writer};
use crate::crawl::http::Exchange;

/// The outputs beside the page records, each with the writer of its file.
#[derive(Debug, Default)]
pub(in crate::crawl) struct Outputs(Vec<(Arc<dyn Sink>, Writer)>);

/// What the outputs get for one page, each with a place on its way to the writer.
#[derive(Debug)]
pub(in crate::crawl) struct Additions<'a>(Vec<Addition<'a>>);

#[derive(Debug)]
struct Addition<'a> {
    name: &'a str,
    bytes: Line,
    slot: Slot<'a>,
}

/// Where each output ends, by its name, with all that is on the way to it.
pub(in crate::crawl) type OutputEnds = BTreeMap<String, u64>;

impl Outputs {
    /// One more.
    pub(in crate::crawl) fn attach(&mut self, sink: Arc<dyn Sink>, writer: Writer) {
        self.0.push((sink, writer));
    }

    /// Whether one of them wants responses as they came.
    pub(in crate::crawl) fn need_exchange(&self) -> bool {
        self.0.iter().any(|(sink, _)| sink.needs_exchange())
    }

    /// What each of them gets for a page; waits while a writer is behind. `None` where a writer has failed.
    pub(in crate::crawl) async fn additions(
        &self,
        record: &PageRecord,
        exchange: Option<&Exchange>,
    ) -> Option<Additions<'_>> {
        let mut additions = Vec::new();
        for (sink, writer) in &self.0 {
            let mut bytes = Vec::new();
            sink.write(record, exchange, &mut bytes);
            if !bytes.is_empty() {
                additions.push(Addition { name: sink.name(), bytes: bytes.into(), slot: writer.reserve().await? });
            }
        }
        Some(Additions(additions))
    }
}

impl Additions<'_> {
    pub(in crate::crawl) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where they will stand, behind what is there.
    pub(in crate::crawl) fn places(&self, ends: &OutputEnds) -> BTreeMap<String, OutputPlace> {
        let place = |addition: &Addition<'_>| {
            let offset = ends.get(addition.name).copied().unwrap_or_default();
            (addition.name.to_owned(), OutputPlace::of(offset, &addition.bytes))
        };
        self.0.iter().map(place).collect()
    }

    /// Sends them on their way, and moves the ends.
    pub(in crate::crawl) fn put(self, ends: &mut OutputEnds) {
        for Addition { name, bytes, slot } in self.0 {
            *ends.entry(name.to_owned()).or_default() += bytes.len() as u64;
            slot.put(bytes);
        }
    }
}
