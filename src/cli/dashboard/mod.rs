//! The live page: a running crawl or a job's files in a browser, and the same numbers for programs.
//!
//! # Parts
//!
//! | part | what it does |
//! |---|---|
//! | [`LivePage`] | listens, accepts connections, and ends those that take too long |
//! | `door` | lets a request in, or says why not; puts the headers on each answer |
//! | `routes` | answers by path |
//!
//! The answers come from [`live`](super::live), which bounds their cost. Connections, streams, request heads and lists
//! are bounded, no request body is read, and a connection ends after one answer.
//!
//! # Who may ask
//!
//! Without a token only requests to a name or an address of this machine are answered. So a foreign site whose name is made to resolve to
//! this machine (DNS rebinding) sees nothing. If there is a token, which access from other machines needs, every request must carry it. To
//! act on the crawl, a request needs a second token, which is drawn at the start and is only in the page: no other page can act.
//!
//! Texts of the web reach the browser as JSON, and the page's script inserts them as text. The page (`page.html`, `page.js`, `page.css`,
//! `icon.svg`) may load its own parts and nothing else.

mod door;
mod routes;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::response::IntoResponse;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tower_service::Service;

use super::arguments::CommandLine;
use super::command_error::{CommandError, Exit};
use super::layers::Layers;
use super::live::{JobFiles, LiveAnswers};
use super::output;
use super::settings::DashboardSettings;
use super::signals;
use crate::crawl::Secret;
use door::{Door, dressed};
use routes::{IsStream, PageAnswers, routes};

/// Opens the live page for the crawl of these settings, if they ask for one.
///
/// # Errors
/// If it cannot listen, or the token cannot be read.
pub(super) async fn listen(layers: &Layers) -> Result<Option<LivePage>, CommandError> {
    let DashboardSettings { listen, token, .. } = &layers.settings.dashboard;
    let Some(address) = *listen else { return Ok(None) };
    let refused = |reason: String| CommandError::new(Exit::Usage, layers.refusal("dashboard.listen", &reason));
    LivePage::listen(address, token.as_ref()).await.map(Some).map_err(refused)
}

/// `crawler dashboard`: shows a job that has ended, was killed, or is being crawled by another process, until Ctrl-C.
pub(super) fn dashboard(
    line: &CommandLine,
    directory: &Path,
    address: SocketAddr,
    token: Option<&Secret>,
) -> Result<(), CommandError> {
    if !address.ip().is_loopback() && token.is_none() {
        return Err(CommandError::new(Exit::Usage, "a page that other machines can reach needs a token: --token"));
    }
    let answers = Arc::new(LiveAnswers::new(Arc::new(JobFiles::open(line, directory)?)));
    let (stop, stopped) = oneshot::channel();
    // From here on, before anybody is told that Ctrl-C ends it.
    signals::at_first(move |_| _ = stop.send(())).map_err(CommandError::of(Exit::Failed, "signals"))?;
    signals::block_on(async {
        let page = LivePage::listen(address, token).await.map_err(|reason| CommandError::new(Exit::Usage, reason))?;
        output::note(&format!("{} is shown at {}", directory.display(), page.url()));
        let serving = page.serve(answers);
        let _ = stopped.await;
        drop(serving);
        Ok(())
    })
}

/// Connections at once. Further ones wait to be accepted.
const CONNECTIONS: usize = 64;
/// Time for the head of a request.
const HEAD: Duration = Duration::from_secs(5);
/// Time for a request and its answer; an event stream has [`STREAM`].
const ANSWER: Duration = Duration::from_secs(30);
/// Time for an event stream. After that the browser reconnects.
const STREAM: Duration = Duration::from_secs(600);
/// Maximum bytes of a request's head.
const HEAD_BYTES: usize = 16 << 10;

/// The live page, listening.
#[derive(Debug)]
pub(super) struct LivePage {
    listener: TcpListener,
    address: SocketAddr,
    door: Door,
}

/// The live page, served until this is dropped.
#[derive(Debug)]
#[must_use = "it is served until this is dropped"]
pub(super) struct Serving(JoinHandle<()>);

impl LivePage {
    /// Listens at an address. Call this inside the runtime.
    ///
    /// # Errors
    /// In words: if the address is not available, or the token cannot be read.
    async fn listen(address: SocketAddr, token: Option<&Secret>) -> Result<Self, String> {
        let token = token.map(Secret::read).transpose()?;
        let door = Door::new(token.as_deref()).map_err(|error| error.to_string())?;
        let cannot = |error| format!("cannot listen at {address}: {error}");
        let listener = TcpListener::bind(address).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        Ok(Self { listener, address, door })
    }

    /// The URL of the page.
    fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Serves a crawl, and prints where.
    pub(super) fn show(self, answers: Arc<LiveAnswers>) -> Serving {
        output::note(&format!("the crawl is shown at {}", self.url()));
        self.serve(answers)
    }

    /// Serves it from tasks of the current runtime.
    fn serve(self, answers: Arc<LiveAnswers>) -> Serving {
        let Self { listener, door, .. } = self;
        let routes = routes(PageAnswers::new(answers, door.page_token()));
        Serving(tokio::spawn(accept(listener, Arc::new(door), routes)))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Accepts connections. They end with the listener.
async fn accept(listener: TcpListener, door: Arc<Door>, routes: Router) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        // The semaphore is never closed, so there is no error.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                let (door, routes) = (Arc::clone(&door), routes.clone());
                connections.spawn(async move {
                    connection(stream, door, routes).await;
                    drop(place);
                });
            }
            // The process is out of file descriptors. Some come back when connections end.
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn connection(stream: TcpStream, door: Arc<Door>, routes: Router) {
    // Without this, small answers wait for the client's acknowledgement. A connection error shows up below.
    _ = stream.set_nodelay(true);
    let is_stream = IsStream::default();
    let service = {
        let is_stream = is_stream.clone();
        service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(is_stream.clone());
            let (door, mut routes) = (Arc::clone(&door), routes.clone());
            async move {
                let response = match door.admit(request.method(), request.uri(), request.headers()) {
                    Ok(()) => routes.call(request).await.unwrap_or_else(|never| match never {}),
                    Err(not_let_in) => not_let_in.into_response(),
                };
                Ok::<_, Infallible>(dressed(response))
            }
        })
    };
    let mut answering = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(HEAD_BYTES)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service)
    );
    // A client that closes the connection is not an error.
    if timeout(ANSWER, &mut answering).await.is_err() && is_stream.get() {
        _ = timeout(STREAM, answering).await;
    }
}
