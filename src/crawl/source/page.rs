//! A page. Its links are read where it is HTML.

use super::{Extract, ReadLinks, UrlSource};
use crate::address::BaseUrl;
use crate::crawl::html::{is_html, parse};
use crate::crawl::http::Response;
use crate::crawl::numbers::Tally;
use crate::crawl::options::ParseOptions;
use crate::crawl::records::PageRecord;
use crate::frontier::Outcome;
use crate::gate::Refusal;

/// A page.
pub(super) struct PageSource;

impl UrlSource for PageSource {
    fn is_recorded(&self) -> bool {
        true
    }

    fn wants_html(&self) -> bool {
        true
    }

    fn outcome(&self, response: &Response) -> Outcome {
        Outcome::Response { status: response.status, retry_after: response.retry_after }
    }

    fn links(&self, response: &Response) -> Option<ReadLinks> {
        let is_page = response.is_success() && !response.raw;
        (is_page && is_html(response.content_type.as_deref(), &response.body)).then_some(read)
    }

    fn count(&self, tally: &mut Tally, is_done: bool, record: &PageRecord) {
        tally.record_page(is_done, record);
    }
}

fn read(response: &Response, base: BaseUrl, options: &ParseOptions, extract: &mut Extract) {
    let page = parse(&response.body, response.content_type.as_deref(), options);
    let base = base.with_query_encoder(page.query_encoder());
    let base = page.base_href.as_deref().and_then(|href| base.rebase(href)).unwrap_or(base);
    extract.refuse_untold(Refusal::TooLong, page.links_too_long);
    extract.refuse_untold(Refusal::TooManyLinks, page.links_over_limit);
    let nofollow = options.nofollow && (page.robots.nofollow || response.robots.nofollow);
    for link in page.links.iter() {
        extract.add(&base, link.href, nofollow || (options.nofollow && link.nofollow));
    }
    extract.encoding = Some((page.encoding, page.encoding_source));
    extract.title = page.title;
}
