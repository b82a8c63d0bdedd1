//! A host's robots.txt. The frontier reads its rules; the sitemaps that it names are its links.

use super::{Extract, ReadLinks, ReadOptions, TakesBody, UrlSource, list};
use crate::address::BaseUrl;
use crate::crawl::http::Response;
use crate::crawl::numbers::Tally;
use crate::crawl::records::PageRecord;
use crate::frontier::{Failure, Lease, Outcome, Robots, Trouble};

/// A host's robots.txt.
pub(super) struct RobotsSource;

impl UrlSource for RobotsSource {
    fn is_recorded(&self) -> bool {
        false
    }

    fn takes(&self, _: &ReadOptions) -> Option<TakesBody> {
        None
    }

    /// Otherwise, a host whose file is a line shorter than its Content-Length would not be crawled at all.
    fn reads_so_far(&self) -> bool {
        true
    }

    /// After a redirect, the file is elsewhere, and applies to the host that was asked first. If the file is also the own robots.txt of the
    /// host where it is, both hosts are named.
    fn named_by(&self, lease: &Lease) -> Option<Box<str>> {
        Some(match lease.for_other() {
            None => lease.origin().into(),
            Some(other) if lease.is_own_robots() => format!("{} {other}", lease.origin()).into(),
            Some(other) => other.into(),
        })
    }

    fn outcome(&self, response: &Response) -> Outcome {
        // Rules in an unknown content coding cannot be read. Taken as text, they would allow everything.
        if response.raw {
            return Outcome::Failed(Trouble::new(Failure::BadResponse, "in a content coding that is not known"));
        }
        let (status, retry_after) = (response.status, response.retry_after);
        let body = response.body[..response.body.len().min(Robots::MAX_BYTES + 1)].to_vec();
        Outcome::Robots { status, retry_after, body, validators: response.validators.clone() }
    }

    fn links(&self, _: &Lease, response: &Response, options: &ReadOptions) -> Option<ReadLinks> {
        let is_there = response.is_success() && !response.raw && response.incomplete.is_none();
        let is_missing = (400..500).contains(&response.status) && !matches!(response.status, 408 | 425 | 429);
        (options.sitemaps.enabled && (is_there || is_missing)).then_some(read)
    }

    fn count(&self, tally: &mut Tally, is_done: bool, _: bool, record: &PageRecord) {
        tally.record_robots(is_done, record);
    }
}

#[expect(clippy::needless_pass_by_value, reason = "a page's reader makes another base of it")]
fn read(response: &Response, base: BaseUrl, _: &ReadOptions, extract: &mut Extract) {
    let Some(origins) = extract.named_by.take() else { return };
    let body = if response.is_success() { &response.body[..] } else { &[] };
    let sitemaps = Robots::sitemaps_of(body);
    for origin in origins.split(' ') {
        let Some(host) = extract.join(&base, &format!("{origin}/")) else { return };
        list::take_named(&host, &base, sitemaps.iter().map(String::as_str), extract);
    }
}
