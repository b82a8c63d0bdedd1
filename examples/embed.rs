//! A whole little crawler on the frontier alone: a blocking client, no async runtime, and a crawl that goes on where it stood.
//!
//! ```console
//! $ cargo run --no-default-features --example embed     # fetches a dozen pages, and stops
//! $ cargo run --no-default-features --example embed     # goes on with the next
//! ```

mod client;
mod web;

use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use client::Response;
use crawler::frontier::{Failure, Frontier, FrontierOptions, Href, LeaseKind, Next, Outcome, Reply, Timestamp};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).map(PathBuf::from);
    let directory = directory.unwrap_or_else(|| std::env::temp_dir().join("crawler-embed"));
    for page in crawl(web::serve()?, &directory, 12)? {
        println!("{page}");
    }
    println!("the frontier is in {}", directory.display());
    Ok(())
}

/// Fetches at most this many pages, and returns them.
fn crawl(web: SocketAddr, directory: &Path, pages: usize) -> Result<Vec<String>, Box<dyn Error>> {
    let mut options = FrontierOptions::default();
    options.politeness.host_delay = Duration::from_millis(20); // It is our own host.
    let mut frontier = Frontier::open(directory, &options, now())?;
    frontier.seed(web::SEED, now())?; // Known already, the second time.
    let mut fetched = Vec::new();
    while fetched.len() < pages {
        match frontier.next(now())? {
            Next::Fetch(lease) => {
                if lease.kind() == LeaseKind::Page {
                    fetched.push(lease.url().to_owned());
                }
                match client::get(web, lease.url()) {
                    Ok(Response { status, location, body }) => {
                        let mut reply = Reply::from(status);
                        (reply.location, reply.body) = (location.as_deref(), body.as_bytes());
                        reply.links = web::hrefs(&body).map(Href::from).collect();
                        frontier.answer(lease, &reply, now())?
                    }
                    Err(_) => frontier.complete(lease, Outcome::Failed(Failure::Connect.into()), now())?,
                };
                // From here on, a kill of this process does not undo it.
                frontier.flush(now())?;
            }
            Next::Wait(until) => thread::sleep(until.since(now())),
            Next::GiveUp(lease) => {
                eprintln!("{}: {}", lease.url(), lease.trouble().map_or_else(String::new, ToString::to_string));
                frontier.complete(lease, Outcome::GivenUp, now())?;
            }
            Next::Busy | Next::Drained => break,
        }
    }
    // Each minute or so, in a long crawl.
    frontier.checkpoint()?;
    Ok(fetched)
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_run_goes_on_where_the_last_one_stood() {
        let directory = tempfile::tempdir().unwrap();
        let web = web::serve().unwrap();
        let runs: Vec<_> = (0..9).map(|_| crawl(web, directory.path(), 12).unwrap()).collect();
        let pages: BTreeSet<&String> = runs.iter().flatten().collect();
        assert_eq!(pages.len(), runs.iter().map(Vec::len).sum::<usize>(), "none is fetched twice");
        assert!(pages.contains(&"http://web.example/40".to_owned()), "where 7 leads to");
        assert!(!pages.contains(&"http://web.example/13".to_owned()), "robots.txt disallows it");
        assert_eq!((runs[0].len(), runs[1].len(), runs[8].len()), (12, 12, 0));
    }
}
