use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

/// The pages that the user allows: one is reserved before a lease is taken and spent with its record, so that
/// `max_pages` is met exactly, however many fetches are in flight, fail, or turn out to be robots.txt.
#[derive(Debug)]
pub(super) struct Budget {
    /// `None` is no limit.
    limit: Option<Limit>,
}

#[derive(Debug)]
struct Limit {
    pages: u64,
    spent: AtomicU64,
    left: Semaphore,
}

/// The right to fetch one page; given back when it is dropped unspent.
#[derive(Debug)]
pub(super) struct Reserved<'a> {
    limited: Option<(&'a Limit, SemaphorePermit<'a>)>,
}

impl Budget {
    pub(super) fn new(max_pages: Option<u64>) -> Self {
        let limit = max_pages.map(|pages| {
            let permits = usize::try_from(pages).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
            Limit { pages, spent: AtomicU64::new(0), left: Semaphore::new(permits) }
        });
        let budget = Self { limit };
        if budget.is_spent() {
            budget.close();
        }
        budget
    }

    /// Waits until a page may be fetched; `None` once that will not be.
    pub(super) async fn reserve(&self) -> Option<Reserved<'_>> {
        let Some(limit) = &self.limit else { return Some(Reserved { limited: None }) };
        let permit = limit.left.acquire().await.ok()?;
        Some(Reserved { limited: Some((limit, permit)) })
    }

    /// Sends everybody home who waits to reserve.
    pub(super) fn close(&self) {
        if let Some(limit) = &self.limit {
            limit.left.close();
        }
    }

    /// Whether as many pages were spent as are allowed.
    pub(super) fn is_spent(&self) -> bool {
        self.limit.as_ref().is_some_and(|limit| limit.spent.load(Ordering::Relaxed) >= limit.pages)
    }
}

impl Reserved<'_> {
    /// The page has its record.
    pub(super) fn spend(self) {
        let Some((limit, permit)) = self.limited else { return };
        permit.forget();
        if limit.spent.fetch_add(1, Ordering::Relaxed) + 1 == limit.pages {
            limit.left.close();
        }
    }
}
