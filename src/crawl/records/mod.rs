//! What a crawl writes: page records and lists of refused links, and how they are read back.

mod accord;
mod legible;
mod lookup;
mod output;
mod page_record;
mod sink;
mod skipped;

pub(super) use accord::Accord;
pub(crate) use legible::is_unsafe;
pub(super) use legible::legible;
pub use lookup::look_up;
pub(super) use output::Output;
pub use page_record::{LinkCounts, PageRecord, Timings};
pub use sink::{Sink, SinkThread, page_line};
pub(super) use sink::{Slot, Written, line, record};
pub use skipped::SkippedLink;
pub(super) use skipped::{SkipList, Skips};
