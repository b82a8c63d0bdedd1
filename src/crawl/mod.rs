//! There and back: async workers that lease, fetch, parse and submit.

mod options;
mod record;

pub use options::{CrawlOptions, FetchOptions, ParseOptions};
pub use record::{LinkCounts, PageRecord, Timings};
