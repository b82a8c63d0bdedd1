//! What went wrong at a proxy, and whose fault it is.

use std::error::Error;

/// What went wrong at a proxy.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(in crate::crawl::http) struct ProxyError {
    pub(in crate::crawl::http) fault: ProxyFault,
    /// It contains no secret, and nothing that the proxy has written.
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::crawl::http) enum ProxyFault {
    /// The proxy's own: it cannot be reached, does not answer like a proxy, or wants another sign-in. No host is to blame.
    Own,
    /// The host's: the proxy does not reach it.
    Host,
    /// The proxy refuses to connect to the host.
    Refusal,
}

impl ProxyError {
    pub(super) fn new(fault: ProxyFault, message: String) -> Self {
        Self { fault, message, source: None }
    }

    pub(super) fn caused(self, source: Box<dyn Error + Send + Sync>) -> Self {
        Self { source: Some(source), ..self }
    }
}
