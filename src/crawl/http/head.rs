//! A response whose body is still to come.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Poll, ready};

use hyper::body::{Body, Bytes, Incoming};
use hyper::ext::ReasonPhrase;
use hyper::header::HeaderMap;
use hyper::{Response, StatusCode};

use super::exchange::add_headers;
use super::http1::Connection;

/// A response whose body is still to come, with the connection that it comes on.
#[derive(Debug)]
pub(super) struct Head {
    response: Response<Incoming>,
    connection: Box<Connection>,
}

impl Head {
    pub(super) fn new(response: Response<Incoming>, connection: Box<Connection>) -> Self {
        Self { response, connection }
    }

    pub(super) fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The status line and the headers as HTTP/1.1 writes them, with the empty line behind them.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let status = self.response.status();
        let reason = match self.response.extensions().get::<ReasonPhrase>() {
            Some(reason) => reason.as_bytes(),
            None => status.canonical_reason().unwrap_or_default().as_bytes(),
        };
        let mut bytes = format!("{:?} {} ", self.response.version(), status.as_str()).into_bytes();
        bytes.extend(reason);
        bytes.extend(b"\r\n");
        add_headers(self.response.headers(), &mut bytes);
        bytes
    }

    /// The address that sent it.
    pub(super) fn remote_addr(&self) -> Option<SocketAddr> {
        self.connection.remote_addr()
    }

    /// The bytes of the body that are to come, where the head says so.
    pub(super) fn body_length(&self) -> Option<u64> {
        self.response.body().size_hint().exact()
    }

    /// The next piece of the body; `None` behind the last.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, hyper::Error> {
        let Self { response, connection } = self;
        poll_fn(|context| {
            connection.beside(context, |context| {
                loop {
                    let Some(frame) = ready!(Pin::new(response.body_mut()).poll_frame(context)) else {
                        return Poll::Ready(Ok(None));
                    };
                    // A frame without data is a trailer. Nobody reads those.
                    if let Ok(piece) = frame?.into_data() {
                        return Poll::Ready(Ok(Some(piece)));
                    }
                }
            })
        })
        .await
    }

    /// The connection, behind the end of the body.
    pub(super) fn into_connection(self) -> Box<Connection> {
        self.connection
    }
}
