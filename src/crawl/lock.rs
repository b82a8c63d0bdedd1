//! Locks a mutex even if a holder has panicked.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, even if a holder has panicked: the counters are still right.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
