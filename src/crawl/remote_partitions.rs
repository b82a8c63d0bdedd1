//! Where the rest of a crawl is, when this one is a part of it.

use super::http::RequestPermit;
use super::records::ClusterPlace;
use crate::address::{CanonicalUrl, Fingerprint};
use crate::gate::Found;

/// Where the rest of a crawl is. A crawl that is a part of a greater one fetches its own URLs, and sends the
/// others there. Where it may not ask any more, this part may be another process's by now.
pub(crate) trait RemotePartitions: RequestPermit {
    /// Whether another part has this URL.
    fn has(&self, url: &CanonicalUrl) -> bool;

    /// Takes URLs of other parts. Before the journal has the page that they were found on, they are where no crash can take them.
    /// Returns how many were sent not long ago, and are not sent again.
    fn send(&self, found: Vec<(Found, Fingerprint)>) -> u64;

    /// The place of the next record.
    fn place(&self) -> ClusterPlace;
}
