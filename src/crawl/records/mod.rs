//! What a crawl writes, and how it is read back: page records, other outputs, bodies, and the list of refused links.
//!
//! | part | where |
//! |---|---|
//! | one line of `pages.jsonl` | `page_record`; `legible` makes texts from the web safe for it |
//! | other outputs: the trait [`Sink`], the list of links | `sink` |
//! | web archives | `warc` |
//! | while a crawl runs: what each page adds to each output, and the thread that writes it | `outputs`, `writer` |
//! | an output's files; all outputs of a job, for checkpoints and resumes | `output`, `output_files` |
//! | the thread that looks after them while they are written | `keeper` |
//! | outputs that the partitions of one process share | `part_outputs` |
//! | bodies as files | `bodies` |
//! | refused links | `skipped` |
//! | reading back | `lookup` |

mod bodies;
mod keeper;
mod legible;
mod lookup;
mod output;
mod output_files;
mod outputs;
mod page_record;
#[cfg(feature = "cluster")]
mod part_outputs;
mod sink;
mod skipped;
mod warc;
mod writer;

pub(super) use bodies::{Bodies, EarlierBodies};
pub(crate) use keeper::KeeperThread;
pub(super) use keeper::{KeeperClock, OutputKeeper};
pub(crate) use legible::is_unsafe;
pub(super) use legible::{legible, message};
#[cfg(feature = "cluster")]
pub(crate) use lookup::look_through;
pub use lookup::{PageFormat, look_up, look_up_refused};
pub(super) use lookup::{each_record, open_if_there};
pub(super) use output::Output;
pub(super) use output_files::{BegunOutputs, EarlierOutputs, OutputFiles, check_length, confirmed_bytes};
pub use outputs::OutputEnd;
pub(super) use outputs::{OutputEnds, Outputs, PageExtras, PendingWrites, SinkOutput};
pub(crate) use page_record::is_zero;
#[cfg(test)]
pub(super) use page_record::line;
pub use page_record::{
    ClusterPlace, Duplicate, LinkCounts, Listing, OutputPlace, PageChange, PageRecord, RecordKind, Recrawled,
    RevisitOf, Timings,
};
pub(super) use page_record::{log_page, record};
#[cfg(feature = "cluster")]
pub(crate) use part_outputs::{PartKeeps, PartOutputs};
pub use sink::{DonePage, Edge, LinkList, LinkRecord, Sink};
pub use skipped::SkippedLink;
pub(super) use skipped::{SkipList, Skips};
pub use warc::{Archive, CdxjIndex, WarcCompression, archives_in};
pub(super) use writer::Written;
pub use writer::{Writer, WriterThread};
