//! The built-in clients, and the errors of making a fetcher. To add a client, write its module, and name it in `ClientChoice` and `make`.

mod direct;
#[cfg(feature = "reqwest")]
mod reqwest_client;
#[cfg(feature = "reqwest")]
mod reqwest_proxy;

use std::error::Error;
use std::sync::{Arc, Mutex};

use super::access::AccessError;
use super::client::Client;
use super::client_choice::ClientChoice;
use super::dns::{ConnectionTimes, Names};
use super::proxy::Proxies;
use super::request::Unsendable;
use super::tls::Tls;
use crate::crawl::FetchOptions;
use crate::crawl::bounds::ResourceLimits;
use direct::Direct;

#[cfg(feature = "reqwest")]
pub use reqwest_client::Reqwest;

impl ClientChoice {
    /// The crawl's own client, the default.
    pub const DIRECT: Self = Self::named("direct");
    /// reqwest, set up as a crawl needs it. Needs the feature `reqwest`.
    #[cfg(feature = "reqwest")]
    pub const REQWEST: Self = Self::named("reqwest");

    /// All clients by name.
    #[cfg(feature = "cli")]
    pub(crate) const NAMED: &[(&str, Self)] =
        &[(Self::DIRECT.name(), Self::DIRECT), (Self::REQWEST.name(), Self::REQWEST)];
}

/// The parts that a client is built from.
pub(super) struct ClientParts<'a> {
    pub(super) options: &'a FetchOptions,
    pub(super) limits: ResourceLimits,
    /// Whether a host may be sent several requests at once, over HTTP/2.
    pub(super) multiplexes: bool,
    pub(super) tls: &'a Tls,
}

/// Makes the client that the options name.
pub(super) fn make(
    parts: &ClientParts<'_>,
    names: &Names,
    times: &Arc<Mutex<ConnectionTimes>>,
) -> Result<Arc<dyn Client>, FetcherError> {
    let &ClientParts { options, limits, multiplexes, tls } = parts;
    let proxies = Proxies::new(options, tls, limits.lookups)?;
    #[cfg(feature = "reqwest")]
    if options.client == ClientChoice::REQWEST {
        return Ok(Arc::new(Reqwest::ours(parts, names, proxies)?));
    }
    let shared = (names.clone(), Arc::clone(times));
    let client = Direct::new(options, limits, multiplexes, tls, shared, proxies);
    Ok(Arc::new(client.map_err(FetcherError::Setup)?))
}

/// Checks that an embedder's client honors every option that is set.
///
/// # Errors
/// Names the client and the first option that it does not honor.
pub(super) fn check(options: &FetchOptions, own: &dyn Client) -> Result<(), AccessError> {
    let (is_insecure, shows_certificate) = tls_of_rules(options);
    let asked = [
        ("proxy", options.proxy.is_some()),
        ("ca_files", !options.ca_files.is_empty()),
        ("insecure", is_insecure),
        ("client_certificate", shows_certificate),
        ("deny_networks", !options.deny_networks.is_empty()),
        ("http1_only", options.http1_only),
        ("resolve_all_to", options.resolve_all_to.is_some()),
    ];
    match asked.into_iter().find(|(option, is_asked)| *is_asked && !own.honors(option)) {
        Some((option, _)) => {
            let name = own.name();
            let reason =
                format!("the client {name} does not honor it: leave it out, or choose fetch.client = \"direct\"");
            Err(AccessError::of_option(option, reason))
        }
        None => Ok(()),
    }
}

/// Whether any host's certificate is not verified, and whether any host is shown a certificate.
fn tls_of_rules(options: &FetchOptions) -> (bool, bool) {
    let mut rules = options.access.hosts.values().chain(options.access.groups.values().map(|group| &group.each));
    let shows = rules.clone().any(|rule| rule.client_certificate.is_some());
    (options.insecure || rules.any(|rule| rule.insecure.is_some()), shows)
}

/// Why a [`Fetcher`](super::Fetcher) cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetcherError {
    /// An option or an access rule cannot be used, or a secret cannot be read.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// An option's text cannot be a header's value.
    #[error("{option} = {value:?} cannot be sent in a header")]
    Header {
        /// The path of the option.
        option: &'static str,
        /// The text of the option.
        value: String,
    },
    /// The client or its TLS cannot be set up.
    #[error("cannot set up the HTTP client")]
    Setup(#[source] Box<dyn Error + Send + Sync>),
}

impl From<Unsendable> for FetcherError {
    fn from(Unsendable { option, value }: Unsendable) -> Self {
        Self::Header { option, value }
    }
}
