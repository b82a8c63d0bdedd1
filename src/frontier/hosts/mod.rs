//! What a frontier knows of each host, and where the host is.
//!
//! A [`Host`] has facts, which its records change, and a [`Seat`] in the queues of hosts, which follows from them. The table
//! ([`Hosts`]) has those in memory; [`Evicted`] counts the others. A decision is made on a [`Conduct`], a draft of how the host
//! stands; the host stands so once the journal has it.

mod conduct;
mod evicted;
mod host;
mod host_id;
mod host_statistics;
mod illness;
mod politeness;
mod robots_file;
mod rules_cache;
mod seat;
mod spread;
mod struggle;
mod table;

pub(crate) use conduct::Conduct;
pub(crate) use evicted::Evicted;
pub(crate) use host::Host;
pub(crate) use host_id::HostId;
pub use host_statistics::HostStatistics;
pub(crate) use illness::{Illness, Prospect};
pub use politeness::Politeness;
pub(crate) use robots_file::{Detour, RobotsFile, Rules};
pub(crate) use rules_cache::RulesCache;
pub(crate) use seat::{HostState, Seat};
pub(crate) use spread::HostSpread;
pub(crate) use struggle::{Patience, Struggle};
pub(crate) use table::{Hosts, Seats};
