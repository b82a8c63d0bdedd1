//! There and back: async workers that lease, fetch, parse and submit.

mod counts;
mod decode;
mod fetch;
mod guard;
mod latency;
mod options;
mod politeness;
mod record;
mod resolve;
mod response;
mod robots_tag;
mod tally;
mod tls;

pub use counts::NameCounts;
pub use fetch::{FetchError, Fetcher, FetcherError};
pub use guard::is_global;
pub use latency::Latencies;
pub use options::{CrawlOptions, FetchOptions, ParseOptions};
pub use politeness::{PolitenessWatch, Violation};
pub use record::{LinkCounts, PageRecord, Timings};
pub use response::Response;
pub use robots_tag::RobotsTag;
pub use tally::{LinkTotals, Tally, Traffic};
