//! A request's connection: a whole one, or one stream of a shared one.

use std::net::SocketAddr;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Response;

use super::http1::Http1;
use super::http2_stream::Http2Stream;
use super::no_head::{Broken, NoHead};
use super::request::Get;

/// A request's connection. Dropping it drops the connection or the stream.
#[derive(Debug)]
pub(super) struct Connection {
    protocol: Protocol,
    /// It has served requests before this one.
    is_kept: bool,
}

#[derive(Debug)]
pub(super) enum Protocol {
    Http1(Box<Http1>),
    Http2(Http2Stream),
}

impl Connection {
    /// A new connection.
    pub(super) fn new(protocol: Protocol) -> Self {
        Self { protocol, is_kept: false }
    }

    /// A connection that has served requests before.
    pub(super) fn kept(protocol: Protocol) -> Self {
        Self { protocol, is_kept: true }
    }

    pub(super) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// The address at its other end.
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

    /// The length of the body, if the head states it.
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

    /// A clock ran out. A shared connection may be dead, so it takes no more requests.
    pub(super) fn distrust(&self) {
        if let Protocol::Http2(stream) = &self.protocol {
            stream.distrust();
        }
    }

    pub(super) fn into_protocol(self) -> Protocol {
        self.protocol
    }
}
