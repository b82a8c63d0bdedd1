//! reqwest as a client.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
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
/// Bytes that a connection takes while nobody uses it, with TLS, as of the crawl's own.
const IDLE_MEMORY: u64 = 46 << 10;
/// Parts in which idle connections are closed: one is in use, and the requests of the others come to their end.
const GENERATIONS: usize = 4;

/// [reqwest](https://docs.rs/reqwest) as a client: the crawl's own, set up as a crawl needs it, or one of yours with its proxies,
/// certificates and names.
///
/// ```
/// # use crawler::crawl::{Crawl, CrawlOptions, Reqwest};
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let mut crawl = Crawl::new(&CrawlOptions::default())?;
/// crawl.client(Reqwest::try_from(reqwest::Client::builder())?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// One of yours may follow no redirect, and undo no content coding: both would hide pages. A builder is told so. The crawl does not begin
/// with a client that undoes codings, and a fetch fails by name where one has followed a redirect.
///
/// A client that comes built does not tell when it connects. Then a request is asked whether it may be sent before the connection is made,
/// its time counts from there, and it is not repeated where the server has ended a connection that was kept. Nobody but you bounds the
/// connections that your client keeps: by itself it bounds neither those of a host nor those of all.
pub struct Reqwest(Kind);

enum Kind {
    /// One that the crawl has set up.
    Ours(Box<Ours>),
    /// An embedder's.
    Theirs {
        client: reqwest::Client,
        /// Its connector tells of connections.
        is_watched: bool,
    },
}

/// reqwest's pool bounds the idle connections of each host, and not those of all. So clients are replaced once they have made as many
/// connections as one generation may: its idle ones are closed with its last request. Where the requests of too many are under way, a
/// new one keeps no connection at all.
struct Ours {
    names: Names,
    connect_timeout: Duration,
    most_idle: usize,
    tls: Connector,
    generations: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    now: Generation,
    /// Those before it, by what their clients share: it is gone with the last of them.
    before: Vec<Weak<AtomicUsize>>,
}

impl Generations {
    /// Ends this generation. Its idle connections are closed when it is dropped.
    fn end(&mut self) -> Generation {
        self.before.retain(|made| made.strong_count() > 0);
        let old = std::mem::take(&mut self.now);
        self.before.push(Arc::downgrade(&old.made));
        old
    }
}

/// Clients that count their connections together.
#[derive(Default)]
struct Generation {
    /// By how TLS is spoken with hosts: each rule has a client of its own.
    clients: AHashMap<usize, reqwest::Client>,
    /// Connections that they have made.
    made: Arc<AtomicUsize>,
}

impl Reqwest {
    /// One that finds hosts by these names, and trusts them as the options say.
    pub(super) fn ours(
        options: &FetchOptions,
        places: ResourceLimits,
        tls: &Tls,
        names: &Names,
    ) -> Result<Self, FetcherError> {
        Ok(Self(Kind::Ours(Box::new(Ours {
            names: names.clone(),
            connect_timeout: options.connect_timeout,
            most_idle: places
                .idle_connections
                .min(usize::try_from(places.idle_memory / IDLE_MEMORY).unwrap_or(usize::MAX)),
            tls: tls.connector(options.insecure).map_err(|error| FetcherError::Setup(error.into()))?,
            generations: Mutex::default(),
        }))))
    }

    async fn answer(&self, request: &ClientRequest<'_>) -> Result<ClientResponse, FetchError> {
        let (client, is_watched) = match &self.0 {
            Kind::Ours(ours) => (ours.client(request.tls())?, true),
            Kind::Theirs { client, is_watched } => (client.clone(), *is_watched),
        };
        let mut is_repeated = false;
        let response = loop {
            let asked = asked(request)?;
            request.send()?;
            let (answer, is_new) = ConnectorWatch::watch(request, client.execute(asked)).await?;
            match answer.map_err(|error| without_head(request, error)) {
                Ok(response) => break response,
                // A server may end a connection just as it is used again.
                Err(error) if is_watched && !is_new && !is_repeated && error.failure == Failure::Incomplete => {
                    is_repeated = true;
                }
                Err(error) => {
                    if let (true, Kind::Ours(ours)) = (error.is_local, &self.0) {
                        ours.close_idle();
                    }
                    return Err(error);
                }
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
        Self(Kind::Theirs { client, is_watched: false })
    }
}

impl TryFrom<reqwest::ClientBuilder> for Reqwest {
    type Error = reqwest::Error;

    /// Of the builder's settings, those of redirects, content codings and the `Referer` do not count.
    fn try_from(builder: reqwest::ClientBuilder) -> reqwest::Result<Self> {
        Ok(Self(Kind::Theirs { client: for_a_crawl(builder, &Arc::default()).build()?, is_watched: true }))
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
        matches!(self.0, Kind::Theirs { .. })
    }

    fn check(&self) -> Result<(), String> {
        match &self.0 {
            Kind::Theirs { client, .. } if undoes_codings(client) => Err(
                "it undoes content codings, and may not: build it with no_gzip(), no_brotli(), no_zstd(), no_deflate()"
                    .into(),
            ),
            Kind::Ours(_) | Kind::Theirs { .. } => Ok(()),
        }
    }
}

/// A client that hides no page, adds no header, takes what browsers take, and tells of its connections.
fn for_a_crawl(builder: reqwest::ClientBuilder, made: &Arc<AtomicUsize>) -> reqwest::ClientBuilder {
    builder
        .redirect(Policy::none())
        .referer(false)
        // Features of reqwest are one for the whole build: what another crate switches on is switched off here.
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .connector_layer(CountConnections(Arc::clone(made)))
        // Browsers accept such servers.
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_ignore_invalid_headers_in_responses(true)
        .http1_max_headers(MAX_HEADERS)
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
    /// The client for a host, of this generation or a new one.
    fn client(&self, tls: Option<&Connector>) -> Result<reqwest::Client, FetchError> {
        let tls = tls.unwrap_or(&self.tls);
        let a_part = (self.most_idle / GENERATIONS).max(1);
        let mut generations = lock(&self.generations);
        let mut old = None;
        if generations.now.made.load(Ordering::Relaxed) >= a_part {
            old = Some(generations.end());
        }
        if !generations.now.clients.contains_key(&tls.id()) {
            let kept = (generations.before.len() + 1) * a_part;
            let most_idle = if kept <= self.most_idle { a_part } else { 0 };
            let made = self.make(tls, &generations.now.made, most_idle);
            let client = made.map_err(|error| FetchError::caused(Failure::Lost, error))?;
            generations.now.clients.insert(tls.id(), client);
        }
        let client = generations.now.clients[&tls.id()].clone();
        drop(generations);
        // Its connections are closed when the lock is free again.
        drop(old);
        Ok(client)
    }

    /// This machine is short of open files, ports or memory: idle connections go.
    fn close_idle(&self) {
        let old = lock(&self.generations).end();
        drop(old);
    }

    fn make(&self, tls: &Connector, made: &Arc<AtomicUsize>, most_idle: usize) -> reqwest::Result<reqwest::Client> {
        for_a_crawl(reqwest::Client::builder(), made)
            .no_proxy()
            .tls_backend_preconfigured(tls.http1_config())
            .dns_resolver(OurNames(self.names.clone()))
            .connect_timeout(self.connect_timeout)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(most_idle)
            .tcp_nodelay(true)
            // Its HTTP/2 has no bound for frames that bring nothing, and reads them on when nobody waits.
            .http1_only()
            .build()
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
