//! What a crawl writes: page records and lists of refused links, and how they are read back.

mod agree;
mod legible;
mod lookup;
mod output;
mod output_files;
mod outputs;
mod page_record;
mod sink;
mod skipped;
mod writer;

pub(super) use agree::Accord;
pub(crate) use legible::is_unsafe;
pub(super) use legible::legible;
pub use lookup::look_up;
pub(super) use output::Output;
pub(super) use output_files::OutputFiles;
pub(super) use outputs::{Additions, OutputEnds, Outputs};
pub use page_record::{LinkCounts, OutputPlace, PageRecord, Timings, page_line};
pub(super) use page_record::{line, record};
pub use sink::Sink;
pub use skipped::SkippedLink;
pub(super) use skipped::{SkipList, Skips};
pub(super) use writer::{Slot, Written};
pub use writer::{Writer, WriterThread};
