//! The same with many tasks: they lease from one durable frontier, and a task that is dropped gives its lease back.
//!
//! ```console
//! $ cargo run --no-default-features --features crawl --example embed_async
//! ```

mod web;

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crawler::crawl::{Clock, SharedFrontier};
use crawler::frontier::{Failure, Frontier, FrontierOptions, Outcome};
use crawler::job::JobJournal;
use tokio::task::JoinSet;
use web::Response;

type Shared = SharedFrontier<JobJournal>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).map(PathBuf::from);
    let directory = directory.unwrap_or_else(|| std::env::temp_dir().join("crawler-embed-async"));
    let web = web::serve()?;
    let mut options = FrontierOptions::default();
    options.politeness.host_delay = Duration::from_millis(20); // It is our own host.
    let clock = Clock::start();
    let mut frontier = Frontier::open(&directory, &options, clock.now())?;
    frontier.seed(web::SEED, clock.now())?;

    let frontier = Shared::new(frontier, clock);
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        tasks.spawn(work(frontier.clone(), web));
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    frontier.with(Frontier::checkpoint)?;
    let completed = frontier.with(|frontier| frontier.statistics().completed);
    println!("{completed} pages; the frontier is in {}", directory.display());
    Ok(())
}

/// Fetches until nothing is left. One host gives one task at a time something to do; a thousand hosts, all of them.
async fn work(frontier: Shared, web: SocketAddr) -> std::io::Result<()> {
    while let Some(lease) = frontier.lease().await? {
        let url = lease.url().to_owned();
        // Any client will do; this one blocks.
        let response = tokio::task::spawn_blocking(move || web::get(web, &url)).await?;
        let now = frontier.clock().now();
        let outcome = match response {
            Ok(Response { status, location: Some(location), .. }) => {
                frontier.with(|all| all.redirect(&lease, status, &location, now))?
            }
            Ok(Response { status, body, .. }) => {
                frontier.with(|all| all.links(&lease, web::hrefs(&body), now))?;
                Outcome::response(&lease, status, body.as_bytes())
            }
            Err(_) => Outcome::Failed(Failure::Connect.into()),
        };
        lease.complete(Vec::new(), outcome)?;
        frontier.with(|all| all.flush(now))?;
    }
    Ok(())
}
