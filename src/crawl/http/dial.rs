//! Tells for each request whether a connection was made for it, and when it was sent.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Instant;

use tower_service::Service;

use super::recall::{Recall, Recallable};

tokio::task_local! {
    static DIAL: Arc<Dial>;
}

/// What the connector did for one request.
#[derive(Debug)]
pub(super) struct Dial {
    asked: Instant,
    begun: OnceLock<()>,
    connected: OnceLock<Instant>,
    /// Closes the connection that is made for the request.
    recall: Option<Arc<Recall>>,
}

impl Dial {
    /// For a request that begins now. `recall` can close a connection that is made for it.
    pub(super) fn new(recall: Option<Arc<Recall>>) -> Arc<Self> {
        Arc::new(Self { asked: Instant::now(), begun: OnceLock::new(), connected: OnceLock::new(), recall })
    }

    /// When the request was sent: at once on a connection that was kept, else when the new one was made. `None` until then.
    pub(super) fn sent_at(&self) -> Option<Instant> {
        if self.is_reused() { Some(self.asked) } else { self.connected.get().copied() }
    }

    /// Whether no connection was made for it.
    pub(super) fn is_reused(&self) -> bool {
        self.begun.get().is_none()
    }
}

/// Runs a request so that the connector finds `dial`. The client connects within the task that asks.
pub(super) fn watched<F: Future>(dial: &Arc<Dial>, request: F) -> impl Future<Output = F::Output> + use<F> {
    DIAL.scope(Arc::clone(dial), request)
}

/// A connector that tells the [`Dial`] of the request that it connects for.
#[derive(Clone, Debug)]
pub(super) struct Watch<S> {
    connector: S,
}

impl<S> Watch<S> {
    pub(super) fn over(connector: S) -> Self {
        Self { connector }
    }
}

impl<S, R> Service<R> for Watch<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
{
    type Response = Recallable<S::Response>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let dial = DIAL.try_with(Arc::clone).ok();
        if let Some(dial) = &dial {
            dial.begun.get_or_init(|| ());
        }
        let connecting = self.connector.call(request);
        Box::pin(async move {
            let connection = connecting.await?;
            let recall = dial.and_then(|dial| {
                dial.connected.get_or_init(Instant::now);
                dial.recall.clone()
            });
            Ok(Recallable::new(connection, recall))
        })
    }
}
