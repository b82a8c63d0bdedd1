//! Why a call of a frontier fails.
//!
//! A call that fails has changed nothing, but where it says so; the same call may be tried again. All but one are the caller's to
//! mend. A storage that fails is not: a crawl ends then, rather than know what its journal does not.

use std::io;

use crate::address::AddressError;
use crate::gate::OptionError;
use crate::seen::SeenError;

/// Why a call of a frontier fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrontierError {
    /// The text is no absolute http(s) URL. Nothing has changed.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The lease is not out: another frontier lent it. Nothing has changed.
    #[error("the lease was lent by another frontier")]
    ForeignLease,
    /// A rule on what is dropped cannot be. Nothing has changed.
    #[error(transparent)]
    Rule(#[from] OptionError),
    /// The journal's storage failed.
    #[error(transparent)]
    Storage(#[from] io::Error),
    /// The seen set cannot do it. Nothing has changed.
    #[error(transparent)]
    Unsupported(#[from] SeenError),
}

/// For callers whose own errors are of this kind.
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
