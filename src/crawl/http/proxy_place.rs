//! A place for one connection to a proxy.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

/// A place for one connection to a proxy; free again when the last copy is gone.
pub(super) type ProxyPlace = Arc<OwnedSemaphorePermit>;
