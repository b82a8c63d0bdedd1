//! Why a crawl ended.

use serde::{Deserialize, Serialize};

/// Why a crawl ended. In a report by its name in lower case: `max_pages`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// Everything in scope was fetched or refused.
    Drained,
    /// Less than [`JobOptions::min_free_disk`](super::JobOptions::min_free_disk) was free.
    DiskLow,
    /// [`CrawlOptions::max_duration`](super::CrawlOptions::max_duration) was over.
    MaxDuration,
    /// [`CrawlOptions::max_pages`](super::CrawlOptions::max_pages) were recorded.
    MaxPages,
    /// The proxy has failed for [`FetchOptions::proxy_patience`](super::FetchOptions::proxy_patience), or does not take our sign-in.
    ProxyFailed,
    /// Records went to a pipe whose reader has gone.
    ReaderLeft,
    /// The seen filter is at its capacity, and is to stop there: [`OnFull::Stop`](crate::seen::OnFull::Stop).
    SeenFull,
    /// Records could not be written any more.
    SinkFailed,
    /// Somebody asked it to stop.
    Stopped,
    /// The frontier's storage failed: what is found could not be kept.
    StorageFailed,
    /// It has not ended: another process runs it, or was killed. See [`look`](super::look).
    Unfinished,
}
