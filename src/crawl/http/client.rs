//! The HTTP client: hyper's connections, with our own names, pool and TLS. It depends on nothing that the process has installed.

use std::error::Error;
use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use hyper::Uri;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use super::head::Head;
use super::http1::{Connection, Get, NoHead};
use super::idle_connections::IdleConnections;
use super::resolve::{ResolveError, Resolver};
use super::tls;
use crate::address::CanonicalUrl;
use crate::crawl::FetchOptions;
use crate::crawl::bounds::Places;

/// Makes connections and keeps them. Cheap to clone; clones share the connections and the name cache.
///
/// It speaks HTTP/1.1. HTTP/2 gains nothing where a host is asked one thing at a time, and its frames could flood.
#[derive(Clone)]
pub(super) struct Client {
    connector: HttpsConnector<HttpConnector<Names>>,
    names: Names,
    idle: Arc<IdleConnections>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

impl Client {
    /// Keeps as many idle connections, and looks as many names up at once, as there are places for.
    ///
    /// # Errors
    /// Where TLS cannot be set up.
    pub(super) fn new(options: &FetchOptions, places: Places) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let names = Names::new(options, places.lookups);
        let mut http = HttpConnector::new_with_resolver(names.clone());
        http.enforce_http(false);
        http.set_nodelay(true);
        // It is divided among a name's addresses.
        http.set_connect_timeout(Some(options.connect_timeout));
        let connector = HttpsConnector::from((http, tls::config()?));
        Ok(Self { connector, names, idle: Arc::new(IdleConnections::new(places.idle_connections)) })
    }

    /// Waits until the name was looked up. The next request to it does not wait for that any more.
    pub(super) async fn look_up_ahead(&self, host: &str, is_first_contact: bool) {
        if let Names::System(resolver) = &self.names {
            resolver.look_up_ahead(host, is_first_contact).await;
        }
    }

    /// A connection that was kept.
    pub(super) fn kept(&self, origin: &str) -> Option<Box<Connection>> {
        self.idle.take(origin)
    }

    /// Makes a connection. TLS counts.
    pub(super) async fn connect(&self, url: &CanonicalUrl) -> Result<Box<Connection>, NoHead> {
        let uri = url.origin().parse::<Uri>().map_err(|error| NoHead::Connect(error.into()))?;
        let mut connector = self.connector.clone();
        let stream = connector.call(uri).await.map_err(NoHead::Connect)?;
        Ok(Connection::over(stream, url.origin()).await?)
    }

    /// Sends a request without a body, and waits for the response's head. If the future is dropped, so is the connection.
    pub(super) async fn get(&self, mut connection: Box<Connection>, request: Get) -> Result<Head, NoHead> {
        let response = connection.get(request).await?;
        Ok(Head::new(response, connection))
    }

    /// Keeps the connection of a response whose body has come to its end.
    pub(super) fn keep(&self, head: Head) {
        self.idle.put(head.into_connection(), Instant::now());
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
            None => Self::System(Arc::new(Resolver::new(options.allow_private_addresses, lookups))),
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
