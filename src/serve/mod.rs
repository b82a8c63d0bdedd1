//! A server that lends one polite frontier to many workers, in other processes and in any language.
//!
//! ```text
//!   worker ──▶ http ──▶ core: a named crawl ──▶ its thread ──▶ Frontier ──▶ its job directory
//!   worker ──▶  ▲                                  │ one flush for all that has come meanwhile
//!               └────────── answers ◀──────────────┘
//!   client ──▶ resp ──▶ filters: a named filter ──▶ SeenSet and its log
//! ```
//!
//! - [`core`] has named crawls, each a job directory with a thread of its own. It knows no transport.
//! - [`http`] is the face that workers see: HTTP/1.1 and 2, JSON and lines of JSON.
//! - [`filters`] has named seen filters, and [`resp`] is their face: Redis' protocol.
//! - `access` is what both faces share: the token, TLS, and how slow clients are dropped.
//!
//! **Answered is durable.** A crawl's thread does what has come since its last turn, flushes its journal once, and only then answers. So an
//! acknowledged URL or completion survives `kill -9`, and the more clients there are, the more share a flush.
//!
//! **Twice is as once.** URLs that are sent again are `seen`, and a completion that is sent again gets the answer of the first: see
//! [`LeaseToken`](crate::frontier::LeaseToken).

mod access;
pub mod core;
pub mod filters;
pub mod http;
pub mod resp;
