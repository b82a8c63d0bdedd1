//! A request: [`Ask`] is the crawl's order to fetch a URL; the GET that is sent has the same headers for all URLs of a host; and
//! [`Exchange`] is the request and the response as they were sent, for outputs that want them.

use std::fmt;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;

use http::header::{self, HeaderMap, HeaderName, HeaderValue, SET_COOKIE};
use http::{Request, Response, Uri, Version};
use hyper::ext::ReasonPhrase;

use super::fetch_error::FetchError;
use crate::address::CanonicalUrl;
use crate::crawl::FetchOptions;
use crate::crawl::bounds::Share;
use crate::frontier::{Failure, Validators};

/// Decides by a body's Content-Type and first bytes whether it will be read.
pub(in crate::crawl) type TakesBody = fn(Option<&str>, &[u8]) -> bool;

/// Decides whether a request may be sent now. It is called right before sending, since connecting takes time.
pub(crate) trait RequestPermit: fmt::Debug + Send + Sync {
    /// Whether a request may be sent now.
    fn may_ask(&self) -> bool;
}

/// One URL to fetch, and how.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(in crate::crawl) struct Ask<'a> {
    pub(in crate::crawl) url: &'a CanonicalUrl,
    /// Validators of the known version: the page is wanted only if it has changed.
    pub(in crate::crawl) validators: Option<&'a Validators>,
    /// Its host has never answered: shorter deadlines apply.
    pub(in crate::crawl) is_first_contact: bool,
    /// Decides by type and first bytes whether the body will be read. Of a body that will not be read, and of a response that is not the
    /// requested page, only the start is kept. `None` keeps every body.
    pub(in crate::crawl) takes: Option<TakesBody>,
    /// The most bytes of the body to take; `None` for the options' limit.
    pub(in crate::crawl) max_bytes: Option<usize>,
    /// A body that is slightly shorter than its stated length counts as complete. A body that is not gzip, although its head says so, is
    /// read as it is.
    pub(in crate::crawl) accepts_faults: bool,
    /// A page that the options do not want is refused. If this is false, every page is taken.
    pub(in crate::crawl) may_refuse: bool,
    /// A digest of the body is wanted.
    pub(in crate::crawl) makes_digest: bool,
    /// The [validators](super::Response::validators) are wanted.
    pub(in crate::crawl) keeps_validators: bool,
    /// The [`Exchange`] is wanted.
    pub(in crate::crawl) keeps_exchange: bool,
    /// The share of memory that the body's room is taken from. `None` means no limit.
    pub(in crate::crawl) share: Option<&'a mut Share>,
    /// Decides right before sending whether the request may still be sent.
    pub(in crate::crawl) permission: Option<&'a dyn RequestPermit>,
}

impl<'a> Ask<'a> {
    /// A request for the whole body, whatever it is.
    pub(in crate::crawl) fn whole(url: &'a CanonicalUrl) -> Self {
        Self {
            url,
            validators: None,
            is_first_contact: false,
            takes: None,
            max_bytes: None,
            accepts_faults: false,
            may_refuse: false,
            makes_digest: false,
            keeps_validators: true,
            keeps_exchange: false,
            share: None,
            permission: None,
        }
    }

    /// Takes memory for `bytes` of a body, or gives back the surplus. Returns how long it waited.
    pub(in crate::crawl) async fn make_room(&mut self, bytes: usize) -> Duration {
        match &mut self.share {
            Some(share) => share.resize(bytes as u64).await,
            None => Duration::ZERO,
        }
    }
}

/// A request without a body.
pub(super) type Get = Request<()>;

/// The headers of every request to a host.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestHeaders {
    /// Sent with each request, after `Host`.
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// An option's text that cannot be a header's value.
#[derive(Debug)]
pub(super) struct Unsendable {
    /// The path of the option.
    pub(super) option: &'static str,
    /// The text of the option.
    pub(super) value: String,
}

impl RequestHeaders {
    pub(super) fn new(options: &FetchOptions) -> Result<Self, Unsendable> {
        let value =
            |option, text: &str| HeaderValue::from_str(text).map_err(|_| Unsendable { option, value: text.to_owned() });
        let mut headers = vec![
            (
                header::ACCEPT,
                HeaderValue::from_static("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
            ),
            (header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, br, zstd, deflate")),
            (header::ACCEPT_LANGUAGE, HeaderValue::from_static("*")),
        ];
        let mut agent = options.user_agent.clone();
        match &options.contact {
            Some(contact) if contact.contains('@') && !contact.contains('/') => {
                headers.push((header::FROM, value("fetch.contact", contact)?));
            }
            Some(contact) => agent.extend([" (+", contact, ")"]),
            // So a server's log has the same site as the signatures.
            None => {
                if let Some(site) = options.identity.site() {
                    agent.extend([" (+", &site, ")"]);
                }
            }
        }
        headers.push((header::USER_AGENT, value("fetch.user_agent", &agent)?));
        Ok(Self { headers })
    }

    /// Replaces a header; without a value, the header is not sent.
    pub(super) fn set(&mut self, name: &HeaderName, value: Option<&HeaderValue>) {
        self.headers.retain(|(other, _)| other != name);
        self.headers.extend(value.map(|value| (name.clone(), value.clone())));
    }

    /// A request for a URL; with validators, a conditional one.
    pub(super) fn get(&self, url: &CanonicalUrl, validators: Option<&Validators>) -> Result<Get, FetchError> {
        let target = url.path_and_query().parse::<Uri>().map_err(not_sent)?;
        let host = url.origin().split_once("://").map_or("", |(_, host)| host);
        let mut request = Get::default();
        *request.uri_mut() = target;
        let headers = request.headers_mut();
        headers.reserve(self.headers.len() + 4);
        headers.insert(header::HOST, HeaderValue::from_str(host).map_err(not_sent)?);
        headers.extend(self.headers.iter().cloned());
        if let Some(Validators { etag, last_modified }) = validators {
            add(headers, header::IF_NONE_MATCH, etag.as_deref());
            add(headers, header::IF_MODIFIED_SINCE, last_modified.as_deref());
        }
        Ok(request)
    }
}

/// Adds a validator. One that cannot be a header's value is left out: the server then sends the whole page.
fn add(headers: &mut HeaderMap, name: HeaderName, text: Option<&str>) {
    if let Some(value) = text.and_then(|text| HeaderValue::from_str(text).ok()) {
        headers.insert(name, value);
    }
}

pub(super) fn not_sent(error: impl std::fmt::Display) -> FetchError {
    FetchError::new(Failure::BadResponse, format!("not sent: {error}"))
}

/// A request as it was sent and its response as it came, with two exceptions. Header names of the response are in lower case, and headers
/// of one name stand together. Secrets are replaced by `(not kept)`: credentials, and the cookies that the server sets in return.
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
    /// The digest of the archive's record, once it is known.
    pub(in crate::crawl) block_digest: OnceLock<String>,
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
    /// The body could not be read: it was not in the coding that its head names, its chunks were framed wrongly, or it came in tiny pieces.
    Unspecified,
}

impl Exchange {
    /// An exchange whose body is still to come.
    pub(super) fn of(request: Vec<u8>, head: Vec<u8>, remote_addr: Option<SocketAddr>) -> Self {
        Self { remote_addr, request, head, body: Vec::new(), truncated: None, block_digest: OnceLock::new() }
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
/// secrets. HTTP/2 has no status line and no reason, so "HTTP/2 200 " takes its place.
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
        shown.field("body_bytes", &body).field("truncated", &self.truncated).finish_non_exhaustive()
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
