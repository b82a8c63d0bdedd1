//! What a crawl fetches with; its partitions can share it.

use std::sync::Arc;

use super::bounds::{Memory, ResourceLimits};
use super::error::CrawlError;
use super::http::Fetcher;
use super::options::CrawlOptions;

/// What a crawl fetches with: connections, and memory for pages in flight. The partitions of a crawl in one process share it. Cheap to
/// clone.
#[derive(Clone, Debug)]
pub(crate) struct FetchResources {
    pub(super) fetcher: Arc<Fetcher>,
    pub(super) memory: Memory,
}

impl FetchResources {
    /// With room for as many fetches at once as the options say.
    ///
    /// # Errors
    /// If an option is out of range, or the HTTP client cannot be built.
    pub(crate) fn new(options: &CrawlOptions) -> Result<Self, CrawlError> {
        ResourceLimits::check(options.workers, options.memory)?;
        let places = ResourceLimits::fit(options.workers, options.memory);
        let asks_beside = options.frontier.politeness.connections_per_host > 1;
        let fetcher = Arc::new(Fetcher::within(&options.fetch, places, asks_beside)?);
        Ok(Self { fetcher, memory: Memory::new(options.memory) })
    }
}
