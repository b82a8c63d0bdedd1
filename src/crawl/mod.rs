//! There and back: async workers that lease, fetch, parse and submit.

mod charset;
mod counts;
mod date;
mod decode;
mod document;
mod fetch;
mod finish;
mod guard;
mod harvest;
mod latency;
mod options;
mod parse;
mod politeness;
mod record;
mod resolve;
mod response;
mod robots_tag;
mod sniff;
mod tally;
mod tls;

pub use charset::EncodingSource;
pub use counts::NameCounts;
pub use date::rfc3339;
pub use fetch::{FetchError, Fetcher, FetcherError};
pub use finish::FinishReason;
pub use guard::is_global;
pub use latency::Latencies;
pub use options::{CrawlOptions, FetchOptions, ParseOptions};
pub use parse::{Link, LinkKind, Page, Reading, parse};
pub use politeness::{PolitenessWatch, Violation};
pub use record::{LinkCounts, PageRecord, Timings};
pub use response::Response;
pub use robots_tag::RobotsTag;
pub use sniff::is_html;
pub use tally::{LinkTotals, Tally, Traffic};
