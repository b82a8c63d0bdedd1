//! A sitemap. The URLs that it lists are its links.

use super::{Extract, ReadLinks, ReadOptions, TakesBody, UrlSource, html, list};
use crate::address::BaseUrl;
use crate::crawl::html::is_html;
use crate::crawl::http::Response;
use crate::crawl::numbers::Tally;
use crate::crawl::records::PageRecord;
use crate::crawl::sitemap::SitemapFormat;
use crate::frontier::{Lease, Outcome};

/// A sitemap.
pub(super) struct SitemapSource;

impl UrlSource for SitemapSource {
    fn is_recorded(&self) -> bool {
        true
    }

    /// A guessed file that is not a sitemap gets no record.
    fn is_worth_a_record(&self, lease: &Lease, record: &PageRecord) -> bool {
        let is_one = record.list.as_ref().is_some_and(|list| list.format != SitemapFormat::Unknown.name());
        !is_guess(lease) || record.given_up || is_one
    }

    fn takes(&self, _: &ReadOptions) -> Option<TakesBody> {
        None
    }

    fn max_bytes(&self, options: &ReadOptions) -> Option<usize> {
        Some(options.sitemaps.max_bytes)
    }

    fn named_by(&self, lease: &Lease) -> Option<Box<str>> {
        std::str::from_utf8(lease.metadata()).ok().filter(|host| !host.is_empty()).map(Box::from)
    }

    fn outcome(&self, response: &Response) -> Outcome {
        Outcome::Response { status: response.status, retry_after: response.retry_after }
    }

    fn links(&self, lease: &Lease, response: &Response, _: &ReadOptions) -> Option<ReadLinks> {
        if !response.is_success() {
            return None;
        }
        if response.raw {
            return Some(list::refuse_coding);
        }
        // A list of pages for people, or an error page; or a sitemap served as HTML.
        let is_page = !is_guess(lease) && is_html(response.content_type.as_deref(), &response.body);
        Some(if is_page { read_list_or_page } else { list::read })
    }

    fn count(&self, tally: &mut Tally, is_done: bool, has_record: bool, record: &PageRecord) {
        if is_done && !has_record {
            tally.record_guess(record);
        } else {
            tally.record_page(is_done, record);
        }
    }
}

/// Whether it was requested only because a sitemap might be there: nothing names it.
fn is_guess(lease: &Lease) -> bool {
    lease.metadata().is_empty() && lease.referrer().is_none()
}

fn read_list_or_page(response: &Response, base: BaseUrl, options: &ReadOptions, extract: &mut Extract) {
    list::read(response, base.clone(), options, extract);
    if extract.list.as_ref().is_none_or(|list| list.format == SitemapFormat::Unknown.name()) {
        html::read(response, base, options, extract);
    }
}
