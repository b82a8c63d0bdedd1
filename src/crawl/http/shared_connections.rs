//! Connections that several requests to a host share.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use ahash::{AHashMap, AHashSet};
use tokio::sync::Semaphore;

use super::connection::{Connection, Protocol};
use super::http2::Http2;
use super::http2_stream::{GiveBack, Http2Stream};
use super::idle_connections::{IdleConnections, Unused};
use crate::crawl::lock::lock;

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

/// Which request connects to a host.
pub(super) enum Turn {
    /// This one. The others wait until this value is dropped.
    Mine(#[expect(dead_code, reason = "what it does it does when it is dropped")] Connecting),
    /// Another request has tried.
    Over,
    /// Any request: the host speaks HTTP/1.1.
    Everybody,
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
            return self.idle.take(origin).and_then(Unused::into_http1);
        }
        if let Some(used) = hosts.used.get_mut(origin) {
            if used.connection.is_open() {
                used.streams += 1;
                return Some(Connection::kept(self.stream(&used.connection)));
            }
            // It takes no new streams, but those under way may finish.
            hosts.used.remove(origin);
        }
        match self.idle.take(origin)? {
            Unused::Http2(connection) => Some(Connection::kept(hosts.share(self, connection))),
            unused @ Unused::Http1(_) => unused.into_http1(),
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
                return Turn::Everybody;
            }
            let Some(other) = hosts.connecting.get(origin) else {
                let origin = Arc::from(origin);
                hosts.connecting.insert(Arc::clone(&origin), Arc::new(Semaphore::new(0)));
                return Turn::Mine(Connecting { origin, shared: Arc::clone(self) });
            };
            Arc::clone(other)
        };
        // It never has permits, so this waits until it is closed.
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
        // A newer connection has replaced this one, which takes no more requests. It is closed with its last stream.
        if !Arc::ptr_eq(&used.connection, connection) {
            return;
        }
        used.streams -= 1;
        if used.streams == 0 {
            hosts.used.remove(connection.origin());
            connection.set_streams(false);
            self.idle.put(Unused::Http2(Arc::clone(connection)), Instant::now());
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
