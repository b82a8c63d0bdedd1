//! The same with many tasks and reqwest: they lease from one durable frontier, and a task that is dropped gives its lease back.
//!
//! ```console
//! $ cargo run --no-default-features --features lending --example embed_async
//! ```

mod web;

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use crawler::frontier::{Failure, Frontier, FrontierOptions, Lease, Outcome, Trouble};
use crawler::job::JobJournal;
use crawler::lending::{Clock, SharedFrontier};
use reqwest::header::LOCATION;
use reqwest::{Client, Response};
use tokio::task::JoinSet;

type Shared = SharedFrontier<JobJournal>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).map(PathBuf::from);
    let directory = directory.unwrap_or_else(|| std::env::temp_dir().join("crawler-embed-async"));
    let web = web::serve()?;
    // Any client will do that follows no redirects: they are the frontier's.
    let client = Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
    let client = client.timeout(Duration::from_secs(60)).resolve("web.example", web).build()?;
    let mut options = FrontierOptions::default();
    options.politeness.host_delay = Duration::from_millis(20); // It is our own host.
    let clock = Clock::start();
    let mut frontier = Frontier::open(&directory, &options, clock.now())?;
    frontier.seed(web::SEED, clock.now())?;

    let frontier = Shared::new(frontier, clock);
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        tasks.spawn(work(frontier.clone(), client.clone()));
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
async fn work(frontier: Shared, client: Client) -> std::io::Result<()> {
    while let Some(lease) = frontier.lease().await? {
        let outcome = if let Some(trouble) = lease.trouble() {
            eprintln!("{}: {trouble}", lease.url());
            Outcome::GivenUp
        } else {
            match client.get(lease.url()).send().await {
                Ok(response) => read(&frontier, &lease, response).await?,
                Err(error) if error.is_timeout() => Outcome::Failed(Failure::Timeout.into()),
                Err(error) => Outcome::Failed(Trouble::new(Failure::Connect, &error.to_string())),
            }
        };
        lease.complete(Vec::new(), outcome)?;
        let now = frontier.clock().now();
        frontier.with(|all| all.flush(now))?;
    }
    Ok(())
}

/// Queues what a response leads to, and says what to complete its lease with.
async fn read(frontier: &Shared, lease: &Lease, response: Response) -> std::io::Result<Outcome> {
    let (status, now) = (response.status().as_u16(), frontier.clock().now());
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
    if let Some(location) = location.filter(|_| (300..400).contains(&status)) {
        return frontier.with(|all| all.redirect(lease, status, &location, now));
    }
    match response.text().await {
        Ok(body) => {
            frontier.with(|all| all.links(lease, web::hrefs(&body), now))?;
            Ok(Outcome::response(lease, status, body.as_bytes()))
        }
        Err(error) => Ok(Outcome::Failed(Trouble::new(Failure::Incomplete, &error.to_string()))),
    }
}
