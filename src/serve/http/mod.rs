//! The server's HTTP API: HTTP/1.1 and 2, with or without TLS, JSON and lines of JSON.
//!
//! | module | what it does |
//! |---|---|
//! | `door` | admits a request, or refuses it |
//! | `body` | reads bodies, with a bound on their memory |
//! | `given` | parses the lines that clients send |
//! | `answers` | writes the answers |
//! | `routes` | maps paths to calls |
//! | `metrics` | the server in numbers, for Prometheus |
//! | `page` | the live page, for people |
//!
//! # Bounds
//!
//! Heads, bodies, lines, the memory of all bodies, connections, streams of a connection, calls of a crawl and calls that wait are bounded
//! ([`ServeLimits`]). A client that neither sends nor reads for [`patience`](ServeLimits::patience) is dropped. The clients of one crawl can
//! neither fill the queue of another crawl nor block its thread.

mod answers;
mod body;
mod door;
mod given;
mod metrics;
mod page;
mod routes;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::access::Impatient;
use super::core::{Crawls, ServeLimits};
use door::TokenDoor;
use routes::Routes;

pub use super::access::{Access, Certificate, CertificateError};
pub use routes::ROUTES;

/// The server, listening.
pub struct HttpServer {
    listener: TcpListener,
    routes: Arc<Routes>,
    access: Access,
}

/// Maximum bytes of a request's head.
const HEAD_BYTES: usize = 32 << 10;
/// Requests of an HTTP/2 connection that may be under way at once.
const STREAMS: u32 = 256;

impl HttpServer {
    /// Listens at an address. Call this inside a runtime with I/O and time.
    ///
    /// # Errors
    /// If other machines could reach the address and there is no token; or if the address is not available.
    pub async fn listen(address: SocketAddr, crawls: Arc<Crawls>, access: Access) -> io::Result<Self> {
        access.check(address)?;
        let door = TokenDoor::new(access.token.as_deref())?;
        let listener = TcpListener::bind(address).await?;
        Ok(Self { listener, routes: Arc::new(Routes::new(crawls, door)), access })
    }

    /// The address at which it listens.
    ///
    /// # Errors
    /// If the system call fails.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until this is dropped, which ends all connections.
    pub async fn serve(self) {
        let Self { listener, routes, access } = self;
        let limits = routes.crawls().limits().clone();
        let certificate = access.certificate.map(Arc::new);
        let places = Arc::new(Semaphore::new(limits.connections));
        let mut connections = JoinSet::new();
        loop {
            // The semaphore is never closed, so there is no error.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            while connections.try_join_next().is_some() {}
            match listener.accept().await {
                Ok((stream, _)) => {
                    let (routes, certificate, limits) = (Arc::clone(&routes), certificate.clone(), limits.clone());
                    connections.spawn(async move {
                        connection(stream, certificate, routes, &limits).await;
                        drop(place);
                    });
                }
                // The process is out of file descriptors. Some come back when connections end.
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
    }
}

async fn connection(
    stream: TcpStream,
    certificate: Option<Arc<Certificate>>,
    routes: Arc<Routes>,
    limits: &ServeLimits,
) {
    // Without this, small answers wait for the client's acknowledgement. A connection error shows up below.
    _ = stream.set_nodelay(true);
    match certificate {
        None => answer(stream, routes, limits).await,
        Some(certificate) => {
            if let Ok(Ok(stream)) = timeout(limits.patience, certificate.accept(stream)).await {
                answer(stream, routes, limits).await;
            }
        }
    }
}

async fn answer(stream: impl AsyncRead + AsyncWrite + Unpin + 'static, routes: Arc<Routes>, limits: &ServeLimits) {
    let service = service_fn(move |request: Request<Incoming>| {
        let routes = Arc::clone(&routes);
        async move { Ok::<_, Infallible>(routes.answer(request).await) }
    });
    let stream = Impatient::new(stream, limits.patience, limits.idle);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle)
        .max_buf_size(HEAD_BYTES.max(64 << 10))
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(32 << 10)
        .keep_alive_interval(limits.idle)
        .keep_alive_timeout(limits.patience);
    // A client that closes the connection is not an error.
    _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

/// The certificate and key in two files, for [`Access::certificate`].
///
/// # Errors
/// If they cannot be read, or do not fit together.
pub fn certificate(certificate: &Path, key: &Path) -> Result<Certificate, CertificateError> {
    Certificate::read(certificate, key)
}
