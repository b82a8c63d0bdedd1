//! The requests that a crawl sends: GET, with the same headers for all URLs of a host.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Request, Uri};

use super::fetch_error::FetchError;
use crate::address::CanonicalUrl;
use crate::crawl::FetchOptions;
use crate::frontier::{Failure, Validators};

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
            None => {}
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
    pub(super) fn get(&self, url: &CanonicalUrl, changed: Option<&Validators>) -> Result<Get, FetchError> {
        let target = url.path_and_query().parse::<Uri>().map_err(not_sent)?;
        let host = url.origin().split_once("://").map_or("", |(_, host)| host);
        let mut request = Get::default();
        *request.uri_mut() = target;
        let headers = request.headers_mut();
        headers.reserve(self.headers.len() + 4);
        headers.insert(header::HOST, HeaderValue::from_str(host).map_err(not_sent)?);
        headers.extend(self.headers.iter().cloned());
        if let Some(Validators { etag, last_modified }) = changed {
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
