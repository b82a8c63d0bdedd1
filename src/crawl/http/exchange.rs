//! A request and its response as they came, for outputs that want them.

use std::fmt;
use std::net::SocketAddr;

use http::header::{HeaderMap, HeaderName, HeaderValue, SET_COOKIE};
use http::{Response, Version};
use hyper::ext::ReasonPhrase;

use super::request::Get;
use crate::frontier::Failure;

/// A request as it was sent and its response as it came, with two exceptions. The response's header names are in lower case, and headers of
/// one name stand together. Secrets are left out: credentials are replaced by `(not kept)`, and so are the cookies that came back for them.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exchange {
    /// The address that answered.
    pub remote_addr: Option<SocketAddr>,
    /// The request line and the headers, with the empty line after them. An HTTP/2 request is written in the form of HTTP/1.1.
    pub request: Vec<u8>,
    /// The status line and the headers, with the empty line after them. In HTTP/2 it begins with "HTTP/2 200 ".
    pub head: Vec<u8>,
    /// The body on the wire, as much of it as was taken. Chunks are joined, content codings are not decoded.
    pub body: Vec<u8>,
    /// Why the rest of the body was not taken; `None` if all of it was.
    pub truncated: Option<Truncated>,
}

/// Why the rest of a body was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Truncated {
    /// The connection closed, or failed.
    Disconnect,
    /// The body was longer than the limit.
    Length,
    /// It took too long.
    Time,
    /// The body could not be read: it was not in the coding that its head names, its chunks were framed wrongly, or it came in crumbs.
    Unspecified,
}

impl Exchange {
    /// An exchange whose body is still to come.
    pub(super) fn of(request: Vec<u8>, head: Vec<u8>, remote_addr: Option<SocketAddr>) -> Self {
        Self { remote_addr, request, head, body: Vec::new(), truncated: None }
    }

    /// Records how the body ended.
    pub(super) fn end(&mut self, failure: Option<Failure>, is_cut: bool) {
        self.truncated = match failure {
            Some(Failure::Timeout) => Some(Truncated::Time),
            Some(Failure::Incomplete) => Some(Truncated::Disconnect),
            Some(_) => Some(Truncated::Unspecified),
            None => is_cut.then_some(Truncated::Length),
        };
    }
}

/// A request in the form of HTTP/1.1.
pub(super) fn request_bytes(request: &Get) -> Vec<u8> {
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    let mut bytes = format!("{} {target} HTTP/1.1\r\n", request.method()).into_bytes();
    add_headers(request.headers(), |_, value| value.is_sensitive(), &mut bytes);
    bytes
}

/// The status line and the headers in the form of HTTP/1.1, with the empty line after them. `is_private`: the response's cookies are
/// secrets. HTTP/2 has no status line and no reason, so "HTTP/2 200 " stands for it.
pub(super) fn head_bytes(response: &Response<()>, is_private: bool) -> Vec<u8> {
    let is_http2 = response.version() == Version::HTTP_2;
    let status = response.status();
    let reason = match response.extensions().get::<ReasonPhrase>() {
        Some(reason) => reason.as_bytes(),
        None if is_http2 => b"",
        None => status.canonical_reason().unwrap_or_default().as_bytes(),
    };
    let version = if is_http2 { "HTTP/2".to_owned() } else { format!("{:?}", response.version()) };
    let mut bytes = format!("{version} {} ", status.as_str()).into_bytes();
    bytes.extend(reason);
    bytes.extend(b"\r\n");
    add_headers(response.headers(), |name, _| is_private && name == SET_COOKIE, &mut bytes);
    bytes
}

/// Replaces the value of a secret header.
const NOT_KEPT: &[u8] = b"(not kept)";

/// Appends headers and the empty line after them.
fn add_headers(headers: &HeaderMap, is_secret: impl Fn(&HeaderName, &HeaderValue) -> bool, to: &mut Vec<u8>) {
    for (name, value) in headers {
        let value = if is_secret(name, value) { NOT_KEPT } else { value.as_bytes() };
        for part in [name.as_str().as_bytes(), b": ", value, b"\r\n"] {
            to.extend_from_slice(part);
        }
    }
    to.extend_from_slice(b"\r\n");
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [request, head, body] = [&self.request, &self.head, &self.body].map(Vec::len);
        let mut shown = f.debug_struct("Exchange");
        shown.field("remote_addr", &self.remote_addr).field("request_bytes", &request).field("head_bytes", &head);
        shown.field("body_bytes", &body).field("truncated", &self.truncated).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_written_by_its_version() {
        let head = |version| {
            let response = Response::builder().version(version).status(404).header("a", "b").header("a", "c");
            String::from_utf8(head_bytes(&response.body(()).unwrap(), false)).unwrap()
        };
        assert_eq!(head(Version::HTTP_11), "HTTP/1.1 404 Not Found\r\na: b\r\na: c\r\n\r\n");
        assert_eq!(head(Version::HTTP_2), "HTTP/2 404 \r\na: b\r\na: c\r\n\r\n");
    }
}
