//! The same with many tasks and reqwest: they lease from one durable frontier, and a task that is dropped gives its lease back.
//!
//! ```console
//! $ cargo run --no-default-features --features lending --example embed_async
//! ```

mod web;

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use crawler::frontier::{Failure, Frontier, FrontierError, FrontierOptions, Href, Outcome, Reply, Trouble};
use crawler::job::JobJournal;
use crawler::lending::{Clock, SharedFrontier};
use reqwest::Client;
use reqwest::header::LOCATION;
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
    let frontier = Shared::new(Frontier::open(&directory, &options, clock.now())?, clock);
    frontier.seed(web::SEED)?;
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        tasks.spawn(work(frontier.clone(), client.clone()));
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    frontier.checkpoint()?;
    println!("{} pages; the frontier is in {}", frontier.statistics().completed, directory.display());
    Ok(())
}

/// Fetches until nothing is left. One host gives one task at a time something to do; a thousand hosts, all of them.
async fn work(frontier: Shared, client: Client) -> Result<(), FrontierError> {
    while let Some(lease) = frontier.lease().await? {
        if let Some(trouble) = lease.trouble() {
            eprintln!("{}: {trouble}", lease.url());
            lease.complete(Outcome::GivenUp)?;
            continue;
        }
        match fetch(&client, lease.url()).await {
            Ok((status, location, body)) => {
                let mut reply = Reply::from(status);
                (reply.location, reply.body) = (location.as_deref(), body.as_bytes());
                reply.links = web::hrefs(&body).map(Href::from).collect();
                lease.answer(&reply)?
            }
            Err(error) if error.is_timeout() => lease.complete(Outcome::Failed(Failure::Timeout.into()))?,
            Err(error) => lease.complete(Outcome::Failed(Trouble::from((Failure::Connect, error.to_string()))))?,
        };
    }
    Ok(())
}

/// A page's status, where it redirects to, and its text.
async fn fetch(client: &Client, url: &str) -> reqwest::Result<(u16, Option<String>, String)> {
    let response = client.get(url).send().await?;
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
    Ok((response.status().as_u16(), location, response.text().await?))
}
