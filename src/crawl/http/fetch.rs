//! Fetches one URL: the head, then the body, within the limits of [`FetchOptions`].

use std::future::poll_fn;
use std::mem::take;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{self, HeaderMap};

use super::access::{AccessError, Accesses};
use super::challenge::{self, challenger};
use super::client::{Client, ClientBody, ClientRequest, ClientResponse};
use super::clients::{self, ClientParts, FetcherError};
use super::codec::DecodeError;
use super::cookie_jar::CookieJar;
use super::decoder::Decoder;
use super::dns::{ConnectionTimes, Names};
use super::fetch_error::{Deadline, FetchError};
use super::guard::Guard;
use super::identity::AgentIdentity;
use super::proxy::Proxies;
use super::request::{Ask, Exchange, RequestHeaders, TakesBody, head_bytes};
use super::response::{Response, Wanted, codings, transfer_codings, validators};
use super::tls::Tls;
use crate::address::{CanonicalUrl, Canonicalizer, KeyRules};
use crate::crawl::FetchOptions;
use crate::crawl::bounds::ResourceLimits;
use crate::crawl::html::SNIFFED;
use crate::crawl::lock::lock;
use crate::frontier::Failure;

/// At most this many bytes are read of the body of a redirect or an error, so that its connection may be kept.
const MAX_ERROR_BODY: usize = 64 * 1024;
/// How long such a body may take.
const ERROR_BODY_TIME: Duration = Duration::from_secs(1);
/// If a request accepts an incomplete body ([`Ask::accepts_faults`]), this many bytes may be missing at its end, or an eighth of the bytes
/// that came.
const SHORT: u64 = 64;
/// After this many pieces of a body, their average size is bounded.
const MANY_PIECES: u64 = 16 * 1024;
/// The least average size of many pieces, in bytes: to handle a piece costs as much as to handle a kilobyte.
const MIN_PIECE: u64 = 32;

/// Fetches URLs with GET, within every limit of [`FetchOptions`]. It follows no redirects. A secret is sent only to the origin that it is
/// for, and never shown. Cheap to clone; clones share connections and the name cache.
///
/// It has its own cryptography, and ignores any provider that the process has installed for rustls.
#[derive(Clone, Debug)]
pub struct Fetcher {
    client: Arc<dyn Client>,
    /// An embedder's client, which replaces `client`.
    own: Arc<OnceLock<Arc<dyn Client>>>,
    names: Names,
    times: Arc<Mutex<ConnectionTimes>>,
    accesses: Arc<Accesses>,
    /// `None` if the options ask for no cookies.
    cookies: Option<Arc<CookieJar>>,
    /// `None` if requests are not signed.
    identity: Option<Arc<AgentIdentity>>,
    canonicalizer: Canonicalizer,
    guard: Guard,
    wanted: Arc<Wanted>,
    options: Arc<FetchOptions>,
}

impl Fetcher {
    /// Makes a fetcher, and sets up its client.
    ///
    /// # Errors
    /// When a header cannot be sent, a type is unknown, a secret cannot be read, or the client cannot be set up.
    pub fn new(options: &FetchOptions) -> Result<Self, FetcherError> {
        Self::within(options, ResourceLimits::fit(None, u64::MAX), true)
    }

    /// As [`new`](Self::new), with idle connections and lookups limited by `limits`. `multiplexes`: whether a host may be sent several
    /// requests at once.
    pub(in crate::crawl) fn within(
        options: &FetchOptions,
        limits: ResourceLimits,
        multiplexes: bool,
    ) -> Result<Self, FetcherError> {
        let headers = RequestHeaders::new(options)?;
        let tls = Tls::new(&options.ca_files).map_err(|reason| AccessError::of_option("ca_files", reason))?;
        let accesses = Arc::new(Accesses::new(options, headers, &tls)?);
        let cookies = CookieJar::of(options).map_err(|reason| AccessError::of_option("load_cookies", reason))?;
        let identity = AgentIdentity::open(&options.identity).map_err(AccessError::from)?.map(Arc::new);
        let times = Arc::default();
        let names = Names::new(options, limits.lookups, &times);
        let parts = ClientParts { options, limits, multiplexes: multiplexes && !options.http1_only, tls: &tls };
        let client = clients::make(&parts, &names, &times)?;
        Ok(Self {
            client,
            own: Arc::default(),
            names,
            times,
            accesses,
            cookies,
            identity,
            // The gate bounds the length of URLs, so this need not.
            canonicalizer: Canonicalizer::new(&KeyRules::default()).with_max_bytes(usize::MAX),
            guard: Guard::new(options),
            wanted: Arc::new(Wanted::new(options)?),
            options: Arc::new(options.clone()),
        })
    }

    /// Whether a rule is still in force. `rule` is the message in the record of an unwanted page.
    pub(in crate::crawl) fn has_rule(&self, rule: &str) -> bool {
        self.wanted.has_rule(rule)
    }

    /// From now on, uses this client for the URLs that it [takes](Client::takes), instead of the client that the options name. This holds
    /// for all clones of this fetcher.
    ///
    /// # Errors
    /// When the client does not honor an option that is set, when it would hide pages, or when another client was given before.
    pub fn use_client(&self, client: impl Client + 'static) -> Result<(), FetcherError> {
        clients::check(&self.options, &client)?;
        let unfit = |reason| AccessError::of_option("client", format!("{}: {reason}", client.name()));
        client.check().map_err(unfit)?;
        let set = self.own.set(Arc::new(client));
        set.map_err(|_| AccessError::of_option("client", "another client was given before").into())
    }

    fn client(&self, url: &CanonicalUrl) -> &dyn Client {
        &**self.own.get().filter(|own| own.takes(url)).unwrap_or(&self.client)
    }

    /// Checks the headers, the types and the rules of these options. Secrets are not read.
    ///
    /// # Errors
    /// When a header cannot be sent, or a text has no meaning.
    pub fn check(options: &FetchOptions) -> Result<(), AccessError> {
        Proxies::check(options)?;
        Wanted::new(options)?;
        AgentIdentity::check(&options.identity)?;
        Accesses::check(options)
    }

    /// Fetches one URL, within the total timeout. Holds the body and little else.
    ///
    /// # Errors
    /// When there is no response, or it is not HTTP. Once there is a head, the part of the body that came is kept: see
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

    /// How long it has taken to reach servers so far.
    pub(in crate::crawl) fn connection_times(&self) -> ConnectionTimes {
        lock(&self.times).clone()
    }

    /// Whether the client has failed for good: its proxy has failed for too long, or does not take our sign-in.
    pub(in crate::crawl) fn has_lost_proxy(&self) -> bool {
        self.client.is_lost() || self.own.get().is_some_and(|own| own.is_lost())
    }

    /// Passes the addresses of a URL's host to `tell`; an empty slice if this machine does not know them.
    pub(in crate::crawl) async fn tell_addresses<T>(
        &self,
        url: &CanonicalUrl,
        is_first_contact: bool,
        tell: impl FnOnce(&[IpAddr]) -> T,
    ) -> T {
        if self.client(url).resolves_host(url) {
            return tell(&[]);
        }
        self.names.tell_addresses(url.host(), is_first_contact, tell).await
    }

    /// As [`fetch`](Self::fetch), with options.
    pub(in crate::crawl) async fn ask(&self, mut ask: Ask<'_>) -> Result<Response, FetchError> {
        let url = ask.url;
        let client = self.client(url);
        let is_resolved_elsewhere = client.resolves_host(url);
        self.guard.check(url, is_resolved_elsewhere).map_err(|(failure, reason)| FetchError::new(failure, reason))?;
        let access = self.accesses.of(url.host());
        // The lookup comes before any deadline: waiting for a permit to look a name up does not count against the host.
        if !is_resolved_elsewhere {
            self.names.look_up_ahead(url.host(), ask.is_first_contact).await;
        }
        let identity = self.identity.as_deref().filter(|identity| identity.is_for(url.host()));
        let request = ClientRequest::new(&ask, access, self.cookies.as_deref(), identity, &self.options, &self.times);
        let ClientResponse { head, body, remote_addr } = head_by(client, &request).await?;
        let (total, sent_at, bytes) = (request.total(), request.sent_at(), request.take_bytes());
        let sent_at = sent_at.unwrap_or(total.from);
        if is_resolved_elsewhere
            && let Some(address) = remote_addr.map(|address| address.ip())
            && let Some(refusal) = self.guard.refusal(address)
        {
            let error = FetchError::new(Failure::Address, format!("{address} answered, which {refusal}"));
            return Err(FetchError { sent_at: Some(sent_at), ..error });
        }
        let is_private = self.cookies.is_some() || access.is_private(url);
        let mut response = Response::begun(&head, &self.options.agent, ask.validators.is_some(), sent_at)?;
        if ask.keeps_validators {
            response.validators = validators(head.headers());
        }
        response.is_lenient = body.is_mended();
        response.signed = identity.is_some();
        response.has_new_cookies = self.cookies.as_ref().is_some_and(|jar| jar.take(head.headers(), url));
        response.exchange =
            bytes.map(|bytes| Box::new(Exchange::of(bytes, head_bytes(&head, is_private), remote_addr)));
        if ask.may_refuse && response.is_success() {
            let refused = self.wanted.refuse(response.content_type.as_deref(), body.length());
            response.refused = refused.or_else(|| self.wanted.refuse_purpose(head.headers(), response.preferences));
        }
        if response.refused.is_none() {
            response.incomplete = self.read_body((head.headers(), body), &mut response, total, &mut ask).await.err();
        }
        response.challenge = challenger(response.status, head.headers(), &response.body);
        if response.refused.is_some() {
            (response.body, response.digest, response.exchange) = (Vec::new(), None, None);
            ask.make_room(0).await;
        }
        response.total = response.sent_at.elapsed();
        Ok(response)
    }

    /// Reads until the end, a limit or an error. The connection is kept if the end was reached. Of a redirect or an error, only a little is
    /// read, and errors while reading it are ignored.
    async fn read_body(
        &self,
        (headers, body): (&HeaderMap, Box<dyn ClientBody>),
        response: &mut Response,
        total: Deadline,
        ask: &mut Ask<'_>,
    ) -> Result<(), FetchError> {
        let max_bytes = ask.max_bytes.unwrap_or(self.options.max_body_bytes);
        let is_page = response.is_success();
        let (clock, most) = if is_page {
            (total, max_bytes)
        } else {
            let aside = Deadline { name: "aside", length: ERROR_BODY_TIME, from: Instant::now() };
            (aside.sooner(total), max_bytes.min(MAX_ERROR_BODY))
        };
        let read = self.read_pieces((headers, body), response, clock, most, ask).await;
        if let Some(exchange) = &mut response.exchange {
            exchange.end(read.as_ref().err().map(|error| error.failure), response.truncated);
        }
        if is_page {
            return read;
        }
        // For such a response, an incomplete body is enough.
        response.truncated = false;
        Ok(())
    }

    async fn read_pieces(
        &self,
        (headers, mut body): (&HeaderMap, Box<dyn ClientBody>),
        response: &mut Response,
        mut total: Deadline,
        max_bytes: usize,
        ask: &mut Ask<'_>,
    ) -> Result<(), FetchError> {
        let transfer = transfer_codings(codings(headers, &header::TRANSFER_ENCODING));
        if Decoder::new(transfer.iter().copied(), 0).refused().is_some() {
            let error = FetchError::new(Failure::BadResponse, format!("the transfer codings {transfer:?} are unknown"));
            return Err(FetchError { sent_at: Some(response.sent_at), ..error });
        }
        let codings = codings(headers, &header::CONTENT_ENCODING).chain(transfer);
        let mut decoder = Decoder::new(codings, max_bytes).with_digest(ask.makes_digest);
        let most_wire =
            if ask.may_refuse && response.is_success() { self.wanted.most(max_bytes) } else { max_bytes as u64 };
        decoder.expect(body.length().unwrap_or_default());
        let is_decided = ask.takes.is_none();
        let mut reader = BodyReader {
            response,
            decoder,
            most_wire,
            is_decided,
            is_unread: false,
            pending: 0,
            waited: Duration::ZERO,
        };
        let mut begun = Instant::now();
        let mut pieces = 0;
        let result = loop {
            let clock = self.body_clock(reader.wire_bytes(), begun).sooner(total);
            let polled = tokio::time::timeout_at(clock.until().into(), poll_fn(|context| body.poll_chunk(context)));
            let (piece, mut end) = match polled.await {
                Ok(Some(Ok(piece))) => (piece, None),
                Ok(None) => (Bytes::new(), Some(Ok(Ending::Whole))),
                Ok(Some(Err(error))) => {
                    let missing = body.length();
                    let is_short = missing.is_some_and(|missing| missing <= SHORT.max(reader.wire_bytes() / 8));
                    let is_enough = ask.accepts_faults && is_short && error.failure == Failure::Incomplete;
                    reader.response.is_lenient |= is_enough;
                    (Bytes::new(), Some(if is_enough { Ok(Ending::Short) } else { Err(error) }))
                }
                Err(_) => {
                    body.timed_out();
                    (Bytes::new(), Some(Err(clock.ran_out())))
                }
            };
            if pieces == 0 && ask.accepts_faults && reader.decoder.is_gzip_in_name_alone(&piece) {
                reader.decoder = Decoder::new(std::iter::empty(), max_bytes).with_digest(ask.makes_digest);
                reader.response.is_lenient = true;
            }
            pieces += 1;
            if pieces > MANY_PIECES && reader.wire_bytes() + (piece.len() as u64) < pieces * MIN_PIECE {
                end = Some(Err(FetchError::new(Failure::BadResponse, "the body comes in tiny pieces")));
            }
            let pushed = reader.push(piece, end.is_some() || body.length() == Some(0), ask).await;
            // Waiting for room does not count against the host, so the deadlines move.
            let waited = take(&mut reader.waited);
            (begun, total.from) = (begun + waited, total.from + waited);
            let wire_bytes = reader.response.wire_bytes;
            match pushed {
                Ok(()) if wire_bytes <= most_wire => {}
                Ok(()) if wire_bytes <= max_bytes as u64 => {
                    reader.response.refused = self.wanted.refuse_bytes(wire_bytes);
                    break Ok(());
                }
                Ok(()) | Err(DecodeError::TooLong) => {
                    reader.response.truncated = true;
                    break Ok(());
                }
                Err(error @ DecodeError::Corrupt(_)) => {
                    break Err(FetchError::new(Failure::BadResponse, error.to_string()));
                }
            }
            if let Some(end) = end {
                reader.response.is_lenient |= body.is_mended();
                break match end {
                    Ok(Ending::Whole) if !reader.decoder.is_whole() => {
                        Err(FetchError::new(Failure::Incomplete, "the coding of the body ends early"))
                    }
                    end => end.map(|_| ()),
                };
            }
            // A body that will not be read is not loaded to its end: a new connection costs less. If little is left, it is loaded, so that
            // the connection can be reused.
            if reader.is_unread && body.length().unwrap_or(wire_bytes) > MAX_ERROR_BODY as u64 {
                break Ok(());
            }
        };
        let BodyReader { response, decoder, .. } = reader;
        let result = result.and_then(|()| decoder.check_page(response));
        (response.raw, response.digest) = (decoder.is_raw(), decoder.digest());
        response.body_bytes = decoder.produced() as u64;
        response.body = decoder.into_bytes();
        result.map_err(|error| FetchError { sent_at: Some(response.sent_at), ..error })
    }

    /// The deadline for the next piece of a body: the idle timeout, or the time at which the bytes so far fall below the minimum rate,
    /// whichever comes first. The rate applies after its grace.
    fn body_clock(&self, wire_bytes: u64, begun: Instant) -> Deadline {
        let options = &self.options;
        let earned = Duration::from_secs(wire_bytes / u64::from(options.min_bytes_per_second.max(1)));
        let rate = Deadline { name: "rate", length: options.rate_grace.max(earned), from: begun };
        Deadline { name: "idle", length: options.idle_timeout, from: Instant::now() }.sooner(rate)
    }
}

/// How a body has ended, if not by an error.
enum Ending {
    /// With its last byte, so the coding must end, too.
    Whole,
    /// A few bytes early, which is enough for the request.
    Short,
}

/// Decodes the pieces of a body into a response, with room in memory for each.
struct BodyReader<'a> {
    response: &'a mut Response,
    decoder: Decoder,
    /// At most this many bytes on the wire are read.
    most_wire: u64,
    /// Whether it is decided that the body is taken, or only counted.
    is_decided: bool,
    /// The rest of the body is neither kept nor counted.
    is_unread: bool,
    /// Bytes that were gathered, and are being decoded.
    pending: usize,
    /// How long it waited for room.
    waited: Duration,
}

impl BodyReader<'_> {
    /// Bytes that have come on the wire, decoded or not.
    fn wire_bytes(&self) -> u64 {
        self.response.wire_bytes + self.decoder.gathered() as u64
    }

    /// Takes a piece. The error is what ends the body.
    async fn push(&mut self, piece: Bytes, is_last: bool, ask: &mut Ask<'_>) -> Result<(), DecodeError> {
        let has_gathered = self.decoder.gathered() > 0;
        let is_last = is_last || self.wire_bytes() + piece.len() as u64 > self.most_wire;
        let mut result = Ok(());
        if let Some(piece) = self.decoder.gather(piece, is_last) {
            self.pending = if has_gathered { piece.len() } else { 0 };
            if !self.push_whole(&piece, ask).await {
                for part in self.decoder.parts(&piece) {
                    self.make_room(self.decoder.growth(part), part.len(), ask).await;
                    self.count(part);
                    result = self.decoder.push(part, self.response.wire_bytes);
                    self.decide(ask);
                    if result.is_err() || self.response.wire_bytes > self.most_wire {
                        break;
                    }
                }
            }
            self.pending = 0;
        }
        self.make_room(0, 0, ask).await;
        result
    }

    /// Decodes a whole body at once. Returns whether it could.
    async fn push_whole(&mut self, body: &[u8], ask: &mut Ask<'_>) -> bool {
        let Some(size) = self.decoder.whole_size(body).filter(|_| body.len() as u64 <= self.most_wire) else {
            return false;
        };
        self.make_room(size, body.len(), ask).await;
        let is_decoded = self.decoder.push_whole(body, size);
        if is_decoded {
            self.count(body);
            self.decide(ask);
        }
        is_decoded
    }

    /// Makes room for what is held, for `decoded` more bytes of output, and for `wire` more bytes as they came, if those are kept.
    async fn make_room(&mut self, decoded: usize, wire: usize, ask: &mut Ask<'_>) {
        let wire = self.response.exchange.as_ref().map_or(0, |exchange| exchange.body.len() + wire);
        self.waited += ask.make_room(self.decoder.held() + self.pending + decoded + wire).await;
    }

    fn count(&mut self, wire: &[u8]) {
        self.response.wire_bytes += wire.len() as u64;
        if let Some(exchange) = &mut self.response.exchange {
            exchange.body.extend_from_slice(wire);
        }
    }

    /// Decides whether the body is taken, once enough of it is decoded.
    fn decide(&mut self, ask: &Ask<'_>) {
        let response = &self.response;
        let kept = if response.is_success() { SNIFFED } else { challenge::READ };
        if self.is_decided || self.decoder.bytes().len() < kept {
            return;
        }
        self.is_decided = true;
        let is_page = response.is_success() && !self.decoder.is_raw();
        let is_taken = |takes: TakesBody| takes(response.content_type.as_deref(), self.decoder.bytes());
        if !is_page || !ask.takes.is_none_or(is_taken) {
            self.is_unread = !ask.makes_digest && response.exchange.is_none();
            self.decoder.only_count(kept);
        }
    }
}

/// Has the client send the request, and waits for the head. An error has the time at which the request was sent.
async fn head_by(client: &dyn Client, request: &ClientRequest<'_>) -> Result<ClientResponse, FetchError> {
    let asked = client.ask(request);
    let answer = if client.enforces_timeouts() { asked.await } else { request.within_clocks(asked).await };
    answer.map_err(|error| FetchError { sent_at: error.sent_at.or_else(|| request.sent_at()), ..error })
}

#[cfg(all(test, feature = "reqwest"))]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;
    use std::time::Duration;

    use super::super::client_choice::ClientChoice;
    use super::*;

    /// An event that a server has seen on a connection.
    #[derive(Debug, PartialEq, Eq)]
    enum Seen {
        Opened,
        Closed,
    }

    /// Starts a server of its own for a host. It closes no connection.
    fn serve(seen: &Sender<Seen>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = seen.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map(Result::unwrap) {
                let seen = seen.clone();
                thread::spawn(move || {
                    let _ = seen.send(Seen::Opened);
                    while answer(&stream).is_some() {}
                    let _ = seen.send(Seen::Closed);
                });
            }
        });
        address
    }

    fn answer(mut stream: &TcpStream) -> Option<()> {
        let (mut lines, mut line) = (BufReader::new(stream), String::new());
        while lines.read_line(&mut line).ok()? > 2 {
            line.clear();
        }
        (!line.is_empty()).then_some(())?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi").ok()
    }

    /// Sends a request to each of twelve hosts, where eight connections may be kept; then another to the last host. Returns how many
    /// connections were opened and closed by the twelve, and by the last one.
    fn opened_and_closed(client: ClientChoice) -> [(usize, usize); 2] {
        let options = FetchOptions { client, allow_private_addresses: true, ..FetchOptions::default() };
        let limits = ResourceLimits { idle_connections: 8, ..ResourceLimits::fit(None, u64::MAX) };
        let fetcher = Fetcher::within(&options, limits, false).unwrap();
        let (report, reports) = channel();
        let hosts: Vec<_> = (0..12).map(|_| serve(&report)).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ask = |host: &SocketAddr| {
            let page = runtime.block_on(fetcher.fetch(&format!("http://{host}/"))).unwrap();
            // The connection goes back to the client while the page is returned.
            runtime.block_on(tokio::task::yield_now());
            assert_eq!(page.body, b"hi");
        };
        hosts.iter().for_each(&ask);
        let first = count(&reports);
        ask(&hosts[11]);
        [first, count(&reports)]
    }

    /// Counts until nothing more is seen.
    fn count(reports: &Receiver<Seen>) -> (usize, usize) {
        let seen: Vec<_> = std::iter::from_fn(|| reports.recv_timeout(Duration::from_millis(500)).ok()).collect();
        let opened = seen.iter().filter(|seen| **seen == Seen::Opened).count();
        (opened, seen.len() - opened)
    }

    /// "keeps the connections of the hosts that were asked last, as many as may be kept": a row of the reference's table of clients. Only
    /// `direct` keeps this promise; neither client keeps more.
    #[test]
    fn kept_connections_have_a_bound_over_all_hosts() {
        assert_eq!(opened_and_closed(ClientChoice::DIRECT), [(12, 4), (0, 0)]);
        // Each generation of reqwest clients makes two connections.
        assert_eq!(opened_and_closed(ClientChoice::REQWEST), [(12, 10), (1, 2)]);
    }
}
