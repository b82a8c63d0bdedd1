//! How errors of the heart become Python's exceptions: the tree in `_errors.py`, with the words of the error and of its causes.

use std::error::Error;
use std::io;
use std::path::Path;

use crawler_frontier::address::AddressError;
use crawler_frontier::gate::OptionError;
use crawler_frontier::seen::{SeenError, SnapshotError};
use pyo3::PyErr;
use pyo3::exceptions::PyOSError;

/// The classes that Python sees.
mod python {
    use pyo3::import_exception;

    import_exception!(crawler_frontier._errors, AddressError);
    import_exception!(crawler_frontier._errors, JobError);
    import_exception!(crawler_frontier._errors, OptionError);
    import_exception!(crawler_frontier._errors, SeenError);
    import_exception!(crawler_frontier._errors, SnapshotError);
}

/// An error and its causes in one line: `such a set cannot be made on this machine: capacity = 0: at least 1 URL`.
pub(crate) fn words(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}

/// A text that is no URL. The text itself is not in the message: it may be a megabyte, or hold a password.
pub(crate) fn address(error: &AddressError) -> PyErr {
    python::AddressError::new_err(words(error))
}

/// One of a list of texts that is no URL, by its place in the list.
pub(crate) fn address_at(place: usize, error: &AddressError) -> PyErr {
    python::AddressError::new_err(format!("item {place}: {}", words(error)))
}

pub(crate) fn option(error: &OptionError) -> PyErr {
    python::OptionError::new_err(words(error))
}

/// An option that the binding itself refuses, in the heart's form.
pub(crate) fn bad_option(option: &str, value: impl std::fmt::Display, reason: &str) -> PyErr {
    python::OptionError::new_err(format!("{option} = {value}: {reason}"))
}

pub(crate) fn seen(error: &SeenError) -> PyErr {
    match error {
        SeenError::Option { .. } => python::OptionError::new_err(words(error)),
        _ => python::SeenError::new_err(words(error)),
    }
}

/// A file, or bytes, that cannot be read as a seen set.
pub(crate) fn snapshot(error: SnapshotError, path: Option<&Path>) -> PyErr {
    match (error, path) {
        (SnapshotError::Read { source, .. }, Some(path)) => file(&source, path),
        (error, Some(path)) => python::SnapshotError::new_err(format!("{}: {}", path.display(), words(&error))),
        (error, None) => python::SnapshotError::new_err(words(&error)),
    }
}

/// A job's directory that cannot be read.
pub(crate) fn job(error: &dyn Error) -> PyErr {
    python::JobError::new_err(words(error))
}

/// A job whose first checkpoint is to come.
pub(crate) fn no_checkpoint(directory: &Path) -> PyErr {
    python::JobError::new_err(format!("{} has no seen set yet: its first checkpoint is to come", directory.display()))
}

/// The system's error on a file, as Python itself raises it: with `errno` and `filename`, in the subclass that it has.
pub(crate) fn file(error: &io::Error, path: &Path) -> PyErr {
    match error.raw_os_error() {
        Some(code) => {
            let text = error.to_string();
            let words = text.split(" (os error").next().unwrap_or_default().to_owned();
            PyOSError::new_err((code, words, path.as_os_str().to_owned()))
        }
        None => PyOSError::new_err(format!("{}: {error}", path.display())),
    }
}
