//! Why a fetcher cannot be made.

use std::error::Error;

use super::access::AccessError;
use super::request::Unsendable;

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
