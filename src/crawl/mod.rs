//! The crawl: a loop that leases URLs, tasks that fetch and read them, and files that keep the results.
//!
//! # A page's way
//!
//! | step | where |
//! |---|---|
//! | [`Crawl`] starts the parts, and builds [`Finished`] from them at the end | `run`, `resume` for a job |
//! | one loop leases what is due, and starts a task for it; a task that has settled its lease continues with the next | `dispatch` |
//! | the task fetches the URL, within the limits of memory and open files | `worker`, `http`, `bounds` |
//! | the response becomes an outcome, links and a [`PageRecord`] | `visit`, by the lease's `source`; `html`, `sitemap`, `fields` |
//! | links pass the gate, the lease goes back, the record goes out | `worker`, in `commit` |
//! | numbers are counted: for one run, and for a job across its runs | `numbers` |
//! | each output has its own writer thread; bodies are written as files before their records are made | `records` |
//! | pages that were visited before are fetched conditionally, to see whether they have changed | `recrawl` |
//! | one thread writes checkpoints, and watches the disk and the job's files; another syncs the outputs as often as the journal is synced | `checkpointer` |
//! | if this crawl is one partition of a distributed crawl, links to other partitions are sent there | `visit`, `part` |
//!
//! A lease is for a page, a sitemap or a robots.txt. Only `source` distinguishes these kinds: each kind is one type there.
//!
//! The other modules: `options` has the settings, `shared` the state of all tasks, `stop` the handle that ends or pauses a crawl,
//! `observer` looks into an unfinished one, `finished` has its numbers, `error` the reasons why it cannot begin or go on. Several of these
//! use `counters`, `media_types`, `latencies`, `date`, `sorter` and `lock`.
//!
//! # The order of its writes
//!
//! The seen set treats a link as known as soon as the gate has said "new". If the process died before the journal had that link, it would
//! never be fetched. So each page goes through these steps in this order, and nothing waits between step 2 and step 4:
//!
//! 1. Before the gate: each [`Sink`] makes the bytes that the page adds to its output, and room for them is reserved in each writer's
//!    queue. A page waits here if a writer cannot keep up. A panic up to this point is the page's failure; its lease goes back, and it is
//!    tried again.
//! 2. The gate recognizes the page's content and admits its links: both are now in a seen set.
//! 3. Under the frontier's lock, the journal gets the links, then the page's outcome with a receipt for each output: the output's
//!    name, where the page's bytes will end in it, their length and their checksum. Still under that lock, the bytes go to the
//!    writers, so the outputs have the journal's order. All this is in memory: journal and outputs are written in groups, each
//!    independently, after 10 ms or 256 KiB.
//! 4. The tally counts the page.
//!
//! If step 2 or 3 fails, the crawl is marked as broken before another page may pass, and writes no further checkpoint: the last checkpoint,
//! which has neither the links nor the seen set that holds them, stays the last.
//!
//! A kill loses the last group of the journal and of each output. Any of them may then be ahead of the others, and a resume goes by the one
//! with the fewest pages. Losing the end of the journal is harmless: the only writes that depend on it are records of pages, and they are
//! cut off.
//!
//! A **checkpoint** must see all of a page or nothing. It waits until no page is between steps 2 and 4, reads the counts and lets the pages
//! go on. It counts only when everything that it names is safe on disk: first hosts and seen set, then the journal, then each output up to
//! its named length, then the summary.
//!
//! A **resume** reads the journal after the last checkpoint. A page is done if its bytes are in each output as the receipts say, and its
//! body, if its record names one, is a file of that length. The first page that is not done, and all after it, are fetched again. Whatever
//! the outputs hold after the last page that is done is cut off and kept in another file. So each page is in each output exactly once.
//!
//! # Locks
//!
//! Locks are taken in this order: `quiesce` (shared by pages, exclusively by a checkpoint), `output_ends`, the frontier, an output's tail.
//! Of `tally`, `carried` and `politeness` each is held alone, or under `quiesce`. No lock is held while a task waits.

mod bounds;
mod checkpointer;
mod counters;
mod date;
mod dispatch;
mod error;
mod fields;
mod finished;
mod html;
mod http;
mod latencies;
mod lock;
mod media_types;
mod numbers;
mod observer;
mod options;
#[cfg(feature = "cluster")]
mod part;
mod records;
mod recrawl;
mod resume;
mod run;
mod shared;
mod sitemap;
pub(crate) mod sorter;
mod source;
mod stop;
mod visit;
mod worker;

pub use bounds::{ResourceLimits, raise_open_files};
pub use checkpointer::CheckpointCosts;
pub use counters::Counter;
pub(crate) use counters::{counters, greatest};
pub use error::CrawlError;
pub use fields::{FieldError, FieldPart, FieldRule, FieldSet, FieldValue};
pub use finished::Finished;
pub use html::{EncodingSource, Link, LinkKind, LinkText, Page, PageLinks, RobotsTag, is_html, parse};
#[cfg(feature = "cluster")]
pub(crate) use http::RequestPermit;
#[cfg(feature = "reqwest")]
pub use http::Reqwest;
#[cfg(feature = "cluster")]
pub(crate) use http::tls_for_servers;
pub use http::{
    AccessError, AccessRules, AgentIdentity, Client, ClientBody, ClientChoice, ClientFuture, ClientRequest,
    ClientResponse, ConnectionTimes, Exchange, FetchError, Fetcher, FetcherError, GroupAccess, HostAccess, IdentityKey,
    IdentityOptions, Jwk, JwkSet, Network, NetworkError, ProxyAddress, ProxyChoice, Response, Secret, SignIn,
    SignatureHeaders, SigningError, Truncated,
};
#[cfg(feature = "cli")]
pub(crate) use http::{DENIED, NO_ROOTS};
#[cfg(feature = "cli")]
pub(crate) use http::{DIRECTORY_PATH, DIRECTORY_TYPE, write_keys};
pub(crate) use latencies::micros;
pub use latencies::{Latencies, Percentiles};
#[cfg(feature = "cli")]
pub(crate) use media_types::MediaTypes;
#[cfg(feature = "cluster")]
pub(crate) use numbers::Carried;
pub use numbers::{
    AnswerCounts, Breakdown, Cost, DuplicateCounts, Example, FailedPage, FailedPages, HostAnswers, Moment, NameCounts,
    PolitenessCounts, PolitenessWatch, Progress, RecrawlCounts, RefusingHost, SeedCounts, SignedCounts, SitemapCounts,
    SourceCounts, StatusClasses, Tally, Timeline, Traffic, UrlCounts, Violation, WaitTimes,
};
pub use observer::{Observer, Underway, look};
pub use options::{CrawlOptions, FetchOptions, JobOptions, ParseOptions, RecrawlOptions, SitemapOptions};
#[cfg(feature = "cluster")]
pub(crate) use part::{CrawlPart, PartitionHandle};
#[cfg(feature = "cli")]
pub(crate) use records::is_unsafe;
pub(crate) use records::is_zero;
pub use records::{
    Archive, CdxjIndex, ClusterPlace, DonePage, Duplicate, Edge, LinkCounts, LinkList, LinkRecord, Listing, OutputEnd,
    OutputPlace, PageChange, PageFormat, PageRecord, RecordKind, Recrawled, RevisitOf, Sink, SkippedLink, Timings,
    WarcCompression, Writer, WriterThread, archives_in, look_up, look_up_refused,
};
#[cfg(feature = "cluster")]
pub(crate) use records::{KeeperThread, PartKeeps, PartOutputs, look_through};
pub use recrawl::{KnownPages, Visits};
pub use resume::Resumed;
pub(crate) use resume::is_asked_again;
pub use run::Crawl;
#[cfg(feature = "cli")]
pub(crate) use shared::used;
#[cfg(feature = "cluster")]
pub(crate) use shared::{FetchResources, RemotePartitions};
#[cfg(feature = "cli")]
pub(crate) use sitemap::SitemapAddress;
pub use sitemap::{
    SitemapEntry, SitemapEntryKind, SitemapFormat, SitemapLimits, SitemapProblem, SitemapSummary, read_sitemap,
};
pub use stop::{FinishReason, Stop};
