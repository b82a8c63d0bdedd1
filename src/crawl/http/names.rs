//! The addresses of host names, as the connector asks for them.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use super::connection_times::ConnectionTimes;
use super::guard::Guard;
use super::resolve::{ResolveError, Resolver};
use crate::address::CanonicalUrl;
use crate::crawl::FetchOptions;

/// Resolves names for the client.
#[derive(Clone, Debug)]
pub(super) enum Names {
    /// By the system's resolver. Its guard may refuse addresses, such as private ones.
    System(Arc<Resolver>),
    /// All names go to one address. Its port is used where the URL names none. The user asked for it, so no address is refused.
    Fixed(SocketAddr),
}

impl Names {
    /// `times` records how long each lookup took.
    pub(super) fn new(options: &FetchOptions, lookups: usize, times: &Arc<Mutex<ConnectionTimes>>) -> Self {
        match options.resolve_all_to {
            Some(address) => Self::Fixed(address),
            None => Self::System(Arc::new(Resolver::new(Guard::new(options), lookups, Arc::clone(times)))),
        }
    }

    /// Names that the user gave, such as a proxy's. No address is refused.
    pub(super) fn of_anybody(lookups: usize) -> Self {
        Self::System(Arc::new(Resolver::new(Guard::open(), lookups, Arc::default())))
    }

    /// Waits until a name is looked up, so that the next request to it need not wait.
    pub(super) async fn look_up_ahead(&self, host: &str, is_first_contact: bool) {
        if let Self::System(resolver) = self {
            resolver.look_up_ahead(host, is_first_contact).await;
        }
    }

    /// Passes the addresses of a host's name to `tell`; an empty slice if they are unknown. A host that is an address has itself.
    pub(super) async fn tell_addresses<T>(
        &self,
        host: &str,
        is_first_contact: bool,
        tell: impl FnOnce(&[IpAddr]) -> T,
    ) -> T {
        match (self, host.trim_matches(['[', ']']).parse()) {
            (_, Ok(address)) => tell(&[address]),
            (Self::Fixed(address), Err(_)) => tell(&[address.ip()]),
            (Self::System(resolver), Err(_)) => resolver.tell_addresses(host, is_first_contact, tell).await,
        }
    }

    /// The addresses to connect to for a URL's host.
    pub(super) async fn addresses(&self, url: &CanonicalUrl) -> Result<Vec<SocketAddr>, ResolveError> {
        let port = url.host_key().port();
        if let Ok(address) = url.host().trim_matches(['[', ']']).parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let says_port = url.origin().ends_with(&format!(":{port}"));
        let mut addresses = self.resolve(url.host()).await?;
        for address in &mut addresses {
            if says_port || address.port() == 0 {
                address.set_port(port);
            }
        }
        Ok(addresses)
    }

    /// The addresses of a name. Port 0 stands for the URL's port.
    pub(super) async fn resolve(&self, name: &str) -> Result<Vec<SocketAddr>, ResolveError> {
        match self {
            Self::Fixed(address) => Ok(vec![*address]),
            Self::System(resolver) => resolver.resolve(name).await,
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
        Box::pin(async move { names.resolve(name.as_str()).await.map(IntoIterator::into_iter) })
    }
}
