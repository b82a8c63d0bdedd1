//! One crawl on many machines, over NATS.
//!
//! # How it works
//!
//! The hosts of a crawl are divided among partitions, by a hash of the host's name that is the same on all machines. **A partition is a whole
//! [`Crawl`](crate::crawl::Crawl)**, with its own gate, seen set, frontier and journal. Everything that its journal writes also goes to a log
//! on the servers. A new owner rebuilds the same journal from the log, byte by byte, and resumes it like the journal of any killed job. So
//! filters, queues, clocks and robots rules are restored in the same way as on one machine.
//!
//! | part | module |
//! |---|---|
//! | all nodes agree on the crawl's scope and politeness, and on the partition of each URL; the seeds | `terms` |
//! | links to the hosts of other partitions are collected in link batches, and a node's link batches are sent together | `outbox` |
//! | each link batch is taken in once | `inbox` |
//! | the journal's bytes, links and records are published in order, and soon | `publisher` |
//! | the part of the journal that is not in the log yet; the journal rebuilt from the log, or from this machine's own disk | `journal` |
//! | a partition has one owner at a time | `succession` |
//! | a partition's files are stored on the servers, so that its log need not be kept from the beginning | `snapshot` |
//! | a partition is read, opened, crawled and given back | `owner` |
//! | a node renews its lease, and takes and gives back partitions | `node` |
//! | a node's lease, its peers, and servers that are silent, have lost the crawl, or have a different time | `peers` |
//! | the context that all partitions of a node share; the node's process, and its files | `node_context`; `member` |
//! | hosts and URLs that the user drops during the crawl | `drops` |
//! | when the crawl is over; one report of all partitions | `completion` |
//! | an operator's questions and commands; why a URL was not fetched | `admin` |
//! | the system that carries the messages, and their subjects | `transport`; over NATS `nats`, in tests `in_process` |
//! | messages as bytes, and the values of keys | `wire` |
//! | why a node cannot begin or go on | `error` |
//!
//! # Guarantees
//!
//! 1. **No URL is lost.** A page is in the log only once its links are acknowledged, and its record and other outputs are written to the files
//!    of the machine that fetched it. A page that is not in the log counts as never fetched, and the next owner fetches it.
//! 2. **No page is fetched twice** unless it was in flight, or fetched and not yet in the log: a new owner resumes at the end of the log.
//!    Once a node has 192 pages that are not in the log, or publishing takes a fifth of a second, the publishing partition starts no new
//!    fetches. `crawler merge` leaves out the earlier records of pages that were fetched again.
//! 3. **One owner at a time writes.** Each message of a log names the message before it. The servers refuse most messages that do not follow
//!    the last one, but may keep two that were on their way at once (NATS 2.9). Then all readers agree that the first of them counts, and the
//!    writer of the other one finds out.
//! 4. **One owner at a time fetches.** A node whose lease is not renewed begins no request after three quarters of the lease's life. The
//!    other nodes wait for the whole life before they take over, each by its own monotonic clock.
//!
//! The servers keep the log and the link batches since the older of a partition's last two snapshots. So the bytes that they keep, and that a
//! new owner reads, depend on the size of the partition and not on how long it has been crawled.
//!
//! Records, archives, links and bodies are files of the node that fetched the page (`PartOutputs`). A power cut of a node loses data that is
//! not on its disk yet: the files are synced as often as a job makes checkpoints.
//!
//! # Subjects
//!
//! A crawl has one log for each 32 partitions, at most eight. Subjects in a log begin with `crawler.NAME.log.L.`, for log `L`: `journal.P`,
//! `found.P`, `snapshot.P`, `named.P`, `unread.P` for each of its partitions `P`, and in the first log `roots`. The servers republish each
//! stored message on the same subject with `told` for `log`. The keys are those of a bucket, `$KV.crawler-NAME.`: `crawl`, `dropped`,
//! `end`, `node.N`, `drain.N`, `owner.P`, `state.P`.

mod admin;
mod completion;
mod drops;
mod error;
#[cfg(test)]
mod in_process;
mod inbox;
mod journal;
mod member;
mod nats;
mod node;
mod node_context;
mod outbox;
mod owner;
mod peers;
mod publisher;
mod snapshot;
mod succession;
mod terms;
mod transport;
mod wire;

pub use admin::{ClusterAdmin, PartitionPlace};
pub use error::ClusterError;
pub use member::{ClusterOptions, Member, NodeFiles, node_of};
pub use nats::Servers;
pub use terms::PartitionBy;
