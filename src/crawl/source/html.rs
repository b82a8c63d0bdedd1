//! The links of a page in HTML, and of any response's head.

use super::{Extract, ReadOptions};
use crate::address::BaseUrl;
use crate::crawl::html::parse;
use crate::crawl::http::Response;
use crate::gate::Refusal;

/// Takes the links of a page in HTML.
pub(super) fn read(response: &Response, base: BaseUrl, options: &ReadOptions, extract: &mut Extract) {
    let options = &options.parse;
    let page = parse(&response.body, response.content_type.as_deref(), options);
    let own = (!response.links.is_empty()).then(|| base.clone());
    let base = base.with_query_encoder(page.query_encoder());
    let base = page.base_href.as_deref().and_then(|href| base.rebase(href)).unwrap_or(base);
    extract.refuse_untold(Refusal::TooLong, page.links_too_long);
    extract.refuse_untold(Refusal::TooManyLinks, page.links_over_limit);
    let nofollow = options.nofollow && (page.robots.nofollow || response.robots.nofollow);
    if let Some(own) = own {
        response.links.iter().for_each(|href| extract.add(&own, href, nofollow));
    }
    for link in page.links.iter() {
        extract.add(&base, link.href, nofollow || (options.nofollow && link.nofollow));
    }
    extract.encoding = Some((page.encoding, page.encoding_source));
    extract.title = page.title;
}

/// Takes the links of a response's head: that of a file which is not read.
#[expect(clippy::needless_pass_by_value, reason = "a page's reader makes another base of it")]
pub(super) fn read_head(response: &Response, base: BaseUrl, options: &ReadOptions, extract: &mut Extract) {
    let nofollow = options.parse.nofollow && response.robots.nofollow;
    response.links.iter().for_each(|href| extract.add(&base, href, nofollow));
}
