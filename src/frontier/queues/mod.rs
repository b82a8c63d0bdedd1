//! The queues of a frontier: hosts by priority and by time, and URLs by host and by time.

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
pub(crate) use link::Link;
pub(crate) use pool::{Linked, NONE, Pool};
pub(crate) use queued::Queued;
pub(crate) use schedule::{MARK, Schedule, Taken, second};
