//! How reqwest's connector tells a request about its connection.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::sync::Semaphore;
use tower_layer::Layer;
use tower_service::Service;

use crate::crawl::http::client_request::ClientRequest;
use crate::crawl::http::fetch_error::FetchError;

tokio::task_local! {
    /// The watch of the request that is under way in this task. reqwest connects inside the request's future.
    static WATCHED: Arc<ConnectorWatch>;
}

/// Nothing new.
const QUIET: u8 = 0;
/// A connection is being made.
const BEGUN: u8 = 1;
/// The connection is made and waits for leave to be used.
const MADE: u8 = 2;

/// Links the connector and its request: once a connection is made, the request asks for permission again before it is sent.
pub(super) struct ConnectorWatch {
    state: AtomicU8,
    leave: Semaphore,
}

impl ConnectorWatch {
    /// Waits for an answer, and says whether a new connection was begun for it. For each connection made, records the time it took and asks
    /// whether the request may still be sent.
    ///
    /// # Errors
    /// When the request may no longer be sent.
    pub(super) async fn watch<T>(
        request: &ClientRequest<'_>,
        answer: impl Future<Output = T>,
    ) -> Result<(T, bool), FetchError> {
        let watch = Arc::new(Self { state: AtomicU8::new(QUIET), leave: Semaphore::new(0) });
        let _release = Release(&watch);
        let mut answer = pin!(WATCHED.scope(Arc::clone(&watch), answer));
        let (mut begun, mut is_new) = (Instant::now(), false);
        poll_fn(|context| {
            loop {
                if let Poll::Ready(answer) = answer.as_mut().poll(context) {
                    is_new |= watch.state.load(Ordering::Acquire) != QUIET;
                    return Poll::Ready(Ok((answer, is_new)));
                }
                let state = watch.state.swap(QUIET, Ordering::AcqRel);
                is_new |= state != QUIET;
                match state {
                    BEGUN => {
                        begun = Instant::now();
                        request.not_sent_yet();
                        return Poll::Pending;
                    }
                    MADE => {
                        request.connected(begun.elapsed());
                        if let Err(error) = request.send() {
                            return Poll::Ready(Err(error));
                        }
                        watch.leave.add_permits(1);
                    }
                    _ => return Poll::Pending,
                }
            }
        })
        .await
    }
}

/// Closes the semaphore on drop: a connection whose request has gone is not held back but goes to the pool.
struct Release<'a>(&'a ConnectorWatch);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.0.leave.close();
    }
}

/// Counts the connections that a client makes.
#[derive(Clone)]
pub(super) struct CountConnections(pub(super) Arc<AtomicUsize>);

impl<S> Layer<S> for CountConnections {
    type Service = Counting<S>;

    fn layer(&self, below: S) -> Counting<S> {
        Counting { below, made: Arc::clone(&self.0) }
    }
}

#[derive(Clone)]
pub(super) struct Counting<S> {
    below: S,
    made: Arc<AtomicUsize>,
}

impl<R, S: Service<R>> Service<R> for Counting<S>
where
    S::Future: Send + 'static,
    S::Response: Send,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.below.poll_ready(context)
    }

    fn call(&mut self, to: R) -> Self::Future {
        let watch = WATCHED.try_with(Arc::clone).ok();
        if let Some(watch) = &watch {
            watch.state.store(BEGUN, Ordering::Release);
        }
        self.made.fetch_add(1, Ordering::Relaxed);
        let connected = self.below.call(to);
        Box::pin(async move {
            let connection = connected.await?;
            if let Some(watch) = watch {
                watch.state.store(MADE, Ordering::Release);
                // An error means that the request has gone.
                if let Ok(leave) = watch.leave.acquire().await {
                    leave.forget();
                }
            }
            Ok(connection)
        })
    }
}
