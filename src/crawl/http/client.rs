//! The HTTP client: hyper's, with our own names, connections and TLS. It depends on nothing that the process has installed.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::ext::ReasonPhrase;
use hyper::header::HeaderMap;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::{HttpConnector, HttpInfo};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::sync::Notify;
use tokio::task::coop;
use tower_service::Service;

use super::connections::IDLE_TIMEOUT;
use super::dial::Watch;
use super::resolve::{ResolveError, Resolver};
use super::tls;
use crate::crawl::FetchOptions;

/// Headers of a response, at most.
const MAX_HEADERS: usize = 256;
/// Bytes of a response's head, at most.
const MAX_HEAD: usize = 128 * 1024;
/// Interim responses before the final one, at most.
const MAX_INTERIM: u32 = 10;

/// Sends requests and keeps connections. Cheap to clone; clones share the connections and the name cache.
///
/// It speaks HTTP/1.1. HTTP/2 gains nothing where a host is asked one thing at a time, and its frames could flood.
#[derive(Clone)]
pub(super) struct Client {
    http: legacy::Client<Watch<Connector>, Empty<Bytes>>,
    names: Names,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

impl Client {
    /// At most `lookups` names are looked up at once.
    ///
    /// # Errors
    /// Where TLS cannot be set up.
    pub(super) fn new(options: &FetchOptions, lookups: usize) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let names = Names::new(options, lookups);
        let mut http = HttpConnector::new_with_resolver(names.clone());
        http.enforce_http(false);
        http.set_nodelay(true);
        // It is divided among a name's addresses. The connector bounds the whole.
        http.set_connect_timeout(Some(options.connect_timeout));
        let https = HttpsConnector::from((http, tls::config()?));
        let connector = Watch::over(Connector { https, limit: options.connect_timeout });
        let http = legacy::Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            // Politeness asks one thing at a time of a host.
            .pool_max_idle_per_host(1)
            .pool_idle_timeout(IDLE_TIMEOUT)
            // Browsers accept such servers. HTTP/0.9 is not accepted: any line that a port sends would be a page.
            .http1_allow_obsolete_multiline_headers_in_responses(true)
            .http1_allow_spaces_after_header_name_in_responses(true)
            .http1_ignore_invalid_headers_in_responses(true)
            .http1_max_headers(MAX_HEADERS)
            .http1_max_buf_size(MAX_HEAD)
            .build(connector);
        Ok(Self { http, names })
    }

    /// Waits until the name was looked up. The next request to it does not wait for that any more.
    pub(super) async fn look_up_ahead(&self, host: &str, is_first_contact: bool) {
        if let Names::System(resolver) = &self.names {
            resolver.look_up_ahead(host, is_first_contact).await;
        }
    }

    /// Sends a request without a body, and waits for the response's head. If the future is dropped, so is the connection.
    pub(super) async fn get(&self, url: Uri, headers: HeaderMap) -> Result<Head, NoHead> {
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = url;
        *request.headers_mut() = headers;
        let interim = Arc::new(Interim::default());
        let told = Arc::clone(&interim);
        hyper::ext::on_informational(&mut request, move |_| told.count());
        let head = tokio::select! {
            biased;
            () = interim.beyond.notified() => return Err(NoHead::Interim),
            head = self.http.request(request) => head?,
        };
        // The last one may have come together with the head.
        if interim.is_beyond() { Err(NoHead::Interim) } else { Ok(Head(head)) }
    }
}

/// Counts the interim responses to a request.
#[derive(Debug, Default)]
struct Interim {
    count: AtomicU32,
    beyond: Notify,
}

impl Interim {
    fn count(&self) {
        // Each counts as work for this task. Whoever would drop the connection gets a turn before more is read.
        if let Poll::Ready(work) = coop::poll_proceed(&mut Context::from_waker(Waker::noop())) {
            work.made_progress();
        }
        if self.count.fetch_add(1, Ordering::Relaxed) == MAX_INTERIM {
            self.beyond.notify_one();
        }
    }

    fn is_beyond(&self) -> bool {
        self.count.load(Ordering::Relaxed) > MAX_INTERIM
    }
}

/// Why no head came.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoHead {
    /// There was no connection, or it broke, or it does not speak HTTP.
    #[error(transparent)]
    Client(#[from] legacy::Error),
    /// The server sends interim responses without end.
    #[error("more than {MAX_INTERIM} interim responses")]
    Interim,
}

/// A response whose body is still to come.
#[derive(Debug)]
pub(super) struct Head(Response<Incoming>);

impl Head {
    pub(super) fn status(&self) -> StatusCode {
        self.0.status()
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    /// The status line and the headers as HTTP/1.1 writes them, with the empty line behind them.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let status = self.0.status();
        let reason = match self.0.extensions().get::<ReasonPhrase>() {
            Some(reason) => reason.as_bytes(),
            None => status.canonical_reason().unwrap_or_default().as_bytes(),
        };
        let mut bytes = format!("{:?} {} ", self.0.version(), status.as_str()).into_bytes();
        bytes.extend(reason);
        bytes.extend(b"\r\n");
        for (name, value) in self.0.headers() {
            for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                bytes.extend(part);
            }
        }
        bytes.extend(b"\r\n");
        bytes
    }

    /// The address that sent it.
    pub(super) fn remote_addr(&self) -> Option<SocketAddr> {
        self.0.extensions().get().map(HttpInfo::remote_addr)
    }

    /// The next piece of the body; `None` behind the last.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, hyper::Error> {
        while let Some(frame) = self.0.body_mut().frame().await {
            // A frame without data is a trailer. Nobody reads those.
            if let Ok(piece) = frame?.into_data() {
                return Ok(Some(piece));
            }
        }
        Ok(None)
    }
}

/// Connects within a time. TLS counts.
#[derive(Clone, Debug)]
struct Connector {
    https: HttpsConnector<HttpConnector<Names>>,
    limit: Duration,
}

type Connection = <HttpsConnector<HttpConnector<Names>> as Service<Uri>>::Response;

impl Service<Uri> for Connector {
    type Response = Connection;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.https.poll_ready(context)
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        let connecting = tokio::time::timeout(self.limit, self.https.call(url));
        Box::pin(async move {
            match connecting.await {
                Ok(connected) => connected,
                Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
            }
        })
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
