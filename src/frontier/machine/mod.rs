//! The frontier as a state machine: it decides what to do now, and journals each change before it makes it.
//!
//! [`Frontier`] has the state, the queues of hosts that follow from it, and the outstanding leases. Each file is one thing that it does:
//!
//! - `machine`: URLs come in, and [`next`](Frontier::next) takes the host whose turn it is. All changes go through `commit`: the journal
//!   takes the record, then the state applies it.
//! - `seating`: a host goes to the agenda, the front queue or the held hosts. `turns`: hosts give way to hosts of other domains.
//! - `lend`: a host's turn becomes a lease, of its robots.txt or of a page; what robots.txt disallows is dropped here.
//! - `budgets`: what hosts may have in all, and what becomes of the rest.
//! - `lent`: outstanding leases. `in_flight`: several pages of one host are out at once.
//! - `rate_groups`: hosts of one group, or on one IP address, share a clock and wait for it in a queue. `server`: so do the ports of one
//!   name.
//! - `adapt`: a host rests in proportion to the time that it takes to answer.
//! - `rate`: requests and bytes a second of the whole crawl.
//! - `complete`: a lease comes back. The outcome decides what becomes of the page and of its host.
//! - `learn_robots`: a robots.txt comes back. `elsewhere`: it is on another host, which is asked by its own clock; `errands` are the
//!   requests to such hosts.
//! - `answer`: a whole reply comes back, with the links on its page; seeds and links by their texts.
//! - `recrawl`: URLs scheduled for a time, and URLs to be forgotten.
//! - `rounds`: rules that change while URLs wait, and hosts that are dropped.
//! - `patience`: hosts that fail are waited for, retired, and asked again.
//! - `evict`: idle hosts leave memory, and come back with their next URL.
//! - `waits`: how long a sample of URLs and hosts wait.
//! - `drops`, `statistics`: what happened, for lists and counts.
//!
//! Between two calls each host is in one seat. A call that takes a host out of its seat puts it into another before it returns, or, if the
//! journal's storage fails, back into the same one.

mod adapt;
mod answer;
mod budgets;
mod complete;
#[cfg(feature = "crawl")]
mod dropped;
mod drops;
mod elsewhere;
mod errands;
mod error;
mod evict;
mod in_flight;
mod learn_robots;
mod lend;
mod lent;
#[expect(clippy::module_inception, reason = "the room has its name from what stands in it")]
mod machine;
mod options;
mod patience;
mod rate;
mod rate_groups;
mod recrawl;
mod rounds;
mod seating;
mod server;
mod statistics;
#[cfg(test)]
mod tests;
mod turns;
mod waits;

#[cfg(feature = "crawl")]
pub(crate) use drops::Dropped;
pub use error::FrontierError;
pub use machine::Frontier;
pub use options::FrontierOptions;
#[cfg(feature = "cli")]
pub(crate) use rounds::JudgedAgain;
pub use statistics::FrontierStatistics;
