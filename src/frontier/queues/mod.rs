//! The queues of a frontier: hosts by priority and by time, and URLs by host and by time.
//!
//! - [`Front`]: hosts that may be asked now, by the priority of their best URL.
//! - [`Agenda`]: hosts that rest, by the time their rest is over.
//! - [`Back`]: the URLs of each host, by priority: 8 bytes or less each, as positions in the journal.
//! - [`Schedule`]: URLs that wait for a time of their own, or for somebody to ask for them.

mod agenda;
mod back;
mod front;
mod level;
mod link;
mod pool;
mod queued;
pub(crate) mod schedule;

pub(crate) use agenda::Agenda;
pub(crate) use back::{Back, Queue};
pub(crate) use front::Front;
pub(crate) use level::{Chunk, Level};
pub(crate) use link::ListLink;
pub(crate) use pool::{Linked, NONE, Pool};
pub(crate) use queued::Queued;
pub(crate) use schedule::{MARK, Schedule, Taken, second};
