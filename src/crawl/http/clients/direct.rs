//! The crawl's own client: HTTP by hyper and h2, with the crawl's own DNS, pool and TLS. It depends on no setting of the whole process.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;

use crate::address::CanonicalUrl;
use crate::crawl::FetchOptions;
use crate::crawl::bounds::ResourceLimits;
use crate::crawl::http::client::{Client, ClientBody, ClientFuture, ClientRequest, ClientResponse};
use crate::crawl::http::connections::{Connection, IdleConnection, IdleConnections, Protocol, SharedConnections, Turn};
use crate::crawl::http::dns::{ConnectionTimes, Dialer, Names};
use crate::crawl::http::fetch_error::{Deadline, FetchError, NoHead, is_of_proxy, is_timeout};
use crate::crawl::http::http1::Http1;
use crate::crawl::http::http2::Http2;
use crate::crawl::http::proxy::{Proxies, Proxy};
use crate::crawl::http::request::Get;
use crate::crawl::http::tls::{Connector, ProxyPlace, Tls, Transport};
use crate::crawl::lock::lock;
use crate::frontier::Failure;

/// The crawl's own client: it makes connections, and keeps them for later requests.
///
/// It speaks HTTP/1.1, and HTTP/2 where a host offers it and may be sent several requests at once. With one request at a time, HTTP/2 gains
/// nothing.
pub(super) struct Direct {
    dialer: Dialer,
    tls: Connector,
    names: Names,
    times: Arc<Mutex<ConnectionTimes>>,
    proxies: Proxies,
    idle: Arc<IdleConnections>,
    /// `None` if HTTP/2 is not spoken.
    shared: Option<Arc<SharedConnections>>,
}

impl fmt::Debug for Direct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Direct")
    }
}

impl Direct {
    /// Keeps as many idle connections as `limits` allow. `multiplexes`: speak HTTP/2 with hosts that offer it. `times` records how long
    /// each connection took.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub(super) fn new(
        options: &FetchOptions,
        limits: ResourceLimits,
        multiplexes: bool,
        tls: &Tls,
        (names, times): (Names, Arc<Mutex<ConnectionTimes>>),
        proxies: Proxies,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let dialer = Dialer::new(names.clone(), options.connect_timeout);
        let idle = Arc::new(IdleConnections::new(limits.idle_connections, limits.idle_memory));
        let shared = multiplexes.then(|| SharedConnections::new(Arc::clone(&idle)));
        let tls = tls.connector(options.insecure)?;
        Ok(Self { dialer, tls, names, times, proxies, idle, shared })
    }

    /// Sends the request on a kept connection or a new one, and waits for the head.
    async fn answer(&self, request: &ClientRequest<'_>) -> Result<ClientResponse, FetchError> {
        let url = request.canonical();
        let mut kept = self.kept(url);
        // Waiting for a place at a proxy does not count against the host.
        let mut place = if kept.is_none() { self.place(url).await } else { None };
        request.begin();
        let contact = request.contact();
        let forwarding = self.proxies.of(url).filter(|proxy| proxy.forwards(url));
        let mut is_repeated = false;
        loop {
            let mut get = request.get()?;
            if let Some(proxy) = forwarding {
                proxy.address(&mut get, url);
            }
            let connection = match kept.take() {
                Some(connection) => connection,
                // In a box: it is the largest part, and few requests need it.
                None => Box::pin(self.connect_in_time(request, place.take(), contact)).await?,
            };
            // A server may close a kept connection just as it is reused, or refuse a request unprocessed. Such a request is repeated once
            // (RFC 9110 section 9.2.2), on a new connection unless the shared one is still open.
            let is_reused = connection.is_reused();
            request.permitted()?;
            let (no_head, sent_at) = match self.head_on(connection, request, get, contact).await {
                Ok(response) => {
                    let judged = forwarding.map_or(Ok(()), |proxy| proxy.record_status(response.head.status()));
                    return judged.map(|()| response).map_err(FetchError::of_proxy);
                }
                Err(unanswered) => unanswered,
            };
            if matches!(no_head, NoHead::RanOut(_))
                && let Some(error) = forwarding.and_then(Proxy::unanswered)
            {
                return Err(FetchError::of_proxy(error));
            }
            let may_repeat = no_head.is_refused() || is_reused && no_head.is_of_connection();
            if no_head.wants_http1() {
                self.speaks_http1(url.origin());
            }
            let error = FetchError::without_head(no_head);
            if is_repeated || !may_repeat || error.failure != Failure::Incomplete {
                return Err(FetchError { sent_at, ..error });
            }
            is_repeated = true;
        }
    }

    /// Sends the request on a connection, and waits for the head. If no head comes, the error has the time at which the request was sent.
    async fn head_on(
        &self,
        mut connection: Connection,
        request: &ClientRequest<'_>,
        get: Get,
        contact: Deadline,
    ) -> Result<ClientResponse, (NoHead, Option<Instant>)> {
        let begun = Instant::now();
        if let Err(no_head) = contact.limit(connection.send(get)).await {
            // If the connection ended, the request may have been sent.
            let is_waiting = matches!(no_head, NoHead::RanOut(_));
            return Err((no_head, Some(begun).filter(|_| !is_waiting)));
        }
        let sent_at = request.sent();
        match request.first_byte(sent_at).sooner(contact).limit(connection.head()).await {
            Ok(head) => {
                let remote_addr = connection.remote_addr();
                let body = DirectBody::new(connection, Arc::clone(&self.idle));
                Ok(ClientResponse { remote_addr, ..ClientResponse::new(head, body) })
            }
            Err(no_head) => {
                if matches!(no_head, NoHead::RanOut(_)) {
                    connection.distrust();
                }
                Err((no_head, Some(sent_at)))
            }
        }
    }

    async fn connect_in_time(
        &self,
        request: &ClientRequest<'_>,
        place: Option<ProxyPlace>,
        contact: Deadline,
    ) -> Result<Connection, FetchError> {
        let connecting = request.connecting();
        let clock = connecting.sooner(contact);
        let ran_out = |clock: Deadline| FetchError { failure: Failure::Connect, ..clock.ran_out() };
        let connected = self.connect(request.canonical(), request.tls(), place, clock.until());
        match tokio::time::timeout_at(clock.until().into(), connected).await {
            Ok(Ok(connection)) => Ok(connection),
            // The dialer divides its time among the addresses of a name, so its timeout may come first.
            Ok(Err(NoHead::Connect(error))) if is_timeout(&*error) && !is_of_proxy(&*error) => Err(ran_out(connecting)),
            Ok(Err(error)) => Err(FetchError::without_head(error)),
            Err(_) => Err(ran_out(clock)),
        }
    }

    /// Waits for a place for one more connection to this URL's proxy, if it has one.
    async fn place(&self, url: &CanonicalUrl) -> Option<ProxyPlace> {
        match self.proxies.of(url) {
            Some(proxy) => Some(proxy.place(Some(&self.idle)).await),
            None => None,
        }
    }

    /// The place already waited for, or a new one: a connection that broke took its place with it.
    async fn in_place(&self, proxy: &Proxy, place: Option<ProxyPlace>) -> ProxyPlace {
        match place {
            Some(place) => place,
            None => proxy.place(Some(&self.idle)).await,
        }
    }

    /// A kept connection, or a shared one that takes one more request. `None` if a proxy forwards the request.
    fn kept(&self, url: &CanonicalUrl) -> Option<Connection> {
        if self.proxies.of(url).is_some_and(|proxy| proxy.forwards(url)) {
            return None;
        }
        let origin = url.origin();
        match self.sharing(origin) {
            Some(shared) => shared.take(origin),
            None => self.idle.take(origin).and_then(IdleConnection::into_http1),
        }
    }

    /// Makes a connection, or waits for one that another request is making, if both can use it. TLS and a proxy's answer are part of
    /// connecting. A proxy must answer before `until`. `place` is a place at the proxy. `tls` is set if a rule has TLS settings for this
    /// host.
    async fn connect(
        &self,
        url: &CanonicalUrl,
        tls: Option<&Connector>,
        place: Option<ProxyPlace>,
        until: Instant,
    ) -> Result<Connection, NoHead> {
        let origin = url.origin();
        let dial =
            async |offers_http2| self.dial(url, tls, offers_http2, place.clone(), until).await.map_err(NoHead::Connect);
        let Some(shared) = self.sharing(origin) else {
            let transport = dial(false).await?;
            return Ok(Connection::new(Protocol::Http1(Http1::over(transport, origin).await?)));
        };
        let turn = shared.turn(origin).await;
        // Another request may have made one in the meantime.
        if let Some(connection) = shared.take(origin) {
            return Ok(connection);
        }
        let offers_http2 = !matches!(turn, Turn::Unshared);
        let transport = dial(offers_http2).await?;
        if transport.is_http2() {
            return Ok(shared.add(Http2::over(transport, origin).await?));
        }
        shared.speaks_http1(origin);
        Ok(Connection::new(Protocol::Http1(Http1::over(transport, origin).await?)))
    }

    /// Remembers that this host speaks HTTP/1.1: its next requests are HTTP/1.1.
    fn speaks_http1(&self, origin: &str) {
        if let Some(shared) = self.sharing(origin) {
            shared.speaks_http1(origin);
        }
    }

    /// The shared connections, for `https:` origins only: HTTP/2 is spoken over TLS alone.
    fn sharing(&self, origin: &str) -> Option<&Arc<SharedConnections>> {
        self.shared.as_ref().filter(|_| origin.starts_with("https:"))
    }

    async fn dial(
        &self,
        url: &CanonicalUrl,
        tls: Option<&Connector>,
        offers_http2: bool,
        place: Option<ProxyPlace>,
        until: Instant,
    ) -> Result<Transport, Box<dyn Error + Send + Sync>> {
        let begun = Instant::now();
        let transport = match self.proxies.of(url) {
            None => Transport::Plain(self.dialer.dial(url.origin().parse()?).await?),
            Some(proxy) if proxy.forwards(url) => proxy.dial(self.in_place(proxy, place).await, until).await?,
            Some(proxy) => {
                let addresses = if proxy.resolves_names() { Vec::new() } else { self.names.addresses(url).await? };
                proxy.tunnel(url, &addresses, self.in_place(proxy, place).await, until).await?
            }
        };
        let connected = Instant::now();
        lock(&self.times).connect.record(connected - begun);
        if url.origin().starts_with("https:") {
            let transport = tls.unwrap_or(&self.tls).connect(transport, url.host(), offers_http2).await?;
            lock(&self.times).tls.record(connected.elapsed());
            return Ok(transport);
        }
        Ok(transport)
    }
}

impl Client for Direct {
    fn name(&self) -> &'static str {
        "direct"
    }

    fn ask<'a>(&'a self, request: &'a ClientRequest<'a>) -> ClientFuture<'a, Result<ClientResponse, FetchError>> {
        Box::pin(self.answer(request))
    }

    fn resolves_host(&self, url: &CanonicalUrl) -> bool {
        self.proxies.of(url).is_some_and(Proxy::resolves_names)
    }

    fn enforces_timeouts(&self) -> bool {
        true
    }

    fn is_lost(&self) -> bool {
        self.proxies.are_lost()
    }
}

/// A body on a connection of the direct client. The connection is kept once the body ends.
#[derive(Debug)]
struct DirectBody {
    /// `None` once the body has ended.
    connection: Option<Connection>,
    idle: Arc<IdleConnections>,
    is_mended: bool,
}

impl DirectBody {
    fn new(connection: Connection, idle: Arc<IdleConnections>) -> Self {
        Self { is_mended: connection.is_mended(), connection: Some(connection), idle }
    }
}

impl ClientBody for DirectBody {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, FetchError>>> {
        let Some(connection) = &mut self.connection else { return Poll::Ready(None) };
        let chunk = ready!(connection.poll_chunk(context));
        self.is_mended = connection.is_mended();
        match chunk {
            Ok(Some(chunk)) => Poll::Ready(Some(Ok(chunk))),
            Ok(None) => {
                if let Some(Protocol::Http1(connection)) = self.connection.take().map(Connection::into_protocol) {
                    self.idle.put(IdleConnection::Http1(connection), Instant::now());
                }
                Poll::Ready(None)
            }
            Err(error) => Poll::Ready(Some(Err(FetchError::in_body(error)))),
        }
    }

    fn length(&self) -> Option<u64> {
        self.connection.as_ref().map_or(Some(0), Connection::body_length)
    }

    fn is_mended(&self) -> bool {
        self.is_mended
    }

    fn timed_out(&mut self) {
        if let Some(connection) = &self.connection {
            connection.distrust();
        }
    }
}
