//! The HTTP client: hyper's connections, with our own names, pool and TLS. It depends on nothing that the process has installed.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::connection::{Connection, Protocol};
use super::connection_times::ConnectionTimes;
use super::dialer::Dialer;
use super::head::Head;
use super::http1::Http1;
use super::http2::Http2;
use super::idle_connections::{IdleConnections, Unused};
use super::names::Names;
use super::no_head::NoHead;
use super::proxy::{Proxies, Proxy};
use super::proxy_place::ProxyPlace;
use super::shared_connections::{SharedConnections, Turn};
use super::tls::{Connector, Tls};
use super::transport::Transport;
use crate::address::CanonicalUrl;
use crate::crawl::FetchOptions;
use crate::crawl::bounds::Places;
use crate::crawl::lock::lock;

/// Makes connections and keeps them. Cheap to clone; clones share the connections and the name cache.
///
/// It speaks HTTP/1.1, and HTTP/2 with a host that may be asked several things at once and offers it. Where a host is asked one thing at
/// a time, HTTP/2 gains nothing.
#[derive(Clone)]
pub(super) struct Client {
    dialer: Dialer,
    tls: Connector,
    names: Names,
    times: Arc<Mutex<ConnectionTimes>>,
    proxies: Arc<Proxies>,
    idle: Arc<IdleConnections>,
    /// `None` where HTTP/2 is not spoken.
    shared: Option<Arc<SharedConnections>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

impl Client {
    /// Keeps as many idle connections, and looks as many names up at once, as there are places for. `multiplexes`: it speaks HTTP/2 with
    /// hosts that offer it.
    ///
    /// # Errors
    /// Where TLS cannot be set up.
    pub(super) fn new(
        options: &FetchOptions,
        places: Places,
        multiplexes: bool,
        tls: &Tls,
        proxies: Proxies,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let times = Arc::default();
        let names = Names::new(options, places.lookups, &times);
        let dialer = Dialer::new(names.clone(), options.connect_timeout);
        let idle = Arc::new(IdleConnections::new(places.idle_connections, places.idle_memory));
        let shared = multiplexes.then(|| SharedConnections::new(Arc::clone(&idle)));
        let tls = tls.connector(options.insecure)?;
        Ok(Self { dialer, tls, names, times, proxies: Arc::new(proxies), idle, shared })
    }

    /// The names of hosts.
    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    /// How long it took to reach servers so far. Through a proxy, its answer counts.
    pub(super) fn times(&self) -> ConnectionTimes {
        lock(&self.times).clone()
    }

    /// The proxies, if there are any.
    pub(super) fn proxies(&self) -> &Proxies {
        &self.proxies
    }

    /// Waits for a place for one more connection to the proxy of this URL, if it has one.
    pub(super) async fn place(&self, url: &CanonicalUrl) -> Option<ProxyPlace> {
        match self.proxies.of(url) {
            Some(proxy) => Some(proxy.place(&self.idle).await),
            None => None,
        }
    }

    /// The place that was waited for, or another one: that of a connection that broke is gone with it.
    async fn in_place(&self, proxy: &Proxy, place: Option<ProxyPlace>) -> ProxyPlace {
        match place {
            Some(place) => place,
            None => proxy.place(&self.idle).await,
        }
    }

    /// A connection that was kept, or that others use and that takes one more request. None where a proxy forwards.
    pub(super) fn kept(&self, url: &CanonicalUrl) -> Option<Connection> {
        if self.proxies.of(url).is_some_and(|proxy| proxy.forwards(url)) {
            return None;
        }
        let origin = url.origin();
        match self.sharing(origin) {
            Some(shared) => shared.take(origin),
            None => self.idle.take(origin).and_then(Unused::into_http1),
        }
    }

    /// Makes a connection, or waits for the one that another request makes, if both can use it. TLS counts, and so does a proxy's answer.
    /// After `until` nobody waits for it any more. `place` is one at the proxy. `tls`: how it is spoken with this host, where a rule says so.
    pub(super) async fn connect(
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
        // Another request may have made one meanwhile.
        if let Some(connection) = shared.take(origin) {
            return Ok(connection);
        }
        let offers_http2 = !matches!(turn, Turn::Everybody);
        let transport = dial(offers_http2).await?;
        if transport.is_http2() {
            return Ok(shared.add(Http2::over(transport, origin).await?));
        }
        shared.speaks_http1(origin);
        Ok(Connection::new(Protocol::Http1(Http1::over(transport, origin).await?)))
    }

    /// From now on a host is asked in HTTP/1.1.
    pub(super) fn speaks_http1(&self, origin: &str) {
        if let Some(shared) = self.sharing(origin) {
            shared.speaks_http1(origin);
        }
    }

    /// HTTP/2 is spoken over TLS alone.
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

    /// Keeps the connection of a response whose body has come to its end.
    pub(super) fn keep(&self, head: Head) {
        if let Protocol::Http1(connection) = head.into_connection().into_protocol() {
            self.idle.put(Unused::Http1(connection), Instant::now());
        }
    }
}
