//! The live page: a running crawl or a job's files in a browser, and the same numbers for programs.
//!
//! # Who calls whom
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
//! Without a token only this machine is answered, and a name that is not this machine's own is refused: a foreign page
//! whose name was made to lead here (DNS rebinding) sees nothing. With a token, which other machines need, every
//! request must carry it. Acting on the crawl needs a second token, which is drawn at the start and is only in the
//! page, so that no other page can do it.
//!
//! Texts of the web reach the browser as JSON, and the page's script inserts them as text. The page may load its own
//! script and style and nothing else.

mod door;
mod is_stream;
mod live_page;
mod routes;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

pub(super) use self::live_page::{LivePage, Serving};
use super::arguments::CommandLine;
use super::command_error::CommandError;
use super::exit::Exit;
use super::layers::Layers;
use super::live::{JobFiles, LiveAnswers};
use super::output;
use super::settings::DashboardSettings;
use crate::crawl::Secret;

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
        return Err(CommandError::new(Exit::Usage, "beyond this machine the page needs a token: --token"));
    }
    let answers = Arc::new(LiveAnswers::new(Arc::new(JobFiles::open(line, directory)?)));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(CommandError::of(Exit::Failed, "cannot start the runtime"))?;
    let shown = runtime.block_on(async {
        let page = LivePage::listen(address, token).await.map_err(|reason| CommandError::new(Exit::Usage, reason))?;
        output::note(&format!("{} is shown at {}", directory.display(), page.url()));
        let serving = page.serve(answers);
        // If Ctrl-C cannot be listened for, only a kill ends the page.
        let _ = tokio::signal::ctrl_c().await;
        drop(serving);
        Ok(())
    });
    runtime.shutdown_background();
    shown
}
