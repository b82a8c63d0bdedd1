//! How long a lease waited before it went out.

use std::time::Duration;

/// How long a lease waited before it went out. `None` if the URL or the host is not in the sample.
///
/// `queued` shows how deep the queue is, `rested` what politeness costs, and `due` what the other bounds cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waited {
    /// Its URL, since it was queued.
    pub(crate) queued: Option<Duration>,
    /// Its host, for the end of its rest, while it had URLs queued.
    pub(crate) rested: Option<Duration>,
    /// Its host, after that: for its group or address, for the rate limit of the crawl, for a free connection.
    pub(crate) due: Option<Duration>,
}
