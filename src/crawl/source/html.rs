//! The links of a page in HTML, and of any response's head.

use super::{Extract, ReadOptions};
use crate::address::BaseUrl;
use crate::crawl::html::{LinkKind, LinkText, parse};
use crate::crawl::http::Response;
use crate::gate::Refusal;

/// Bytes of the URL that a page names as its own, at most.
const MAX_CANONICAL: usize = 8 << 10;

/// Takes the links of a page in HTML.
pub(super) fn read(response: &Response, base: BaseUrl, options: &ReadOptions, extract: &mut Extract) {
    let (options, fields) = (&options.parse, &options.fields);
    let page = parse(&response.body, response.content_type.as_deref(), options);
    if let Some(fields) = fields {
        extract.fields = fields.extract(&response.body, &page);
    }
    let own = (!response.links.is_empty()).then(|| base.clone());
    let base = base.with_query_encoder(page.query_encoder());
    let base = page.base_href.as_deref().and_then(|href| base.rebase(href)).unwrap_or(base);
    extract.refuse_untold(Refusal::TooLong, page.links_too_long);
    extract.refuse_untold(Refusal::TooManyLinks, page.links_over_limit);
    let nofollow = options.nofollow && (page.robots.nofollow || response.robots.nofollow);
    if let Some(own) = own {
        add_head(response, &own, nofollow, extract);
    }
    for link in page.links.iter() {
        let nofollow = nofollow || (options.nofollow && link.nofollow);
        let is_first = link.kind == LinkKind::Canonical && options.prefer_canonical;
        if is_first || link.kind.is_resource() {
            extract.add_first(&base, link.href, !is_first, nofollow);
        } else {
            extract.add(&base, link.href, nofollow);
        }
    }
    for (link, said) in page.links.iter().zip(page.link_texts) {
        extract.keep(&base, link.href, link.kind.name(), said);
    }
    let canonical = page.canonical.and_then(|href| extract.join(&base, &href));
    extract.canonical = canonical.map(|url| url.wire().to_owned()).filter(|url| url.len() <= MAX_CANONICAL);
    extract.encoding = Some((page.encoding, page.encoding_source));
    extract.title = page.title;
}

/// Takes the links of a response's head: that of a file which is not read.
#[expect(clippy::needless_pass_by_value, reason = "a page's reader makes another base of it")]
pub(super) fn read_head(response: &Response, base: BaseUrl, options: &ReadOptions, extract: &mut Extract) {
    let nofollow = options.parse.nofollow && response.robots.nofollow;
    add_head(response, &base, nofollow, extract);
}

fn add_head(response: &Response, base: &BaseUrl, nofollow: bool, extract: &mut Extract) {
    for href in &response.links {
        extract.add(base, href, nofollow);
        extract.keep(base, href, "header", LinkText::default());
    }
}
