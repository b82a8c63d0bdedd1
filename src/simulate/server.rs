//! The server of a simulated web, on loopback by default. It reports each request to the judge.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use super::answer::{Answer, compress};
use super::judge::Judge;
use super::request::Asked;
use super::world::World;
use crate::frontier::Timestamp;

/// Serves a world: all hosts at one address, told apart by the Host header. It also judges the requests.
///
/// Stops when dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    site: Arc<Site>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Site {
    world: World,
    judge: Judge,
    /// The clock for the judge: it never steps back.
    started: (Timestamp, Instant),
}

impl Site {
    fn now(&self) -> Timestamp {
        self.started.0 + self.started.1.elapsed()
    }
}

impl Server {
    /// Listens at a port that the system chooses, and answers from tasks of the current runtime.
    ///
    /// # Errors
    /// If loopback cannot be listened on.
    pub async fn start(world: World) -> io::Result<Self> {
        Self::start_at(world, (Ipv4Addr::LOCALHOST, 0).into()).await
    }

    /// Listens at this address, and answers from tasks of the current runtime. If the port is 0, the system chooses one.
    ///
    /// # Errors
    /// If the address cannot be listened on.
    pub async fn start_at(world: World, address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let judge = Judge::new(&world);
        let epoch = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let started = (Timestamp::default() + epoch, Instant::now());
        let site = Arc::new(Site { world, judge, started });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&site)));
        Ok(Self { address, site, accepting })
    }

    /// The address that every name of the world should resolve to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The world that is served.
    pub fn world(&self) -> &World {
        &self.site.world
    }

    /// The judge of all requests so far.
    pub fn judge(&self) -> &Judge {
        &self.site.judge
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Accepts connections, which end with the listener.
async fn accept(listener: TcpListener, site: Arc<Site>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => _ = connections.spawn(connection(stream, Arc::clone(&site))),
                // The process is out of file descriptors. Some come back when connections end.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(stream: TcpStream, site: Arc<Site>) {
    // Without this, small answers wait for the client's acknowledgement. An error of the connection shows below.
    _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let site = Arc::clone(&site);
        async move { Ok::<_, Infallible>(respond(&site, &request).await) }
    });
    // A client that closes the connection is not an error.
    _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn respond(site: &Site, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return status(StatusCode::METHOD_NOT_ALLOWED);
    }
    let header = |name| request.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let host =
        request.uri().authority().map(hyper::http::uri::Authority::as_str).or_else(|| header(HOST)).unwrap_or_default();
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let asked = site.world.find(host, path);
    let url = || format!("http://{host}{path}");
    let attempt = site.judge.arrived(&site.world, &asked, url, site.now());
    let mut pending = Pending { site, asked, answer: None };
    let answer = site.world.answer(&pending.asked, attempt);
    if !answer.latency.is_zero() {
        tokio::time::sleep(answer.latency).await;
    }
    let compressed = answer.gzip && header(ACCEPT_ENCODING).is_some_and(|codings| codings.contains("gzip"));
    let response = build(pending.answer.insert(answer), compressed);
    response.unwrap_or_else(|_| status(StatusCode::INTERNAL_SERVER_ERROR))
}

/// A request under way. The judge learns of its end when this is dropped, even if the client closes the connection first.
struct Pending<'a> {
    site: &'a Site,
    asked: Asked,
    answer: Option<Answer>,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.site.judge.answered(&self.site.world, &self.asked, self.answer.as_ref(), self.site.now());
    }
}

fn build(answer: &mut Answer, compressed: bool) -> hyper::http::Result<Response<Full<Bytes>>> {
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(*name, HeaderValue::from_bytes(value.as_bytes())?);
    }
    let mut body = std::mem::take(&mut answer.body);
    if compressed {
        // Writing to memory cannot fail.
        body = compress(&body).unwrap_or_default();
        response = response.header(CONTENT_ENCODING, "gzip");
    }
    response.body(Full::new(Bytes::from(body)))
}

fn status(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}
