//! One crawl on many machines, over NATS.
//!
//! # How it works
//!
//! The hosts of a crawl are shared out over partitions, by a hash of a host's name that all machines agree on. **A partition is a whole
//! [`Crawl`](crate::crawl::Crawl)**, with a gate, a seen set, a frontier and a journal of its own. What its journal writes goes to a log
//! that the servers keep. Who takes a partition over makes the same journal of it, byte by byte, and goes on as any job does that was
//! killed. So filters, queues, clocks and robots rules come back by the way that is used on one machine, too.
//!
//! | what | where |
//! |---|---|
//! | which partition a URL is in, which node should own it | `partitions` |
//! | a link to another partition's host is put into a link batch, and the link batches of a node go together | `outbox`, `post`, `recent_set`, `link_batch` |
//! | link batches are taken in, each once | `inbox` |
//! | the journal's bytes, links and records go out in their order, and soon | `publisher`, `pieces`, `entry`; `backlog` |
//! | one owner after the other, and none beside | `succession` |
//! | a partition's files go to the servers, so that its log need not be kept from the beginning | `snapshot`, `snapshot_maker` |
//! | a partition that this machine had before is taken from its own disk | `local_copy` |
//! | a partition is read, opened, crawled and given back | `owner` |
//! | a node renews its lease, and takes and gives back partitions | `node`, `lease`, `peers` |
//! | all nodes agree on what is crawled, and how politely; its seeds | `terms`, `roots` |
//! | what the user drops while it is crawled | `drops` |
//! | servers that say nothing, have lost the crawl, or have another time | `server_watch` |
//! | the crawl is over; one report of all partitions | `ending`, `totals` |
//! | why a URL was not fetched | `inquiry` |
//! | what carries the messages | `transport`; `nats` |
//!
//! # What is promised
//!
//! 1. **No URL is lost.** The log has a page only when its links are acknowledged, and its record, with all else that is kept of it, is with the
//!    operating system of the machine that has fetched it. What the log does not have was never fetched, and is fetched by whoever is next.
//! 2. **No page is fetched twice but what was in flight**, or fetched and not yet in the log: a new owner goes on where the log ends. Where a
//!    node has 192 pages that are not in the log, or it takes a fifth of a second to get them there, nothing new is fetched. `crawler merge`
//!    leaves out the records of pages that were fetched again.
//! 3. **One owner at a time writes.** Each message of a log names the one before it, and the servers refuse all others.
//! 4. **One owner at a time asks.** A node that has not renewed its lease begins no request after three quarters of its life. Others wait
//!    for the whole of it, each by its own clock, which never steps.
//!
//! The log and the link batches are kept from the older of a partition's two last snapshots on. So what the servers keep, and a new owner
//! reads, goes by what the partition is, and not by how long it has been crawled.
//!
//! Records, archives, links and bodies are files of the node that has fetched a page (`PartOutputs`). What a power cut of a node takes are
//! those that its disk did not have yet: it has them as often as a job has checkpoints.
//!
//! # Subjects
//!
//! A crawl has a log for each 32 partitions, eight at most. All that it has begins with `crawler.NAME.log.L.`, for log `L`: `journal.P`,
//! `found.P`, `snapshot.P`, `named.P`, `unread.P` for each of its partitions `P`, and in the first log `roots`. What was kept there is told
//! to whoever listens at the same subject with `told` for `log`. The keys are those of a bucket,
//! `$KV.crawler-NAME.`: `crawl`, `dropped`, `end`, `node.N`, `drain.N`, `owner.P`, `state.P`.

mod admin;
mod backlog;
mod crc32c;
mod drops;
mod ending;
mod entry;
mod error;
#[cfg(test)]
mod in_process;
mod inbox;
mod inquiry;
mod lease;
mod link_batch;
mod local_copy;
mod member;
mod nats;
mod node;
mod node_context;
mod outbound;
mod outbox;
mod owner;
mod partitions;
mod peers;
mod pieces;
mod publisher;
mod recent_set;
mod roots;
mod server_watch;
mod sign_in;
mod snapshot;
mod snapshot_maker;
mod subject;
mod succession;
mod terms;
mod totals;
mod transport;
mod values;

pub use admin::ClusterAdmin;
pub use error::ClusterError;
pub use inquiry::PartitionPlace;
pub use member::{ClusterOptions, Member, NodeFiles, node_of};
pub use partitions::PartitionBy;
pub use sign_in::Servers;
