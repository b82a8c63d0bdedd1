//! One request as given to a client, and the client's reports on it.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

use http::{Request, Uri};

use super::access::HostHeaders;
use super::connection_times::ConnectionTimes;
use super::cookies::CookieJar;
use super::deadline::{Deadline, LONGEST};
use super::exchange::request_bytes;
use super::fetch_error::FetchError;
use super::request::{Get, not_sent};
use super::request_permit::{Ask, RequestPermit};
use super::tls::Connector;
use crate::address::CanonicalUrl;
use crate::crawl::FetchOptions;
use crate::crawl::lock::lock;
use crate::frontier::{Failure, Validators};

/// One request as given to a client. The client must call [`send`](Self::send) right before it sends the request: clocks and politeness
/// depend on it.
pub struct ClientRequest<'a> {
    url: &'a CanonicalUrl,
    changed: Option<&'a Validators>,
    access: &'a HostHeaders,
    cookies: Option<&'a CookieJar>,
    permission: Option<&'a dyn RequestPermit>,
    keeps_bytes: bool,
    /// The limit on the time until the head, for a host that has never answered.
    patience: Duration,
    options: &'a FetchOptions,
    times: &'a Mutex<ConnectionTimes>,
    told: Mutex<Told>,
}

/// The client's reports.
struct Told {
    begun: Instant,
    sent_at: Option<Instant>,
    /// The request as it was sent, if wanted.
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
        options: &'a FetchOptions,
        times: &'a Mutex<ConnectionTimes>,
    ) -> Self {
        Self {
            url: ask.url,
            changed: ask.changed,
            access,
            cookies,
            permission: ask.permission,
            keeps_bytes: ask.keeps_exchange,
            patience: if ask.is_first_contact { options.first_contact_timeout } else { LONGEST },
            options,
            times,
            told: Mutex::new(Told { begun: Instant::now(), sent_at: None, bytes: None }),
        }
    }

    /// The URL as it is requested.
    pub fn url(&self) -> &str {
        self.url.wire()
    }

    pub(super) fn canonical(&self) -> &'a CanonicalUrl {
        self.url
    }

    /// The request: GET, the whole URL, and all its headers, `Host` included. A client adds none. Call it anew each time that the request
    /// is sent.
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
        let mut request = self.access.get(self.url, self.changed)?;
        if let Some(jar) = self.cookies {
            jar.add_to(request.headers_mut(), self.url);
        }
        let mut told = lock(&self.told);
        told.sent_at = None;
        if self.keeps_bytes {
            told.bytes = Some(request_bytes(&request));
        }
        Ok(request)
    }

    /// To be called right before the request is sent: checks that it still may be, and records the time.
    ///
    /// # Errors
    /// When it may no longer be sent. The client must not send it.
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
        *lock(&self.told).sent_at.insert(Instant::now())
    }

    /// Takes [`sent`](Self::sent) back: the request has no connection yet.
    #[cfg(feature = "reqwest")]
    pub(super) fn not_sent_yet(&self) {
        lock(&self.told).sent_at = None;
    }

    /// Records how long it took to connect.
    pub fn connected(&self, took: Duration) {
        lock(self.times).connect.record(took);
    }

    /// Records how long the TLS handshake took.
    pub fn shook_hands(&self, took: Duration) {
        lock(self.times).tls.record(took);
    }

    /// Starts its clocks now. Time spent waiting for a place does not count against the host.
    pub(super) fn begin(&self) {
        lock(&self.told).begun = Instant::now();
    }

    /// The TLS settings for its host, if a rule sets them.
    pub(super) fn tls(&self) -> Option<&'a Connector> {
        self.access.tls()
    }

    /// When it was last sent.
    pub(super) fn sent_at(&self) -> Option<Instant> {
        lock(&self.told).sent_at
    }

    /// Its bytes, if wanted.
    pub(super) fn take_bytes(&self) -> Option<Vec<u8>> {
        lock(&self.told).bytes.take()
    }

    /// The clock of the whole fetch.
    pub(super) fn total(&self) -> Deadline {
        Deadline { name: "total", length: self.options.total_timeout, from: lock(&self.told).begun }
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
