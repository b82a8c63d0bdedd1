//! What fetches: a client is given a request, and gives back a head and the pieces of a body as they came.

use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Response;

use super::client_request::ClientRequest;
use super::fetch_error::FetchError;
use crate::address::CanonicalUrl;

/// What a client is waited for by.
pub type ClientFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Sends one request, and says what came back.
///
/// What is the same for all clients is done before and after it, and is none of its duties: which URLs may be asked, cookies and
/// sign-ins, the clocks, the limits of a body, decoding, digests, records.
///
/// It follows no redirect: that is a page of its own, which has its turn like any other. It undoes no content coding: the crawl bounds
/// what comes of one. It asks once, but for a request that a server has not looked at.
pub trait Client: fmt::Debug + Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// Sends a request, and waits for the head of its response. The future is dropped where a clock runs out.
    ///
    /// # Errors
    /// Where there is no response, or none that is HTTP.
    fn ask<'a>(&'a self, request: &'a ClientRequest<'a>) -> ClientFuture<'a, Result<ClientResponse, FetchError>>;

    /// Whether it finds the host of a URL by itself, as one does that has its own proxy, its own names, or no network. Nothing is looked
    /// up here then, so the politeness by IP address does not count that host. Addresses are judged by the response's
    /// [`remote_addr`](ClientResponse::remote_addr), where that is known.
    fn finds_host(&self, _url: &CanonicalUrl) -> bool {
        true
    }

    /// Whether it holds itself to the clocks of a request. Otherwise it is held to them.
    fn keeps_clocks(&self) -> bool {
        false
    }

    /// Looks for what is wrong with it, before a crawl begins.
    ///
    /// # Errors
    /// In words, and with what to do.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Whether it goes by an option of how hosts are reached: `proxy`, `ca_files`, `insecure`, `client_certificate`, `deny_networks`,
    /// `http1_only` or `resolve_all_to`. A crawl that is given one which its client does not go by does not begin.
    fn goes_by(&self, _option: &str) -> bool {
        false
    }

    /// Whether nothing is to be hoped for from it any more. The crawl ends then, and can be resumed.
    fn is_lost(&self) -> bool {
        false
    }
}

/// A response whose body is still to come.
#[derive(Debug)]
#[non_exhaustive]
pub struct ClientResponse {
    /// The status, the version, and all headers as they came: those of content codings, too.
    pub head: Response<()>,
    /// The body on the wire: its chunks or frames are put together, and its content codings are not undone.
    pub body: Box<dyn ClientBody>,
    /// The address that answered; `None` where it is not known, as through a proxy.
    pub remote_addr: Option<SocketAddr>,
}

impl ClientResponse {
    /// From an address that is not known.
    pub fn new(head: Response<()>, body: impl ClientBody + 'static) -> Self {
        Self { head, body: Box::new(body), remote_addr: None }
    }

    /// One whose body is there already.
    ///
    /// ```
    /// # use crawler::crawl::ClientResponse;
    /// let response = http::Response::builder().header("content-type", "text/html").body("<p>Hello".into());
    /// ClientResponse::whole(response.unwrap());
    /// ```
    pub fn whole(response: Response<Bytes>) -> Self {
        let (head, body) = response.into_parts();
        Self::new(Response::from_parts(head, ()), WholeBody(Some(body).filter(|body| !body.is_empty())))
    }
}

/// A body that is still to come. The rest of it is given up where it is dropped before its end.
pub trait ClientBody: fmt::Debug + Send {
    /// The next piece; `None` after the last.
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, FetchError>>>;

    /// The bytes that are to come, where the head says so.
    fn length(&self) -> Option<u64> {
        None
    }

    /// Whether the response was not framed as it should be, and was read all the same.
    fn is_mended(&self) -> bool {
        false
    }

    /// A clock ran out: what it comes on may be dead.
    fn ran_out(&mut self) {}
}

/// A body that is there.
#[derive(Debug)]
struct WholeBody(Option<Bytes>);

impl ClientBody for WholeBody {
    fn poll_chunk(&mut self, _context: &mut Context<'_>) -> Poll<Option<Result<Bytes, FetchError>>> {
        Poll::Ready(self.0.take().map(Ok))
    }

    fn length(&self) -> Option<u64> {
        Some(self.0.as_ref().map_or(0, |body| body.len() as u64))
    }
}
