//! A place for one connection to a proxy.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

/// A place for one connection to a proxy. It is free again once its last copy is dropped.
pub(super) type ProxyPlace = Arc<OwnedSemaphorePermit>;
