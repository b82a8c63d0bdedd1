//! reqwest as a client, and how its connector tells a request about the connection that it makes.

use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use ahash::AHashMap;
use bytes::Bytes;
use http::header::{CONNECTION, HOST, HeaderValue};
use http::{Method, Response};
use hyper::body::{Body as _, Frame};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use tokio::sync::Semaphore;
use tower_layer::Layer;
use tower_service::Service;

use super::{ClientParts, FetcherError, reqwest_proxy, tls_of_rules};
use crate::address::CanonicalUrl;
use crate::crawl::http::access::AccessError;
use crate::crawl::http::client::{Client, ClientBody, ClientFuture, ClientRequest, ClientResponse};
use crate::crawl::http::dns::Names;
use crate::crawl::http::fetch_error::{FetchError, MAX_HEAD, MAX_HEADERS, NoHead, is_misframed, is_too_large};
use crate::crawl::http::proxy::{Proxies, Proxy};
use crate::crawl::http::shortage::causes;
use crate::crawl::http::tls::{Connector, ProxyPlace};
use crate::crawl::lock::lock;
use crate::frontier::Failure;

/// How long a connection is kept without use.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes that an idle TLS connection takes, as for the crawl's own client.
const IDLE_MEMORY: u64 = 46 << 10;
/// Idle connections are closed a generation at a time. One generation of clients is in use; the older ones wait for their last requests.
const GENERATIONS: usize = 4;

/// [reqwest](https://docs.rs/reqwest) as a client: the built-in one, set up as a crawl needs it, or your own with its proxies, certificates
/// and DNS.
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
/// Your client must not follow redirects or decode content codings: both would hide pages. A builder is set up that way. With a built
/// client, the crawl refuses to start if it decodes, and a fetch fails with an error that says so if it followed a redirect.
///
/// A client that is already built does not report when it connects. So permission to send is asked before the connection is made, the
/// request's time counts from then on, and the request is not repeated if the server has closed a kept connection. Only you can bound the
/// connections that your client keeps: by default reqwest bounds neither those of one host nor the total.
pub struct Reqwest(Kind);

enum Kind {
    /// A client that the crawl has set up.
    Ours(Box<Ours>),
    /// An embedder's client.
    Theirs {
        client: reqwest::Client,
        /// Its connector reports connections.
        is_watched: bool,
    },
}

/// reqwest's pool bounds the idle connections of each host, but not the total. So clients are replaced once they have made one generation's
/// share of connections; a generation's idle connections close with its last request. While too many old generations still have requests
/// under way, a new client keeps no connections at all.
struct Ours {
    names: Names,
    connect_timeout: Duration,
    most_idle: usize,
    tls: Connector,
    proxies: Proxies,
    /// For the names of proxies.
    proxy_names: Names,
    generations: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    now: Generation,
    /// Earlier generations, each by the counter that its clients share: the counter is freed with the last client.
    before: Vec<Weak<AtomicUsize>>,
}

impl Generations {
    /// Ends this generation. Dropping the returned value closes its idle connections.
    fn end(&mut self) -> Generation {
        self.before.retain(|made| made.strong_count() > 0);
        let old = std::mem::take(&mut self.now);
        self.before.push(Arc::downgrade(&old.made));
        old
    }
}

/// Clients that share one connection counter.
#[derive(Default)]
struct Generation {
    /// By TLS settings and proxy: each rule and each proxy has its own clients.
    clients: AHashMap<(usize, Option<usize>), reqwest::Client>,
    /// Connections that these clients have made.
    made: Arc<AtomicUsize>,
}

impl Reqwest {
    /// A client that resolves hosts by `names`, and verifies their certificates as the options say.
    pub(super) fn ours(parts: &ClientParts<'_>, names: &Names, proxies: Proxies) -> Result<Self, FetcherError> {
        let &ClientParts { options, limits, tls, .. } = parts;
        if proxies.speak_tls() && tls_of_rules(options) != (false, false) {
            let reason = "the client reqwest would treat an https:// proxy as the hosts that are insecure or shown a certificate: \
                          take an http:// proxy, or choose fetch.client = \"direct\"";
            return Err(AccessError::of_option("proxy", reason).into());
        }
        Ok(Self(Kind::Ours(Box::new(Ours {
            names: names.clone(),
            connect_timeout: options.connect_timeout,
            most_idle: limits
                .idle_connections
                .min(usize::try_from(limits.idle_memory / IDLE_MEMORY).unwrap_or(usize::MAX)),
            tls: tls.connector(options.insecure).map_err(|error| FetcherError::Setup(error.into()))?,
            proxies,
            proxy_names: Names::unguarded(limits.lookups),
            generations: Mutex::default(),
        }))))
    }

    /// Answers within the request's clocks. Waiting for a place at a proxy does not count.
    async fn answer_in_time(&self, request: &ClientRequest<'_>) -> Result<ClientResponse, FetchError> {
        let Kind::Ours(ours) = &self.0 else { return self.answer(request, None).await };
        let Some(proxy) = ours.proxies.of(request.canonical()) else {
            return request.within_clocks(self.answer(request, None)).await;
        };
        let place = proxy.place(None).await;
        request.begin();
        let answer = request.within_clocks(async {
            ours.check_proxy_host(request.canonical(), proxy).await?;
            self.answer(request, Some(proxy)).await
        });
        let mut response = answer.await.map_err(|error| at_proxy(proxy, request, error))?;
        if proxy.forwards(request.canonical()) {
            proxy.record_status(response.head.status()).map_err(FetchError::of_proxy)?;
        } else {
            proxy.answered();
        }
        response.remote_addr = None;
        response.body = Box::new(InPlace { body: response.body, _place: place });
        Ok(response)
    }

    async fn answer(&self, request: &ClientRequest<'_>, proxy: Option<&Proxy>) -> Result<ClientResponse, FetchError> {
        let (client, is_watched) = match &self.0 {
            Kind::Ours(ours) => (ours.client(request.tls(), proxy)?, true),
            Kind::Theirs { client, is_watched } => (client.clone(), *is_watched),
        };
        let is_forwarded = proxy.is_some_and(|proxy| proxy.forwards(request.canonical()));
        let mut is_repeated = false;
        let response = loop {
            let mut asked = asked(request)?;
            if is_forwarded {
                // As the crawl's own client does: some proxies would send the next request, with the sign-in, to the host.
                asked.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            request.send()?;
            let (answer, is_new) = ConnectorWatch::watch(request, client.execute(asked)).await?;
            match answer.map_err(|error| without_head(request, proxy, error)) {
                Ok(response) => break response,
                // A server may close a connection just as it is reused.
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
            let message = "the client has followed a redirect, but must not: build it with redirect(Policy::none())";
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

    /// The builder's settings for redirects, content codings and `Referer` are overridden.
    fn try_from(builder: reqwest::ClientBuilder) -> reqwest::Result<Self> {
        Ok(Self(Kind::Theirs { client: for_a_crawl(builder, &Arc::default()).build()?, is_watched: true }))
    }
}

impl Client for Reqwest {
    fn name(&self) -> &'static str {
        "reqwest"
    }

    fn ask<'a>(&'a self, request: &'a ClientRequest<'a>) -> ClientFuture<'a, Result<ClientResponse, FetchError>> {
        Box::pin(self.answer_in_time(request))
    }

    fn resolves_host(&self, url: &CanonicalUrl) -> bool {
        match &self.0 {
            Kind::Ours(ours) => ours.proxies.of(url).is_some_and(Proxy::resolves_names),
            Kind::Theirs { .. } => true,
        }
    }

    fn enforces_timeouts(&self) -> bool {
        matches!(self.0, Kind::Ours(_))
    }

    fn is_lost(&self) -> bool {
        matches!(&self.0, Kind::Ours(ours) if ours.proxies.are_lost())
    }

    fn check(&self) -> Result<(), String> {
        match &self.0 {
            Kind::Theirs { client, .. } if decodes_codings(client) => Err(
                "it decodes content codings, but must not: build it with no_gzip(), no_brotli(), no_zstd(), no_deflate()"
                    .into(),
            ),
            Kind::Ours(_) | Kind::Theirs { .. } => Ok(()),
        }
    }
}

/// Sets up a client that hides no page, adds no header, accepts what browsers accept, and reports its connections.
fn for_a_crawl(builder: reqwest::ClientBuilder, made: &Arc<AtomicUsize>) -> reqwest::ClientBuilder {
    builder
        .redirect(Policy::none())
        .referer(false)
        // reqwest's features are shared by the whole build. Another crate may enable these, so they are switched off.
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .connector_layer(CountConnections(Arc::clone(made)))
        // Browsers accept servers that need these.
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

/// Whether a client decodes any content coding, which only its debug output shows.
fn decodes_codings(client: &reqwest::Client) -> bool {
    let shown = format!("{client:?}");
    ["gzip: true", "brotli: true", "zstd: true", "deflate: true"].iter().any(|coding| shown.contains(coding))
}

impl Ours {
    /// The client for a host, from this generation or a new one.
    fn client(&self, tls: Option<&Connector>, proxy: Option<&Proxy>) -> Result<reqwest::Client, FetchError> {
        let tls = tls.unwrap_or(&self.tls);
        let key = (tls.id(), proxy.map(|proxy| std::ptr::from_ref(proxy).addr()));
        let a_part = (self.most_idle / GENERATIONS).max(1);
        let mut generations = lock(&self.generations);
        let mut old = None;
        if generations.now.made.load(Ordering::Relaxed) >= a_part {
            old = Some(generations.end());
        }
        if !generations.now.clients.contains_key(&key) {
            let kept = (generations.before.len() + 1) * a_part;
            let most_idle = if kept <= self.most_idle { a_part } else { 0 };
            let made = self.make(tls, proxy, &generations.now.made, most_idle);
            let client = made.map_err(|error| FetchError::caused(Failure::Lost, error))?;
            generations.now.clients.insert(key, client);
        }
        let client = generations.now.clients[&key].clone();
        drop(generations);
        // The old generation's connections are closed after the lock is released.
        drop(old);
        Ok(client)
    }

    /// If a URL's host is the proxy itself, checks its addresses: reqwest has one resolver for both, which does not guard the proxy's name.
    async fn check_proxy_host(&self, url: &CanonicalUrl, proxy: &Proxy) -> Result<(), FetchError> {
        if proxy.resolves_names() || proxy.settings().0.host() != url.host() {
            return Ok(());
        }
        let found = self.names.addresses(url).await;
        found.map(|_| ()).map_err(|error| FetchError::without_head(NoHead::Connect(error.into())))
    }

    /// Closes idle connections: this machine is short of open files, ports or memory.
    fn close_idle(&self) {
        let old = lock(&self.generations).end();
        drop(old);
    }

    fn make(
        &self,
        tls: &Connector,
        proxy: Option<&Proxy>,
        made: &Arc<AtomicUsize>,
        most_idle: usize,
    ) -> reqwest::Result<reqwest::Client> {
        let mut names = OurNames { names: self.names.clone(), proxy: None };
        let builder = for_a_crawl(reqwest::Client::builder(), made)
            .no_proxy()
            .tls_backend_preconfigured(tls.http1_config())
            .connect_timeout(self.connect_timeout)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(most_idle)
            .tcp_nodelay(true)
            // reqwest's HTTP/2 does not bound frames without content, and goes on reading when no request waits.
            .http1_only();
        let Some(proxy) = proxy else { return builder.dns_resolver(names).build() };
        let (address, sign_in, user_agent) = proxy.settings();
        names.proxy = Some((address.host().to_owned(), self.proxy_names.clone()));
        let mut to = reqwest::Proxy::all(address.to_string())?;
        if let Some((user, password)) = sign_in {
            to = to.basic_auth(user, password);
        }
        // No connection is kept: reqwest does not report when a kept one closes, so its place at the proxy could not be freed.
        builder.dns_resolver(names).proxy(to).user_agent(user_agent).pool_max_idle_per_host(0).build()
    }
}

/// The crawl's own DNS, with its guard.
struct OurNames {
    names: Names,
    /// A proxy's name, and the resolver for it: the user gave the name, so no address is refused.
    proxy: Option<(String, Names)>,
}

impl Resolve for OurNames {
    fn resolve(&self, name: Name) -> Resolving {
        let proxys = self.proxy.as_ref().filter(|(proxy, _)| proxy == name.as_str());
        let names = proxys.map_or(&self.names, |(_, names)| names).clone();
        Box::pin(async move {
            let found = names.resolve(name.as_str()).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// A body that holds a place at a proxy until it is dropped.
#[derive(Debug)]
struct InPlace {
    body: Box<dyn ClientBody>,
    _place: ProxyPlace,
}

impl ClientBody for InPlace {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, FetchError>>> {
        self.body.poll_chunk(context)
    }

    fn length(&self) -> Option<u64> {
        self.body.length()
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
            // A frame without data is a trailer, which the crawl ignores.
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

/// The request as a reqwest request.
fn asked(request: &ClientRequest<'_>) -> Result<reqwest::Request, FetchError> {
    let mut get = request.get()?;
    let url = reqwest::Url::parse(request.url()).ok().filter(|url| url.as_str() == request.url());
    let url =
        url.ok_or_else(|| FetchError::new(Failure::BadResponse, "not sent: reqwest would spell this URL differently"))?;
    let mut asked = reqwest::Request::new(Method::GET, url);
    // reqwest takes the host from the URL.
    get.headers_mut().remove(HOST);
    *asked.headers_mut() = std::mem::take(get.headers_mut());
    Ok(asked)
}

fn in_body(error: reqwest::Error) -> FetchError {
    let error = error.without_url();
    let is_misframed = hyper_error(&error).is_some_and(is_misframed);
    FetchError::caused(if is_misframed { Failure::BadResponse } else { Failure::Incomplete }, error)
}

fn without_head(request: &ClientRequest<'_>, proxy: Option<&Proxy>, error: reqwest::Error) -> FetchError {
    let mut error = error.without_url();
    if error.is_connect() {
        request.not_sent_yet();
        if error.is_timeout() {
            return FetchError { failure: Failure::Connect, ..request.connecting().ran_out() };
        }
        if let Some(proxy) = proxy {
            match reqwest_proxy::at_proxy(proxy, proxy.forwards(request.canonical()), error) {
                Ok(of_proxy) => return FetchError::of_proxy(of_proxy),
                Err(of_host) => error = of_host,
            }
        }
        return FetchError::without_head(NoHead::Connect(error.into()));
    }
    let of_hyper = hyper_error(&error);
    let is_not_http = of_hyper.is_some_and(hyper::Error::is_parse);
    if of_hyper.is_some_and(is_too_large) {
        return FetchError { message: FetchError::too_large(), ..FetchError::unanswered(error, true) };
    }
    FetchError::unanswered(error, is_not_http)
}

/// Blames the proxy for a clock that ran out, if the proxy is at fault.
fn at_proxy(proxy: &Proxy, request: &ClientRequest<'_>, error: FetchError) -> FetchError {
    let ran_out = error.source.is_none() && matches!(error.failure, Failure::Connect | Failure::Timeout);
    let of_proxy = match (ran_out, proxy.forwards(request.canonical()), request.sent_at()) {
        (true, true, Some(_)) => proxy.unanswered(),
        (true, _, None) => Some(proxy.unanswered_with("does not answer in time")),
        _ => None,
    };
    of_proxy.map_or(error, FetchError::of_proxy)
}

fn hyper_error(error: &reqwest::Error) -> Option<&hyper::Error> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

tokio::task_local! {
    /// The watch of the request that is under way in this task. reqwest connects inside the request's future.
    static WATCHED: Arc<ConnectorWatch>;
}

/// Nothing new.
const QUIET: u8 = 0;
/// A connection is being made.
const BEGUN: u8 = 1;
/// The connection is made, and waits for permission to be used.
const MADE: u8 = 2;

/// Links the connector and its request: once a connection is made, the request asks for permission again before it is sent.
struct ConnectorWatch {
    state: AtomicU8,
    leave: Semaphore,
}

impl ConnectorWatch {
    /// Waits for an answer, and returns with it whether a new connection was begun for it. For each connection made, records the time it
    /// took, and checks whether the request may still be sent.
    ///
    /// # Errors
    /// When the request may no longer be sent.
    async fn watch<T>(request: &ClientRequest<'_>, answer: impl Future<Output = T>) -> Result<(T, bool), FetchError> {
        let watch = Arc::new(Self { state: AtomicU8::new(QUIET), leave: Semaphore::new(0) });
        let _release = Release(&watch);
        let mut answer = pin!(WATCHED.scope(Arc::clone(&watch), answer));
        let (mut begun, mut is_new) = (Instant::now(), false);
        poll_fn(|context| {
            loop {
                if let Poll::Ready(answer) = answer.as_mut().poll(context) {
                    is_new |= watch.state.load(Ordering::Acquire) != QUIET;
                    return Poll::Ready(Ok((answer, is_new)));
                }
                let state = watch.state.swap(QUIET, Ordering::AcqRel);
                is_new |= state != QUIET;
                match state {
                    BEGUN => {
                        begun = Instant::now();
                        request.not_sent_yet();
                        return Poll::Pending;
                    }
                    MADE => {
                        request.connected(begun.elapsed());
                        if let Err(error) = request.send() {
                            return Poll::Ready(Err(error));
                        }
                        watch.leave.add_permits(1);
                    }
                    _ => return Poll::Pending,
                }
            }
        })
        .await
    }
}

/// Closes the semaphore on drop: if a connection's request is gone, the connection then goes to the pool.
struct Release<'a>(&'a ConnectorWatch);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.0.leave.close();
    }
}

/// Counts the connections that a client makes.
#[derive(Clone)]
struct CountConnections(Arc<AtomicUsize>);

impl<S> Layer<S> for CountConnections {
    type Service = Counting<S>;

    fn layer(&self, below: S) -> Counting<S> {
        Counting { below, made: Arc::clone(&self.0) }
    }
}

#[derive(Clone)]
struct Counting<S> {
    below: S,
    made: Arc<AtomicUsize>,
}

impl<R, S: Service<R>> Service<R> for Counting<S>
where
    S::Future: Send + 'static,
    S::Response: Send,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.below.poll_ready(context)
    }

    fn call(&mut self, to: R) -> Self::Future {
        let watch = WATCHED.try_with(Arc::clone).ok();
        if let Some(watch) = &watch {
            watch.state.store(BEGUN, Ordering::Release);
        }
        self.made.fetch_add(1, Ordering::Relaxed);
        let connected = self.below.call(to);
        Box::pin(async move {
            let connection = connected.await?;
            if let Some(watch) = watch {
                watch.state.store(MADE, Ordering::Release);
                // An error means that the request has gone.
                if let Ok(leave) = watch.leave.acquire().await {
                    leave.forget();
                }
            }
            Ok(connection)
        })
    }
}
