//! The clients that there are. For one more, its file and this one are all that changes.

mod direct;
mod direct_body;

use std::sync::{Arc, Mutex};

use direct::Direct;

use super::client::Client;
use super::connection_times::ConnectionTimes;
use super::fetcher_error::FetcherError;
use super::names::Names;
use super::proxy::Proxies;
use super::tls::Tls;
use crate::crawl::FetchOptions;
use crate::crawl::bounds::Places;

/// What a client is made of.
pub(super) struct ClientParts<'a> {
    pub(super) options: &'a FetchOptions,
    pub(super) places: Places,
    /// A host may be asked several things at once, in HTTP/2.
    pub(super) multiplexes: bool,
    pub(super) tls: &'a Tls,
}

/// Makes the client.
pub(super) fn make(
    parts: &ClientParts<'_>,
    names: &Names,
    times: &Arc<Mutex<ConnectionTimes>>,
) -> Result<Arc<dyn Client>, FetcherError> {
    let &ClientParts { options, places, multiplexes, tls } = parts;
    let proxies = Proxies::new(options, tls, places.lookups)?;
    let shared = (names.clone(), Arc::clone(times));
    let client = Direct::new(options, places, multiplexes, tls, shared, proxies);
    Ok(Arc::new(client.map_err(FetcherError::Setup)?))
}
