//! What a crawl writes, and how it is read back: page records, other outputs, and the list of refused links.

mod agreement;
mod bodies;
mod done_page;
mod earlier_outputs;
mod edge;
mod legible;
#[cfg(feature = "cluster")]
mod lines_backward;
mod link_list;
mod logged;
mod lookup;
mod output;
mod output_files;
mod output_part;
mod outputs;
#[cfg(feature = "cluster")]
mod outputs_keeper;
mod page_change;
mod page_format;
mod page_record;
#[cfg(feature = "cluster")]
mod part_outputs;
mod recall;
mod recrawled;
mod series;
mod sink;
mod skipped;
mod warc;
mod writer;
mod written;

pub(super) use agreement::agree;
pub(super) use bodies::{Bodies, EarlierBodies};
pub use done_page::DonePage;
pub(super) use earlier_outputs::EarlierOutputs;
pub use edge::Edge;
pub(crate) use legible::is_unsafe;
pub(super) use legible::legible;
pub use link_list::{LinkList, LinkRecord};
pub(super) use logged::log_page;
#[cfg(feature = "cluster")]
pub(crate) use lookup::look_through;
pub(super) use lookup::open_if_there;
pub use lookup::{look_up, look_up_refused};
pub(super) use output::Output;
pub(super) use output_files::OutputFiles;
pub use outputs::OutputEnd;
pub(super) use outputs::{OutputEnds, Outputs, PageExtras, PendingWrites, SinkOutput};
#[cfg(feature = "cluster")]
pub(crate) use outputs_keeper::KeeperThread;
pub use page_change::PageChange;
pub use page_format::PageFormat;
pub(crate) use page_record::is_zero;
#[cfg(test)]
pub(super) use page_record::line;
pub(super) use page_record::record;
pub use page_record::{
    ClusterPlace, Duplicate, LinkCounts, Listing, OutputPlace, PageRecord, RecordKind, RevisitOf, Timings,
};
#[cfg(feature = "cluster")]
pub(crate) use part_outputs::{PartKeeps, PartOutputs};
pub(super) use recall::{each_record, remember};
pub use recrawled::Recrawled;
pub use sink::Sink;
pub use skipped::SkippedLink;
pub(super) use skipped::{SkipList, Skips};
pub use warc::{Archive, CdxjIndex, WarcCompression, archives_in};
pub use writer::{Writer, WriterThread};
pub(super) use written::Written;
