//! Where a run of a crawl ends before all is fetched.

use std::fmt;
use std::time::Duration;

/// Where a run of a crawl ends before all is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// So many pages.
    Pages(u64),
    /// So much time.
    Time(Duration),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pages(1) => f.write_str("1 page"),
            Self::Pages(pages) => write!(f, "{pages} pages"),
            Self::Time(time) => write!(f, "{time:?}"),
        }
    }
}
