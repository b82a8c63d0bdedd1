//! How errors of a frontier and of its job become Python's exceptions.

use crawler_frontier::address::{IdentityError, QueueError};
use crawler_frontier::frontier::{FrontierError, TokenError};
use crawler_frontier::gate::MetadataError;
use crawler_frontier::job::JobError;
use crawler_frontier::job::checkpoint::CheckpointError;
use pyo3::PyErr;
use pyo3::exceptions::PyValueError;

use crate::errors::{address, option, seen, words};

/// The classes that Python sees.
mod python {
    use pyo3::import_exception;

    import_exception!(crawler_frontier._errors, ForeignLeaseError);
    import_exception!(crawler_frontier._errors, FrontierError);
    import_exception!(crawler_frontier._errors, JobError);
    import_exception!(crawler_frontier._errors, JobLockedError);
    import_exception!(crawler_frontier._errors, LeaseOverError);
    import_exception!(crawler_frontier._errors, MetadataError);
    import_exception!(crawler_frontier._errors, OptionError);
}

/// What a frontier refuses, or why its storage fails.
pub(crate) fn frontier(error: FrontierError) -> PyErr {
    match error {
        FrontierError::Address(error) => address(&error),
        FrontierError::ForeignLease => python::ForeignLeaseError::new_err(words(&error)),
        FrontierError::LeaseOver(_) => python::LeaseOverError::new_err(words(&error)),
        FrontierError::Metadata(error) => metadata(&error),
        FrontierError::Rule(error) => option(&error),
        FrontierError::Storage(error) => error.into(),
        FrontierError::Unsupported(error) => seen(&error),
        error => python::FrontierError::new_err(words(&error)),
    }
}

/// A job that cannot be opened, or a checkpoint that cannot be written.
pub(crate) fn checkpoint(error: &CheckpointError) -> PyErr {
    match error {
        CheckpointError::Changed { .. } => python::OptionError::new_err(words(error)),
        CheckpointError::Frontier(error) => option(error),
        CheckpointError::Job(JobError::Locked { .. }) => python::JobLockedError::new_err(words(error)),
        error => python::JobError::new_err(words(error)),
    }
}

/// A call of a frontier that was closed before.
pub(crate) fn closed() -> PyErr {
    python::FrontierError::new_err("the frontier was closed")
}

/// A lease that was completed before, or given back.
pub(crate) fn completed(url: &str) -> PyErr {
    python::LeaseOverError::new_err(format!("the lease of {url} is over: it was completed or given back before"))
}

pub(crate) fn metadata(error: &MetadataError) -> PyErr {
    python::MetadataError::new_err(words(error))
}

pub(crate) fn identity(error: IdentityError) -> PyErr {
    PyValueError::new_err(words(&error))
}

pub(crate) fn queue(error: &QueueError) -> PyErr {
    PyValueError::new_err(words(error))
}

pub(crate) fn token(error: TokenError) -> PyErr {
    PyValueError::new_err(words(&error))
}
