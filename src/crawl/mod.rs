//! There and back: async workers that lease, fetch, parse and submit.

mod counts;
mod latency;
mod options;
mod politeness;
mod record;
mod tally;

pub use counts::NameCounts;
pub use latency::Latencies;
pub use options::{CrawlOptions, FetchOptions, ParseOptions};
pub use politeness::{PolitenessWatch, Violation};
pub use record::{LinkCounts, PageRecord, Timings};
pub use tally::{LinkTotals, Tally, Traffic};
