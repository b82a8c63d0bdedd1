//! Reads the URLs of a sitemap or feed on their way to the gate, and finds the sitemaps of a host.

use std::time::SystemTime;

use super::{Extract, ReadOptions};
use crate::address::{BaseUrl, CanonicalUrl};
use crate::crawl::date::day_of;
use crate::crawl::html::LinkText;
use crate::crawl::http::Response;
use crate::crawl::records::Listing;
use crate::crawl::sitemap::{
    SitemapAddress, SitemapEntry, SitemapEntryKind, SitemapFormat, SitemapLimits, is_feed, is_sitemap, read_sitemap,
    with_scheme,
};
use crate::driver::LinkUrl;
use crate::frontier::{Lease, LeaseKind};
use crate::gate::{Found, Gate, Refusal, ScopeKind, Via};

/// At most this many levels of sitemaps may be above a sitemap. The protocol allows one; a second is found in practice.
const MOST_ABOVE: u32 = 2;
/// The front queue of sitemaps named by a robots.txt: they are queued like the links of seeds.
const NAMED: u8 = 1;
/// The front queues of sitemaps that another sitemap lists: of recently changed ones, and of others.
const LISTED: [u8; 2] = [2, 4];
/// For this many days, a page counts as recently changed.
const LATELY: i64 = 30;
/// After this many days, it counts as old.
const OLD: i64 = 365;
const DAY: u64 = 24 * 3600;

/// Whether a body requested as a page is a list: a sitemap or feed in XML, whatever its type.
pub(super) fn is_list(start: &[u8], options: &ReadOptions) -> bool {
    is_feed(start) || options.sitemaps.enabled && is_sitemap(start)
}

/// Takes the URLs of a sitemap or feed.
#[expect(clippy::needless_pass_by_value, reason = "a page's reader makes another base of it")]
pub(super) fn read(response: &Response, base: BaseUrl, options: &ReadOptions, extract: &mut Extract) {
    let Some(own) = extract.join(&base, "/") else { return };
    let mut limits = SitemapLimits::default();
    (limits.max_urls, limits.max_bytes) = (options.sitemaps.max_urls, options.sitemaps.max_bytes);
    limits.alternates = options.sitemaps.alternates;
    limits.is_cut = response.truncated || response.incomplete.is_some();
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let today = i64::try_from(now.as_secs() / DAY).unwrap_or_default();
    let (mut pages, mut sitemaps) = (0, 0);
    let mut place = SitemapAddress::new(extract.gate().canonicalizer().clone(), Some(base.clone()));
    let summary = read_sitemap(&response.body, response.content_type.as_deref(), &limits, |entry| {
        let (from, href) = place.complete(&entry);
        let from = from.unwrap_or(&base);
        let kind = if entry.kind == SitemapEntryKind::Item { "feed" } else { "sitemap" };
        let mut link = LinkUrl::new(from, &href);
        extract.keep(&mut link, kind, LinkText::default());
        if entry.kind == SitemapEntryKind::Sitemap {
            sitemaps += 1;
            extract.add_found(link, |link, extract| sitemap(link, &own, &entry, today, options, extract));
        } else {
            pages += 1;
            extract.add_found(link, |link, extract| page(link, &own, &entry, today, options, extract));
        }
    });
    extract.refuse_without_text(Refusal::TooManyLinks, u32::try_from(summary.beyond).unwrap_or(u32::MAX));
    let problem = summary.first_problem(limits.max_urls);
    extract.list = Some(Listing {
        format: summary.format.name().to_owned(),
        urls: pages,
        sitemaps,
        // An empty list or a list that is too long is another problem.
        problems: (summary.problems + u64::from(summary.beyond > 0)).max(u64::from(problem.is_some())),
        problem,
    });
}

/// Records a sitemap in an unknown content coding, which cannot be unpacked.
pub(super) fn refuse_coding(_: &Response, _: BaseUrl, _: &ReadOptions, extract: &mut Extract) {
    extract.list = Some(Listing {
        format: SitemapFormat::Unknown.name().to_owned(),
        problems: 1,
        problem: Some("in a content coding that is not known".to_owned()),
        ..Listing::default()
    });
}

/// Takes the sitemaps that a host's robots.txt names, or its possible `/sitemap.xml` if it names none.
pub(super) fn take_named<'a>(
    host: &CanonicalUrl,
    base: &BaseUrl,
    named: impl Iterator<Item = &'a str>,
    extract: &mut Extract,
) {
    let gate = extract.gate();
    let kind = gate.scope_kind();
    if !gate.takes_sitemaps() || !gate.may_have(host) {
        return;
    }
    let mut is_named = false;
    for href in named {
        is_named = true;
        let href = with_scheme(href, Some(host));
        extract.add_found(LinkUrl::new(base, &href), |link, extract| {
            // A sitemap on another host is taken only if it is known which hosts' pages are wanted.
            if kind == ScopeKind::Prefix && link.url(extract.gate())?.host() != host.host() {
                return Err(Refusal::OutOfScope);
            }
            Ok(found_sitemap(link.take(extract.gate())?, 0, NAMED, host.host()))
        });
    }
    if !is_named && kind != ScopeKind::Any {
        let href = unnamed(host);
        extract.add_found(LinkUrl::new(base, &href), |link, extract| {
            Ok(found_sitemap(link.take(extract.gate())?, 0, NAMED, ""))
        });
    }
}

/// The sitemap that a host may have at the usual place, for a host whose robots.txt is not fetched. It is queued once the host has answered
/// for its first page.
pub(in crate::crawl) fn guess(gate: &Gate, lease: &Lease, options: &ReadOptions) -> Option<Found> {
    // If a host's robots.txt is fetched, the host has answered before its first page.
    if !options.sitemaps.enabled || !lease.is_first_contact() || lease.kind() != LeaseKind::Page {
        return None;
    }
    let host = gate.canonicalizer().canonicalize(lease.url()).ok()?;
    if !gate.takes_sitemaps() || !gate.may_have(&host) || gate.scope_kind() == ScopeKind::Any {
        return None;
    }
    let url = gate.canonicalizer().canonicalize(&unnamed(&host)).ok()?;
    Some(found_sitemap(url, 0, NAMED, ""))
}

/// The address of a possible sitemap, if robots.txt names none. A crawl of all hosts does not try it: most of its hosts have none.
fn unnamed(host: &CanonicalUrl) -> String {
    format!("{}/sitemap.xml", host.origin())
}

fn found_sitemap(url: CanonicalUrl, above: u32, queue: u8, named_by: &str) -> Found {
    let found = Found { priority: Some(queue.into()), ..Found::sitemap(url, above) };
    found.with_metadata(named_by.as_bytes()).expect("a host's name is short")
}

/// A sitemap listed by another one.
fn sitemap(
    link: &mut LinkUrl<'_>,
    own: &CanonicalUrl,
    entry: &SitemapEntry,
    today: i64,
    options: &ReadOptions,
    extract: &Extract,
) -> Result<Found, Refusal> {
    let (above, gate) = (extract.above + 1, extract.gate());
    let url = link.url(gate)?;
    if !options.sitemaps.enabled || !gate.takes_sitemaps() {
        return Err(Refusal::OutOfScope);
    }
    if above > MOST_ABOVE {
        return Err(Refusal::TooDeep);
    }
    check_host(url, own, options, extract)?;
    if !options.counts.take(url.host(), options.sitemaps.per_host) {
        return Err(Refusal::TooManyLinks);
    }
    let queue = LISTED[usize::from(age(entry, today).is_none_or(|age| age > LATELY))];
    Ok(found_sitemap(link.take(gate)?, above, queue, extract.named_by.as_deref().unwrap_or_default()))
}

/// A page listed by a sitemap or feed.
fn page(
    link: &mut LinkUrl<'_>,
    own: &CanonicalUrl,
    entry: &SitemapEntry,
    today: i64,
    options: &ReadOptions,
    extract: &Extract,
) -> Result<Found, Refusal> {
    let (depth, gate) = (extract.links.depth(), extract.gate());
    if entry.kind == SitemapEntryKind::Item {
        return Ok(Found { depth, via: Via::Feed, ..Found::seed(link.take(gate)?) });
    }
    check_host(link.url(gate)?, own, options, extract)?;
    let queue = i64::from(depth) + i64::from(turn(entry, today));
    Ok(Found { depth, via: Via::Listed, priority: Some(queue), ..Found::seed(link.take(gate)?) })
}

/// A sitemap may list URLs of its own host, and of the host whose robots.txt names it (sitemaps.org, "Sitemaps & Cross Submits").
fn check_host(url: &CanonicalUrl, own: &CanonicalUrl, options: &ReadOptions, extract: &Extract) -> Result<(), Refusal> {
    let is_known = url.host() == own.host() || extract.named_by.as_deref() == Some(url.host());
    if is_known || options.sitemaps.any_host { Ok(()) } else { Err(Refusal::CrossHost) }
}

/// How many queues after the links of the same depth a page goes: 0 if its site prefers it or has changed it recently, 2 if its site gives
/// it a low priority or it is old, otherwise 1.
fn turn(entry: &SitemapEntry, today: i64) -> u8 {
    let preferred = match entry.priority {
        Some(0.8..) => -1,
        Some(..=0.3) => 1,
        _ => 0,
    };
    let changed = match age(entry, today) {
        Some(..=LATELY) => -1,
        Some(OLD..) => 1,
        _ => 0,
    };
    u8::try_from((1 + preferred + changed).clamp(0, 2)).unwrap_or_default()
}

/// The number of days since the page or sitemap was changed.
fn age(entry: &SitemapEntry, today: i64) -> Option<i64> {
    entry.lastmod.as_deref().and_then(day_of).map(|day| today - day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_its_site_prefers_or_has_changed_goes_first() {
        for (priority, lastmod, expected) in [
            (None, None, 1),
            (Some(0.5), None, 1),
            (Some(1.0), None, 0),
            (Some(0.8), None, 0),
            (Some(0.3), None, 2),
            (None, Some("1970-01-15"), 0),
            (None, Some("1969"), 2),
            (Some(0.9), Some("1969"), 1),
            (Some(0.9), Some("1970-01-30"), 0),
            (Some(0.1), Some("1970-01-30T10:00:00Z"), 1),
            (Some(0.1), Some("1969"), 2),
            (None, Some("1972"), 0),
            (None, Some("soon"), 1),
        ] {
            let entry = SitemapEntry { priority, lastmod: lastmod.map(str::to_owned), ..SitemapEntry::default() };
            assert_eq!(turn(&entry, 31), expected, "{priority:?} {lastmod:?}");
        }
    }
}
