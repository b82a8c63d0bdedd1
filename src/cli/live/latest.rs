//! The newest snapshot: made when somebody asks, and not too often.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::spawn_blocking;

use super::snapshot::Snapshot;
use super::subject::Subject;
use crate::cli::progress::PageRate;

/// A snapshot is kept for 50 times as long as it took to make, so making them takes at most 2 % of the time.
pub(in crate::cli) const REST: u32 = 50;
/// A snapshot is kept for at least this long.
const SHORTEST: Duration = Duration::from_secs(1);

/// The newest snapshot.
pub(in crate::cli) struct Latest {
    subject: Arc<dyn Subject>,
    rate: Arc<Mutex<PageRate>>,
    made: tokio::sync::Mutex<Option<Made>>,
}

/// A snapshot, or why there is none; and until when it is the newest.
#[derive(Clone)]
pub(in crate::cli) struct Made {
    pub(in crate::cli) snapshot: Result<Arc<Snapshot>, String>,
    pub(in crate::cli) until: Instant,
}

impl Latest {
    pub(in crate::cli) fn new(subject: Arc<dyn Subject>) -> Self {
        Self { subject, rate: Arc::default(), made: tokio::sync::Mutex::default() }
    }

    /// The newest snapshot. A caller that asks while one is being made waits for that one.
    pub(in crate::cli) async fn get(&self) -> Made {
        let mut made = self.made.lock().await;
        if let Some(made) = made.as_ref().filter(|made| Instant::now() < made.until) {
            return made.clone();
        }
        let (subject, rate) = (Arc::clone(&self.subject), Arc::clone(&self.rate));
        let began = Instant::now();
        let taken = spawn_blocking(move || {
            Snapshot::take(&*subject, &mut rate.lock().unwrap_or_else(PoisonError::into_inner)).map(Arc::new)
        });
        let snapshot = taken.await.unwrap_or_else(|panic| Err(panic.to_string()));
        let until = Instant::now() + (began.elapsed() * REST).max(SHORTEST);
        made.insert(Made { snapshot, until }).clone()
    }
}
