//! The connections of requests. A request has a connection of its own (HTTP/1.1), or one stream of a shared connection (HTTP/2). An idle
//! connection is kept for the next request to its host.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use ahash::{AHashMap, AHashSet};
use bytes::Bytes;
use http::Response;
use tokio::sync::Semaphore;

use super::fetch_error::{Broken, NoHead};
use super::http1::Http1;
use super::http2::{GiveBack, Http2, Http2Stream};
use super::request::Get;
use crate::crawl::lock::lock;

/// A request's connection. Dropping it drops the connection or the stream.
#[derive(Debug)]
pub(super) struct Connection {
    protocol: Protocol,
    /// Whether it has served a request before this one.
    is_reused: bool,
}

#[derive(Debug)]
pub(super) enum Protocol {
    Http1(Box<Http1>),
    Http2(Http2Stream),
}

impl Connection {
    /// A new connection.
    pub(super) fn new(protocol: Protocol) -> Self {
        Self { protocol, is_reused: false }
    }

    /// A connection that has served requests before.
    pub(super) fn reused(protocol: Protocol) -> Self {
        Self { protocol, is_reused: true }
    }

    pub(super) fn is_reused(&self) -> bool {
        self.is_reused
    }

    /// The address of its other end.
    pub(super) fn remote_addr(&self) -> Option<SocketAddr> {
        match &self.protocol {
            Protocol::Http1(connection) => connection.remote_addr(),
            Protocol::Http2(stream) => stream.remote_addr(),
        }
    }

    /// Takes a request without a body, and waits until it is under way: a server may take fewer requests at once than are sent.
    pub(super) async fn send(&mut self, request: Get) -> Result<(), NoHead> {
        match &mut self.protocol {
            Protocol::Http1(connection) => connection.send(request),
            Protocol::Http2(stream) => stream.send(request).await?,
        }
        Ok(())
    }

    /// Waits for the head of the response. The body is still to come.
    pub(super) async fn head(&mut self) -> Result<Response<()>, NoHead> {
        match &mut self.protocol {
            Protocol::Http1(connection) => connection.head().await,
            Protocol::Http2(stream) => stream.head().await,
        }
    }

    /// Bytes of the body still to come, if the head states the length.
    pub(super) fn body_length(&self) -> Option<u64> {
        match &self.protocol {
            Protocol::Http1(connection) => connection.body_length(),
            Protocol::Http2(stream) => stream.body_length(),
        }
    }

    /// Whether the response was framed wrongly and was read anyway.
    pub(super) fn is_mended(&self) -> bool {
        matches!(&self.protocol, Protocol::Http1(connection) if connection.is_mended())
    }

    /// The next piece of the body; `None` after the last.
    pub(super) fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Broken>> {
        match &mut self.protocol {
            Protocol::Http1(connection) => connection.poll_chunk(context).map_err(Broken::from),
            Protocol::Http2(stream) => stream.poll_chunk(context).map_err(Broken::from),
        }
    }

    /// Called when a clock runs out. A shared connection may be dead, so it takes no more requests.
    pub(super) fn distrust(&self) {
        if let Protocol::Http2(stream) = &self.protocol {
            stream.distrust();
        }
    }

    pub(super) fn into_protocol(self) -> Protocol {
        self.protocol
    }
}

/// Bytes that an idle connection takes, with the overhead of the system's allocator: the buffers of HTTP/1.1, those of TLS, and the tables
/// and buffers of HTTP/2. The first two were measured, over thousands of connections.
const HTTP1_MEMORY: u64 = 26 << 10;
const TLS_MEMORY: u64 = 20 << 10;
const HTTP2_MEMORY: u64 = 48 << 10;
/// How long a connection is kept without use.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// The idle connections of all hosts. When there is no place for one more, the one that has been idle longest is closed.
///
/// Nothing watches them. A connection that its server has closed is found when it is taken, or dropped at its timeout, which is checked
/// each time that a connection is put back.
// Not hyper-util's `client-pool`: it has a list for each host and no bound over all, and its types cannot be named in a field.
pub(super) struct IdleConnections {
    /// At most this many connections. Each takes an open file.
    most: usize,
    /// At most this many bytes for all connections.
    most_memory: u64,
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    /// The sequence number of each origin's newest connection. Each connection has the number of the one before it.
    by_origin: AHashMap<Arc<str>, u64>,
    /// All connections by sequence number, so the longest idle one comes first.
    by_age: BTreeMap<u64, Kept>,
    /// Bytes that all connections take.
    memory: u64,
    /// The sequence number of the next connection that is put back.
    age: u64,
    /// Requests that wait for a place. While there are any, no connection is kept.
    wanted: usize,
}

/// An idle connection.
pub(super) enum IdleConnection {
    Http1(Box<Http1>),
    Http2(Arc<Http2>),
}

impl IdleConnection {
    /// Gives an HTTP/1.1 connection to one request. An HTTP/2 connection is closed.
    pub(super) fn into_http1(self) -> Option<Connection> {
        match self {
            Self::Http1(connection) => Some(Connection::reused(Protocol::Http1(connection))),
            Self::Http2(_) => None,
        }
    }

    fn origin(&self) -> &Arc<str> {
        match self {
            Self::Http1(connection) => connection.origin(),
            Self::Http2(connection) => connection.origin(),
        }
    }

    /// Bytes that it takes.
    fn memory(&self) -> u64 {
        match self {
            Self::Http1(connection) if connection.origin().starts_with("https:") => HTTP1_MEMORY + TLS_MEMORY,
            Self::Http1(_) => HTTP1_MEMORY,
            Self::Http2(_) => HTTP2_MEMORY + TLS_MEMORY,
        }
    }

    /// Whether it can take a request, as far as this machine knows.
    fn is_ready(&mut self) -> bool {
        match self {
            Self::Http1(connection) => connection.is_ready(),
            Self::Http2(connection) => connection.catch_up(),
        }
    }
}

struct Kept {
    connection: IdleConnection,
    since: Instant,
    /// The connection to the same origin before it, which may have been closed since then.
    older: Option<u64>,
}

impl IdleConnections {
    /// Keeps at most `most` connections, in at most `most_memory` bytes.
    pub(super) fn new(most: usize, most_memory: u64) -> Self {
        Self { most, most_memory, idle: Mutex::default() }
    }

    /// A connection to `origin` that can take a request, if there is one: the most recently used. O(log connections).
    pub(super) fn take(&self, origin: &str) -> Option<IdleConnection> {
        loop {
            let mut connection = lock(&self.idle).take(origin)?;
            if connection.is_ready() {
                return Some(connection);
            }
        }
    }

    /// Closes the connection that has been idle longest, to make room for a request that waits for a place. If there is none, closes every
    /// connection put back while the returned guard lives.
    pub(super) fn make_room(&self) -> Option<RoomWanted<'_>> {
        let mut idle = lock(&self.idle);
        // The connection is closed after the lock is released.
        let closed = idle.take_oldest();
        if closed.is_none() {
            idle.wanted += 1;
            return Some(RoomWanted(self));
        }
        None
    }

    /// Keeps a connection, if it can take another request.
    pub(super) fn put(&self, mut connection: IdleConnection, now: Instant) {
        if !connection.is_ready() {
            return;
        }
        // These connections are closed after the lock is released.
        let mut closed = Vec::new();
        let mut idle = lock(&self.idle);
        if idle.wanted > 0 {
            drop(idle);
            return drop(connection);
        }
        idle.put(connection, now);
        while idle.by_age.len() > self.most
            || idle.memory > self.most_memory
            || idle.oldest().is_some_and(|since| now - since > IDLE_TIMEOUT)
        {
            closed.extend(idle.take_oldest());
        }
        drop(idle);
    }
}

/// While it lives, connections that are put back are closed.
pub(super) struct RoomWanted<'a>(&'a IdleConnections);

impl Drop for RoomWanted<'_> {
    fn drop(&mut self) {
        lock(&self.0.idle).wanted -= 1;
    }
}

impl fmt::Debug for IdleConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdleConnections").field("most", &self.most).finish_non_exhaustive()
    }
}

impl Idle {
    fn take(&mut self, origin: &str) -> Option<IdleConnection> {
        let newest = self.by_origin.get_mut(origin)?;
        let kept = self.by_age.remove(newest)?;
        self.memory -= kept.connection.memory();
        match kept.older.filter(|older| self.by_age.contains_key(older)) {
            Some(older) => *newest = older,
            None => _ = self.by_origin.remove(origin),
        }
        Some(kept.connection)
    }

    fn put(&mut self, connection: IdleConnection, since: Instant) {
        self.memory += connection.memory();
        let older = self.by_origin.insert(Arc::clone(connection.origin()), self.age);
        self.by_age.insert(self.age, Kept { connection, since, older });
        self.age += 1;
    }

    fn oldest(&self) -> Option<Instant> {
        self.by_age.first_key_value().map(|(_, kept)| kept.since)
    }

    fn take_oldest(&mut self) -> Option<Kept> {
        let (age, kept) = self.by_age.pop_first()?;
        self.memory -= kept.connection.memory();
        // The oldest overall is also the oldest of its host: no other is older, and it is the newest if it is the only one.
        if self.by_origin.get(kept.connection.origin()) == Some(&age) {
            self.by_origin.remove(kept.connection.origin());
        }
        Some(kept)
    }
}

/// At most this many hosts are remembered as speaking HTTP/1.1.
const MOST_HTTP1: usize = 16_384;

/// Connections that several requests to a host share: one for each host that speaks HTTP/2. When its last request ends, a connection
/// becomes idle.
///
/// Only one request connects to a host at a time. The others wait and share its connection. A host that turns out to speak HTTP/1.1 is
/// remembered, and each request then makes its own connection.
///
/// Lock order: this lock before that of the idle connections.
pub(super) struct SharedConnections {
    idle: Arc<IdleConnections>,
    hosts: Mutex<Hosts>,
}

#[derive(Default)]
struct Hosts {
    used: AHashMap<Arc<str>, Used>,
    /// The semaphore is closed once the attempt to connect has succeeded or failed.
    connecting: AHashMap<Arc<str>, Arc<Semaphore>>,
    http1: AHashSet<Arc<str>>,
}

struct Used {
    connection: Arc<Http2>,
    streams: usize,
}

/// Which of several requests connects to a host.
pub(super) enum Turn {
    /// This request. The others wait until this value is dropped.
    Mine(#[expect(dead_code, reason = "it acts when it is dropped")] Connecting),
    /// Another request has tried to connect.
    Over,
    /// Each request makes its own connection: the host speaks HTTP/1.1.
    Unshared,
}

impl SharedConnections {
    pub(super) fn new(idle: Arc<IdleConnections>) -> Arc<Self> {
        Arc::new(Self { idle, hosts: Mutex::default() })
    }

    /// A connection to `origin` that takes a request, if there is one.
    pub(super) fn take(self: &Arc<Self>, origin: &str) -> Option<Connection> {
        let mut hosts = lock(&self.hosts);
        if hosts.http1.contains(origin) {
            drop(hosts);
            return self.idle.take(origin).and_then(IdleConnection::into_http1);
        }
        if let Some(used) = hosts.used.get_mut(origin) {
            if used.connection.is_open() {
                used.streams += 1;
                return Some(Connection::reused(self.stream(&used.connection)));
            }
            // It takes no new streams, but those under way may finish.
            hosts.used.remove(origin);
        }
        match self.idle.take(origin)? {
            IdleConnection::Http2(connection) => Some(Connection::reused(hosts.share(self, connection))),
            idle @ IdleConnection::Http1(_) => idle.into_http1(),
        }
    }

    /// Shares a new connection.
    pub(super) fn add(self: &Arc<Self>, connection: Arc<Http2>) -> Connection {
        Connection::new(lock(&self.hosts).share(self, connection))
    }

    /// Remembers that a host speaks HTTP/1.1, or asked for it.
    pub(super) fn speaks_http1(&self, origin: &str) {
        let http1 = &mut lock(&self.hosts).http1;
        if http1.len() >= MOST_HTTP1 {
            http1.clear();
        }
        http1.insert(origin.into());
    }

    /// Waits while another request connects to `origin`.
    pub(super) async fn turn(self: &Arc<Self>, origin: &str) -> Turn {
        let other = {
            let mut hosts = lock(&self.hosts);
            if hosts.http1.contains(origin) {
                return Turn::Unshared;
            }
            let Some(other) = hosts.connecting.get(origin) else {
                let origin = Arc::from(origin);
                hosts.connecting.insert(Arc::clone(&origin), Arc::new(Semaphore::new(0)));
                return Turn::Mine(Connecting { origin, shared: Arc::clone(self) });
            };
            Arc::clone(other)
        };
        // The semaphore never has permits, so this waits until it is closed.
        let _closed = other.acquire().await;
        Turn::Over
    }

    fn stream(self: &Arc<Self>, connection: &Arc<Http2>) -> Protocol {
        Protocol::Http2(Http2Stream::new(Arc::clone(connection), Arc::<Self>::clone(self)))
    }
}

impl GiveBack for SharedConnections {
    fn give_back(&self, connection: &Arc<Http2>) {
        let mut hosts = lock(&self.hosts);
        let Some(used) = hosts.used.get_mut(connection.origin()) else { return };
        // If a newer connection has replaced this one, this one takes no more requests, and is closed with its last stream.
        if !Arc::ptr_eq(&used.connection, connection) {
            return;
        }
        used.streams -= 1;
        if used.streams == 0 {
            hosts.used.remove(connection.origin());
            connection.set_streams(false);
            self.idle.put(IdleConnection::Http2(Arc::clone(connection)), Instant::now());
        }
    }
}

impl Hosts {
    fn share(&mut self, shared: &Arc<SharedConnections>, connection: Arc<Http2>) -> Protocol {
        connection.set_streams(true);
        let stream = shared.stream(&connection);
        self.used.insert(Arc::clone(connection.origin()), Used { connection, streams: 1 });
        stream
    }
}

impl fmt::Debug for SharedConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedConnections").field("hosts", &lock(&self.hosts).used.len()).finish_non_exhaustive()
    }
}

/// A request that is connecting to a host.
pub(super) struct Connecting {
    origin: Arc<str>,
    shared: Arc<SharedConnections>,
}

impl Drop for Connecting {
    fn drop(&mut self) {
        if let Some(waiting) = lock(&self.shared.hosts).connecting.remove(&self.origin) {
            waiting.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::crawl::http::tls::Transport;

    /// A server that sends nothing.
    struct Server(TcpListener);

    impl Server {
        async fn start() -> Self {
            Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
        }

        /// A connection to the server under one of its names, and the server's end of it.
        async fn connect(&self, origin: &str) -> (IdleConnection, TcpStream) {
            let client = TcpStream::connect(self.0.local_addr().unwrap()).await.unwrap();
            let (server, _) = self.0.accept().await.unwrap();
            (IdleConnection::Http1(Http1::over(Transport::Plain(client), origin).await.unwrap()), server)
        }
    }

    #[tokio::test]
    async fn a_connection_is_taken_by_its_own_host_alone_and_once() {
        let (server, pool) = (Server::start().await, IdleConnections::new(8, u64::MAX));
        let (connection, _end) = server.connect("http://a.test").await;
        pool.put(connection, Instant::now());
        assert!(pool.take("http://b.test").is_none() && pool.take("https://a.test").is_none());
        assert_eq!(&**pool.take("http://a.test").unwrap().origin(), "http://a.test");
        assert!(pool.take("http://a.test").is_none());
    }

    #[tokio::test]
    async fn the_one_that_was_idle_for_longest_makes_room() {
        for pool in [IdleConnections::new(2, u64::MAX), IdleConnections::new(8, 3 * HTTP1_MEMORY - 1)] {
            one_of_three_is_closed(&pool).await;
        }
    }

    async fn one_of_three_is_closed(pool: &IdleConnections) {
        let server = Server::start().await;
        let mut ends = Vec::new();
        for origin in ["http://a.test", "http://b.test", "http://a.test"] {
            let (connection, end) = server.connect(origin).await;
            pool.put(connection, Instant::now());
            ends.push(end);
        }
        assert!(ends[0].readable().await.is_ok(), "it was closed");
        assert_eq!(ends[0].try_read(&mut [0; 8]).unwrap(), 0);
        assert!(pool.take("http://a.test").is_some() && pool.take("http://a.test").is_none());
        assert!(pool.take("http://b.test").is_some());
        let idle = lock(&pool.idle);
        assert!(
            idle.by_age.is_empty() && idle.by_origin.is_empty() && idle.memory == 0,
            "nothing is left of hosts without connections"
        );
    }

    #[tokio::test]
    async fn what_was_idle_for_too_long_is_closed_with_the_next_request() {
        let (server, pool) = (Server::start().await, IdleConnections::new(8, u64::MAX));
        let (first, end) = server.connect("http://a.test").await;
        let (second, _end) = server.connect("http://b.test").await;
        let now = Instant::now();
        pool.put(first, now);
        pool.put(second, now + 2 * IDLE_TIMEOUT);
        end.readable().await.unwrap();
        assert_eq!(end.try_read(&mut [0; 8]).unwrap(), 0);
        assert!(pool.take("http://a.test").is_none() && pool.take("http://b.test").is_some());
    }

    #[tokio::test]
    async fn one_that_its_server_has_closed_is_not_taken() {
        let (server, pool) = (Server::start().await, IdleConnections::new(8, u64::MAX));
        let (connection, end) = server.connect("http://a.test").await;
        pool.put(connection, Instant::now());
        drop(end);
        // The runtime notices the close only between two turns.
        let taken = async {
            while let Some(connection) = pool.take("http://a.test") {
                pool.put(connection, Instant::now());
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(IDLE_TIMEOUT, taken).await.expect("its end is seen");
        assert!(lock(&pool.idle).by_age.is_empty());
    }
}
