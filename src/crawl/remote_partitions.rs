//! The rest of a distributed crawl, as one of its partitions sees it.

use super::http::RequestPermit;
use super::records::ClusterPlace;
use crate::address::{CanonicalUrl, Fingerprint};
use crate::gate::Found;

/// The rest of a distributed crawl. A crawl of one partition fetches its own URLs, and sends the others there. If it may not ask any more,
/// the partition may have another owner by now.
pub(crate) trait RemotePartitions: RequestPermit {
    /// Whether another partition owns this URL.
    fn has(&self, url: &CanonicalUrl) -> bool;

    /// Takes URLs of other partitions. They are safe from a crash before the journal has the page they were found on. Returns how many were
    /// sent not long ago, and are not sent again.
    fn send(&self, found: Vec<(Found, Fingerprint)>) -> u64;

    /// The place of the next record.
    fn place(&self) -> ClusterPlace;
}
