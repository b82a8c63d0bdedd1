//! The queues of a frontier: hosts by priority and by time, and URLs by host and by time.
//!
//! - [`Front`]: hosts that may be asked now, by the priority of their best URL.
//! - [`Domains`]: registrable domains with the turns that they have had, and the hosts that give way to others.
//! - [`RateGroups`]: hosts that share a clock (a group, a server's ports, an IP address), and the hosts that wait for it.
//! - [`Agenda`]: hosts that rest, by the time their rest is over.
//! - [`Back`]: the URLs of each host, by priority, as positions in the journal. `level` has the URLs of one priority, in chunks from a
//!   [`Pool`].
//! - [`Schedule`]: URLs that wait for a time of their own, or until they are asked for again.
//!
//! ```text
//!   Schedule ── its second is over ──▶ Back (of its host) ◀── a URL is admitted
//!
//!   Agenda ── the host's rest is over ──▶ Front ── it is the host's turn ──▶ a lease
//!      ▲                                                                       │
//!      └──────────────────── the lease comes back, more is queued ─────────────┘
//! ```
//!
//! A URL is in `Back` or in `Schedule`. A host is in a `Front` (of due hosts, or of hosts that are held), in `Agenda`, or in a `WaitQueue`
//! of its rate group or its domain. It is in none of them if it has nothing queued, is lent out, or waits for another host to be asked for
//! its robots.txt. The queues of URLs are part of the state. The queues of hosts belong to `machine`, and are rebuilt on resume.
//!
//! No queue of URLs or hosts holds a text, and none allocates per item: levels and chunks come from a [`Pool`], and the lists of `Front`
//! run through the hosts. With ten million URLs waiting, their queues take two to four bytes a URL.

mod back;
mod domains;
mod front;
mod level;
mod places;
mod rate_groups;
pub(crate) mod schedule;

pub(crate) use back::{Back, Queue};
pub(crate) use domains::Domains;
pub(crate) use front::{Agenda, Front, WaitQueue};
pub(crate) use level::{Chunk, Level, NONE, Pool, Queued};
pub(crate) use places::{Places, WaitingPlace};
pub(crate) use rate_groups::RateGroups;
pub(crate) use schedule::{SCHEDULE, Schedule, Taken, second, second_of};
