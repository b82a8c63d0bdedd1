//! Fetches one URL: the head, then the body, within the limits of [`FetchOptions`].

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::header;

use super::access::{AccessError, Accesses, HostHeaders};
use super::ask::{Ask, TakesBody};
use super::client::Client;
use super::connection::Connection;
use super::connection_times::ConnectionTimes;
use super::cookies::CookieJar;
use super::deadline::{Deadline, LONGEST};
use super::decoder::{DecodeError, Decoder};
use super::exchange::{Exchange, request_bytes};
use super::fetch_error::{FetchError, is_of_proxy, is_timeout};
use super::fetcher_error::FetcherError;
use super::guard::Guard;
use super::head::Head;
use super::no_head::NoHead;
use super::proxy::{Proxies, Proxy};
use super::proxy_place::ProxyPlace;
use super::request::{Get, RequestHeaders};
use super::response::{Response, codings, transfer_codings};
use super::tls::{Connector, Tls};
use super::wanted::Wanted;
use crate::address::{CanonicalUrl, Canonicalizer, KeyRules};
use crate::crawl::FetchOptions;
use crate::crawl::bounds::Places;
use crate::crawl::html::SNIFFED;
use crate::frontier::Failure;

/// Bytes that are taken of the body of a redirect or an error, so that its connection may be kept.
const MAX_ASIDE: usize = 64 * 1024;
/// How long such a body may take.
const ASIDE_TIME: Duration = Duration::from_secs(1);
/// Bytes that a body may be short of its length, at most, where it counts as far as it came; so may an eighth of what came.
const SHORT: u64 = 64;
/// From so many pieces of a body on, their size counts.
const MANY_PIECES: u64 = 16 * 1024;
/// Bytes that each of many pieces must have on average: a piece costs as much as a kilobyte.
const MIN_PIECE: u64 = 32;

/// Fetches URLs with GET, within every limit of [`FetchOptions`]. It follows no redirects. A secret is sent to the origin that it is for, and shown to nobody. Cheap to clone; clones share connections and the name cache.
///
/// It brings its own cryptography, and leaves alone whatever provider the process has installed for rustls.
#[derive(Clone, Debug)]
pub struct Fetcher {
    client: Client,
    accesses: Arc<Accesses>,
    /// `None` where nobody asked for cookies.
    cookies: Option<Arc<CookieJar>>,
    canonicalizer: Canonicalizer,
    guard: Guard,
    wanted: Arc<Wanted>,
    options: Arc<FetchOptions>,
}

impl Fetcher {
    /// Prepares the client.
    ///
    /// # Errors
    /// Where a header cannot be sent, a type is unknown, a secret cannot be read, or the client cannot be set up.
    pub fn new(options: &FetchOptions) -> Result<Self, FetcherError> {
        Self::within(options, Places::fit(None, u64::MAX), true)
    }

    /// As [`new`](Self::new), with idle connections and lookups by places. `asks_beside`: a host may be asked several things at once.
    pub(in crate::crawl) fn within(
        options: &FetchOptions,
        places: Places,
        asks_beside: bool,
    ) -> Result<Self, FetcherError> {
        let headers = RequestHeaders::new(options)?;
        let tls = Tls::new(&options.ca_files).map_err(|reason| AccessError::of_option("ca_files", reason))?;
        let accesses = Arc::new(Accesses::new(options, headers, &tls)?);
        let cookies = CookieJar::of(options).map_err(|reason| AccessError::of_option("load_cookies", reason))?;
        let proxies = Proxies::new(options, &tls, places.lookups)?;
        let client = Client::new(options, places, asks_beside && !options.http1_only, &tls, proxies);
        let client = client.map_err(FetcherError::Setup)?;
        Ok(Self {
            client,
            accesses,
            cookies,
            // The gate bounds the length of URLs.
            canonicalizer: Canonicalizer::new(&KeyRules::default()).with_max_bytes(usize::MAX),
            guard: Guard::new(options),
            wanted: Arc::new(Wanted::new(options)?),
            options: Arc::new(options.clone()),
        })
    }

    /// Looks for what is wrong with the headers, the types and the rules of these options. Secrets are not read.
    ///
    /// # Errors
    /// Where something cannot be sent, or stands for nothing.
    pub fn check(options: &FetchOptions) -> Result<(), AccessError> {
        Proxies::check(options)?;
        Wanted::new(options)?;
        Accesses::check(options)
    }

    /// Fetches one URL, within the total timeout. Holds the body and little else.
    ///
    /// # Errors
    /// Where there is no response, or one that is not HTTP. Once there is a head, what came of the body is kept: see
    /// [`Response::incomplete`].
    pub async fn fetch(&self, url: &str) -> Result<Response, FetchError> {
        let url = self.canonicalizer.canonicalize(url);
        let url = url.map_err(|error| FetchError::new(Failure::BadResponse, error.to_string()))?;
        self.ask(Ask::whole(&url)).await
    }

    /// The cookies, if there may be any.
    pub(in crate::crawl) fn cookies(&self) -> Option<&Arc<CookieJar>> {
        self.cookies.as_ref()
    }

    /// How long it took to reach servers so far.
    pub(in crate::crawl) fn connection_times(&self) -> ConnectionTimes {
        self.client.times()
    }

    /// Whether a proxy has failed in such a way, or for so long, that there is no hope.
    pub(in crate::crawl) fn has_lost_proxy(&self) -> bool {
        self.client.proxies().are_lost()
    }

    /// Tells the addresses to which a URL's host resolves; none where they are not known here.
    pub(in crate::crawl) async fn tell_addresses<T>(
        &self,
        url: &CanonicalUrl,
        is_first_contact: bool,
        tell: impl FnOnce(&[IpAddr]) -> T,
    ) -> T {
        if self.client.proxies().of(url).is_some_and(Proxy::resolves_names) {
            return tell(&[]);
        }
        self.client.names().tell_addresses(url.host(), is_first_contact, tell).await
    }

    /// As [`fetch`](Self::fetch), with a say in how.
    pub(in crate::crawl) async fn ask(&self, mut ask: Ask<'_>) -> Result<Response, FetchError> {
        let url = ask.url;
        let is_resolved_elsewhere = self.client.proxies().of(url).is_some_and(Proxy::resolves_names);
        self.guard.check(url, is_resolved_elsewhere).map_err(|(failure, reason)| FetchError::new(failure, reason))?;
        let access = self.accesses.of(url.host());
        // This comes before any deadline: to wait for a turn to look a name up is no fault of the host's.
        if !is_resolved_elsewhere {
            self.client.names().look_up_ahead(url.host(), ask.is_first_contact).await;
        }
        let kept = self.client.kept(url);
        // Nor is it to wait for a place at a proxy.
        let place = if kept.is_none() { self.client.place(url).await } else { None };
        let total = Deadline { name: "total", length: self.options.total_timeout, from: Instant::now() };
        let (head, sent_at, request) = self.head(&ask, access, (kept, place), total).await?;
        let is_private = self.cookies.is_some() || access.is_private(url);
        let mut response = Response::begun(&head, &self.options.agent, ask.changed.is_some(), sent_at)?;
        response.is_lenient = head.is_mended();
        response.has_new_cookies = self.cookies.as_ref().is_some_and(|jar| jar.take(head.headers(), url));
        response.exchange =
            request.map(|request| Box::new(Exchange::of(request, head.to_bytes(is_private), head.remote_addr())));
        if ask.may_refuse && response.is_success() {
            response.refused = self.wanted.refuse(response.content_type.as_deref(), head.body_length());
        }
        if response.refused.is_none() {
            response.incomplete = self.read_body(head, &mut response, total, &mut ask).await.err();
        }
        if response.refused.is_some() {
            (response.body, response.digest, response.exchange) = (Vec::new(), None, None);
            ask.make_room(0).await;
        }
        response.total = response.sent_at.elapsed();
        Ok(response)
    }

    /// Sends the request, on a connection that was kept or a new one, in its place at a proxy. Says when it was sent, and its bytes where they are wanted.
    async fn head(
        &self,
        ask: &Ask<'_>,
        access: &HostHeaders,
        (mut kept, mut place): (Option<Connection>, Option<ProxyPlace>),
        total: Deadline,
    ) -> Result<(Head, Instant, Option<Vec<u8>>), FetchError> {
        let url = ask.url;
        let patience = if ask.is_first_contact { self.options.first_contact_timeout } else { LONGEST };
        let contact = Deadline { name: "first contact", length: patience, from: Instant::now() }.sooner(total);
        let forwarding = self.client.proxies().of(url).filter(|proxy| proxy.forwards(url));
        let mut is_repeated = false;
        loop {
            let mut request = access.get(url, ask.changed)?;
            if let Some(jar) = &self.cookies {
                jar.add_to(request.headers_mut(), url);
            }
            let bytes = ask.keeps_exchange.then(|| request_bytes(&request));
            if let Some(proxy) = forwarding {
                proxy.address(&mut request, url);
            }
            let connection = match kept.take() {
                Some(connection) => connection,
                None => self.connect(url, access.tls(), place.take(), contact).await?,
            };
            // A server may end a connection just as it is used again, or refuse a request that it did not look at. It is repeated
            // once (RFC 9110 section 9.2.2): on a new connection, unless the shared one goes on.
            let is_kept = connection.is_kept();
            ask.permitted()?;
            let (no_head, sent_at) = match self.head_on(connection, request, contact).await {
                Ok((head, sent_at)) => {
                    forwarding.map_or(Ok(()), |proxy| proxy.judge(head.status())).map_err(FetchError::of_proxy)?;
                    return Ok((head, sent_at, bytes));
                }
                Err(unanswered) => unanswered,
            };
            if matches!(no_head, NoHead::RanOut(_))
                && let Some(error) = forwarding.and_then(Proxy::said_nothing)
            {
                return Err(FetchError::of_proxy(error));
            }
            let may_repeat = no_head.is_refused() || is_kept && no_head.is_of_connection();
            if no_head.wants_http1() {
                self.client.speaks_http1(url.origin());
            }
            let error = FetchError::without_head(no_head);
            if is_repeated || !may_repeat || error.failure != Failure::Incomplete {
                return Err(FetchError { sent_at, ..error });
            }
            is_repeated = true;
        }
    }

    /// Sends the request on a connection, and waits for the head. Says when it was sent, also where there is no head.
    async fn head_on(
        &self,
        mut connection: Connection,
        request: Get,
        contact: Deadline,
    ) -> Result<(Head, Instant), (NoHead, Option<Instant>)> {
        let begun = Instant::now();
        if let Err(no_head) = contact.limit(connection.send(request)).await {
            // Where it is the connection that ended, it was perhaps sent.
            let is_waiting = matches!(no_head, NoHead::RanOut(_));
            return Err((no_head, Some(begun).filter(|_| !is_waiting)));
        }
        let sent_at = Instant::now();
        let clock = Deadline { name: "first byte", length: self.options.first_byte_timeout, from: sent_at };
        match clock.sooner(contact).limit(connection.head()).await {
            Ok(response) => Ok((Head::new(response, connection), sent_at)),
            Err(no_head) => {
                if matches!(no_head, NoHead::RanOut(_)) {
                    connection.distrust();
                }
                Err((no_head, Some(sent_at)))
            }
        }
    }

    async fn connect(
        &self,
        url: &CanonicalUrl,
        tls: Option<&Connector>,
        place: Option<ProxyPlace>,
        contact: Deadline,
    ) -> Result<Connection, FetchError> {
        let connecting = Deadline { name: "connect", length: self.options.connect_timeout, from: Instant::now() };
        let clock = connecting.sooner(contact);
        let ran_out = |clock: Deadline| FetchError { failure: Failure::Connect, ..clock.ran_out() };
        match tokio::time::timeout_at(clock.until().into(), self.client.connect(url, tls, place, clock.until())).await {
            Ok(Ok(connection)) => Ok(connection),
            // Each of a name's addresses has its part of the time.
            Ok(Err(NoHead::Connect(error))) if is_timeout(&*error) && !is_of_proxy(&*error) => Err(ran_out(connecting)),
            Ok(Err(error)) => Err(FetchError::without_head(error)),
            Err(_) => Err(ran_out(clock)),
        }
    }

    /// Reads until the end, a limit or an error. The connection is kept if it was the end. A little is taken of a redirect or an
    /// error, and it does not matter how that ends.
    async fn read_body(
        &self,
        head: Head,
        response: &mut Response,
        total: Deadline,
        ask: &mut Ask<'_>,
    ) -> Result<(), FetchError> {
        let max_bytes = ask.max_bytes.unwrap_or(self.options.max_body_bytes);
        let is_page = response.is_success();
        let (clock, most) = if is_page {
            (total, max_bytes)
        } else {
            let aside = Deadline { name: "aside", length: ASIDE_TIME, from: Instant::now() };
            (aside.sooner(total), max_bytes.min(MAX_ASIDE))
        };
        let read = self.read_page(head, response, clock, most, ask).await;
        if let Some(exchange) = &mut response.exchange {
            exchange.end(read.as_ref().err().map(|error| error.failure), response.truncated);
        }
        if is_page {
            return read;
        }
        // Whatever came is enough.
        response.truncated = false;
        Ok(())
    }

    async fn read_page(
        &self,
        mut head: Head,
        response: &mut Response,
        mut total: Deadline,
        max_bytes: usize,
        ask: &mut Ask<'_>,
    ) -> Result<(), FetchError> {
        let transfer = transfer_codings(codings(head.headers(), &header::TRANSFER_ENCODING));
        if Decoder::new(transfer.iter().copied(), 0).refused().is_some() {
            let error = FetchError::new(Failure::BadResponse, format!("the transfer codings {transfer:?} are unknown"));
            return Err(FetchError { sent_at: Some(response.sent_at), ..error });
        }
        let codings = codings(head.headers(), &header::CONTENT_ENCODING).chain(transfer);
        let mut decoder = Decoder::new(codings, max_bytes).with_digest(ask.makes_digest);
        let most_wire =
            if ask.may_refuse && response.is_success() { self.wanted.most(max_bytes) } else { max_bytes as u64 };
        decoder.expect(head.body_length().unwrap_or_default());
        let mut begun = Instant::now();
        let mut pieces = 0;
        let mut is_decided = ask.takes.is_none();
        let mut is_unread = false;
        let result = loop {
            let clock = self.body_clock(response.wire_bytes, begun).sooner(total);
            let piece = match tokio::time::timeout_at(clock.until().into(), head.chunk()).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(Ok(None)) => {
                    response.is_lenient |= head.is_mended();
                    self.client.keep(head);
                    let is_whole = decoder.is_whole();
                    let early = || FetchError::new(Failure::Incomplete, "the coding of the body ends early");
                    break is_whole.then_some(()).ok_or_else(early);
                }
                Ok(Err(error)) => {
                    let (error, missing) = (FetchError::in_body(error), head.body_length());
                    let is_short = missing.is_some_and(|missing| missing <= SHORT.max(response.wire_bytes / 8));
                    let is_enough = ask.reads_so_far && is_short && error.failure == Failure::Incomplete;
                    response.is_lenient |= is_enough || head.is_mended();
                    break if is_enough { Ok(()) } else { Err(error) };
                }
                Err(_) => {
                    head.distrust();
                    break Err(clock.ran_out());
                }
            };
            if pieces == 0 && ask.reads_so_far && decoder.is_gzip_in_name_alone(&piece) {
                decoder = Decoder::new(std::iter::empty(), max_bytes).with_digest(ask.makes_digest);
                response.is_lenient = true;
            }
            let mut pushed = Ok(());
            for part in decoder.parts(&piece) {
                // To wait for room is no fault of the host's, so the deadlines move.
                let wire = response.exchange.as_ref().map_or(0, |exchange| exchange.body.len() + part.len());
                let waited = ask.make_room(decoder.held() + decoder.growth(part) + wire).await;
                (begun, total.from) = (begun + waited, total.from + waited);
                response.wire_bytes += part.len() as u64;
                if let Some(exchange) = &mut response.exchange {
                    exchange.body.extend_from_slice(part);
                }
                pushed = decoder.push(part, response.wire_bytes);
                if !is_decided && decoder.bytes().len() >= SNIFFED {
                    is_decided = true;
                    let is_page = response.is_success() && !decoder.is_raw();
                    let is_taken = |takes: TakesBody| takes(response.content_type.as_deref(), decoder.bytes());
                    if !is_page || !ask.takes.is_none_or(is_taken) {
                        decoder.only_count(SNIFFED);
                        is_unread = !ask.makes_digest && response.exchange.is_none();
                    }
                }
                if pushed.is_err() || response.wire_bytes > most_wire {
                    break;
                }
            }
            let wire = response.exchange.as_ref().map_or(0, |exchange| exchange.body.len());
            ask.make_room(decoder.held() + wire).await;
            // Nobody reads it, so it is not loaded: a new connection costs less. A short rest is, and the connection serves again.
            let rest = head.body_length().unwrap_or(response.wire_bytes);
            if is_unread && pushed.is_ok() && rest > MAX_ASIDE as u64 {
                break Ok(());
            }
            pieces += 1;
            if pieces > MANY_PIECES && response.wire_bytes < pieces * MIN_PIECE {
                break Err(FetchError::new(Failure::BadResponse, "the body comes in crumbs"));
            }
            match pushed {
                Ok(()) if response.wire_bytes <= most_wire => {}
                Ok(()) if response.wire_bytes <= max_bytes as u64 => {
                    response.refused = self.wanted.refuse_bytes(response.wire_bytes);
                    break Ok(());
                }
                Ok(()) | Err(DecodeError::TooLong) => {
                    response.truncated = true;
                    break Ok(());
                }
                Err(error @ DecodeError::Corrupt(_)) => {
                    break Err(FetchError::new(Failure::BadResponse, error.to_string()));
                }
            }
        };
        let result = result.and_then(|()| decoder.check_page(response));
        (response.raw, response.digest) = (decoder.is_raw(), decoder.digest());
        response.body_bytes = decoder.produced() as u64;
        response.body = decoder.into_bytes();
        result.map_err(|error| FetchError { sent_at: Some(response.sent_at), ..error })
    }

    /// The deadline for the next piece of a body: that of the idle timeout, or that of the least rate, by which the bytes so far may have
    /// taken only so long.
    fn body_clock(&self, wire_bytes: u64, begun: Instant) -> Deadline {
        let options = &self.options;
        let earned = Duration::from_secs(wire_bytes / u64::from(options.min_bytes_per_second.max(1)));
        let rate = Deadline { name: "rate", length: options.rate_grace.max(earned), from: begun };
        Deadline { name: "idle", length: options.idle_timeout, from: Instant::now() }.sooner(rate)
    }
}
