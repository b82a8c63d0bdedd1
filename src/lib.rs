//! A web-crawler **frontier with a built-in URL-seen filter**: run it, embed it, inspect it.
//!
//! # The life of a URL
//!
//! ```text
//!    seeds ──┐                                                      a page's links
//!            ▼                                                            ▲
//!    ┌─ address ──┐   ┌────────── gate ─────────┐   ┌─ frontier ───┐   ┌──┴─ crawl ──────┐
//!    │ canonical  │──▶│ in scope? a trap?       │──▶│ front ▸ back │──▶│ fetch ▸ parse   │──▶ pages
//!    │ host key   │   │ seen: shard = hash bits │   │ agenda       │   │ (async tasks)   │
//!    │ fingerprint│   │ New? then Admitted      │   │ politely     │   │                 │
//!    └────────────┘   └─────────────────────────┘   └──────┬───────┘   └──────┬──────────┘
//!            ▲          refused: counted, by reason        │ ▲                │
//!            └──────────────────────────────────────────── │ ┴─ outcome ──────┘
//!                                                   journal (append-only)
//! ```
//!
//! 1. A text becomes a [`CanonicalUrl`](address::CanonicalUrl): the *wire* form that is requested, and the *key* that all its spellings
//!    share. The key becomes a [`Fingerprint`](address::Fingerprint): 64 stable, keyed bits.
//! 2. The [`Gate`](gate::Gate) asks: in scope? a trap? seen? A refusal has a [reason](gate::Refusal) and is counted. A URL that passes is
//!    [`Admitted`](gate::Admitted), which only the gate can make. The URL-seen test is a [`SeenSet`](seen::SeenSet): a Bloom filter in
//!    shards, one lock each. Fingerprint bits choose the shard, so equal URLs always meet in the same one and exactly one of them is told
//!    `New`.
//! 3. The [`Frontier`](frontier::Frontier) journals and queues it. It is a state machine: time is an argument, and the result, a
//!    [`Next`](frontier::Next), says what to do. It hands out a [`Lease`](frontier::Lease) only for a host that is due.
//! 4. A worker of the [`Crawl`](crawl::Crawl) fetches and parses. The page's links go back to 1; the
//!    [`Outcome`](frontier::Outcome) completes the lease; a [`PageRecord`](crawl::PageRecord) goes out.
//! 5. A [`Job`](job::Job) keeps all of it on disk: a [`journal`](job::journal) of admissions and outcomes, and now and then a
//!    [`checkpoint`](job::checkpoint). A crawl that was stopped or killed resumes from both.
//! 6. In the end a [`Report`](report::Report) says how many pages were fetched, how many URLs were refused and why, and how many the filter
//!    lost.
//!
//! # Three ways to use it
//!
//! - **Run it**: `crawler --seeds seeds.txt`.
//! - **Embed it** with `default-features = false`, or as the package `crawler-frontier`: no async runtime, HTTP client or HTML parser is
//!   built. [`Frontier`](frontier::Frontier) has an example, [`Frontier::open`](frontier::Frontier::open) makes one that survives its
//!   process, and [`Frontier::schedule`](frontier::Frontier::schedule) has a page fetched again.
//! - **Inspect it**: [`SeenSet::statistics`](seen::SeenSet::statistics), or the end of each report.
//!
//! | feature | what it adds |
//! |---|---|
//! | `lending` | [`SharedFrontier`](lending::SharedFrontier), which many tasks lease from; tokio's locks and timer |
//! | `crawl` | [`Crawl`](crawl::Crawl): fetching, parsing, page records, [reports](report) |
//! | `simulate` | a [simulated web](simulate), served on loopback |
//! | `serve` | a [server](serve) that lends one frontier to many workers, over HTTP |
//! | `cli`, the default | the command |
//! | `cluster` | the command's crawls on many machines |
//! | `serde` | the seen set's numbers can be serialized |
//! | `reqwest` | reqwest as another client of the crawl |
//! | `parquet`, `sqlite` | of the command: Parquet files; one more row in `crawler seen compare` |
//!
//! # Floors
//!
//! A floor is a module that imports only from the modules below it. From the lowest: `address`, `seen`, `gate`, `frontier`, `job`,
//! `lending`, `crawl`, `report`, `simulate`, `serve`, `cluster`, `cli`. [`design`] tells why it is built so, and what was measured.

#[cfg(any(feature = "crawl", feature = "serve"))]
use crawler_frontier::driver;
#[cfg(feature = "lending")]
pub use crawler_frontier::lending;
pub use crawler_frontier::{address, frontier, gate, job, seen};

#[cfg(feature = "crawl")]
pub mod crawl;

#[cfg(feature = "crawl")]
pub mod report;

#[cfg(feature = "simulate")]
pub mod simulate;

#[cfg(feature = "serve")]
pub mod serve;

#[cfg(feature = "cluster")]
pub mod cluster;

#[cfg(feature = "cli")]
pub mod cli;

pub mod design;

/// The README's example, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The guide's examples, run as tests. The last of them is a crawl.
#[cfg(all(doctest, feature = "crawl"))]
#[doc = include_str!("../docs/guide/embed.md")]
struct Guide;
