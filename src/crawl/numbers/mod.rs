//! A crawl's counters, and how one run of a job hands them to the next.

mod carried;
mod cost;
mod duplicate_counts;
mod examples;
mod name_counts;
mod politeness_watch;
mod progress;
mod recrawl_counts;
mod seed_counts;
mod sitemap_counts;
mod source_counts;
mod spent;
mod status_classes;
mod tally;
mod timeline;
mod wait_times;

pub(crate) use carried::Carried;
pub use cost::Cost;
pub use duplicate_counts::DuplicateCounts;
pub use examples::Example;
pub(crate) use examples::merge as merge_examples;
pub use name_counts::NameCounts;
pub(crate) use politeness_watch::Asking;
pub use politeness_watch::{PolitenessCounts, PolitenessWatch, Violation};
pub use progress::Progress;
pub use recrawl_counts::RecrawlCounts;
pub use seed_counts::SeedCounts;
pub use sitemap_counts::SitemapCounts;
pub use source_counts::SourceCounts;
pub(in crate::crawl) use spent::{Spent, SpentFile};
pub use status_classes::{Breakdown, StatusClasses};
pub use tally::{Tally, Traffic};
pub use timeline::{Moment, Timeline};
pub use wait_times::WaitTimes;
