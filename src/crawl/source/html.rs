//! The links of an HTML page, and those of any response's head.

use ahash::AHashSet;

use super::{Extract, ReadOptions};
use crate::address::BaseUrl;
use crate::crawl::ParseOptions;
use crate::crawl::html::{LinkKind, LinkText, each_json_ld, parse};
use crate::crawl::http::Response;
use crate::gate::Refusal;

/// Takes the links of an HTML page.
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
    // A page's own canonical URL comes before its server's.
    let canonical = page.canonical.as_deref().and_then(|href| extract.join(&base, href));
    let in_head = response.canonical.as_deref().filter(|_| canonical.is_none());
    if let Some(own) = &own {
        add_head(response, own, in_head.filter(|_| options.prefer_canonical), nofollow, extract);
    }
    let canonical = canonical.or_else(|| extract.join(own.as_ref()?, in_head?));
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
    if options.json_ld {
        let room = options.max_links.saturating_sub(page.links.len());
        add_json_ld(response, &base, options, room, nofollow, extract);
    }
    extract.name_canonical(canonical);
    extract.encoding = Some((page.encoding, page.encoding_source));
    extract.noindex = page.robots.noindex;
    extract.title = page.title;
}

/// Takes the links of a response's head, for a file whose body is not read.
#[expect(clippy::needless_pass_by_value, reason = "a page's reader makes another base of it")]
pub(super) fn read_head(response: &Response, base: BaseUrl, options: &ReadOptions, extract: &mut Extract) {
    let nofollow = options.parse.nofollow && response.robots.nofollow;
    add_head_links(response, &base, &options.parse, nofollow, extract);
}

/// Takes the links of a head, and the page's canonical URL if the head names one.
pub(super) fn add_head_links(
    response: &Response,
    base: &BaseUrl,
    options: &ParseOptions,
    nofollow: bool,
    extract: &mut Extract,
) {
    let canonical = response.canonical.as_deref();
    add_head(response, base, canonical.filter(|_| options.prefer_canonical), nofollow, extract);
    let canonical = canonical.and_then(|href| extract.join(base, href));
    extract.name_canonical(canonical);
}

/// Takes the URLs of the page's structured data, each once, as far as there is room. Parts of the page are taken only if resources are
/// wanted.
fn add_json_ld(
    response: &Response,
    base: &BaseUrl,
    options: &ParseOptions,
    room: usize,
    nofollow: bool,
    extract: &mut Extract,
) {
    let (mut known, mut beyond) = (AHashSet::new(), 0);
    each_json_ld(&response.body, |href, is_part| {
        if is_part && !options.resources || known.contains(href) {
            return;
        }
        if known.len() == room {
            beyond += 1;
            return;
        }
        known.insert(href.to_owned());
        if is_part {
            extract.add_first(base, href, true, nofollow);
        } else {
            extract.add(base, href, nofollow);
        }
        extract.keep(base, href, "json_ld", LinkText::default());
    });
    extract.refuse_untold(Refusal::TooManyLinks, beyond);
}

/// Takes the links of a head, `first` before the page's other links.
fn add_head(response: &Response, base: &BaseUrl, first: Option<&str>, nofollow: bool, extract: &mut Extract) {
    for href in &response.links {
        if first == Some(href) {
            extract.add_first(base, href, false, nofollow);
        } else {
            extract.add(base, href, nofollow);
        }
        let is_canonical = response.canonical.as_ref() == Some(href);
        let rel = is_canonical.then(|| "canonical".to_owned());
        extract.keep(base, href, "header", LinkText { rel, ..LinkText::default() });
    }
}
