//! The work of a task on its lease: fetch, parse, commit.

use std::io;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use futures_util::FutureExt;

use super::bounds::{Reservation, Share};
use super::http::{Ask, RequestPermit};
use super::lock::lock;
use super::numbers::WatchedRequest;
use super::records::{Bodies, Duplicate, Outputs, PageExtras, PageRecord, PendingWrites, SkipList, Skips, log_page};
use super::recrawl::{KnownPage, Recrawl};
use super::shared::Shared;
use super::source::{ReadOptions, UrlSource, guess_sitemap, source_of};
use super::stop::FinishReason;
use super::visit::{Reader, Visit, leads_on, relays, send_away, yield_of};
use crate::address::{BaseUrl, CanonicalUrl};
use crate::driver::{HostTurn, Links, Receipts, Waited};
use crate::driver::{host_of, path_and_query};
use crate::frontier::{Completion, Failure, Frontier, Journal, Lease, Outcome, Resolved, Trouble};
use crate::gate::{Admission, Admitted, Refusal};
use crate::lending::HeldLease;

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// This machine was short of something, or a proxy failed. The lease was returned unchanged.
    Released,
    /// Nothing else was due, or nothing new may begin.
    Well,
}

/// The result of a lease that was given back.
struct Settled<J: Journal> {
    /// A page has got its record, and counts towards `max_pages`. False if the lease was for a sitemap or a robots.txt, if the URL will be
    /// tried again, or if it was given up with its host.
    is_recorded: bool,
    /// The next lease, with the page that was reserved for it.
    next: Option<(HeldLease<J>, Reservation)>,
}

/// The facts of a lease that are counted besides its record.
struct Counted {
    /// The URL was given up with its host.
    is_given_up: bool,
    has_record: bool,
    /// The sitemap at the host's usual place was admitted with it.
    has_sitemap: bool,
    waited: Waited,
}

/// Does the work of a task on its lease. All tasks share one worker.
#[derive(Debug)]
pub(super) struct Worker<J: Journal> {
    pub(super) shared: Arc<Shared<J>>,
    /// How responses are read for these outputs.
    pub(super) read: Arc<ReadOptions>,
    pub(super) outputs: Arc<Outputs>,
    /// Where bodies are kept, if they are kept.
    pub(super) bodies: Option<Arc<Bodies>>,
    /// Where refused links are listed, if they are listed.
    pub(super) skipped: Option<SkipList>,
    /// Whether each page and each refused link is logged.
    pub(super) logs_all: bool,
    /// The pages that were visited before.
    pub(super) recrawl: Recrawl,
}

impl<J: Journal> Worker<J> {
    /// Fetches the given lease, and then each URL that is due, until none is.
    pub(super) async fn run(&self, mut lease: HeldLease<J>, mut page: Reservation) -> io::Result<Ended> {
        loop {
            let Some(settled) = self.process(lease).await? else { return Ok(Ended::Released) };
            if settled.is_recorded {
                page.spend();
            }
            let Some(next) = settled.next else { return Ok(Ended::Well) };
            (lease, page) = next;
            self.list_dropped().await;
            // URLs given up with their hosts need no request, so nothing else in this loop would yield to other tasks.
            tokio::task::consume_budget().await;
        }
    }

    /// Fetches the lease, and completes it with the result. `None` if this machine was short of something, or a proxy failed.
    async fn process(&self, mut lease: HeldLease<J>) -> io::Result<Option<Settled<J>>> {
        let source = source_of(lease.kind());
        // Held until its links are queued.
        let mut share = self.shared.memory.share();
        let page = self.shared.frontier.gate().canonicalizer().page(lease.url());
        if let Ok((url, _)) = &page
            && (!self.may_connect(&mut lease, url).await || self.shared.remote.as_ref().is_some_and(|it| !it.may_ask()))
        {
            return self.give_back(lease).map(Some);
        }
        let key = page.as_ref().map_or("", |(url, _)| url.key());
        let known = if source.is_page() { self.recrawl.known(&lease, key)? } else { None };
        let page_known = known.as_ref().and_then(|known| known.page.as_ref());
        let visit = match page {
            // This cannot happen: the URL was parsed when it was admitted.
            Err(error) => Some(Visit::failed(&lease, "", Trouble::new(Failure::BadResponse, &error.to_string()))),
            // A panic counts against this page, not the crawl. In a box, since a future of some kilobytes is moved several times otherwise.
            Ok(page) => AssertUnwindSafe(Box::pin(self.visit(&lease, source, page, page_known, &mut share)))
                .catch_unwind()
                .await
                .unwrap_or_else(|_| {
                    let url = self.shared.frontier.gate().canonicalizer().page(lease.url());
                    Some(Visit::failed(&lease, url.as_ref().map_or("", |(url, _)| url.key()), Failure::Lost.into()))
                }),
        };
        let Some(mut visit) = visit else { return Ok(None) };
        visit.visited = known.map(|known| {
            let answer = std::mem::take(&mut visit.answer);
            self.recrawl.judge(&known, answer, &mut visit.record)
        });
        self.complete(lease, source, visit).await.map(Some)
    }

    /// Looks up the host's name, tells the frontier its addresses, and returns whether they may be connected to now.
    async fn may_connect(&self, lease: &mut HeldLease<J>, url: &CanonicalUrl) -> bool {
        if !lease.counts_by_address() {
            return true;
        }
        let is_first_contact = lease.is_first_contact();
        let report = |addresses: &[IpAddr]| lease.resolved(addresses);
        self.shared.fetcher.tell_addresses(url, is_first_contact, report).await == Resolved::Connect
    }

    /// Returns a lease without a request, and takes the next one: the host must wait for a turn at its IP address, or this partition may
    /// have another owner by now.
    fn give_back(&self, lease: HeldLease<J>) -> io::Result<Settled<J>> {
        let shared = &self.shared;
        let page = if shared.is_leasing.load(Ordering::Relaxed) { shared.page_quota.reserve() } else { None };
        let settled = lease.settle(Vec::new(), Outcome::Released, Receipts::default(), None, || {}, page.is_some());
        let (.., next) = settled.inspect_err(|_| shared.abort(FinishReason::StorageFailed))?;
        Ok(Settled { is_recorded: false, next: next.zip(page) })
    }

    /// Fetches and reads a URL. `None` if this machine was short of something, or a proxy failed, which is not the host's fault.
    async fn visit(
        &self,
        lease: &Lease,
        source: &'static dyn UrlSource,
        (url, base): (CanonicalUrl, BaseUrl),
        known: Option<&KnownPage>,
        share: &mut Share,
    ) -> Option<Visit> {
        let Shared { frontier, fetcher, politeness, .. } = &*self.shared;
        let read = &self.read;
        let clock = frontier.clock();
        if let Some(trouble) = lease.trouble() {
            let mut visit = Visit::given_up(lease, url.key(), trouble);
            visit.record.fetched_at = clock.now().to_string();
            return Some(visit);
        }
        let watched = WatchedRequest::begin(politeness, lease, url.origin());
        let conditions = known.and_then(|known| known.conditions(lease.url(), lease.attempt()));
        let keeps_visit = source.is_page() && self.recrawl.is_on();
        let keeps_body = self.bodies.is_some() && source.is_recorded();
        let asked = fetcher.ask(Ask {
            url: &url,
            validators: lease.validators().or(conditions),
            is_first_contact: lease.is_first_contact(),
            takes: if keeps_body { None } else { source.takes(read) },
            max_bytes: source.max_bytes(read),
            accepts_faults: source.accepts_faults(),
            may_refuse: source.is_page(),
            makes_digest: keeps_visit,
            keeps_validators: keeps_visit || !source.is_page(),
            keeps_exchange: self.outputs.need_exchange(source.is_recorded()),
            share: Some(share),
            permission: self.shared.remote.as_deref().map(|remote| remote as &dyn RequestPermit),
        });
        let fetched = asked.await;
        if let Err(error) = &fetched
            && error.is_local
        {
            tracing::debug!(url = lease.url(), %error, "not asked");
            return None;
        }
        if let Err(error) = &fetched
            && error.failure == Failure::Proxy
        {
            self.count_proxy_failure(
                lease,
                source,
                &Visit::failed(lease, url.key(), Trouble::new(error.failure, &error.message)),
            );
            return None;
        }
        let sent_at = fetched.as_ref().map_or_else(|error| error.sent_at, |response| Some(response.sent_at));
        let sent_at = sent_at.map(|instant| clock.timestamp(instant));
        match sent_at {
            Some(sent_at) => watched.sent(sent_at),
            None => drop(watched),
        }
        let mut visit = match fetched {
            Err(error) => {
                tracing::debug!(url = lease.url(), %error, "no response");
                Visit::failed(lease, url.key(), Trouble::new(error.failure, &error.message))
            }
            Ok(response) if response.status == 304 && known.is_some_and(|known| !known.is_meant(&response)) => {
                let message = "a 304 for another page than was asked about";
                Visit::failed(lease, url.key(), Trouble::new(Failure::Incomplete, message))
            }
            Ok(response) => {
                let answered = (clock.timestamp(response.sent_at + response.total), response.first_byte);
                let list = self.skipped.as_ref().filter(|_| source.is_recorded());
                let (skips, url, gate, options) = (Skips::of(list, self.logs_all, lease), &url, frontier.gate(), read);
                let keeps_links = self.outputs.need_links() && source.is_recorded();
                let reader = Reader {
                    source,
                    lease,
                    url,
                    base,
                    gate,
                    options,
                    keeps_visit,
                    known,
                    share,
                    keeps_links,
                    keeps_body,
                };
                Visit { answered: Some(answered), ..Visit::answered(response, skips, reader).await }
            }
        };
        visit.record.fetched_at = sent_at.unwrap_or_else(|| clock.now()).to_string();
        Some(visit)
    }

    /// Counts a failure of the proxy, and ends the crawl if the proxy is lost.
    fn count_proxy_failure(&self, lease: &Lease, source: &'static dyn UrlSource, visit: &Visit) {
        tracing::debug!(url = lease.url(), error = visit.record.message.as_deref(), "not asked");
        let is_first = {
            let mut tally = lock(&self.shared.tally);
            source.count(&mut tally, false, false, &visit.record);
            tally.is_first_failure(&visit.record)
        };
        if is_first {
            log_failure(&visit.record, false);
        }
        if self.shared.fetcher.has_lost_proxy() {
            self.shared.stop.drain_because(FinishReason::ProxyFailed);
        }
    }

    /// Waits for room in each output, and commits.
    async fn complete(&self, lease: HeldLease<J>, source: &dyn UrlSource, mut visit: Visit) -> io::Result<Settled<J>> {
        // Room is reserved first: from the gate on, nothing waits.
        let (mut additions, mut exchange) = (None, visit.exchange.take());
        let is_recorded = source.is_recorded() && source.is_worth_a_record(&lease, &visit.record);
        if !is_recorded || matches!(visit.outcome, Outcome::Moved { .. }) {
            // This response gets no record of its own: its exchange is written before that of the next page.
            if let Some(exchange) = exchange.take() {
                self.outputs.hold(&visit.record, &exchange);
            }
        }
        if is_recorded && let (Some(bodies), Some(body)) = (&self.bodies, visit.body.take()) {
            let bodies = Arc::clone(bodies);
            let kept = tokio::task::spawn_blocking(move || bodies.keep(&body)).await;
            visit.record.body_digest = kept.map_err(io::Error::other)?;
            if visit.record.body_digest.is_none() {
                self.shared.abort(FinishReason::SinkFailed);
                return Ok(Settled { is_recorded: false, next: None });
            }
        }
        if is_recorded {
            let visit_bytes = visit.visited.as_ref().map_or_else(Vec::new, |visited| self.recrawl.visit(visited));
            let extras = PageExtras { exchange, links: std::mem::take(&mut visit.edges), visit: visit_bytes };
            additions = self.outputs.additions(&mut visit.record, extras, &self.shared.memory).await;
            if additions.is_none() {
                self.shared.abort(FinishReason::SinkFailed);
                return Ok(Settled { is_recorded: false, next: None });
            }
        }
        let committed = {
            let _no_checkpoint = self.shared.quiesce.read().unwrap_or_else(PoisonError::into_inner);
            let committed = self.commit(lease, source, visit, additions);
            if committed.is_err() {
                // Must happen before another page may pass.
                self.shared.abort(FinishReason::StorageFailed);
            }
            committed
        };
        let (settled, skips) = committed?;
        self.list(skips).await;
        Ok(settled)
    }

    /// Lists the URLs that robots.txt refused while the loop waited for a lease.
    pub(super) async fn list_dropped(&self) {
        if self.skipped.is_none() && !self.logs_all {
            return;
        }
        let (dropped, further) = self.shared.frontier.with(Frontier::take_dropped);
        self.list(Skips::dropped(self.skipped.as_ref(), self.logs_all, dropped, further)).await;
    }

    async fn list(&self, skips: Skips) {
        if let Some(list) = &self.skipped
            && !list.take(skips).await
        {
            self.shared.abort(FinishReason::SinkFailed);
        }
    }

    /// Passes links through the gate, gives the lease back and takes the next one, writes the record and counts the page: all of it or
    /// nothing. The [crawl module](super) gives the reason for this order.
    fn commit(
        &self,
        mut lease: HeldLease<J>,
        source: &dyn UrlSource,
        mut visit: Visit,
        additions: Option<PendingWrites<'_>>,
    ) -> io::Result<(Settled<J>, Skips)> {
        let shared = &self.shared;
        if let Some((at, latency)) = visit.answered {
            lease.answered(at, latency, visit.record.wire_bytes);
        }
        if let Some(remote) = &shared.remote {
            send_away(&**remote, shared.frontier.gate(), &mut visit);
        }
        let mut admitted = self.admit(&mut lease, source, &mut visit)?;
        let sitemap = visit.answered.and_then(|_| self.admit_sitemap(&lease));
        let counted = Counted {
            is_given_up: lease.trouble().is_some(),
            has_record: additions.is_some(),
            has_sitemap: sitemap.is_some(),
            waited: lease.waited(),
        };
        admitted.extend(sitemap);
        // The next lease has its own page reserved while this one still holds its.
        let page = if shared.is_leasing.load(Ordering::Relaxed) { shared.page_quota.reserve() } else { None };
        let goes_on = page.is_some();
        let (completion, turn, next) = match additions {
            None => lease.settle(admitted, visit.outcome, Receipts::default(), None, || {}, goes_on)?,
            Some(mut additions) => {
                let (receipts, mut ends) = additions.finish(&mut visit.record, shared.ends());
                let again = self.recrawl.next_visit(visit.visited.as_ref(), &visit.record);
                let again = again.map(|(wait, travels)| (shared.frontier.clock().now() + wait, travels));
                lease.settle(
                    admitted,
                    visit.outcome,
                    if shared.has_receipts { receipts.list() } else { Receipts::default() },
                    again,
                    || additions.put(ends.as_deref_mut(), &visit.record),
                    goes_on,
                )?
            }
        };
        let is_done = completion == Completion::Done;
        self.count(source, &visit.record, is_done, &counted, turn);
        let is_recorded = is_done && source.is_page() && !counted.is_given_up;
        Ok((Settled { is_recorded, next: next.zip(page) }, visit.skips))
    }

    /// Passes a page's links and its redirect through the gate, and judges by them what the page yielded. The page's record gets the counts.
    fn admit(&self, lease: &mut HeldLease<J>, source: &dyn UrlSource, visit: &mut Visit) -> io::Result<Vec<Admitted>> {
        let gate = self.shared.frontier.gate();
        let redirect = visit.redirect.take().map(|found| gate.admit(found));
        let yielded = yield_of(gate, lease, source, visit, redirect.as_ref());
        let links = std::mem::replace(&mut visit.links, Links::of(lease));
        let may_relay = yielded.as_ref().is_some_and(|(yielded, _)| yielded.may_relay())
            && !links.lead_into(host_of(lease.origin()), lease.url());
        let renews_id = yielded.as_ref().is_some_and(|(yielded, _)| yielded.may_renew_id())
            && links.renew_ids(host_of(lease.origin()), path_and_query(lease.url()));
        let (mut admitted, mut refused) = gate.admit_links(links);
        match redirect {
            Some(Admission::Admitted(proof)) => admitted.push(proof),
            Some(Admission::Refused(refusal)) => {
                refused.add(refusal, 1);
                visit.skips.add(refusal, visit.record.redirect.as_deref().unwrap_or_default(), lease.depth());
            }
            None => {}
        }
        if let Some((mut yielded, first)) = yielded {
            visit.record.duplicate = Duplicate::of(&yielded);
            visit.record.duplicate_of = first.map(String::from);
            if leads_on(lease, &admitted) {
                yielded.set_leads();
            }
            if renews_id {
                yielded.set_renews_id();
            }
            yielded.relays = may_relay && relays(lease, &admitted, &refused);
            lease.yielded(yielded);
        }
        // An exact seen set must not silently become inexact.
        gate.check_disk().map_err(io::Error::other)?;
        self.shared.check_fill();
        let links = &mut visit.record.links;
        links.admitted = admitted.len() as u64;
        links.seen = refused.of(Refusal::Seen);
        links.refused = refused.total() - links.seen;
        Ok(admitted)
    }

    /// Called with a host's first page: admits the sitemap that the host may have at the usual place.
    fn admit_sitemap(&self, lease: &Lease) -> Option<Admitted> {
        let gate = self.shared.frontier.gate();
        match gate.admit(guess_sitemap(gate, lease, &self.shared.read)?) {
            Admission::Admitted(proof) => Some(proof),
            Admission::Refused(_) => None,
        }
    }

    /// Counts a lease that was given back, and logs what is worth a line.
    fn count(
        &self,
        source: &dyn UrlSource,
        record: &PageRecord,
        is_done: bool,
        counted: &Counted,
        turn: Option<HostTurn>,
    ) {
        let is_first_failure = {
            let mut tally = lock(&self.shared.tally);
            source.count(&mut tally, is_done, counted.has_record, record);
            tally.sources.sitemaps += u64::from(counted.has_sitemap);
            tally.waits.record(counted.waited);
            tally.is_first_failure(record)
        };
        if self.logs_all {
            log_page(record, is_done);
        }
        if let Some(turn) = turn {
            log_turn(turn, record);
        } else if is_first_failure && !self.logs_all {
            log_failure(record, is_done);
        }
    }
}

/// Logs that a host begins to fail or has recovered: one line each, at the default level.
fn log_turn(turn: HostTurn, record: &PageRecord) {
    let url = &record.url;
    match turn {
        HostTurn::Recovers => tracing::warn!("{url}: the host answers again"),
        HostTurn::Fails => {
            let error = record
                .error
                .as_deref()
                .map_or_else(|| format!("status {}", record.status.unwrap_or_default()), str::to_owned);
            let message = record.message.as_deref().map_or_else(String::new, |message| format!(": {message}"));
            tracing::warn!(
                "{url}: the host begins to fail: {error}{message}; it rests longer after each failure in a row"
            );
        }
    }
}

/// Logs the first failure of its kind at once. Later ones are counted.
fn log_failure(record: &PageRecord, is_done: bool) {
    let error = record.error.as_deref().unwrap_or_default();
    let message = record.message.as_deref().map_or_else(String::new, |message| format!(": {message}"));
    let then = if is_done { "others like it are counted" } else { "tried again; others like it are counted" };
    tracing::warn!("{}: {error}{message}; {then}", record.url);
}
