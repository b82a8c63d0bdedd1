//! The hosts of the seeds, which other hosts may mirror.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use crate::address::{CanonicalUrl, host_of};

/// Most hosts that are checked for one URL.
const MOST: usize = 64;

/// The origins of the seeds, and of the URLs that they redirect to: `https://a.example`. With more of them than [`MOST`], mirrors are not
/// looked for.
#[derive(Debug, Default)]
pub(super) struct Originals(RwLock<Vec<Box<str>>>);

impl Originals {
    /// Adds one. The write lock is taken only for a new one, and no more once there are too many.
    pub(super) fn add(&self, origin: &str) {
        let is_new = {
            let known = self.read();
            known.len() <= MOST && known.iter().all(|known| **known != *origin)
        };
        if is_new {
            self.0.write().unwrap_or_else(PoisonError::into_inner).push(origin.into());
        }
    }

    /// All that were added, for a checkpoint.
    pub(super) fn all(&self) -> Vec<String> {
        self.read().iter().map(ToString::to_string).collect()
    }

    /// Whether this is the host of a seed; `None` if there are none, or too many.
    pub(super) fn has(&self, host: &str) -> Option<bool> {
        let are_few = (1..=MOST).contains(&self.read().len());
        are_few.then(|| self.any(|origin| host_of(origin) == host))
    }

    /// Whether a URL is found on one of them, at its own path. `is_found` is asked about keys.
    pub(super) fn have(&self, url: &CanonicalUrl, is_found: impl Fn(&str) -> bool) -> bool {
        let path = &url.key()[url.origin().len()..];
        self.any(|origin| is_found(&format!("{origin}{path}")))
    }

    fn any(&self, holds: impl Fn(&str) -> bool) -> bool {
        let known = self.read();
        known.len() <= MOST && known.iter().any(|origin| holds(origin))
    }

    fn read(&self) -> RwLockReadGuard<'_, Vec<Box<str>>> {
        // A panic cannot leave a list of texts half changed.
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}
