//! A connection to a server. Whoever waits for something on it moves it along, so it needs no task of its own.

use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::{Connection as _, HttpInfo};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::coop;

use super::quiet::Quiet;

/// Headers of a response, at most.
const MAX_HEADERS: usize = 256;
/// Bytes of a response's head, at most.
const MAX_HEAD: usize = 128 * 1024;
/// Interim responses before the final one, at most.
const MAX_INTERIM: u32 = 10;

/// Why no head came.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoHead {
    /// There is no connection.
    #[error("no connection")]
    Connect(#[source] Box<dyn Error + Send + Sync>),
    /// The connection broke, or it does not speak HTTP.
    #[error(transparent)]
    Http(#[from] hyper::Error),
    /// The server sends interim responses without end.
    #[error("more than {MAX_INTERIM} interim responses")]
    Interim,
}

/// A request without a body.
pub(super) type Get = Request<Empty<Bytes>>;

/// What a connection runs over.
pub(super) type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

type Driver = http1::Connection<Stream, Empty<Bytes>>;

/// A connection that speaks HTTP/1.1, one request at a time. Nothing moves on it while nobody waits: hyper's side of it is polled
/// together with the response's head, and with each piece of its body. If it is dropped, it is closed.
pub(super) struct Connection {
    sender: SendRequest<Empty<Bytes>>,
    /// Moves bytes between the stream and the others. `None` once the connection is closed.
    driver: Option<Driver>,
    quiet: Quiet,
    origin: Arc<str>,
    remote_addr: Option<SocketAddr>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Connection {
    /// Speaks HTTP/1.1 over a stream.
    pub(super) async fn over(stream: Stream, origin: &str) -> hyper::Result<Box<Self>> {
        let mut facts = hyper::http::Extensions::new();
        stream.connected().get_extras(&mut facts);
        let remote_addr = facts.get().map(HttpInfo::remote_addr);
        let (sender, driver) = http1::Builder::new()
            // Browsers accept such servers. HTTP/0.9 is not accepted: any line that a port sends would be a page.
            .allow_obsolete_multiline_headers_in_responses(true)
            .allow_spaces_after_header_name_in_responses(true)
            .ignore_invalid_headers_in_responses(true)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEAD)
            .handshake(stream)
            .await?;
        Ok(Box::new(Self { sender, driver: Some(driver), quiet: Quiet::default(), origin: origin.into(), remote_addr }))
    }

    /// Whose it is.
    pub(super) fn origin(&self) -> &Arc<str> {
        &self.origin
    }

    /// The address at its other end.
    pub(super) fn remote_addr(&self) -> Option<SocketAddr> {
        self.remote_addr
    }

    /// Sends a request without a body, and waits for the response's head. The connection is of no use where the future is dropped.
    pub(super) async fn get(&mut self, mut request: Get) -> Result<Response<Incoming>, NoHead> {
        let interim = Arc::new(Interim::default());
        let told = Arc::clone(&interim);
        hyper::ext::on_informational(&mut request, move |_| told.count());
        let mut answer = pin!(self.sender.send_request(request));
        let answered = poll_fn(|context| {
            let answered = beside(&self.quiet, &mut self.driver, context, |context| answer.as_mut().poll(context));
            // The last one may have come together with the head.
            if interim.is_beyond() { Poll::Ready(Err(NoHead::Interim)) } else { answered.map_err(NoHead::Http) }
        });
        answered.await
    }

    /// Polls what waits for this connection, and moves the connection along meanwhile.
    pub(super) fn beside<T>(
        &mut self,
        context: &Context<'_>,
        work: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        beside(&self.quiet, &mut self.driver, context, work)
    }

    /// Whether it can take a request, as far as this machine has been told: a server may have closed it meanwhile.
    pub(super) fn is_ready(&mut self) -> bool {
        self.driver.take_if(|driver| Pin::new(driver).poll(&mut Context::from_waker(Waker::noop())).is_ready());
        self.driver.is_some() && self.sender.is_ready()
    }
}

/// Polls what waits for a connection. Where it still waits, the connection is moved along, and it is polled again.
fn beside<T>(
    quiet: &Quiet,
    driver: &mut Option<Driver>,
    context: &Context<'_>,
    mut work: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Poll<T> {
    quiet.poll(context, |context| {
        if let Poll::Ready(done) = work(context) {
            return Poll::Ready(done);
        }
        // Whoever waits is told what ended it.
        driver.take_if(|driver| Pin::new(driver).poll(context).is_ready());
        work(context)
    })
}

/// Counts the interim responses to a request.
#[derive(Debug, Default)]
struct Interim(AtomicU32);

impl Interim {
    fn count(&self) {
        // Each counts as work for this task. Whoever would drop the connection gets a turn before more is read.
        if let Poll::Ready(work) = coop::poll_proceed(&mut Context::from_waker(Waker::noop())) {
            work.made_progress();
        }
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn is_beyond(&self) -> bool {
        self.0.load(Ordering::Relaxed) > MAX_INTERIM
    }
}

/// A stream for tests.
#[cfg(test)]
pub(super) fn over(tcp: TcpStream) -> Stream {
    Stream::Http(TokioIo::new(tcp))
}
