//! reqwest as a client.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ahash::AHashMap;
use bytes::Bytes;
use http::header::HOST;
use http::{Method, Response};
use hyper::body::{Body as _, Frame};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;

use super::connector_watch::{ConnectorWatch, CountConnections};
use crate::address::CanonicalUrl;
use crate::crawl::FetchOptions;
use crate::crawl::bounds::ResourceLimits;
use crate::crawl::http::causes::causes;
use crate::crawl::http::client::{Client, ClientBody, ClientFuture, ClientResponse};
use crate::crawl::http::client_request::ClientRequest;
use crate::crawl::http::fetch_error::FetchError;
use crate::crawl::http::fetcher_error::FetcherError;
use crate::crawl::http::names::Names;
use crate::crawl::http::no_head::{MAX_HEAD, MAX_HEADERS, NoHead, is_misframed, is_too_large};
use crate::crawl::http::tls::{Connector, Tls};
use crate::crawl::lock::lock;
use crate::frontier::Failure;

/// How long a connection is kept without use.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// [reqwest](https://docs.rs/reqwest) as a client: the crawl's own, set up as a crawl needs it, or one of yours with its proxies,
/// certificates and names.
///
/// ```
/// # use crawler::crawl::{Crawl, CrawlOptions, Reqwest};
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let theirs = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
/// let mut crawl = Crawl::new(&CrawlOptions::default())?;
/// crawl.client(Reqwest::from(theirs))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// One of yours may follow no redirect, and undo no content coding: both would hide pages. The crawl does not begin with one that undoes
/// codings, and a fetch fails by name where one has followed a redirect.
pub struct Reqwest(Kind);

enum Kind {
    /// One that the crawl has set up.
    Ours(Box<Ours>),
    Theirs(reqwest::Client),
}

/// reqwest's pool bounds the idle connections of each host, and not those of all. So a client is replaced once it has made as many
/// connections as may be idle: its idle ones are closed with it.
struct Ours {
    names: Names,
    connect_timeout: Duration,
    multiplexes: bool,
    most_idle: usize,
    tls: Connector,
    /// By how TLS is spoken with hosts: each rule has a client of its own.
    clients: Mutex<AHashMap<usize, Counted>>,
}

#[derive(Clone)]
struct Counted {
    client: reqwest::Client,
    /// Connections that it has made.
    made: Arc<AtomicUsize>,
}

impl Reqwest {
    /// One that finds hosts by these names, and trusts them as the options say.
    pub(super) fn ours(
        options: &FetchOptions,
        places: ResourceLimits,
        multiplexes: bool,
        tls: &Tls,
        names: &Names,
    ) -> Result<Self, FetcherError> {
        Ok(Self(Kind::Ours(Box::new(Ours {
            names: names.clone(),
            connect_timeout: options.connect_timeout,
            multiplexes,
            most_idle: places.idle_connections.max(1),
            tls: tls.connector(options.insecure).map_err(|error| FetcherError::Setup(error.into()))?,
            clients: Mutex::default(),
        }))))
    }

    async fn answer(&self, request: &ClientRequest<'_>) -> Result<ClientResponse, FetchError> {
        let client = match &self.0 {
            Kind::Ours(ours) => ours.client(request.tls())?,
            Kind::Theirs(client) => client.clone(),
        };
        let mut is_repeated = false;
        let response = loop {
            let asked = asked(request)?;
            request.send()?;
            let (answer, is_new) = ConnectorWatch::watch(request, client.execute(asked)).await?;
            match answer.map_err(|error| without_head(request, error)) {
                Ok(response) => break response,
                // A server may end a connection just as it is used again.
                Err(error) if !is_new && !is_repeated && error.failure == Failure::Incomplete => is_repeated = true,
                Err(error) => return Err(error),
            }
        };
        if response.url().as_str() != request.url() {
            let message = "the client has followed a redirect, and may not: build it with redirect(Policy::none())";
            return Err(FetchError::new(Failure::BadResponse, message));
        }
        let remote_addr = response.remote_addr();
        let (parts, body) = Response::<reqwest::Body>::from(response).into_parts();
        let head_bytes: usize = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
        if parts.headers.len() > MAX_HEADERS || head_bytes > MAX_HEAD as usize {
            return Err(FetchError::new(Failure::BadResponse, FetchError::too_large()));
        }
        let body = ReqwestBody(Box::pin(body));
        Ok(ClientResponse { remote_addr, ..ClientResponse::new(Response::from_parts(parts, ()), body) })
    }
}

impl From<reqwest::Client> for Reqwest {
    fn from(client: reqwest::Client) -> Self {
        Self(Kind::Theirs(client))
    }
}

impl Client for Reqwest {
    fn name(&self) -> &'static str {
        "reqwest"
    }

    fn ask<'a>(&'a self, request: &'a ClientRequest<'a>) -> ClientFuture<'a, Result<ClientResponse, FetchError>> {
        Box::pin(self.answer(request))
    }

    fn finds_host(&self, _url: &CanonicalUrl) -> bool {
        matches!(self.0, Kind::Theirs(_))
    }

    fn check(&self) -> Result<(), String> {
        match &self.0 {
            Kind::Theirs(client) if undoes_codings(client) => Err(
                "it undoes content codings, and may not: build it with no_gzip(), no_brotli(), no_zstd(), no_deflate()"
                    .into(),
            ),
            Kind::Ours(_) | Kind::Theirs(_) => Ok(()),
        }
    }
}

impl fmt::Debug for Reqwest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reqwest")
    }
}

/// Whether a client undoes any content coding. It says so in its debug output alone.
fn undoes_codings(client: &reqwest::Client) -> bool {
    let shown = format!("{client:?}");
    ["gzip: true", "brotli: true", "zstd: true", "deflate: true"].iter().any(|coding| shown.contains(coding))
}

impl Ours {
    /// The client for a host, or a new one in the place of one that has made as many connections as may be idle.
    fn client(&self, tls: Option<&Connector>) -> Result<reqwest::Client, FetchError> {
        let tls = tls.unwrap_or(&self.tls);
        let mut clients = lock(&self.clients);
        let most = self.most_idle;
        let found = clients.get(&tls.id()).filter(|counted| counted.made.load(Ordering::Relaxed) < most);
        if let Some(counted) = found {
            return Ok(counted.client.clone());
        }
        let counted = self.make(tls).map_err(|error| FetchError::caused(Failure::Lost, error))?;
        let client = counted.client.clone();
        let old = clients.insert(tls.id(), counted);
        drop(clients);
        // Its connections are closed when the lock is free again.
        drop(old);
        Ok(client)
    }

    fn make(&self, tls: &Connector) -> reqwest::Result<Counted> {
        let made = Arc::default();
        let builder = reqwest::Client::builder()
            .redirect(Policy::none())
            .referer(false)
            // Features of reqwest are one for the whole build: what another crate switches on is switched off here.
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .no_proxy()
            .tls_backend_preconfigured(tls.config(self.multiplexes))
            .dns_resolver(OurNames(self.names.clone()))
            .connect_timeout(self.connect_timeout)
            .connector_layer(CountConnections(Arc::clone(&made)))
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(self.most_idle)
            .tcp_nodelay(true)
            // Browsers accept such servers.
            .http1_allow_obsolete_multiline_headers_in_responses(true)
            .http1_allow_spaces_after_header_name_in_responses(true)
            .http1_ignore_invalid_headers_in_responses(true)
            .http1_max_headers(MAX_HEADERS)
            .http2_max_header_list_size(MAX_HEAD);
        let builder = if self.multiplexes { builder } else { builder.http1_only() };
        Ok(Counted { client: builder.build()?, made })
    }
}

/// The names of the crawl, with its guard.
struct OurNames(Names);

impl Resolve for OurNames {
    fn resolve(&self, name: Name) -> Resolving {
        let names = self.0.clone();
        Box::pin(async move {
            let found = names.resolve(name.as_str()).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

struct ReqwestBody(Pin<Box<reqwest::Body>>);

impl fmt::Debug for ReqwestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReqwestBody")
    }
}

impl ClientBody for ReqwestBody {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, FetchError>>> {
        loop {
            let Some(frame) = ready!(self.0.as_mut().poll_frame(context)) else { return Poll::Ready(None) };
            // A frame without data is a trailer. Nobody reads those.
            match frame.map(Frame::into_data) {
                Ok(Ok(piece)) => return Poll::Ready(Some(Ok(piece))),
                Ok(Err(_)) => {}
                Err(error) => return Poll::Ready(Some(Err(in_body(error)))),
            }
        }
    }

    fn length(&self) -> Option<u64> {
        self.0.size_hint().exact()
    }
}

/// The request as reqwest has it.
fn asked(request: &ClientRequest<'_>) -> Result<reqwest::Request, FetchError> {
    let mut get = request.get()?;
    let url = reqwest::Url::parse(request.url()).ok().filter(|url| url.as_str() == request.url());
    let url =
        url.ok_or_else(|| FetchError::new(Failure::BadResponse, "not sent: reqwest writes this URL otherwise"))?;
    let mut asked = reqwest::Request::new(Method::GET, url);
    // It has the host from the URL.
    get.headers_mut().remove(HOST);
    *asked.headers_mut() = std::mem::take(get.headers_mut());
    Ok(asked)
}

fn in_body(error: reqwest::Error) -> FetchError {
    let error = error.without_url();
    let is_misframed = hyper_error(&error).is_some_and(is_misframed);
    FetchError::caused(if is_misframed { Failure::BadResponse } else { Failure::Incomplete }, error)
}

fn without_head(request: &ClientRequest<'_>, error: reqwest::Error) -> FetchError {
    let error = error.without_url();
    if error.is_connect() {
        request.not_sent_yet();
        if error.is_timeout() {
            return FetchError { failure: Failure::Connect, ..request.connecting().ran_out() };
        }
        return FetchError::without_head(NoHead::Connect(error.into()));
    }
    let of_hyper = hyper_error(&error);
    let is_nonsense = of_hyper.is_some_and(hyper::Error::is_parse);
    if of_hyper.is_some_and(is_too_large) {
        return FetchError { message: FetchError::too_large(), ..FetchError::unanswered(error, true) };
    }
    FetchError::unanswered(error, is_nonsense)
}

fn hyper_error(error: &reqwest::Error) -> Option<&hyper::Error> {
    causes(error).find_map(|cause| cause.downcast_ref())
}
