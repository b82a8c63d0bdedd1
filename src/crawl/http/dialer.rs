//! Connects to names.

use std::error::Error;
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use tokio::net::TcpStream;
use tower_service::Service;

use super::names::Names;

/// Connects to names: tries one address after another, with IPv4 and IPv6 in parallel (RFC 8305). Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Dialer(HttpConnector<Names>);

impl Dialer {
    /// `timeout` is divided among a name's addresses.
    pub(super) fn new(names: Names, timeout: Duration) -> Self {
        let mut connector = HttpConnector::new_with_resolver(names);
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(timeout));
        Self(connector)
    }

    /// Connects to the host and port of a URL.
    pub(super) async fn dial(&self, to: Uri) -> Result<TcpStream, Box<dyn Error + Send + Sync>> {
        Ok(self.0.clone().call(to).await?.into_inner())
    }
}
