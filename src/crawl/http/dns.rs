//! DNS: the resolver and its cache, the dialer that connects to names, and how long it took to reach servers.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use ahash::AHashMap;
use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use tokio::net::TcpStream;
use tokio::sync::{OnceCell, Semaphore};
use tower_service::Service;

use super::guard::Guard;
use super::shortage::{is_shortage, shortage};
use crate::address::CanonicalUrl;
use crate::crawl::FetchOptions;
use crate::crawl::counters::counters;
use crate::crawl::latencies::Latencies;
use crate::crawl::lock::lock;

/// Resolves names for the client.
#[derive(Clone, Debug)]
pub(super) enum Names {
    /// By the system's resolver. Its guard may refuse addresses, such as private ones.
    System(Arc<Resolver>),
    /// All names resolve to one address. Its port is used if the URL names none. The user chose the address, so it is not refused.
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
    pub(super) fn unguarded(lookups: usize) -> Self {
        Self::System(Arc::new(Resolver::new(Guard::open(), lookups, Arc::default())))
    }

    /// Looks a name up, and waits for the answer, so that the next lookup of it need not wait.
    pub(super) async fn look_up_ahead(&self, host: &str, is_first_contact: bool) {
        if let Self::System(resolver) = self {
            resolver.look_up_ahead(host, is_first_contact).await;
        }
    }

    /// Passes the addresses of a host's name to `tell`; an empty slice if they are unknown. A host that is an address has just this
    /// address.
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
        let port = url.port();
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

/// How long addresses are kept. The system's resolver does not report a record's time to live.
const TTL: Duration = Duration::from_secs(300);
/// How long a failed lookup is kept.
const NEGATIVE_TTL: Duration = Duration::from_secs(30);
/// The longest wait for the system's resolver.
const TIMEOUT: Duration = Duration::from_secs(5);
/// At most this many addresses are kept of one name.
const MAX_ADDRESSES: usize = 16;
/// At most this many names are kept.
const MAX_NAMES: usize = 16_384;

/// Resolves names to addresses that may be dialed, by the system's resolver and through a bounded cache. Concurrent requests for a name
/// share one lookup.
#[derive(Debug)]
pub(super) struct Resolver {
    guard: Guard,
    /// Permits for lookups. Hosts that have never answered have permits of their own, so that thousands of hanging lookups do not hold up
    /// the other hosts.
    first_contacts: Arc<Semaphore>,
    known_hosts: Arc<Semaphore>,
    names: Mutex<AHashMap<Box<str>, Arc<OnceCell<Answer>>>>,
    times: Arc<Mutex<ConnectionTimes>>,
}

#[derive(Debug)]
struct Answer {
    addresses: Result<Arc<[IpAddr]>, ResolveError>,
    until: Instant,
}

/// Why a name has no address to dial.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ResolveError {
    /// The resolver found no address. The text is the resolver's own.
    #[error("name does not resolve: {0}")]
    Failed(Arc<str>),
    /// This machine was short of a resource. The text is the system's own.
    #[error("name cannot be looked up: {0}")]
    Local(Arc<str>),
    /// The name does not exist or has no address. The text is the resolver's own.
    #[error("name does not exist: {0}")]
    NoSuchName(Arc<str>),
    /// All its addresses are refused. This is one of them, with the reason.
    #[error("name resolves to {0}, which {1}")]
    Refused(IpAddr, &'static str),
    /// No answer within five seconds.
    #[error("name is not resolved within 5 s")]
    TimedOut,
}

impl Resolver {
    /// At most `lookups` names are looked up at once.
    pub(super) fn new(guard: Guard, lookups: usize, times: Arc<Mutex<ConnectionTimes>>) -> Self {
        let permits = |permits: usize| Arc::new(Semaphore::new(permits.max(1)));
        let first_contacts = permits(lookups - lookups / 4);
        Self { guard, first_contacts, known_hosts: permits(lookups / 4), names: Mutex::default(), times }
    }

    /// Looks a name up ahead of its use, once a permit is free. An address needs no lookup.
    pub(super) async fn look_up_ahead(&self, host: &str, is_first_contact: bool) {
        if host.trim_matches(['[', ']']).parse::<IpAddr>().is_err() {
            self.answer(host, self.permits(is_first_contact)).await;
        }
    }

    /// Passes a name's addresses to `tell` once it is looked up; an empty slice if it has none.
    pub(super) async fn tell_addresses<T>(
        &self,
        name: &str,
        is_first_contact: bool,
        tell: impl FnOnce(&[IpAddr]) -> T,
    ) -> T {
        let answer = self.answer(name, self.permits(is_first_contact)).await;
        tell(answer.get().and_then(|answer| answer.addresses.as_deref().ok()).unwrap_or_default())
    }

    fn permits(&self, is_first_contact: bool) -> &Arc<Semaphore> {
        if is_first_contact { &self.first_contacts } else { &self.known_hosts }
    }

    /// The addresses of `name` that may be connected to, at most 16, with port 0.
    pub(super) async fn resolve(&self, name: &str) -> Result<Vec<SocketAddr>, ResolveError> {
        let answer = self.answer(name, &self.known_hosts).await;
        let addresses = answer.get().map_or(Err(ResolveError::TimedOut), |answer| answer.addresses.clone())?;
        Ok(addresses.iter().map(|address| SocketAddr::new(*address, 0)).collect())
    }

    async fn answer(&self, name: &str, permits: &Arc<Semaphore>) -> Arc<OnceCell<Answer>> {
        let cell = self.cell(name);
        cell.get_or_init(|| self.look_up(name, permits)).await;
        cell
    }

    /// The cell that holds `name`'s answer, or will hold it.
    fn cell(&self, name: &str) -> Arc<OnceCell<Answer>> {
        // A panic under the lock leaves the map valid: at worst a name lacks its cell.
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let current = |cell: &OnceCell<Answer>| cell.get().is_none_or(|answer| now < answer.until);
        if let Some(cell) = names.get(name).filter(|cell| current(cell)) {
            return Arc::clone(cell);
        }
        if names.len() >= MAX_NAMES {
            names.retain(|_, cell| current(cell));
            // Most are current. Clearing the map costs less than a sweep for each further name.
            if names.len() > MAX_NAMES / 2 {
                names.clear();
            }
        }
        let cell = Arc::default();
        names.insert(name.into(), Arc::clone(&cell));
        cell
    }

    async fn look_up(&self, name: &str, permits: &Arc<Semaphore>) -> Answer {
        let permit = Arc::clone(permits).acquire_owned().await;
        let asked = name.to_owned();
        let begun = Instant::now();
        let looking = tokio::task::spawn_blocking(move || {
            // The system's resolver cannot be interrupted. The permit is free again when it returns.
            let _permit = permit;
            (asked.as_str(), 0).to_socket_addrs()
        });
        let addresses = match tokio::time::timeout(TIMEOUT, looking).await {
            Ok(Ok(Ok(found))) => {
                lock(&self.times).lookup.record(begun.elapsed());
                self.choose(found.map(|address| address.ip()))
            }
            Ok(Ok(Err(error))) => Err(failed(&error)),
            Ok(Err(panic)) => Err(ResolveError::Local(panic.to_string().into())),
            Err(_) => Err(ResolveError::TimedOut),
        };
        let ttl = match addresses {
            Ok(_) => TTL,
            // The shortage may be over by the next request.
            Err(ResolveError::Local(_)) => Duration::ZERO,
            Err(_) => NEGATIVE_TTL,
        };
        Answer { addresses, until: Instant::now() + ttl }
    }

    fn choose(&self, found: impl Iterator<Item = IpAddr>) -> Result<Arc<[IpAddr]>, ResolveError> {
        let mut chosen = Vec::new();
        let mut refused = None;
        for address in found {
            if let Some(refusal) = self.guard.refusal(address) {
                refused = Some(ResolveError::Refused(address, refusal));
            } else if chosen.len() < MAX_ADDRESSES && !chosen.contains(&address) {
                chosen.push(address);
            }
        }
        match refused {
            _ if !chosen.is_empty() => Ok(chosen.into()),
            Some(refused) => Err(refused),
            None => Err(ResolveError::Failed("no address".into())),
        }
    }
}

/// Distinguishes a shortage on this machine, a name that does not exist, and a resolver that failed.
fn failed(error: &io::Error) -> ResolveError {
    if is_shortage(error) {
        return ResolveError::Local(error.to_string().into());
    }
    match shortage() {
        Some(shortage) => ResolveError::Local(shortage.to_string().into()),
        None if is_no_such_name(&error.to_string()) => ResolveError::NoSuchName(error.to_string().into()),
        None => ResolveError::Failed(error.to_string().into()),
    }
}

/// Whether the resolver's message says that a name does not exist, rather than that the lookup failed. The resolver has error codes for
/// that (`EAI_NONAME`, `EAI_NODATA`), but the standard library keeps only their messages: these are the ones of glibc, musl, BSD and macOS.
fn is_no_such_name(words: &str) -> bool {
    const MESSAGES: [&str; 5] = [
        "Name or service not known",
        "No address associated with hostname",
        "Name does not resolve",
        "Name has no usable address",
        "nodename nor servname provided, or not known",
    ];
    MESSAGES.iter().any(|message| words.contains(message))
}

/// Connects to names: tries one address after another, with IPv4 and IPv6 in parallel (RFC 8305). Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Dialer(HttpConnector<Names>);

impl Dialer {
    /// `timeout` is divided among a name's addresses.
    pub(super) fn new(names: Names, timeout: Duration) -> Self {
        let mut connector = HttpConnector::new_with_resolver(names);
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(timeout));
        Self(connector)
    }

    /// Connects to the host and port of a URL.
    pub(super) async fn dial(&self, to: Uri) -> Result<TcpStream, Box<dyn Error + Send + Sync>> {
        Ok(self.0.clone().call(to).await?.into_inner())
    }
}

counters! {
    /// How long it took to reach servers. Reused connections and cached names are not counted.
    #[non_exhaustive]
    pub struct ConnectionTimes {
        /// Names, looked up by the system.
        pub lookup: Latencies,
        /// TCP connections.
        pub connect: Latencies,
        /// TLS handshakes.
        pub tls: Latencies,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolver(allow_private_addresses: bool) -> Resolver {
        let options = FetchOptions { allow_private_addresses, ..FetchOptions::default() };
        Resolver::new(Guard::new(&options), 4, Arc::default())
    }

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn only_global_addresses_are_chosen() {
        let mixed = addresses(&["10.0.0.1", "8.8.8.8", "::1", "2606:4700::1111", "8.8.8.8"]);
        let strict = resolver(false);
        assert_eq!(*strict.choose(mixed.iter().copied()).unwrap(), *addresses(&["8.8.8.8", "2606:4700::1111"]));
        assert_eq!(resolver(true).choose(mixed.iter().copied()).unwrap().len(), 4);
        let private = addresses(&["10.0.0.1", "::1"]);
        assert_eq!(strict.choose(private.iter().copied()), Err(ResolveError::Refused(private[1], "is not public")));
        assert_eq!(strict.choose(std::iter::empty()), Err(ResolveError::Failed("no address".into())));
    }

    #[test]
    fn a_name_of_many_addresses_is_cut() {
        let many = (0..10_000_u32).map(|number| IpAddr::from((0x0808_0000 + number).to_be_bytes()));
        assert_eq!(resolver(false).choose(many).unwrap().len(), MAX_ADDRESSES);
    }

    #[test]
    fn the_cache_is_bounded_and_forgets() {
        let resolver = resolver(false);
        for number in 0..3 * MAX_NAMES {
            let cell = resolver.cell(&format!("host{number}.example"));
            let addresses = Err(ResolveError::TimedOut);
            cell.set(Answer { addresses, until: Instant::now() + TTL }).unwrap();
            assert!(resolver.names.lock().unwrap().len() <= MAX_NAMES);
        }
        let first = resolver.cell("again.example");
        assert!(Arc::ptr_eq(&first, &resolver.cell("again.example")), "a lookup under way is shared");
        first.set(Answer { addresses: Err(ResolveError::TimedOut), until: Instant::now() }).unwrap();
        assert!(!Arc::ptr_eq(&first, &resolver.cell("again.example")), "an old answer is asked for anew");
    }
}
