//! One request on a shared connection.

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::RecvStream;
use h2::client::ResponseFuture;
use http::Response;
use http::header::CONTENT_LENGTH;

use super::http2::Http2;
use super::no_head::{MAX_HEADERS, MAX_INTERIM, NoHead};
use super::request::Get;

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
        poll_fn(|context| requests.poll_ready(context)).await
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

    /// The length of the body, if the head states it.
    pub(super) fn body_length(&self) -> Option<u64> {
        self.length
    }

    pub(super) fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, h2::Error>> {
        let Some(body) = &mut self.body else { return Poll::Ready(Ok(None)) };
        let piece = ready!(body.poll_data(context)).transpose()?;
        if let Some(piece) = &piece {
            // The server may send as much again.
            body.flow_control().release_capacity(piece.len())?;
        }
        Poll::Ready(Ok(piece))
    }

    pub(super) fn distrust(&self) {
        self.connection.distrust();
    }
}

impl Drop for Http2Stream {
    fn drop(&mut self) {
        // These must end before the connection counts as unused.
        (self.response, self.body) = (None, None);
        self.shared.give_back(&self.connection);
    }
}
