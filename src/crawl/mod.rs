//! There and back: a loop that leases, and tasks that fetch, parse and submit.

mod bounds;
mod checkpointer;
mod crew;
mod dispatch;
mod error;
mod finish;
mod finished;
mod html;
mod http;
mod lock;
mod look;
mod numbers;
mod options;
mod records;
mod resume;
mod retry;
mod run;
mod stop;
mod visit;
mod worker;

pub use bounds::{Places, raise_open_files};
pub use checkpointer::CheckpointCosts;
pub use error::CrawlError;
pub use finish::FinishReason;
pub use finished::Finished;
pub use html::{EncodingSource, Link, LinkKind, Page, Reading, RobotsTag, is_html, parse};
pub use http::{Exchange, FetchError, Fetcher, FetcherError, Response, is_global};
pub use look::{Underway, has_gone_on, look};
pub use numbers::{
    Latencies, LinkTotals, NameCounts, PolitenessCounts, PolitenessWatch, Progress, SeedCounts, Tally, Traffic,
    Violation,
};
pub use options::{CrawlOptions, FetchOptions, JobOptions, ParseOptions};
#[cfg(feature = "cli")]
pub(crate) use records::is_unsafe;
pub use records::{
    LinkCounts, OutputPlace, PageRecord, Sink, SkippedLink, Timings, Writer, WriterThread, look_up, page_line,
};
pub use resume::Resumed;
pub use run::Crawl;
pub use stop::Stop;
