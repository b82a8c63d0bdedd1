//! The seam for clients: a client takes a request, and returns the head and the pieces of the body as they came.

use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Response;

use super::client_request::ClientRequest;
use super::fetch_error::FetchError;
use crate::address::CanonicalUrl;

/// The future that a client returns.
pub type ClientFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Sends one request, and returns the response.
///
/// Everything common to all clients is done before and after it, by the crawl: which URLs may be requested, cookies and sign-ins, the
/// clocks, the limits of a body, decoding, digests, records.
///
/// It follows no redirect: the target is a page of its own, which has its turn like any other. It decodes no content coding: the crawl
/// bounds the decoded size. It sends a request once, unless the server did not process it.
pub trait Client: fmt::Debug + Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// Sends a request, and waits for the head of its response. The future is dropped when a clock runs out.
    ///
    /// # Errors
    /// When there is no response, or the response is not HTTP.
    fn ask<'a>(&'a self, request: &'a ClientRequest<'a>) -> ClientFuture<'a, Result<ClientResponse, FetchError>>;

    /// Whether it finds a URL's host by itself, as does a client with its own proxy, its own DNS, or no network. The crawl then looks
    /// nothing up, so politeness by IP address does not count that host. Addresses are checked by the response's
    /// [`remote_addr`](ClientResponse::remote_addr), where it is known.
    fn finds_host(&self, _url: &CanonicalUrl) -> bool {
        true
    }

    /// Whether it enforces a request's clocks itself. Otherwise the crawl does.
    fn keeps_clocks(&self) -> bool {
        false
    }

    /// Checks its own setup, before a crawl begins.
    ///
    /// # Errors
    /// What is wrong and what to do about it, in words.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Whether it honors an option on how hosts are reached: `proxy`, `ca_files`, `insecure`, `client_certificate`, `deny_networks`,
    /// `http1_only` or `resolve_all_to`. A crawl does not begin with an option that its client does not honor.
    fn goes_by(&self, _option: &str) -> bool {
        false
    }

    /// Whether it has failed for good. The crawl then ends, and can be resumed.
    fn is_lost(&self) -> bool {
        false
    }
}

/// A response whose body is still to come.
#[derive(Debug)]
#[non_exhaustive]
pub struct ClientResponse {
    /// The status, the version, and all headers as they came, `Content-Encoding` included.
    pub head: Response<()>,
    /// The body on the wire: chunks or frames are joined, content codings are not decoded.
    pub body: Box<dyn ClientBody>,
    /// The address that answered; `None` if unknown, as through a proxy.
    pub remote_addr: Option<SocketAddr>,
}

impl ClientResponse {
    /// A response from an unknown address.
    pub fn new(head: Response<()>, body: impl ClientBody + 'static) -> Self {
        Self { head, body: Box::new(body), remote_addr: None }
    }

    /// A response whose body is already complete.
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

/// A body that is still to come. Dropping it before its end gives up the rest.
pub trait ClientBody: fmt::Debug + Send {
    /// The next piece; `None` after the last.
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, FetchError>>>;

    /// The length of the body in bytes, if the head states it.
    fn length(&self) -> Option<u64> {
        None
    }

    /// Whether the response was framed wrongly and was read anyway.
    fn is_mended(&self) -> bool {
        false
    }

    /// A clock ran out: the connection may be dead.
    fn ran_out(&mut self) {}
}

/// A body that is complete.
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
