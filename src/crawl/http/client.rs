//! The HTTP client: hyper's connections, with our own names, pool and TLS. It depends on nothing that the process has installed.

use std::error::Error;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use hyper::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use super::connection::{Connection, Protocol};
use super::guard::Guard;
use super::head::Head;
use super::http1::Http1;
use super::http2::Http2;
use super::idle_connections::{IdleConnections, Unused};
use super::no_head::NoHead;
use super::resolve::{ResolveError, Resolver};
use super::shared_connections::{SharedConnections, Turn};
use super::tls::Tls;
use super::transport::Transport;
use crate::address::CanonicalUrl;
use crate::crawl::FetchOptions;
use crate::crawl::bounds::Places;

/// Makes connections and keeps them. Cheap to clone; clones share the connections and the name cache.
///
/// It speaks HTTP/1.1, and HTTP/2 with a host that may be asked several things at once and offers it. Where a host is asked one thing at
/// a time, HTTP/2 gains nothing.
#[derive(Clone)]
pub(super) struct Client {
    connector: HttpConnector<Names>,
    tls: Tls,
    names: Names,
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
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let names = Names::new(options, places.lookups);
        let mut connector = HttpConnector::new_with_resolver(names.clone());
        connector.enforce_http(false);
        connector.set_nodelay(true);
        // It is divided among a name's addresses.
        connector.set_connect_timeout(Some(options.connect_timeout));
        let idle = Arc::new(IdleConnections::new(places.idle_connections));
        let shared = multiplexes.then(|| SharedConnections::new(Arc::clone(&idle)));
        Ok(Self { connector, tls: Tls::new()?, names, idle, shared })
    }

    /// Waits until the name was looked up. The next request to it does not wait for that any more.
    pub(super) async fn look_up_ahead(&self, host: &str, is_first_contact: bool) {
        if let Names::System(resolver) = &self.names {
            resolver.look_up_ahead(host, is_first_contact).await;
        }
    }

    /// Tells the addresses to which a host's name resolves; none where they are not known. A host that is an address is its own.
    pub(super) async fn tell_addresses<T>(
        &self,
        host: &str,
        is_first_contact: bool,
        tell: impl FnOnce(&[IpAddr]) -> T,
    ) -> T {
        match (&self.names, host.trim_matches(['[', ']']).parse()) {
            (_, Ok(address)) => tell(&[address]),
            (Names::Fixed(address), Err(_)) => tell(&[address.ip()]),
            (Names::System(resolver), Err(_)) => resolver.tell_addresses(host, is_first_contact, tell).await,
        }
    }

    /// A connection that was kept, or that others use and that takes one more request.
    pub(super) fn kept(&self, origin: &str) -> Option<Connection> {
        match self.sharing(origin) {
            Some(shared) => shared.take(origin),
            None => self.idle.take(origin).and_then(Unused::into_http1),
        }
    }

    /// Makes a connection, or waits for the one that another request makes, if both can use it. TLS counts.
    pub(super) async fn connect(&self, url: &CanonicalUrl) -> Result<Connection, NoHead> {
        let origin = url.origin();
        let Some(shared) = self.sharing(origin) else {
            let transport = self.dial(url, false).await.map_err(NoHead::Connect)?;
            return Ok(Connection::new(Protocol::Http1(Http1::over(transport, origin).await?)));
        };
        let turn = shared.turn(origin).await;
        // Another request may have made one meanwhile.
        if let Some(connection) = shared.take(origin) {
            return Ok(connection);
        }
        let offers_http2 = !matches!(turn, Turn::Everybody);
        let transport = self.dial(url, offers_http2).await.map_err(NoHead::Connect)?;
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

    async fn dial(&self, url: &CanonicalUrl, offers_http2: bool) -> Result<Transport, Box<dyn Error + Send + Sync>> {
        let tcp = self.connector.clone().call(url.origin().parse::<Uri>()?).await?.into_inner();
        if url.origin().starts_with("https:") {
            return self.tls.connect(tcp, url.host(), offers_http2).await;
        }
        Ok(Transport::Plain(tcp))
    }

    /// Keeps the connection of a response whose body has come to its end.
    pub(super) fn keep(&self, head: Head) {
        if let Protocol::Http1(connection) = head.into_connection().into_protocol() {
            self.idle.put(Unused::Http1(connection), Instant::now());
        }
    }
}

/// Resolves names for the client.
#[derive(Clone, Debug)]
enum Names {
    /// By the system. Private addresses are refused.
    System(Arc<Resolver>),
    /// All to one address, whose port serves where the URL names none. The user asked for it, so no address is refused.
    Fixed(SocketAddr),
}

impl Names {
    fn new(options: &FetchOptions, lookups: usize) -> Self {
        match options.resolve_all_to {
            Some(address) => Self::Fixed(address),
            None => Self::System(Arc::new(Resolver::new(Guard::new(options), lookups))),
        }
    }
}

impl Service<Name> for Names {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = ResolveError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let names = self.clone();
        Box::pin(async move {
            match names {
                Self::Fixed(address) => Ok(vec![address].into_iter()),
                Self::System(resolver) => resolver.resolve(name.as_str()).await.map(IntoIterator::into_iter),
            }
        })
    }
}
