//! What to fetch next, and when: a state machine that reads no clock and does no I/O but through its [`Journal`]. The time goes in, and
//! what to do comes out.
//!
//! # The life of a host
//!
//! ```text
//!                 a URL is queued             its rest is over              next
//!   Idle ───────────────────▶ Snoozed ───────────────────▶ Due ─────────────────▶ Leased
//!    ▲                           ▲                          │ ▲                    │
//!    │ evicted when idle,        │            too many      ▼ │ one came back      │
//!    │ back with its next URL    │            first         Held                   │
//!    │                           │            contacts                             │
//!    └───────────────────────────┴──────── complete: nothing queued, or a rest ────┘
//! ```
//!
//! A host is in one state at a time:
//!
//! | state | it is |
//! |---|---|
//! | idle | in no queue: nothing of it is queued |
//! | snoozed | on the *agenda*, until its rest is over, or until the hours begin in which it may be asked |
//! | due | in the *front* queue, by the priority of its best URL |
//! | giving way | waiting for hosts of other registrable domains, since its own has had more turns than others |
//! | in line | waiting for its group, server or IP address, which rests or has as many requests out as it may |
//! | robots.txt elsewhere | waiting for the turn of another host, which has its robots.txt |
//! | held | waiting, since it has never answered and the maximum of such hosts is leased |
//! | leased | lent out |
//!
//! A host's URLs are in its *back* queue, and stay there while they are lent out. Its first lease is its robots.txt. A host that fails too
//! often is *retired*: its URLs are given up, one at each of its turns, and wait until they are asked for again.
//!
//! Among due hosts, the best priority goes first, and within a priority the host that has waited longest: a crawl goes breadth-first. But
//! if a registrable domain has had more turns than the average plus a lead (`traps.domain_lead`), its hosts give way. Hosts of seeds never
//! give way.
//!
//! A host has one lease out. With `politeness.connections_per_host` it may have more. Then it goes from Leased to its next state at once,
//! while the page is out; it stays Leased only if nothing more of it may be lent.
//!
//! # What changes, and how
//!
//! The *state* is everything that is known. It changes in one way:
//!
//! ```text
//!   live      decide ──▶ Record ──▶ Journal ──▶ State::apply ──▶ queues of hosts
//!   resume                          Journal ──▶ State::apply ──▶ queues of hosts, once
//! ```
//!
//! So a change is in the journal before it is in the state, and a rebuilt frontier equals the original to the bit. If the storage fails,
//! nothing has changed.
//!
//! # The methods of [`Frontier`]
//!
//! - URLs come in: [`submit`](Frontier::submit) takes one that a gate has admitted, [`admit_batch`](Frontier::admit_batch) asks the gate for
//!   many, [`seed`](Frontier::seed) and [`links`](Frontier::links) take texts, [`schedule`](Frontier::schedule) takes a time too.
//! - Leases go out with [`next`](Frontier::next), or many at once with [`next_batch`](Frontier::next_batch). They come back with
//!   [`answer`](Frontier::answer), which takes a whole reply, or with [`complete`](Frontier::complete). A lease that never comes back holds
//!   its host for ever, unless leases have a [timeout](FrontierOptions::lease_timeout): then they end, and come back by a
//!   [token](LeaseToken) from any process.
//! - Addresses are reported: [`resolved`](Frontier::resolved), for politeness by IP address.
//! - [`reprioritize`](Frontier::reprioritize) gives URLs that wait other priorities.
//! - Questions: [`statistics`](Frontier::statistics), [`queues`](Frontier::queues), [`explain`](Frontier::explain). They change nothing.
//! - Storage is looked after: [`flush`](Frontier::flush) for the journal; for a job's checkpoints, calls that save chunks and counts and
//!   evict hosts.
//!
//! # Modules
//!
//! `machine` decides what to do now. `lease` has what it hands out and what comes back. `hosts` has what is known of each host, `queues`
//! the queues of hosts and of URLs, `state` the state and how it is rebuilt, `durable` the bytes that go to the journal and to checkpoints,
//! `robots` the rules of robots.txt, `explain` the answers to "why was this URL not fetched?", `timestamp` the points in time, `token` the
//! numbers of leases, and `priorities` which priority each front queue stands for.

pub(crate) mod durable;
pub(crate) mod explain;
pub(crate) mod hosts;
pub(crate) mod lease;
pub(crate) mod machine;
mod priorities;
mod queues;
mod robots;
pub(crate) mod state;
mod timestamp;
mod token;

#[cfg(any(test, feature = "lending"))]
pub(crate) use durable::Arena;
pub use durable::Journal;
pub(crate) use durable::Receipt;
pub(crate) use durable::{
    AnsweredRecord, Aside, AsideRecord, Counts, DisallowedRecord, DueRecord, Entry, HostRecord, IdleHost, InvalidChunk,
    LentRecord, MovedRecord, Moves, Receipts, ReceiptsBuf, Record, RobotsRecord, RuleRound, Scores, Settled,
    idle_hosts, needed, waiting,
};
pub use explain::{Explanation, Verdict};
pub(crate) use explain::{History, Remembered};
#[cfg(feature = "lending")]
pub(crate) use hosts::HostTurn;
pub(crate) use hosts::{FailureState, HostCost, HostStatus};
pub use hosts::{HostGroup, HostRule, HostRules, Hours, Politeness, QueueOrder, QueueStatistics, Validators};
pub use lease::{Completion, Failure, HostAnswer, Href, Lease, LeaseKind, Next, Outcome, Reply, Resolved, Trouble};
#[cfg(test)]
pub(crate) use machine::Dropped;
pub use machine::{Frontier, FrontierError, FrontierOptions, FrontierStatistics, Reprioritized, WaitingUrl};
pub(crate) use priorities::{FrontQueue, PRIORITIES, Priorities};
pub use robots::{Preferences, Purpose, Robots, Ruling};
pub(crate) use state::{Resume, StateChunk};
pub use timestamp::Timestamp;
pub use token::{LeaseToken, TokenError};
