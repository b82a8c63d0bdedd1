//! A body on one of our own connections. The connection is kept once the body ends.

use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;

use crate::crawl::http::client::ClientBody;
use crate::crawl::http::connection::{Connection, Protocol};
use crate::crawl::http::fetch_error::FetchError;
use crate::crawl::http::idle_connections::{IdleConnections, Unused};

/// A body on one of our own connections. The connection is kept once the body ends.
#[derive(Debug)]
pub(super) struct DirectBody {
    /// `None` once the body has ended.
    connection: Option<Connection>,
    idle: Arc<IdleConnections>,
    is_mended: bool,
}

impl DirectBody {
    pub(super) fn new(connection: Connection, idle: Arc<IdleConnections>) -> Self {
        Self { is_mended: connection.is_mended(), connection: Some(connection), idle }
    }
}

impl ClientBody for DirectBody {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, FetchError>>> {
        let Some(connection) = &mut self.connection else { return Poll::Ready(None) };
        let chunk = ready!(connection.poll_chunk(context));
        self.is_mended = connection.is_mended();
        match chunk {
            Ok(Some(chunk)) => Poll::Ready(Some(Ok(chunk))),
            Ok(None) => {
                if let Some(Protocol::Http1(connection)) = self.connection.take().map(Connection::into_protocol) {
                    self.idle.put(Unused::Http1(connection), Instant::now());
                }
                Poll::Ready(None)
            }
            Err(error) => Poll::Ready(Some(Err(FetchError::in_body(error)))),
        }
    }

    fn length(&self) -> Option<u64> {
        self.connection.as_ref().map_or(Some(0), Connection::body_length)
    }

    fn is_mended(&self) -> bool {
        self.is_mended
    }

    fn ran_out(&mut self) {
        if let Some(connection) = &self.connection {
            connection.distrust();
        }
    }
}
