//! An HTTP/2 connection: several requests at once, each a stream.

use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use h2::client::{Builder, Connection as Driver, SendRequest};
use http::Request;
use http::header::HOST;
use http::uri::{Authority, Scheme};
use http::{Uri, Version};

use super::frame_guard::FrameGuard;
use super::no_head::{MAX_HEAD, NoHead};
use super::request::Get;
use super::transport::Transport;
use crate::crawl::lock::lock;

/// Bytes of one body that a server may send before they are read. Most pages fit as they are sent, so they come in one round trip.
const STREAM_WINDOW: u32 = 256 << 10;
/// Bytes of all bodies of a connection that a server may send before they are read: the most that the connection holds.
const CONNECTION_WINDOW: u32 = 1 << 20;

/// An HTTP/2 connection.
///
/// Its own task moves bytes, but only while there is a stream. Nothing watches a connection without streams: if a server floods it, the
/// bytes stay with the server, and a close is noticed when the connection is next taken. Dropping it closes it.
pub(super) struct Http2 {
    origin: Arc<str>,
    scheme: Scheme,
    authority: Authority,
    remote_addr: Option<SocketAddr>,
    requests: SendRequest<Bytes>,
    /// Moves bytes between the transport and the streams. `None` once the connection is closed.
    driver: Mutex<Option<Driver<FrameGuard<Transport>, Bytes>>>,
    has_streams: AtomicBool,
    is_distrusted: AtomicBool,
    task: AtomicWaker,
}

impl Http2 {
    /// Begins to speak HTTP/2. It has a stream from the beginning: that of the request that it is made for.
    pub(super) async fn over(transport: Transport, origin: &str) -> Result<Arc<Self>, NoHead> {
        let uri = origin.parse::<Uri>().map_err(|error| NoHead::Connect(error.into()))?.into_parts();
        let (Some(scheme), Some(authority)) = (uri.scheme, uri.authority) else {
            return Err(NoHead::Connect("an origin without a host".into()));
        };
        let remote_addr = transport.remote_addr();
        let (requests, driver) = Builder::new()
            .enable_push(false)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .initial_window_size(STREAM_WINDOW)
            // One, until the server says how many it takes.
            .initial_max_send_streams(1)
            .max_header_list_size(MAX_HEAD)
            .handshake(FrameGuard::of(transport))
            .await?;
        let connection = Arc::new(Self {
            origin: origin.into(),
            scheme,
            authority,
            remote_addr,
            requests,
            driver: Mutex::new(Some(driver)),
            has_streams: AtomicBool::new(true),
            is_distrusted: AtomicBool::new(false),
            task: AtomicWaker::new(),
        });
        tokio::spawn(Drive(Arc::downgrade(&connection)));
        Ok(connection)
    }

    /// The origin that it belongs to.
    pub(super) fn origin(&self) -> &Arc<str> {
        &self.origin
    }

    /// The address at its other end.
    pub(super) fn remote_addr(&self) -> Option<SocketAddr> {
        self.remote_addr
    }

    /// The handle that sends requests.
    pub(super) fn requests(&self) -> SendRequest<Bytes> {
        self.requests.clone()
    }

    /// A request in HTTP/2's form: the host is not a header.
    pub(super) fn request(&self, request: Get) -> Request<()> {
        let (mut parts, ()) = request.into_parts();
        parts.headers.remove(HOST);
        parts.version = Version::HTTP_2;
        let mut uri = parts.uri.into_parts();
        (uri.scheme, uri.authority) = (Some(self.scheme.clone()), Some(self.authority.clone()));
        parts.uri = Uri::from_parts(uri).unwrap_or_default();
        Request::from_parts(parts, ())
    }

    /// Whether it takes further requests, as far as this machine knows.
    pub(super) fn is_open(&self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        let refused = matches!(self.requests().poll_ready(&mut context), Poll::Ready(Err(_)));
        !self.is_distrusted.load(Ordering::Relaxed) && !refused
    }

    /// It takes no more requests.
    pub(super) fn distrust(&self) {
        self.is_distrusted.store(true, Ordering::Relaxed);
    }

    /// Records that it has no streams any more, or has one again.
    pub(super) fn set_streams(&self, has_streams: bool) {
        self.has_streams.store(has_streams, Ordering::Release);
        if has_streams {
            self.task.wake();
        }
    }

    /// Reads what the server has sent in the meantime. Returns whether it takes further requests.
    pub(super) fn catch_up(&self) -> bool {
        self.poll(&mut Context::from_waker(Waker::noop())).is_pending() && self.is_open()
    }

    /// Moves bytes. Ready once the connection is closed.
    fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut driver = lock(&self.driver);
        // Each stream learns what ended the connection.
        driver.take_if(|driver| Pin::new(driver).poll(context).is_ready());
        if driver.is_some() { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl Drop for Http2 {
    fn drop(&mut self) {
        // Its task ends.
        self.task.wake();
    }
}

impl fmt::Debug for Http2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http2").field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// Drives a connection while it has streams.
struct Drive(Weak<Http2>);

impl Future for Drive {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(connection) = self.0.upgrade() else { return Poll::Ready(()) };
        connection.task.register(context.waker());
        if connection.has_streams.load(Ordering::Acquire) { connection.poll(context) } else { Poll::Pending }
    }
}
