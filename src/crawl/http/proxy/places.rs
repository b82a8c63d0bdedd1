//! The limit on a proxy's connections.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::crawl::http::idle_connections::IdleConnections;
use crate::crawl::http::proxy_place::ProxyPlace;

/// The limit on a proxy's connections. Kept connections take places, too.
#[derive(Debug)]
pub(super) struct ProxyPlaces(Arc<Semaphore>);

impl ProxyPlaces {
    pub(super) fn new(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))))
    }

    /// Waits for a place. Closes idle connections to get one, the one that has been idle longest first.
    pub(super) async fn take(&self, idle: &IdleConnections) -> ProxyPlace {
        let taken = loop {
            if let Ok(place) = Arc::clone(&self.0).try_acquire_owned() {
                break place;
            }
            if let Some(_wanted) = idle.close_one_or_all_to_come() {
                break Arc::clone(&self.0).acquire_owned().await.expect("nobody closes it");
            }
        };
        Arc::new(taken)
    }
}
