//! One proxy: the requests that it forwards, the connections through it, and the limit on its connections.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http::header::{CONNECTION, HeaderValue, PROXY_AUTHORIZATION};
use http::{StatusCode, Uri};
use tokio::sync::Semaphore;
use tokio::time::timeout_at;

use super::address::{ProxyAddress, ProxyKind, ProxySignIn};
use super::fault::{ProxyError, ProxyFault, ProxyHealth};
use super::tunnel::{SocksAnswer, is_socks5_refusal, open_tunnel, socks5_connect, socks5_greet, socks5_reason};
use crate::address::CanonicalUrl;
use crate::crawl::FetchOptions;
use crate::crawl::http::connections::IdleConnections;
use crate::crawl::http::dns::{Dialer, Names};
use crate::crawl::http::request::Get;
use crate::crawl::http::shortage::{causes, is_shortage};
use crate::crawl::http::tls::{Connector, ProxyPlace, Tls, Transport};

/// At most this many addresses of a name are tried in turn through a SOCKS proxy.
const MOST_ADDRESSES: usize = 3;

/// One proxy.
#[derive(Debug)]
pub(in crate::crawl::http) struct Proxy {
    address: ProxyAddress,
    uri: Uri,
    sign_in: Option<ProxySignIn>,
    /// The sign-in as the value of a header.
    header: Option<HeaderValue>,
    user_agent: String,
    dialer: Dialer,
    /// Set if it is spoken to over TLS.
    tls: Option<Connector>,
    health: ProxyHealth,
    places: ProxyPlaces,
}

impl Proxy {
    pub(super) fn new(
        address: ProxyAddress,
        sign_in: Option<ProxySignIn>,
        options: &FetchOptions,
        tls: &Tls,
        lookups: usize,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let dialer = Dialer::new(Names::unguarded(lookups), options.connect_timeout);
        let tls = (address.kind() == ProxyKind::Https).then(|| tls.connector_of_rule(false, None)).transpose()?;
        let header = match &sign_in {
            Some(sign_in) => Some(sign_in.header().ok_or("the sign-in cannot be in a header")?),
            None => None,
        };
        let uri = format!("http://{}", address.authority()).parse()?;
        let health = ProxyHealth::new(options.proxy_patience);
        let places = ProxyPlaces::new(options.proxy_connections);
        let user_agent = options.user_agent.clone();
        Ok(Self { address, uri, sign_in, header, user_agent, dialer, tls, health, places })
    }

    /// Whether it forwards a URL's request, instead of opening a tunnel to the host: an HTTP proxy does so for http.
    pub(in crate::crawl::http) fn forwards(&self, url: &CanonicalUrl) -> bool {
        matches!(self.address.kind(), ProxyKind::Http | ProxyKind::Https) && url.origin().starts_with("http:")
    }

    /// Whether it is spoken to over TLS.
    #[cfg(feature = "reqwest")]
    pub(super) fn speaks_tls(&self) -> bool {
        self.address.kind() == ProxyKind::Https
    }

    /// Whether it resolves host names.
    pub(in crate::crawl::http) fn resolves_names(&self) -> bool {
        self.address.resolves_names()
    }

    /// Prepares a request for this proxy to forward: in absolute form (RFC 9112 section 3.2.2), on a connection that is closed after it.
    pub(in crate::crawl::http) fn address(&self, request: &mut Get, url: &CanonicalUrl) {
        if let Ok(uri) = format!("{}{}", url.origin(), url.path_and_query()).parse() {
            *request.uri_mut() = uri;
        }
        request.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        if let Some(header) = &self.header {
            request.headers_mut().insert(PROXY_AUTHORIZATION, header.clone());
        }
    }

    /// Records the status of a response that it forwarded or made.
    ///
    /// # Errors
    /// When it does not take our sign-in.
    pub(in crate::crawl::http) fn record_status(&self, status: StatusCode) -> Result<(), ProxyError> {
        if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            return Err(self.wants_sign_in());
        }
        self.health.answered();
        Ok(())
    }

    /// Records that a tunnel through it led to an answer.
    #[cfg(feature = "reqwest")]
    pub(in crate::crawl::http) fn answered(&self) {
        self.health.answered();
    }

    /// Records that a forwarded request got no answer. Returns an error if that is the proxy's own fault.
    pub(in crate::crawl::http) fn unanswered(&self) -> Option<ProxyError> {
        let is_own = self.health.unanswered(Instant::now());
        is_own.then(|| ProxyError::new(ProxyFault::Own, format!("the proxy {} does not answer", self.address)))
    }

    pub(super) fn health(&self) -> &ProxyHealth {
        &self.health
    }

    /// Waits for a place for one more connection to it. Idle connections make room.
    pub(in crate::crawl::http) async fn place(&self, idle: Option<&IdleConnections>) -> ProxyPlace {
        self.places.take(idle).await
    }

    /// Its address, the sign-in at it, and our user agent: another client needs them to connect.
    #[cfg(feature = "reqwest")]
    pub(in crate::crawl::http) fn settings(&self) -> (&ProxyAddress, Option<(&str, &str)>, &str) {
        (&self.address, self.sign_in.as_ref().map(ProxySignIn::texts), &self.user_agent)
    }

    /// Connects to the proxy.
    pub(in crate::crawl::http) async fn dial(
        &self,
        place: ProxyPlace,
        until: Instant,
    ) -> Result<Transport, ProxyError> {
        let reached = timeout_at(until.into(), self.reach(place)).await;
        let reached = reached.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()));
        reached.map_err(|source| self.unreachable(source))
    }

    /// Connects to the host through the proxy. A proxy that does not resolve names is given one of `addresses`.
    pub(in crate::crawl::http) async fn tunnel(
        &self,
        url: &CanonicalUrl,
        addresses: &[SocketAddr],
        place: ProxyPlace,
        until: Instant,
    ) -> Result<Transport, ProxyError> {
        if self.resolves_names() {
            return self.tunnel_to(url.host(), url.host_key().port(), place, until).await;
        }
        let mut failed = None;
        for address in addresses.iter().take(MOST_ADDRESSES) {
            match self.tunnel_to(&address.ip().to_string(), address.port(), Arc::clone(&place), until).await {
                Err(error) if error.fault == ProxyFault::Host => failed = Some(error),
                made => return made,
            }
        }
        Err(failed.unwrap_or_else(|| ProxyError::new(ProxyFault::Host, "no address".to_owned())))
    }

    async fn tunnel_to(
        &self,
        host: &str,
        port: u16,
        place: ProxyPlace,
        until: Instant,
    ) -> Result<Transport, ProxyError> {
        let mut transport = self.dial(place, until).await?;
        let asked = timeout_at(until.into(), self.ask(&mut transport, host, port)).await;
        match asked {
            Ok(Ok(None)) => {
                self.health.answered();
                Ok(transport)
            }
            Ok(Ok(Some(error))) => Err(error),
            Ok(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                Err(self.unanswered_with("does not answer as a proxy does"))
            }
            Ok(Err(error)) => Err(self.unanswered_with("closes the connection").caused(error.into())),
            Err(_) => Err(self.unanswered_with("does not answer in time")),
        }
    }

    /// Requests a tunnel to a host. The outer error is the connection's; the inner one is the proxy's refusal.
    async fn ask(&self, transport: &mut Transport, host: &str, port: u16) -> io::Result<Option<ProxyError>> {
        if matches!(self.address.kind(), ProxyKind::Http | ProxyKind::Https) {
            let headers = self.headers();
            let status = open_tunnel(transport, &format!("{host}:{port}"), &headers).await?;
            return Ok(match status {
                200..300 => None,
                407 => Some(self.wants_sign_in()),
                // Below 500, the proxy refuses. From 500 on, it cannot reach the host.
                status => Some(self.refuses(status < 500, &status.to_string())),
            });
        }
        let mut answer = socks5_greet(transport, self.sign_in.as_ref()).await?;
        if answer == SocksAnswer::Granted {
            answer = socks5_connect(transport, host, port).await?;
        }
        Ok(match answer {
            SocksAnswer::Granted => None,
            SocksAnswer::SignIn => Some(self.wants_sign_in()),
            SocksAnswer::Refused(reply) => Some(self.refuses_socks5(reply)),
        })
    }

    /// The error of a SOCKS proxy that has answered with a reason other than success (RFC 1928 section 6).
    pub(in crate::crawl::http) fn refuses_socks5(&self, reply: u8) -> ProxyError {
        self.refuses(is_socks5_refusal(reply), socks5_reason(reply))
    }

    /// The headers of a request for a tunnel, as bytes.
    fn headers(&self) -> Vec<u8> {
        let mut headers = format!("User-Agent: {}\r\n", self.user_agent).into_bytes();
        if let Some(header) = &self.header {
            headers.extend_from_slice(b"Proxy-Authorization: ");
            headers.extend_from_slice(header.as_bytes());
            headers.extend_from_slice(b"\r\n");
        }
        headers
    }

    async fn reach(&self, place: ProxyPlace) -> Result<Transport, Box<dyn Error + Send + Sync>> {
        let transport = Transport::Proxied(self.dialer.dial(self.uri.clone()).await?, place);
        match &self.tls {
            Some(tls) => tls.connect(transport, self.address.host(), false).await,
            None => Ok(transport),
        }
    }

    /// The error of a proxy that cannot be reached.
    pub(in crate::crawl::http) fn unreachable(&self, source: Box<dyn Error + Send + Sync>) -> ProxyError {
        if !is_shortage(&*source) {
            self.health.failed(Instant::now());
        }
        let words = causes(&*source).last().map_or_else(String::new, ToString::to_string);
        let message = format!("the proxy {} cannot be reached: {words}", self.address);
        ProxyError::new(ProxyFault::Own, message).caused(source)
    }

    pub(in crate::crawl::http) fn wants_sign_in(&self) -> ProxyError {
        self.health.refused_sign_in();
        let message = match &self.sign_in {
            Some(_) => format!("the proxy {} does not take the sign-in", self.address),
            None => format!("the proxy {} wants a sign-in: see fetch.proxy_sign_in", self.address),
        };
        ProxyError::new(ProxyFault::Own, message)
    }

    fn refuses(&self, is_refusal: bool, words: &str) -> ProxyError {
        self.health.answered();
        let fault = if is_refusal { ProxyFault::Refusal } else { ProxyFault::Host };
        ProxyError::new(fault, format!("the proxy {} answers: {words}", self.address))
    }

    /// The error of a request without a valid answer. The proxy's health decides whose fault that is.
    pub(in crate::crawl::http) fn unanswered_with(&self, words: &str) -> ProxyError {
        let is_own = self.health.unanswered(Instant::now());
        let fault = if is_own { ProxyFault::Own } else { ProxyFault::Host };
        ProxyError::new(fault, format!("the proxy {} {words}", self.address))
    }
}

/// The limit on a proxy's connections. Kept connections take places, too.
#[derive(Debug)]
struct ProxyPlaces(Arc<Semaphore>);

impl ProxyPlaces {
    fn new(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))))
    }

    /// Waits for a place. Closes idle connections to get one, the one that has been idle longest first.
    async fn take(&self, idle: Option<&IdleConnections>) -> ProxyPlace {
        let taken = loop {
            if let Ok(place) = Arc::clone(&self.0).try_acquire_owned() {
                break place;
            }
            let wanted = idle.map(IdleConnections::make_room);
            if !matches!(wanted, Some(None)) {
                break Arc::clone(&self.0).acquire_owned().await.expect("it is never closed");
            }
        };
        Arc::new(taken)
    }
}
