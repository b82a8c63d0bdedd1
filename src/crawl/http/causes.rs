//! The causes of an error, down to the innermost.

use std::error::Error;
use std::io;

/// An error, its cause, that cause's cause, and so on. An I/O error that only carries another error counts as caused by that.
pub(super) fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        let carried = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        carried.map(|error| error as &(dyn Error + 'static)).or_else(|| error.source())
    })
}
