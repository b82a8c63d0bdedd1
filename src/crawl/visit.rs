//! The result of one lease: an outcome for the frontier, links for the gate, a record for the outputs.
//!
//! Also here: the yield of a page, by which the budgets judge similar pages; and the links that are sent to other partitions.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::bounds::Share;
use super::html::KnownWords;
use super::http::{Exchange, Response, Unwanted};
use super::latencies::micros;
use super::records::{Edge, PageRecord, RecordKind, Skips, Timings, legible, message};
use super::recrawl::{KnownPage, Outlinks, PageAnswer, Visited};
use super::shared::RemotePartitions;
use super::sitemap::is_gzip;
use super::source::{Extract, ReadLinks, ReadOptions, UrlSource};
use crate::address::{BaseUrl, CanonicalUrl};
use crate::driver::{
    Content, Links, PageEvidence, PageYield, Redirect, domain, has_userinfo, host_of, is_redirect, path_and_query,
};
use crate::frontier::{Failure, Lease, LeaseKind, Outcome, Preferences, Timestamp, Trouble};
use crate::gate::{Admission, Admitted, Found, Gate, Refusal, RefusalCounts};

/// Larger bodies are read on another thread, so that no page holds up the others for more than a millisecond or two.
const INLINE_BODY: usize = 128 * 1024;
/// The same limit for a page whose tree is built to select fields from it.
const INLINE_TREE: usize = 16 * 1024;
/// A page's tree takes this many times the page's bytes.
const TREE: usize = 16;
/// A packed sitemap may unpack to this many times its bytes.
const UNPACKED: usize = 16;

/// The result of one lease: its outcome and links, for the frontier; its record, for the outputs.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) outcome: Outcome,
    /// When the response ended, and how long its head took; `None` if no response came.
    pub(super) answered: Option<(Timestamp, Duration)>,
    /// The links of its page.
    pub(super) links: Links,
    /// Where it redirects to.
    pub(super) redirect: Option<Found>,
    pub(super) record: PageRecord,
    /// The content of its page, if one was read.
    pub(super) content: Option<Content>,
    /// Links refused before the gate.
    pub(super) skips: Skips,
    /// The response as it came, if an output needs it.
    pub(super) exchange: Option<Box<Exchange>>,
    /// The links of its page, if an output needs them.
    pub(super) edges: Vec<Edge>,
    /// The parts of the response that are compared with the page's last visit.
    pub(super) answer: PageAnswer,
    /// Its body, if bodies are kept.
    pub(super) body: Option<Vec<u8>>,
    /// The known state of the page after the comparison.
    pub(super) visited: Option<Visited>,
}

/// The inputs for reading a response.
pub(super) struct Reader<'a> {
    pub(super) source: &'static dyn UrlSource,
    pub(super) lease: &'a Lease,
    /// The lease's URL.
    pub(super) url: &'a CanonicalUrl,
    pub(super) base: BaseUrl,
    pub(super) gate: &'a Arc<Gate>,
    pub(super) options: &'a Arc<ReadOptions>,
    /// Whether this visit is kept for the page's next one.
    pub(super) keeps_visit: bool,
    /// Its state at its last visit.
    pub(super) known: Option<&'a KnownPage>,
    pub(super) share: &'a mut Share,
    /// Whether an output needs the links.
    pub(super) keeps_links: bool,
    /// Whether its body is to be kept.
    pub(super) keeps_body: bool,
}

impl Visit {
    /// There is no response, or no usable one. `key` is the key of the lease's URL.
    pub(super) fn failed(lease: &Lease, key: &str, trouble: Trouble) -> Self {
        let record = record_of(lease, key, &trouble);
        Self::without_response(lease, Outcome::Failed(trouble), record)
    }

    /// The URL was not requested: its host is unreachable.
    pub(super) fn given_up(lease: &Lease, key: &str, trouble: &Trouble) -> Self {
        let record = PageRecord { attempts: lease.attempt() - 1, given_up: true, ..record_of(lease, key, trouble) };
        Self::without_response(lease, Outcome::GivenUp, record)
    }

    fn without_response(lease: &Lease, outcome: Outcome, record: PageRecord) -> Self {
        Self {
            outcome,
            answered: None,
            links: Links::of(lease),
            redirect: None,
            record,
            content: None,
            skips: Skips::default(),
            exchange: None,
            edges: Vec::new(),
            answer: PageAnswer::default(),
            body: None,
            visited: None,
        }
    }

    /// There is a response.
    pub(super) async fn answered(mut response: Response, skips: Skips, reader: Reader<'_>) -> Self {
        let Reader { source, lease, url, .. } = reader;
        let is_taken = response.refused.is_none();
        let (error, words) = match (&response.refused, &response.incomplete) {
            (Some(Unwanted { name, rule }), _) => (Some(*name), Some(rule)),
            (None, Some(error)) => (Some(error.failure.name()), Some(&error.message)),
            (None, None) => (None, None),
        };
        let record = PageRecord {
            status: Some(response.status),
            content_type: response.content_type.as_deref().map(legible),
            bytes: response.body_bytes,
            wire_bytes: response.wire_bytes,
            truncated: response.truncated,
            lenient: response.is_lenient,
            timings: Timings { first_byte_us: micros(response.first_byte), total_us: micros(response.total) },
            noindex: response.robots.noindex,
            preferences: written(lease.preferences().and(response.preferences)),
            signed: response.signed,
            challenge: response.challenge.map(str::to_owned),
            error: error.map(str::to_owned),
            message: words.map(|words| message(words)),
            ..blank_record(lease, url.key())
        };
        let outcome = match &response.incomplete {
            Some(error) => Outcome::Failed(Trouble::new(error.failure, &error.message)),
            None => source.outcome(&response),
        };
        let exchange = response.exchange.take();
        let answer =
            PageAnswer { digest: response.digest, validators: response.validators.take(), ..PageAnswer::default() };
        let mut visit = Self { skips, exchange, answer, ..Self::without_response(lease, outcome, record) };
        if is_redirect(response.status) {
            match response.location.as_deref() {
                Some(location) => visit.redirect(&reader, location, response.has_new_cookies),
                None => visit.record.message = Some("no Location that can be read".to_owned()),
            }
        } else if let Some(known) = reader.known.filter(|_| response.status == 304) {
            visit.read_known(known, reader).await;
        } else if is_taken && let Some(read) = source.links(lease, &response, reader.options) {
            visit.read(read, response, reader).await;
        } else if reader.keeps_body && is_worth_keeping(&response) {
            visit.body = Some(response.body);
        }
        visit
    }

    /// A redirect is a page with one link. A redirect to the same URL is a loop, unless it has set new cookies, with which the URL is
    /// requested again.
    fn redirect(&mut self, reader: &Reader<'_>, location: &str, has_new_cookies: bool) {
        let Reader { lease, url, gate, base, .. } = reader;
        let redirect = match Redirect::join(gate, lease, url, base, location) {
            Ok(redirect) => redirect,
            Err(error) => {
                self.record.message = Some(message(&format!("Location: {error}")));
                return self.skips.add(Refusal::from(&error), location, lease.depth());
            }
        };
        let to = match &redirect {
            Redirect::Same(to) => to,
            Redirect::Other(found) => found.url.wire(),
        };
        self.record.redirect = Some(to.to_owned());
        self.record.links.userinfo = has_userinfo(location).into();
        if to == lease.url() && !has_new_cookies {
            self.record.error = Some("redirect_loop".to_owned());
            return;
        }
        match redirect {
            Redirect::Same(to) => self.outcome = Outcome::Moved { to },
            Redirect::Other(mut found) => {
                if lease.kind() == LeaseKind::Page {
                    // A page's metadata belongs to that page's visits.
                    found.metadata = Box::default();
                }
                self.record.links.found = 1;
                self.redirect = Some(found);
            }
        }
    }

    /// Takes the links that the page had at its last visit.
    async fn read_known(&mut self, known: &KnownPage, reader: Reader<'_>) {
        let Reader { lease, base, gate, share, keeps_links, .. } = reader;
        let mut extract = Extract::new(Arc::clone(gate), Links::of(lease), std::mem::take(&mut self.skips));
        extract.edges = keeps_links.then(Vec::new);
        extract.add_known(base, &known.links);
        share.resize(extract.links.memory() as u64).await;
        self.record.links = extract.counts;
        self.edges = extract.edges.unwrap_or_default();
        (self.skips, self.links) = (extract.skips, extract.links);
    }

    /// Reads links and title.
    async fn read(&mut self, read: ReadLinks, response: Response, reader: Reader<'_>) {
        let Reader { source, lease, url, base, gate, options, share, keeps_links, keeps_visit, keeps_body, .. } =
            reader;
        let stated = lease.preferences().and(response.preferences);
        let (mut body, options) = (response.body.len(), Arc::clone(options));
        let has_tree = options.fields.is_some();
        if is_gzip(&response.body) {
            body = body.saturating_mul(UNPACKED);
        }
        let mut extract = Extract::new(Arc::clone(gate), Links::of(lease), std::mem::take(&mut self.skips));
        extract.edges = keeps_links.then(Vec::new);
        extract.named_by = source.named_by(lease);
        extract.kept = keeps_visit.then(Outlinks::default);
        extract.above = if lease.kind() == LeaseKind::Sitemap { lease.depth() } else { 0 };
        let keeps_body = keeps_body && is_worth_keeping(&response);
        let (key, known) = (gate.fingerprint_key(), KnownWords::of(url.host()));
        let page = lease.identity().map_or_else(|| url.fingerprint(key), |identity| identity.fingerprint(key));
        let is_page = source.is_page() && response.incomplete.is_none();
        let has_ids = gate.budgets().has_ids(path_and_query(lease.url()));
        let work = move || {
            if is_page {
                extract.read_content(page, &response.body, &known, has_ids);
            }
            read(&response, base, &options, &mut extract);
            (extract, keeps_body.then_some(response.body))
        };
        let (inline, times) = if has_tree { (INLINE_TREE, TREE) } else { (INLINE_BODY, 1) };
        let work = if body > inline {
            let permit = share.memory().reader(body.saturating_mul(times)).await;
            let work = move || {
                // Held until everything else is released.
                let _permit = permit;
                work()
            };
            tokio::task::spawn_blocking(work).await.ok()
        } else {
            Some(work())
        };
        let Some((extract, body)) = work else {
            // The parser panicked. The page is recorded with what is known about it.
            self.record.error = Some(Failure::Lost.name().to_owned());
            return;
        };
        self.body = body;
        let kept = self.exchange.as_ref().map_or(0, |exchange| exchange.body.len());
        let kept = kept + self.body.as_ref().map_or(0, Vec::len);
        self.edges = extract.edges.unwrap_or_default();
        self.answer.links = extract.kept.unwrap_or_default();
        let edges: usize = self.edges.iter().map(Edge::memory).sum();
        share.resize((extract.links.memory() + self.answer.links.memory() + kept + edges) as u64).await;
        let (encoding, from) = extract.encoding.unzip();
        self.record.encoding = encoding.map(Cow::from);
        self.record.encoding_source = from.map(|from| from.name().into());
        self.record.title = extract.title;
        self.record.canonical = extract.canonical;
        self.record.noindex |= extract.noindex;
        self.record.preferences = written(stated.and(extract.preferences));
        self.record.fields = extract.fields;
        self.record.list = extract.list;
        self.record.links = extract.counts;
        self.skips = extract.skips;
        self.links = extract.links;
        self.content = extract.content;
    }
}

/// Preferences as a record has them.
fn written(preferences: Preferences) -> Option<String> {
    (!preferences.is_unknown()).then(|| preferences.to_string())
}

/// Whether a body is that of a successful page, and is complete up to the size limit.
fn is_worth_keeping(response: &Response) -> bool {
    response.is_success() && response.incomplete.is_none() && response.refused.is_none() && !response.body.is_empty()
}

fn record_of(lease: &Lease, key: &str, trouble: &Trouble) -> PageRecord {
    let message = Some(trouble.words.to_string()).filter(|words| !words.is_empty());
    PageRecord { error: Some(trouble.failure.name().to_owned()), message, ..blank_record(lease, key) }
}

fn blank_record(lease: &Lease, key: &str) -> PageRecord {
    PageRecord {
        url: lease.url().to_owned(),
        key: key.to_owned(),
        depth: lease.depth(),
        referrer: lease.referrer().map(str::to_owned),
        attempts: lease.attempt(),
        kind: if lease.kind() == LeaseKind::Sitemap { RecordKind::Sitemap } else { RecordKind::Page },
        ..PageRecord::default()
    }
}

/// The yield of a page: new content, known content, or no page at its URL; and the page that had the content first. `None` if the yield is
/// not known: if the file is not read, if the page will be tried again, or if its host has said when to come back.
///
/// `redirect` is the verdict on the redirect's target: a target refused as seen, or by a budget, is nothing new.
pub(super) fn yield_of(
    gate: &Gate,
    lease: &Lease,
    source: &dyn UrlSource,
    visit: &Visit,
    redirect: Option<&Admission>,
) -> Option<(PageYield, Option<Box<str>>)> {
    let Outcome::Response { status, retry_after } = visit.outcome else { return None };
    let is_missing = match status {
        429 => false,
        408 | 425 | 500.. => retry_after.is_none() && lease.is_last_try(),
        _ => status >= 400,
    };
    let evidence = match (visit.content, redirect) {
        (Some(content), _) => PageEvidence::Page(content),
        // On a later visit, the redirect's target is known from the first visit.
        (None, Some(_)) if !lease.metadata().is_empty() => return None,
        (None, Some(Admission::Admitted(_))) => PageEvidence::NewRedirect,
        (None, Some(Admission::Refused(refusal))) if *refusal == Refusal::Seen || refusal.is_of_budget() => {
            PageEvidence::Nothing
        }
        (None, None) if is_missing => PageEvidence::Nothing,
        (None, _) => return None,
    };
    let has_budget = lease.identity().is_none() || gate.budgets_identities();
    if !source.is_page() || !has_budget {
        return None;
    }
    let place = (host_of(lease.origin()), path_and_query(lease.url()));
    Some(gate.budgets().recognize(place, lease.url(), evidence))
}

/// Whether a page led to a new URL with another path than its own.
pub(super) fn leads_on(lease: &Lease, admitted: &[Admitted]) -> bool {
    let path = |url: &str| url.split('?').next().unwrap_or_default().len();
    let own = &lease.url()[..path(lease.url())];
    admitted.iter().map(|new| new.found().url.wire()).any(|url| &url[..path(url)] != own)
}

/// Whether a page leads to new hosts of its own domain and nowhere else: all its new URLs are on other hosts of that domain. Links that the
/// domain's budget refused count too; otherwise, later pages would lift a spent budget again.
pub(super) fn relays(lease: &Lease, admitted: &[Admitted], refused: &RefusalCounts) -> bool {
    let host = host_of(lease.origin());
    let own = domain(host);
    let mut hosts = admitted.iter().map(|new| new.found().url.host());
    (!admitted.is_empty() || refused.of(Refusal::BarrenDomain) > 0)
        && hosts.all(|other| other != host && domain(other) == own)
}

/// Takes URLs of other partitions out of a visit, and sends them there. URLs that were sent recently count as seen.
pub(super) fn send_away(remote: &dyn RemotePartitions, gate: &Gate, visit: &mut Visit) {
    let mut away = visit.links.split_off(|url| remote.has(url));
    if let Some(found) = visit.redirect.take_if(|found| remote.has(&found.url)) {
        let fingerprint = found.fingerprint(gate.fingerprint_key());
        away.push((found, fingerprint));
    }
    visit.record.cluster = Some(remote.place());
    if away.is_empty() {
        return;
    }
    let found = away.len() as u64;
    let recent = remote.send(away);
    visit.record.links.sent = found - recent;
    visit.links.refuse(Refusal::Seen, u32::try_from(recent).unwrap_or(u32::MAX));
}
