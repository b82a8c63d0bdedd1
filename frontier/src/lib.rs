//! A crawl **frontier with a built-in URL-seen filter**: durable, polite, and without an async runtime or an HTTP client.
//!
//! It decides what to fetch next, and when. You do the fetching, and you read the clock: the time goes in as an argument, and a
//! [`Next`](frontier::Next) comes out.
//!
//! ```
//! use crawler_frontier::frontier::{Frontier, FrontierOptions, Next, Outcome, Timestamp};
//!
//! let mut frontier = Frontier::new(&FrontierOptions::default())?;
//! let now = Timestamp::from_micros(1_700_000_000_000_000);
//! frontier.seed("https://example.org/", now)?;
//! // The first request to a host is for its robots.txt.
//! let Next::Fetch(lease) = frontier.next(now)? else { panic!("a host is due") };
//! assert_eq!(lease.url(), "https://example.org/robots.txt");
//! let outcome = Outcome::response(&lease, 404, b"");
//! frontier.complete(lease, outcome, now)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The life of a URL
//!
//! 1. [`address`]: a text becomes a [`CanonicalUrl`](address::CanonicalUrl): the *wire* form that is requested, and the *key* that all its
//!    spellings share. The key becomes a [`Fingerprint`](address::Fingerprint): 64 stable, keyed bits.
//! 2. [`gate`]: is it in scope, is it a trap, was it seen? A refusal has a [reason](gate::Refusal) and is counted. A URL that passes is
//!    [`Admitted`](gate::Admitted), a type that only the gate can make.
//! 3. [`seen`]: the URL-seen test, a Bloom filter in shards, or an exact set. Fingerprint bits choose the shard, so equal URLs always meet
//!    in the same one, and exactly one of them is told `New`.
//! 4. [`frontier`]: admitted URLs are journaled and queued by host, and lent out when their host is due. A lease may end twice: its host is
//!    [done](frontier::Frontier::answered), and later its page is complete.
//! 5. [`job`]: a directory that keeps all of this through a `kill -9`: it has the [journal](job::journal), and now and then a new
//!    [checkpoint](job::checkpoint).
//!
//! # Where to start
//!
//! | you | use |
//! |---|---|
//! | need a seen filter alone | [`SeenSet`](seen::SeenSet) |
//! | write a scraper of your own | [`Frontier`](frontier::Frontier): [`new`](frontier::Frontier::new) in memory, [`open`](frontier::Frontier::open) in a directory |
//! | write one with many tasks | `lending::SharedFrontier`, with the feature `lending`: tokio's locks and timer |
//! | write a crawl engine, with outputs beside the job | [`driver`] too: the command `crawler` is built on it |
//!
//! # Floors
//!
//! Each module imports only from those before it: bytes, [`address`], [`seen`], [`gate`], [`frontier`], [`job`], `lending`. [`driver`] only
//! re-exports names of these. The package `crawler-cli` re-exports all public modules but `driver`, and adds the crawl.

pub mod address;
mod bytes;
pub mod driver;
pub mod frontier;
pub mod gate;
pub mod job;
#[cfg(feature = "lending")]
pub mod lending;
pub mod seen;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
