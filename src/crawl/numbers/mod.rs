//! A crawl's counters, and how one run of a job passes them on to the next.
//!
//! [`Tally`] has all counters of a run (`tally`); its parts are in `answers`, `counts` and `failures`. `timeline` has the numbers over time
//! and those of now, `politeness_watch` checks the politeness of each request. `carried` passes all of these on.

mod answers;
mod carried;
mod counts;
mod failures;
mod politeness_watch;
mod tally;
mod timeline;

pub use answers::{AnswerCounts, Breakdown, NameCounts, StatusClasses};
pub(crate) use carried::Carried;
pub use carried::Cost;
pub(in crate::crawl) use carried::{Spent, SpentFile};
pub use counts::{
    DuplicateCounts, RecrawlCounts, SeedCounts, SignedCounts, SitemapCounts, SourceCounts, UrlCounts, WaitTimes,
};
pub use failures::{Example, FailedPage, FailedPages, HostAnswers, RefusingHost};
pub(crate) use politeness_watch::WatchedRequest;
pub use politeness_watch::{PolitenessCounts, PolitenessWatch, Violation};
pub use tally::{Tally, Traffic};
pub use timeline::{Moment, Progress, Timeline};
