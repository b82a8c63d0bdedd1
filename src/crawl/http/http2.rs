//! An HTTP/2 connection: several requests at once, each a stream, and a bound on frames without content.

use std::fmt;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use h2::RecvStream;
use h2::client::{Builder, Connection as Driver, ResponseFuture, SendRequest};
use http::header::{CONTENT_LENGTH, HOST};
use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri, Version};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::fetch_error::{FLOOD, MAX_HEAD, MAX_HEADERS, MAX_INTERIM, NoHead};
use super::request::Get;
use super::tls::Transport;
use crate::crawl::lock::lock;

/// Bytes of one body that a server may send before they are read. Most pages fit as they are sent, so they come in one round trip.
const STREAM_WINDOW: u32 = 256 << 10;
/// Bytes of all bodies of a connection that a server may send before they are read: the most that the connection holds.
const CONNECTION_WINDOW: u32 = 1 << 20;

/// An HTTP/2 connection.
///
/// Its own task moves bytes, but only while there is a stream. Nothing watches a connection without streams: if a server floods it, the
/// bytes are not read, and a close is noticed when the connection is next taken. Dropping it closes it.
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
    /// Begins to speak HTTP/2. It counts as having a stream from the beginning: that of the request that it is made for.
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
            // One stream, until the server says how many it takes.
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

    /// The address of its other end.
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

    /// Marks it as dead: it takes no more requests.
    pub(super) fn distrust(&self) {
        self.is_distrusted.store(true, Ordering::Relaxed);
    }

    /// Records whether it has streams.
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

/// Takes a connection back when one of its streams ends.
pub(super) trait GiveBack: Send + Sync + fmt::Debug {
    fn give_back(&self, connection: &Arc<Http2>);
}

/// One request on a shared connection. If it is dropped before its end, the server is told to stop, and the other streams go on.
#[derive(Debug)]
pub(super) struct Http2Stream {
    connection: Arc<Http2>,
    shared: Arc<dyn GiveBack>,
    response: Option<ResponseFuture>,
    body: Option<RecvStream>,
    length: Option<u64>,
}

impl Http2Stream {
    pub(super) fn new(connection: Arc<Http2>, shared: Arc<dyn GiveBack>) -> Self {
        Self { connection, shared, response: None, body: None, length: None }
    }

    pub(super) fn remote_addr(&self) -> Option<SocketAddr> {
        self.connection.remote_addr()
    }

    /// Sends a request, once the server takes one more.
    pub(super) async fn send(&mut self, request: Get) -> Result<(), h2::Error> {
        let mut requests = self.connection.requests();
        let (response, _) = requests.send_request(self.connection.request(request), true)?;
        self.response = Some(response);
        // An error here is one of the connection: after a GOAWAY it takes no further requests, but may well answer this one. If it does
        // not, there is no head, and the error is told then.
        let _ = poll_fn(|context| requests.poll_ready(context)).await;
        Ok(())
    }

    pub(super) async fn head(&mut self) -> Result<Response<()>, NoHead> {
        let Some(mut response) = self.response.take() else { return Err(NoHead::Interim) };
        let mut interim = 0;
        let answered = poll_fn(|context| {
            while let Poll::Ready(Some(one)) = response.poll_informational(context) {
                one?;
                interim += 1;
                if interim > MAX_INTERIM {
                    return Poll::Ready(Err(NoHead::Interim));
                }
            }
            Pin::new(&mut response).poll(context).map_err(NoHead::from)
        });
        let (parts, body) = answered.await?.into_parts();
        if parts.headers.len() > MAX_HEADERS {
            return Err(NoHead::Headers);
        }
        let length = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        (self.body, self.length) = (Some(body), length);
        Ok(Response::from_parts(parts, ()))
    }

    /// Bytes of the body still to come, if the head states the length.
    pub(super) fn body_length(&self) -> Option<u64> {
        self.length
    }

    pub(super) fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, h2::Error>> {
        let Some(body) = &mut self.body else { return Poll::Ready(Ok(None)) };
        let piece = ready!(body.poll_data(context)).transpose()?;
        if let Some(piece) = &piece {
            // This allows the server to send as many bytes again.
            body.flow_control().release_capacity(piece.len())?;
            self.length = self.length.map(|rest| rest.saturating_sub(piece.len() as u64));
        }
        Poll::Ready(Ok(piece))
    }

    pub(super) fn distrust(&self) {
        self.connection.distrust();
    }
}

impl Drop for Http2Stream {
    fn drop(&mut self) {
        // The request's handles must go before the connection counts as unused.
        (self.response, self.body) = (None, None);
        self.shared.give_back(&self.connection);
    }
}

/// At most this many frames without content, plus two for each frame with content.
const MOST_IDLE_FRAMES: u32 = 1_000;

/// Bytes of a frame's header (RFC 9113 section 4.1).
const HEADER: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;

/// Counts the frames of a connection as they pass. Frames without content (PING, SETTINGS, `WINDOW_UPDATE`, PRIORITY, GOAWAY, unknown and
/// empty DATA frames) cost a server nothing, and cost h2 a microsecond each. Code that waits for a page does not see them, so no other
/// limit would end a flood of them before a clock runs out (RFC 9113 section 10.5).
struct FrameGuard<S> {
    below: S,
    count: FrameCount,
}

#[derive(Debug, Default)]
struct FrameCount {
    header: [u8; HEADER],
    /// Bytes of the header received so far.
    known: usize,
    /// Bytes of the frame's payload still to come.
    payload: usize,
    /// Frames without content, less two for each frame with content.
    idle: u32,
}

impl<S> FrameGuard<S> {
    fn of(below: S) -> Self {
        Self { below, count: FrameCount::default() }
    }
}

impl FrameCount {
    /// Counts the frames in bytes as they come. Returns whether the number of frames without content is still within the limit.
    fn takes(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            if self.payload > 0 {
                let passed = self.payload.min(bytes.len());
                self.payload -= passed;
                bytes = &bytes[passed..];
                continue;
            }
            let taken = (HEADER - self.known).min(bytes.len());
            self.header[self.known..self.known + taken].copy_from_slice(&bytes[..taken]);
            self.known += taken;
            bytes = &bytes[taken..];
            if self.known == HEADER {
                self.known = 0;
                let [high, middle, low, kind, ..] = self.header;
                self.payload = u32::from_be_bytes([0, high, middle, low]) as usize;
                // Frames with content need no bound here: h2 bounds the fields of a head, and other limits bound interim responses and the
                // number of small pieces of a body.
                let has_content = matches!(kind, HEADERS | CONTINUATION) || kind == DATA && self.payload > 0;
                self.idle = if has_content { self.idle.saturating_sub(2) } else { self.idle + 1 };
                if self.idle > MOST_IDLE_FRAMES {
                    return false;
                }
            }
        }
        true
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FrameGuard<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Self { below, count } = self.get_mut();
        let before = into.filled().len();
        ready!(Pin::new(below).poll_read(context, into))?;
        let is_fine = count.takes(&into.filled()[before..]);
        let flood = || io::Error::new(FLOOD, format!("more than {MOST_IDLE_FRAMES} HTTP/2 frames without content"));
        Poll::Ready(if is_fine { Ok(()) } else { Err(flood()) })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FrameGuard<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.below).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.below).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.below.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.below).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.below).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use proptest::prelude::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    /// Nobody takes the connection back.
    #[derive(Debug)]
    struct Nobody;

    impl GiveBack for Nobody {
        fn give_back(&self, _: &Arc<Http2>) {}
    }

    #[tokio::test]
    async fn a_request_is_answered_although_the_connection_takes_no_further_one() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        let connection = Http2::over(Transport::Plain(client), "http://a.example").await.unwrap();
        let mut stream = Http2Stream::new(Arc::clone(&connection), Arc::new(Nobody));
        {
            let request = Request::get("http://a.example/").body(()).unwrap();
            let mut sending = pin!(stream.send(request));
            assert!(poll_fn(|context| Poll::Ready(sending.as_mut().poll(context))).await.is_pending());
            connection.catch_up();
            assert!(server.read(&mut [0; 1000]).await.unwrap() > 0);
            // SETTINGS, GOAWAY without an error, and the head of the response.
            let go_away = [&[0, 0, 8, 7, 0, 0, 0, 0, 0][..], &(u32::MAX >> 1).to_be_bytes(), &[0; 4]].concat();
            let head = [0, 0, 1, HEADERS, 5, 0, 0, 0, 1, 0x88];
            server.write_all(&[&[0, 0, 0, 4, 0, 0, 0, 0, 0][..], &go_away, &head].concat()).await.unwrap();
            while connection.is_open() {
                connection.catch_up();
                tokio::task::yield_now().await;
            }
            sending.await.unwrap();
        }
        assert_eq!(stream.head().await.unwrap().status(), 200);
    }

    fn frame(kind: u8, payload: usize) -> Vec<u8> {
        let length = u32::try_from(payload).unwrap().to_be_bytes();
        [&length[1..], &[kind, 0, 0, 0, 0, 1], &vec![0; payload]].concat()
    }

    fn takes(wire: &[u8], piece: usize) -> bool {
        let mut count = FrameCount::default();
        wire.chunks(piece).all(|piece| count.takes(piece))
    }

    #[test]
    fn frames_that_bring_nothing_have_a_bound() {
        for kind in [2, 3, 4, 6, 7, 8, 10, 0xee] {
            for payload in [0, 1, 8, 300] {
                let idle = |count: u32| frame(kind, payload).repeat(count as usize);
                assert!(takes(&idle(MOST_IDLE_FRAMES), 4096) && !takes(&idle(MOST_IDLE_FRAMES + 1), 4096), "{kind}");
                // A busy connection has some of these frames with each page, all its life.
                assert!(takes(&[frame(HEADERS, 40), idle(2), frame(DATA, 500)].concat().repeat(9_000), 4096), "{kind}");
            }
        }
        assert!(!takes(&frame(DATA, 0).repeat(2_000), 4096), "empty pieces bring nothing");
        assert!(
            !takes(&[frame(DATA, 1), frame(6, 8).repeat(4)].concat().repeat(1_000), 4096),
            "nor do crumbs hide them"
        );
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_they_are_cut(
            frames in proptest::collection::vec((0_u8..12, 0_usize..40, 1_usize..400), 0..12),
            piece in 1_usize..100,
        ) {
            let wire = frames.iter().map(|(kind, payload, count)| frame(*kind, *payload).repeat(*count)).collect::<Vec<_>>().concat();
            prop_assert_eq!(takes(&wire, piece), takes(&wire, wire.len().max(1)));
        }
    }
}
