//! Why a call of a frontier fails.
//!
//! A call that fails has changed nothing unless it says so; the same call may be tried again. All errors but one are the caller's to fix. A
//! storage failure is not: the crawl then ends, rather than know what its journal does not.

use std::io;

use crate::address::AddressError;
use crate::gate::OptionError;
use crate::seen::SeenError;

/// Why a call of a frontier fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrontierError {
    /// The text is not an absolute http(s) URL. Nothing has changed.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Another frontier lent the lease. Nothing has changed.
    #[error("the lease was lent by another frontier")]
    ForeignLease,
    /// A drop rule is not valid. Nothing has changed.
    #[error(transparent)]
    Rule(#[from] OptionError),
    /// The journal's storage failed.
    #[error(transparent)]
    Storage(#[from] io::Error),
    /// The seen set does not support it. Nothing has changed.
    #[error(transparent)]
    Unsupported(#[from] SeenError),
}

/// For callers that return `io::Error`.
impl From<FrontierError> for io::Error {
    fn from(error: FrontierError) -> Self {
        match error {
            FrontierError::Storage(error) => error,
            FrontierError::Address(_) | FrontierError::ForeignLease | FrontierError::Rule(_) => {
                Self::new(io::ErrorKind::InvalidInput, error)
            }
            FrontierError::Unsupported(_) => Self::new(io::ErrorKind::Unsupported, error),
        }
    }
}
