//! A server that lends one polite frontier to many workers, in other processes and in any language.
//!
//! ```text
//!   worker ──▶ http ──▶ core: a named crawl ──▶ its thread ──▶ Frontier ──▶ its job directory
//!   worker ──▶  ▲                                  │ one flush for all calls of a turn
//!               └────────── answers ◀──────────────┘
//!   client ──▶ resp ──▶ filters: a named filter ──▶ SeenSet and its log
//! ```
//!
//! - [`core`] has named crawls, each a job directory with a thread of its own. It knows no transport.
//! - [`http`] is the workers' API: HTTP/1.1 and 2, JSON and lines of JSON.
//! - [`filters`] has named seen filters, and [`resp`] serves them over Redis' protocol.
//! - `access` is what both servers share: the token, TLS, and timeouts for slow clients.
//!
//! **Answered is durable.** A crawl's thread acts on all calls that have come since its last turn, flushes its journal once, and only then
//! answers. So an acknowledged URL or completion survives `kill -9`, and with more clients, more calls share a flush.
//!
//! **Calls are idempotent.** A URL that is sent again is `seen`, and a completion that is sent again gets the first answer again: see
//! [`LeaseToken`](crate::frontier::LeaseToken).

pub(crate) mod access;
pub mod core;
pub mod filters;
pub mod http;
pub mod resp;
