//! One fetch, as the frontier sees it and as its record does.

use std::sync::Arc;

use super::bounds::Share;
use super::html::{EncodingSource, is_html, parse};
use super::http::{Exchange, Response};
use super::options::ParseOptions;
use super::records::{PageRecord, Skips, Timings, legible};
use crate::address::{BaseUrl, CanonicalUrl, has_userinfo};
use crate::frontier::lease::{Redirect, is_redirect};
use crate::frontier::{Failure, Lease, LeaseKind, Outcome, Trouble};
use crate::gate::{Found, Gate, Refusal};

/// Larger bodies are parsed off the worker's thread: at about 40 MB/s, this many bytes take some three milliseconds.
const INLINE_BODY: usize = 128 * 1024;

/// Bytes that the links of a page may take, resolved: a short link on a page with a long address is as long as that.
const MAX_LINKS: usize = 8 << 20;

/// One fetch, as the frontier sees it (how it ended, what it found) and as the output does (its record).
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) outcome: Outcome,
    pub(super) found: Vec<Found>,
    pub(super) record: PageRecord,
    /// Links refused before the gate.
    pub(super) skips: Skips,
    /// The response as it came, where an output wants it.
    pub(super) exchange: Option<Box<Exchange>>,
}

impl Visit {
    /// No response, or none that can be used.
    pub(super) fn failed(lease: &Lease, trouble: Trouble, gate: &Gate) -> Self {
        let record = record_of(lease, &trouble, gate);
        Self { outcome: Outcome::Failed(trouble), found: Vec::new(), record, skips: Skips::default(), exchange: None }
    }

    /// Nothing was asked: the host is not to be had.
    pub(super) fn given_up(lease: &Lease, trouble: &Trouble, gate: &Gate) -> Self {
        let record = PageRecord { attempts: lease.attempt() - 1, given_up: true, ..record_of(lease, trouble, gate) };
        Self { outcome: Outcome::GivenUp, found: Vec::new(), record, skips: Skips::default(), exchange: None }
    }

    /// A response to a lease of either kind.
    pub(super) async fn answered(
        lease: &Lease,
        mut response: Response,
        gate: &Arc<Gate>,
        options: &ParseOptions,
        skips: Skips,
        share: &mut Share,
    ) -> Self {
        let record = PageRecord {
            status: Some(response.status),
            content_type: response.content_type.as_deref().map(legible),
            bytes: response.body_bytes,
            wire_bytes: response.wire_bytes,
            truncated: response.truncated,
            timings: Timings {
                first_byte_ms: response.first_byte.as_secs_f64() * 1e3,
                total_ms: response.total.as_secs_f64() * 1e3,
            },
            error: response.incomplete.as_ref().map(|error| error.failure.name().to_owned()),
            message: response.incomplete.as_ref().map(|error| error.message.clone()),
            ..blank_record(lease, gate)
        };
        let (outcome, exchange) = (outcome_of(lease, &mut response), response.exchange.take());
        let mut visit = Self { outcome, found: Vec::new(), record, skips, exchange };
        if let Some(location) = response.location.as_deref().filter(|_| is_redirect(response.status)) {
            visit.redirect(lease, gate, location);
        } else if lease.kind() == LeaseKind::Page && (200..300).contains(&response.status) {
            let Ok(base) = gate.canonicalizer().base(lease.url()) else { return visit };
            visit.read(lease, response, gate, base, options, share).await;
        }
        visit
    }

    /// A redirect is a page with one link.
    fn redirect(&mut self, lease: &Lease, gate: &Gate, location: &str) {
        let redirect = match Redirect::of(gate, lease, location) {
            Ok(redirect) => redirect,
            Err(refusal) if lease.kind() == LeaseKind::Robots => {
                return tracing::debug!(url = lease.url(), %refusal, "leads nowhere");
            }
            Err(refusal) => return self.skips.add(refusal, location, lease.depth()),
        };
        let to = match &redirect {
            Redirect::Same(to) => to,
            Redirect::Other(found) => found.url.wire(),
        };
        self.record.redirect = Some(to.to_owned());
        self.record.links.userinfo = has_userinfo(location).into();
        if to == lease.url() {
            self.record.error = Some("redirect_loop".to_owned());
            return;
        }
        match redirect {
            Redirect::Same(to) => self.outcome = Outcome::Moved { to },
            Redirect::Other(found) => {
                self.record.links.found = 1;
                self.found.push(found);
            }
        }
    }

    /// Title and links of a page.
    async fn read(
        &mut self,
        lease: &Lease,
        response: Response,
        gate: &Arc<Gate>,
        base: BaseUrl,
        options: &ParseOptions,
        share: &mut Share,
    ) {
        if response.raw || !is_html(response.content_type.as_deref(), &response.body) {
            return;
        }
        let (gate, options) = (Arc::clone(gate), options.clone());
        let body = response.body.len();
        let large = body > INLINE_BODY;
        let (skips, depth) = (std::mem::take(&mut self.skips), lease.depth().saturating_add(1));
        let read = move || Reading::of(&response, &base, &gate, &options, (skips, depth));
        let reading = if large {
            let reader = share.memory().reader(body).await;
            let read = move || {
                // Until all else is given back.
                let _reader = reader;
                read()
            };
            tokio::task::spawn_blocking(read).await.ok()
        } else {
            Some(read())
        };
        let Some(reading) = reading else {
            // The parser panicked; the page is recorded with what is known of it.
            self.record.error = Some(Failure::Lost.name().to_owned());
            return;
        };
        let kept = self.exchange.as_ref().map_or(0, |exchange| exchange.body.len());
        share.resize((reading.bytes + kept) as u64).await;
        self.record.encoding = Some(reading.encoding.0.to_owned());
        self.record.encoding_source = Some(reading.encoding.1.name().to_owned());
        self.record.title = reading.title;
        self.skips = reading.skips;
        self.record.links.found =
            reading.refused.saturating_add(u32::try_from(reading.links.len()).unwrap_or(u32::MAX));
        self.record.links.refused = reading.refused;
        self.record.links.userinfo = reading.userinfo;
        self.found = reading.links.into_iter().map(|url| Found::link(url, lease)).collect();
    }
}

/// What is taken from a page: a synchronous step, from bytes to owned links.
struct Reading {
    /// What the page is in, and where that was found.
    encoding: (&'static str, EncodingSource),
    title: Option<String>,
    links: Vec<CanonicalUrl>,
    /// Bytes that the links take, at most.
    bytes: usize,
    /// Links that cannot or must not be followed, counted at the gate.
    refused: u32,
    /// Those, as far as they are listed.
    skips: Skips,
    /// Links with a user name or a password.
    userinfo: u32,
}

impl Reading {
    /// `skips`, with the depth that the page's links have.
    fn of(
        response: &Response,
        base: &BaseUrl,
        gate: &Gate,
        options: &ParseOptions,
        (mut skips, depth): (Skips, u32),
    ) -> Self {
        let page = parse(&response.body, response.content_type.as_deref(), options);
        let base = base.clone().with_query_encoder(page.query_encoder());
        let base = page.base_href.as_deref().and_then(|href| base.rebase(href)).unwrap_or(base);
        let page_nofollow = options.nofollow && (page.robots.nofollow || response.robots.nofollow);
        let mut links = Vec::with_capacity(page.links.len());
        let dropped = [(Refusal::TooLong, page.links_too_long), (Refusal::TooManyLinks, page.links_over_limit)];
        let (mut refused, mut userinfo) = (0, 0);
        for (refusal, times) in dropped {
            (0..times).for_each(|_| gate.refuse(refusal));
            skips.add_untold(refusal, times, depth);
            refused += times;
        }
        let mut bytes = 0;
        for link in &page.links {
            userinfo += u32::from(has_userinfo(&link.href));
            if bytes > MAX_LINKS {
                gate.refuse(Refusal::TooManyLinks);
                refused += 1;
                skips.add(Refusal::TooManyLinks, &link.href, depth);
                continue;
            }
            if page_nofollow || (options.nofollow && link.nofollow) {
                gate.refuse(Refusal::Nofollow);
                refused += 1;
                if skips.is_kept() {
                    let url = gate.canonicalizer().join(&base, &link.href);
                    skips.add(Refusal::Nofollow, url.as_ref().map_or(&link.href, CanonicalUrl::wire), depth);
                }
                continue;
            }
            match gate.join(&base, &link.href) {
                Ok(url) => {
                    bytes += size_of::<Found>() + 2 * url.wire().len();
                    links.push(url);
                }
                Err(error) => {
                    refused += 1;
                    skips.add((&error).into(), &link.href, depth);
                }
            }
        }
        Self {
            encoding: (page.encoding, page.encoding_source),
            title: page.title,
            links,
            bytes,
            refused,
            userinfo,
            skips,
        }
    }
}

fn record_of(lease: &Lease, trouble: &Trouble, gate: &Gate) -> PageRecord {
    let message = Some(trouble.words.to_string()).filter(|words| !words.is_empty());
    PageRecord { error: Some(trouble.failure.name().to_owned()), message, ..blank_record(lease, gate) }
}

fn blank_record(lease: &Lease, gate: &Gate) -> PageRecord {
    let key = gate.canonicalizer().canonicalize(lease.url()).map(|url| url.key().to_owned());
    PageRecord {
        url: lease.url().to_owned(),
        key: key.unwrap_or_default(),
        depth: lease.depth(),
        referrer: lease.referrer().map(str::to_owned),
        attempts: lease.attempt(),
        ..PageRecord::default()
    }
}

fn outcome_of(lease: &Lease, response: &mut Response) -> Outcome {
    let (status, retry_after) = (response.status, response.retry_after);
    match (&response.incomplete, lease.kind()) {
        (Some(error), _) => Outcome::Failed(Trouble::new(error.failure, &error.message)),
        (None, LeaseKind::Page) => Outcome::Response { status, retry_after },
        // In a coding that is not known nobody can read rules: taken as text, they would allow everything.
        (None, LeaseKind::Robots) if response.raw => {
            Outcome::Failed(Trouble::new(Failure::BadResponse, "in a content coding that is not known"))
        }
        (None, LeaseKind::Robots) => {
            let (body, validators) = (std::mem::take(&mut response.body), response.validators.take());
            Outcome::Robots { status, retry_after, body, validators }
        }
    }
}
