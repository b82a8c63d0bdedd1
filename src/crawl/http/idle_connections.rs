//! Connections that are kept open for the next request to their host.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ahash::AHashMap;

use super::connection::{Connection, Protocol};
use super::http1::Http1;
use super::http2::Http2;
use crate::crawl::lock::lock;

/// Bytes that an idle connection takes, with what the system's allocator wastes: the buffers of HTTP/1.1, TLS, and the tables and buffers
/// of HTTP/2. The first two were measured, over thousands of connections.
const HTTP1: u64 = 26 << 10;
const TLS: u64 = 20 << 10;
const HTTP2: u64 = 48 << 10;
/// How long a connection is kept without use.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// The idle connections of all hosts. When there is no place for one more, the one that has been idle longest is closed.
///
/// Nothing watches them. A connection that its server has closed is found when it is taken, or dropped at its timeout, which is checked
/// each time that a connection is put back.
pub(super) struct IdleConnections {
    /// At most this many connections. Each takes an open file.
    most: usize,
    /// At most this many bytes for all connections.
    most_memory: u64,
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    /// The ages of each host's connections, the youngest last.
    by_origin: AHashMap<Arc<str>, VecDeque<u64>>,
    by_age: BTreeMap<u64, Kept>,
    /// Bytes that all connections take.
    memory: u64,
    /// The age of the next connection.
    age: u64,
    /// Requests that wait for a place. While there are any, no connection is kept.
    wanted: usize,
}

/// An idle connection.
pub(super) enum Unused {
    Http1(Box<Http1>),
    Http2(Arc<Http2>),
}

impl Unused {
    /// Gives an HTTP/1.1 connection to one request. An HTTP/2 connection is closed.
    pub(super) fn into_http1(self) -> Option<Connection> {
        match self {
            Self::Http1(connection) => Some(Connection::kept(Protocol::Http1(connection))),
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
            Self::Http1(connection) if connection.origin().starts_with("https:") => HTTP1 + TLS,
            Self::Http1(_) => HTTP1,
            Self::Http2(_) => HTTP2 + TLS,
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
    connection: Unused,
    since: Instant,
}

impl IdleConnections {
    /// Keeps at most `most` connections, in at most `most_memory` bytes.
    pub(super) fn new(most: usize, most_memory: u64) -> Self {
        Self { most, most_memory, idle: Mutex::default() }
    }

    /// A connection to `origin` that can take a request, if there is one: the most recently used. O(log connections).
    pub(super) fn take(&self, origin: &str) -> Option<Unused> {
        loop {
            let mut connection = lock(&self.idle).take(origin)?;
            if connection.is_ready() {
                return Some(connection);
            }
        }
    }

    /// Closes the connection that has been idle longest, to make room for a request that waits for a place. If there is none, closes every
    /// connection put back while the returned guard lives.
    pub(super) fn close_one_or_all_to_come(&self) -> Option<RoomWanted<'_>> {
        let mut idle = lock(&self.idle);
        // It is closed after the lock is released.
        let closed = idle.take_oldest();
        if closed.is_none() {
            idle.wanted += 1;
            return Some(RoomWanted(self));
        }
        None
    }

    /// Keeps a connection, if it can take another request.
    pub(super) fn put(&self, mut connection: Unused, now: Instant) {
        if !connection.is_ready() {
            return;
        }
        // They are closed after the lock is released.
        let mut closed = Vec::new();
        let mut idle = lock(&self.idle);
        if idle.wanted > 0 {
            drop(idle);
            return drop(connection);
        }
        idle.put(Kept { connection, since: now });
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
    fn take(&mut self, origin: &str) -> Option<Unused> {
        let age = self.by_origin.get_mut(origin)?.pop_back()?;
        self.forget_empty(origin);
        let kept = self.by_age.remove(&age)?;
        self.memory -= kept.connection.memory();
        Some(kept.connection)
    }

    fn put(&mut self, kept: Kept) {
        self.memory += kept.connection.memory();
        self.by_origin.entry(Arc::clone(kept.connection.origin())).or_default().push_back(self.age);
        self.by_age.insert(self.age, kept);
        self.age += 1;
    }

    fn oldest(&self) -> Option<Instant> {
        self.by_age.first_key_value().map(|(_, kept)| kept.since)
    }

    fn take_oldest(&mut self) -> Option<Kept> {
        let (_, kept) = self.by_age.pop_first()?;
        self.memory -= kept.connection.memory();
        // The oldest overall is also the oldest of its host.
        self.by_origin.get_mut(&**kept.connection.origin())?.pop_front();
        self.forget_empty(kept.connection.origin());
        Some(kept)
    }

    fn forget_empty(&mut self, origin: &str) {
        if self.by_origin.get(origin).is_some_and(VecDeque::is_empty) {
            self.by_origin.remove(origin);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::crawl::http::transport::Transport;

    /// A server that sends nothing.
    struct Server(TcpListener);

    impl Server {
        async fn start() -> Self {
            Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
        }

        /// A connection to the server under one of its names, and the server's end of it.
        async fn connect(&self, origin: &str) -> (Unused, TcpStream) {
            let client = TcpStream::connect(self.0.local_addr().unwrap()).await.unwrap();
            let (server, _) = self.0.accept().await.unwrap();
            (Unused::Http1(Http1::over(Transport::Plain(client), origin).await.unwrap()), server)
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
        for pool in [IdleConnections::new(2, u64::MAX), IdleConnections::new(8, 3 * HTTP1 - 1)] {
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
        // The runtime notices it only between two turns.
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
