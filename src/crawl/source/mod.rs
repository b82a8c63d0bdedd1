//! The sources: the kinds of URLs that can be leased, and what the crawl does with each kind. Only this module distinguishes the kinds.
//!
//! A source is a type that implements [`UrlSource`], and has a line in [`source_of`]: a page, a robots.txt or a sitemap. It says what a
//! complete response means to the frontier, whether links are read from it, and where it is counted. Everything else is the same for all
//! kinds: how a URL is requested, how redirects and failures are handled, and how links go through the gate. `links` reads pages and plain
//! texts, `list` sitemaps and feeds, and `extract` collects what they take.
//!
//! # Sitemaps
//!
//! A sitemap is a URL like any other: it passes the gate, waits for its host, obeys its robots.txt, is tried again, and has a record. Only
//! its kind differs. So nothing about a sitemap is kept outside the journal, and a resume needs nothing else.
//!
//! | found | by |
//! |---|---|
//! | in a line of a robots.txt, whenever one is fetched | [`RobotsSource`] |
//! | as `/sitemap.xml` of a host whose robots.txt names none, except in a crawl of all hosts. If it does not exist, it has no record | [`RobotsSource`] |
//! | the same, for a host whose robots.txt is not fetched, when its first page has come | `list` |
//! | in another sitemap, up to two levels deep | `list` |
//!
//! A page that turns out to be a sitemap or feed is also read as one, by `list`; a sitemap that turns out to be a page is read as a page.
//! So a file may be found first by a link of either kind.

mod extract;
mod links;
mod list;

use super::html::is_html;
use super::http::{Response, TakesBody};
use super::numbers::Tally;
use super::records::PageRecord;
use super::sitemap::{SitemapFormat, is_feed, is_gzip, is_sitemap};
use crate::address::BaseUrl;
use crate::frontier::{Failure, Lease, LeaseKind, Outcome, Robots, Trouble};

pub(super) use extract::{Extract, ReadOptions};
pub(super) use list::guess as guess_sitemap;

/// A function that takes links from a response. The response's URL is the base.
pub(super) type ReadLinks = fn(&Response, BaseUrl, &ReadOptions, &mut Extract);

/// What the crawl does with leases of one kind.
pub(super) trait UrlSource: Sync {
    /// Whether each completed URL has a record in the outputs. If not, its refused links are not listed either.
    fn is_recorded(&self) -> bool;

    /// Whether this URL has a record.
    fn is_worth_a_record(&self, _: &Lease, _: &PageRecord) -> bool {
        self.is_recorded()
    }

    /// Whether it counts toward `max_pages`.
    fn is_page(&self) -> bool {
        false
    }

    /// The function that recognizes, by its beginning, a body that is wanted completely. `None` if all bodies are.
    fn takes(&self, options: &ReadOptions) -> Option<TakesBody>;

    /// Whether a body that is slightly shorter than its stated length, or is not in gzip although its head says so, is read anyway.
    fn accepts_faults(&self) -> bool {
        false
    }

    /// At most this many bytes of a body are taken; `None` for the limit of pages.
    fn max_bytes(&self, _: &ReadOptions) -> Option<usize> {
        None
    }

    /// For a sitemap, the host whose robots.txt names it. For a robots.txt, the origins of the hosts that it holds for, separated by a
    /// blank.
    fn named_by(&self, _: &Lease) -> Option<Box<str>> {
        None
    }

    /// What a complete response means to the frontier. A redirect is another outcome.
    fn outcome(&self, response: &Response) -> Outcome;

    /// The function that reads the links of a response that is not a redirect; `None` if no links are read from it. The body may have
    /// broken off.
    fn links(&self, lease: &Lease, response: &Response, options: &ReadOptions) -> Option<ReadLinks>;

    /// Counts a request by its record. The request is done, or will be tried again.
    fn count(&self, tally: &mut Tally, is_done: bool, has_record: bool, record: &PageRecord);
}

/// The source of leases of this kind.
pub(super) fn source_of(kind: LeaseKind) -> &'static dyn UrlSource {
    match kind {
        LeaseKind::Page => &PageSource,
        LeaseKind::Robots => &RobotsSource,
        LeaseKind::Sitemap => &SitemapSource,
    }
}

/// A page. Its links are read if it is HTML or a list of pages, such as a feed.
struct PageSource;

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
            (true, true) => |content_type, start| takes_lists(content_type, start) || links::is_plain(content_type),
            (false, true) => |content_type, start| takes_pages(content_type, start) || links::is_plain(content_type),
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
            return Some(links::read_page);
        }
        if options.parse.text_links && links::is_plain(response.content_type.as_deref()) {
            return Some(links::read_text);
        }
        (!response.links.is_empty()).then_some(links::read_head)
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

/// Whether a page is a packed sitemap, by its name: its contents are not known before gzip is undone.
fn is_packed_sitemap(lease: &Lease, response: &Response, options: &ReadOptions) -> bool {
    let path = lease.url().split(['?', '#']).next().unwrap_or_default();
    options.sitemaps.enabled && is_gzip(&response.body) && path.ends_with(".xml.gz")
}

/// A host's robots.txt. The frontier reads its rules; the sitemaps that it names are its links.
struct RobotsSource;

impl UrlSource for RobotsSource {
    fn is_recorded(&self) -> bool {
        false
    }

    fn takes(&self, _: &ReadOptions) -> Option<TakesBody> {
        None
    }

    /// True: otherwise, a host whose robots.txt is a line shorter than its Content-Length would not be crawled at all.
    fn accepts_faults(&self) -> bool {
        true
    }

    /// After a redirect, the file is on another host, and applies to the host that was requested first. If the file is also the own
    /// robots.txt of the host where it is, both hosts are named.
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
        (options.sitemaps.enabled && (is_there || is_missing)).then_some(read_named)
    }

    fn count(&self, tally: &mut Tally, is_done: bool, _: bool, record: &PageRecord) {
        tally.record_robots(is_done, record);
    }
}

#[expect(clippy::needless_pass_by_value, reason = "a page's reader makes another base of it")]
fn read_named(response: &Response, base: BaseUrl, _: &ReadOptions, extract: &mut Extract) {
    let Some(origins) = extract.named_by.take() else { return };
    let body = if response.is_success() { &response.body[..] } else { &[] };
    let sitemaps = Robots::sitemaps_of(body);
    for origin in origins.split(' ') {
        let Some(host) = extract.join(&base, &format!("{origin}/")) else { return };
        list::take_named(&host, &base, sitemaps.iter().map(String::as_str), extract);
    }
}

/// A sitemap. The URLs that it lists are its links.
struct SitemapSource;

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
        // HTML may be a list of pages for people, an error page, or a sitemap with the wrong type.
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

/// Whether a sitemap was requested only because it might exist: nothing names it.
fn is_guess(lease: &Lease) -> bool {
    lease.metadata().is_empty() && lease.referrer().is_none()
}

fn read_list_or_page(response: &Response, base: BaseUrl, options: &ReadOptions, extract: &mut Extract) {
    list::read(response, base.clone(), options, extract);
    if extract.list.as_ref().is_none_or(|list| list.format == SitemapFormat::Unknown.name()) {
        links::read_page(response, base, options, extract);
    }
}
