//! The seam for clients: [`Client`] takes a request, and returns the head of the response and the pieces of its body as they come.

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use http::{Request, Response, Uri};

use super::access::HostHeaders;
use super::cookie_jar::CookieJar;
use super::dns::ConnectionTimes;
use super::fetch_error::{Deadline, FetchError, LONGEST};
use super::identity::AgentIdentity;
use super::request::{Ask, Get, RequestPermit, not_sent, request_bytes};
use super::tls::Connector;
use crate::address::CanonicalUrl;
use crate::crawl::FetchOptions;
use crate::crawl::lock::lock;
use crate::frontier::{Failure, Validators};

/// The future that a client returns.
pub type ClientFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Sends one request, and returns the response.
///
/// The crawl does everything else, the same for all clients: it decides which URLs may be requested, adds cookies and sign-ins, keeps the
/// clocks and the limits of a body, decodes, computes digests, and writes records.
///
/// A client follows no redirect: the target is a page of its own, and waits for its turn like any other. It decodes no content coding: the
/// crawl bounds the decoded size. It repeats a request only if the server did not process it.
pub trait Client: fmt::Debug + Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// Sends a request, and waits for the head of its response. The future is dropped when a clock runs out.
    ///
    /// # Errors
    /// When there is no response, or the response is not HTTP.
    fn ask<'a>(&'a self, request: &'a ClientRequest<'a>) -> ClientFuture<'a, Result<ClientResponse, FetchError>>;

    /// Whether it fetches this URL. If not, the client that the options name does.
    fn takes(&self, _url: &CanonicalUrl) -> bool {
        true
    }

    /// Whether it resolves a URL's host by itself, as a client does that has its own proxy, its own DNS, or no network. The crawl then does
    /// no lookup, so politeness by IP address does not count that host. The address is checked afterwards, if the response has a
    /// [`remote_addr`](ClientResponse::remote_addr).
    fn resolves_host(&self, _url: &CanonicalUrl) -> bool {
        true
    }

    /// Whether it enforces a request's clocks itself. Otherwise the crawl does.
    fn enforces_timeouts(&self) -> bool {
        false
    }

    /// Checks its own setup, before a crawl begins.
    ///
    /// # Errors
    /// A message: what is wrong, and what to do about it.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Whether it honors an option on how hosts are reached: `proxy`, `ca_files`, `insecure`, `client_certificate`, `deny_networks`,
    /// `http1_only` or `resolve_all_to`. A crawl does not begin with an option that its client does not honor.
    fn honors(&self, _option: &str) -> bool {
        false
    }

    /// Whether the client has failed for good. The crawl then ends, and can be resumed.
    fn is_lost(&self) -> bool {
        false
    }
}

/// A response whose body is still to come.
#[derive(Debug)]
#[non_exhaustive]
pub struct ClientResponse {
    /// The status, the version, and all headers as they came, `Content-Encoding` included.
    pub head: Response<()>,
    /// The body on the wire: chunks or frames are joined, content codings are not decoded.
    pub body: Box<dyn ClientBody>,
    /// The address that answered; `None` if unknown, as through a proxy.
    pub remote_addr: Option<SocketAddr>,
}

impl ClientResponse {
    /// A response from an unknown address.
    pub fn new(head: Response<()>, body: impl ClientBody + 'static) -> Self {
        Self { head, body: Box::new(body), remote_addr: None }
    }

    /// A response whose body is already complete.
    ///
    /// ```
    /// # use crawler::crawl::ClientResponse;
    /// let response = http::Response::builder().header("content-type", "text/html").body("<p>Hello".into());
    /// ClientResponse::whole(response.unwrap());
    /// ```
    pub fn whole(response: Response<Bytes>) -> Self {
        let (head, body) = response.into_parts();
        Self::new(Response::from_parts(head, ()), WholeBody(Some(body).filter(|body| !body.is_empty())))
    }
}

/// A body that is still to come. Dropping it before its end gives up the rest.
pub trait ClientBody: fmt::Debug + Send {
    /// The next piece; `None` after the last.
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, FetchError>>>;

    /// Bytes of the body that are still to come, if the head states its length.
    fn length(&self) -> Option<u64> {
        None
    }

    /// Whether the response was framed wrongly and was read anyway.
    fn is_mended(&self) -> bool {
        false
    }

    /// Called when a clock runs out: the connection may be dead.
    fn timed_out(&mut self) {}
}

/// A body that is complete.
#[derive(Debug)]
struct WholeBody(Option<Bytes>);

impl ClientBody for WholeBody {
    fn poll_chunk(&mut self, _context: &mut Context<'_>) -> Poll<Option<Result<Bytes, FetchError>>> {
        Poll::Ready(self.0.take().map(Ok))
    }

    fn length(&self) -> Option<u64> {
        Some(self.0.as_ref().map_or(0, |body| body.len() as u64))
    }
}

/// One request as given to a client. The client must call [`send`](Self::send) right before it sends the request: clocks and politeness
/// depend on it.
pub struct ClientRequest<'a> {
    url: &'a CanonicalUrl,
    validators: Option<&'a Validators>,
    access: &'a HostHeaders,
    cookies: Option<&'a CookieJar>,
    identity: Option<&'a AgentIdentity>,
    permission: Option<&'a dyn RequestPermit>,
    keeps_bytes: bool,
    /// The limit on the time until the head. Only a host that has never answered has a short one.
    patience: Duration,
    options: &'a FetchOptions,
    times: &'a Mutex<ConnectionTimes>,
    reports: Mutex<ClientReports>,
}

/// The reports of the client while it works on a request.
struct ClientReports {
    begun: Instant,
    sent_at: Option<Instant>,
    /// The bytes of the request as it was sent, if they are wanted.
    bytes: Option<Vec<u8>>,
}

impl fmt::Debug for ClientRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientRequest").field("url", &self.url()).finish_non_exhaustive()
    }
}

impl<'a> ClientRequest<'a> {
    pub(super) fn new(
        ask: &Ask<'a>,
        access: &'a HostHeaders,
        cookies: Option<&'a CookieJar>,
        identity: Option<&'a AgentIdentity>,
        options: &'a FetchOptions,
        times: &'a Mutex<ConnectionTimes>,
    ) -> Self {
        Self {
            url: ask.url,
            validators: ask.validators,
            access,
            cookies,
            identity,
            permission: ask.permission,
            keeps_bytes: ask.keeps_exchange,
            patience: if ask.is_first_contact { options.first_contact_timeout } else { LONGEST },
            options,
            times,
            reports: Mutex::new(ClientReports { begun: Instant::now(), sent_at: None, bytes: None }),
        }
    }

    /// The URL as it is requested.
    pub fn url(&self) -> &str {
        self.url.wire()
    }

    pub(super) fn canonical(&self) -> &'a CanonicalUrl {
        self.url
    }

    /// The request: GET, the whole URL, and all its headers, `Host` included. A client adds no headers. Call this again each time the
    /// request is sent.
    ///
    /// # Errors
    /// When the URL or a header cannot be sent.
    pub fn to_http(&self) -> Result<Request<()>, FetchError> {
        let mut request = self.get()?;
        *request.uri_mut() = self.url().parse::<Uri>().map_err(not_sent)?;
        Ok(request)
    }

    /// The same request, with the target in HTTP/1.1's form.
    pub(super) fn get(&self) -> Result<Get, FetchError> {
        let mut request = self.access.get(self.url, self.validators)?;
        if let Some(jar) = self.cookies {
            jar.add_to(request.headers_mut(), self.url);
        }
        if let Some(identity) = self.identity {
            // Each time by a new signature: a try that is repeated replays nothing.
            let authority = self.url.origin().split_once("://").map_or("", |(_, authority)| authority);
            let headers = identity.headers(authority, SystemTime::now()).map_err(not_sent)?;
            headers.add_to(request.headers_mut());
        }
        let mut reports = lock(&self.reports);
        reports.sent_at = None;
        if self.keeps_bytes {
            reports.bytes = Some(request_bytes(&request));
        }
        Ok(request)
    }

    /// Checks that the request may still be sent, and records the time. Call this right before sending it.
    ///
    /// # Errors
    /// If the request may no longer be sent. The client must not send it then.
    pub fn send(&self) -> Result<(), FetchError> {
        self.permitted()?;
        self.sent();
        Ok(())
    }

    /// Whether it may be sent now.
    pub(super) fn permitted(&self) -> Result<(), FetchError> {
        if self.permission.is_none_or(RequestPermit::may_ask) { Ok(()) } else { Err(FetchError::not_allowed()) }
    }

    /// Records that it was sent just now.
    pub(super) fn sent(&self) -> Instant {
        *lock(&self.reports).sent_at.insert(Instant::now())
    }

    /// Undoes [`sent`](Self::sent): the request has no connection yet.
    #[cfg(feature = "reqwest")]
    pub(super) fn not_sent_yet(&self) {
        lock(&self.reports).sent_at = None;
    }

    /// Records how long it took to connect.
    pub fn connected(&self, took: Duration) {
        lock(self.times).connect.record(took);
    }

    /// Records how long the TLS handshake took.
    pub fn shook_hands(&self, took: Duration) {
        lock(self.times).tls.record(took);
    }

    /// Starts the request's clocks now. Time spent waiting for a place at a proxy does not count against the host.
    pub(super) fn begin(&self) {
        lock(&self.reports).begun = Instant::now();
    }

    /// The TLS settings for its host, if a rule sets them.
    pub(super) fn tls(&self) -> Option<&'a Connector> {
        self.access.tls()
    }

    /// When it was last sent.
    pub(super) fn sent_at(&self) -> Option<Instant> {
        lock(&self.reports).sent_at
    }

    /// Takes the bytes of the request, if they are wanted.
    pub(super) fn take_bytes(&self) -> Option<Vec<u8>> {
        lock(&self.reports).bytes.take()
    }

    /// The clock of the whole fetch.
    pub(super) fn total(&self) -> Deadline {
        Deadline { name: "total", length: self.options.total_timeout, from: lock(&self.reports).begun }
    }

    /// The clock up to the head.
    pub(super) fn contact(&self) -> Deadline {
        let total = self.total();
        Deadline { name: "first contact", length: self.patience, from: total.from }.sooner(total)
    }

    /// The clock for connecting.
    pub(super) fn connecting(&self) -> Deadline {
        Deadline { name: "connect", length: self.options.connect_timeout, from: Instant::now() }
    }

    /// The clock from sending the request to the head.
    pub(super) fn first_byte(&self, sent_at: Instant) -> Deadline {
        Deadline { name: "first byte", length: self.options.first_byte_timeout, from: sent_at }
    }

    /// Waits for a head until a clock runs out.
    pub(super) async fn within_clocks<T>(
        &self,
        head: impl Future<Output = Result<T, FetchError>>,
    ) -> Result<T, FetchError> {
        let (contact, connecting) = (self.contact(), self.connecting());
        let clock = |sent_at| match sent_at {
            Some(sent_at) => self.first_byte(sent_at).sooner(contact),
            None => connecting.sooner(contact),
        };
        let mut head = pin!(head);
        let mut sent_at = None;
        let mut alarm = pin!(tokio::time::sleep_until(clock(sent_at).until().into()));
        poll_fn(|context| {
            if let Poll::Ready(answer) = head.as_mut().poll(context) {
                return Poll::Ready(answer);
            }
            let now_sent_at = self.sent_at();
            if now_sent_at != sent_at {
                sent_at = now_sent_at;
                alarm.as_mut().reset(clock(sent_at).until().into());
            }
            ready!(alarm.as_mut().poll(context));
            let error = clock(sent_at).ran_out();
            let failure = if sent_at.is_some() { error.failure } else { Failure::Connect };
            Poll::Ready(Err(FetchError { failure, ..error }))
        })
        .await
    }
}
