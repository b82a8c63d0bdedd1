//! What a host is sent: headers, a sign-in, a certificate.

use std::sync::{Arc, Once};

use http::header::{HeaderName, HeaderValue};

use crate::address::CanonicalUrl;
use crate::crawl::http::fetch_error::FetchError;
use crate::crawl::http::request::{Get, RequestHeaders};
use crate::crawl::http::tls::Connector;
use crate::frontier::Validators;

/// What a host is sent: headers, a sign-in, a certificate.
#[derive(Clone, Debug)]
pub(in crate::crawl::http) struct HostHeaders {
    pub(super) headers: RequestHeaders,
    pub(super) sign_in: Option<Credentials>,
    /// The TLS settings for it, if a rule sets them.
    pub(super) tls: Option<Connector>,
    /// It is shown a client certificate.
    pub(super) is_identified: bool,
}

/// A header with a secret in it, and the origins that get it.
#[derive(Clone, Debug)]
pub(super) struct Credentials {
    pub(super) name: HeaderName,
    /// Marked as sensitive.
    pub(super) value: HeaderValue,
    /// The origins that get it. If empty: any host of the rule by https on its default port.
    pub(super) origins: Vec<Box<str>>,
    /// Set once the user was warned that another origin does not get it.
    pub(super) told: Arc<Once>,
}

impl HostHeaders {
    /// A request for a URL; with validators, a conditional one.
    pub(in crate::crawl::http) fn get(
        &self,
        url: &CanonicalUrl,
        changed: Option<&Validators>,
    ) -> Result<Get, FetchError> {
        let mut request = self.headers.get(url, changed)?;
        if let Some(sign_in) = self.sign_in.as_ref().filter(|sign_in| sign_in.is_for(url)) {
            request.headers_mut().insert(sign_in.name.clone(), sign_in.value.clone());
        } else if let Some(sign_in) = self.sign_in.as_ref().filter(|sign_in| sign_in.origins.is_empty()) {
            sign_in.told.call_once(|| {
                let (origin, host) = (url.origin(), url.host());
                tracing::warn!(
                    "{origin} is asked without its sign-in, which is for https://{host} alone: see sign_in_to"
                );
            });
        }
        Ok(request)
    }

    /// The TLS settings for it; `None` if they are the same as for all hosts.
    pub(in crate::crawl::http) fn tls(&self) -> Option<&Connector> {
        self.tls.as_ref()
    }

    /// Whether this origin's responses may be meant for one user alone.
    pub(in crate::crawl::http) fn is_private(&self, url: &CanonicalUrl) -> bool {
        let is_identified = self.is_identified && url.origin().starts_with("https:");
        is_identified || self.sign_in.as_ref().is_some_and(|sign_in| sign_in.is_for(url))
    }
}

impl Credentials {
    fn is_for(&self, url: &CanonicalUrl) -> bool {
        let origin = url.origin();
        if self.origins.is_empty() {
            return origin.strip_prefix("https://") == Some(url.host());
        }
        self.origins.iter().any(|of| **of == *origin)
    }
}
