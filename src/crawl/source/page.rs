//! A page. Its links are read if it is HTML or a list of pages, such as a feed.

use super::{ReadLinks, ReadOptions, TakesBody, UrlSource, html, list, text};
use crate::crawl::html::is_html;
use crate::crawl::http::Response;
use crate::crawl::numbers::Tally;
use crate::crawl::records::PageRecord;
use crate::crawl::sitemap::{is_feed, is_gzip, is_sitemap};
use crate::frontier::{Lease, Outcome};

/// A page.
pub(super) struct PageSource;

impl UrlSource for PageSource {
    fn is_recorded(&self) -> bool {
        true
    }

    fn is_page(&self) -> bool {
        true
    }

    fn takes(&self, options: &ReadOptions) -> Option<TakesBody> {
        Some(match (options.sitemaps.enabled, options.parse.text_links) {
            (true, false) => takes_lists,
            (false, false) => takes_pages,
            (true, true) => |content_type, start| takes_lists(content_type, start) || text::is_plain(content_type),
            (false, true) => |content_type, start| takes_pages(content_type, start) || text::is_plain(content_type),
        })
    }

    fn outcome(&self, response: &Response) -> Outcome {
        Outcome::Response { status: response.status, retry_after: response.retry_after }
    }

    fn links(&self, lease: &Lease, response: &Response, options: &ReadOptions) -> Option<ReadLinks> {
        if !response.is_success() || response.raw {
            return None;
        }
        if list::is_list(&response.body, options) || is_packed_sitemap(lease, response, options) {
            return Some(list::read);
        }
        if is_html(response.content_type.as_deref(), &response.body) {
            return Some(html::read);
        }
        if options.parse.text_links && text::is_plain(response.content_type.as_deref()) {
            return Some(text::read);
        }
        (!response.links.is_empty()).then_some(html::read_head)
    }

    fn count(&self, tally: &mut Tally, is_done: bool, _: bool, record: &PageRecord) {
        tally.record_page(is_done, record);
    }
}

fn takes_pages(content_type: Option<&str>, start: &[u8]) -> bool {
    is_html(content_type, start) || is_feed(start)
}

fn takes_lists(content_type: Option<&str>, start: &[u8]) -> bool {
    takes_pages(content_type, start) || is_sitemap(start) || is_gzip(start)
}

/// Whether a page is a sitemap by its name. The contents of gzip are not known before it is unpacked.
fn is_packed_sitemap(lease: &Lease, response: &Response, options: &ReadOptions) -> bool {
    let path = lease.url().split(['?', '#']).next().unwrap_or_default();
    options.sitemaps.enabled && is_gzip(&response.body) && path.ends_with(".xml.gz")
}
