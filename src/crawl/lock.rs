//! Locks of counters, which are right even where their holder panicked.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, whether a holder panicked or not: counters of a panicked holder are still counters.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
