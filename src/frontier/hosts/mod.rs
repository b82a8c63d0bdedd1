//! What a frontier knows of each host.

mod evicted;
mod host;
mod host_statistics;
mod illness;
mod politeness;
mod robots_file;
mod rules_clock;
mod spread;
mod struggle;
mod table;

pub(crate) use evicted::{Away, read};
pub(crate) use host::{Host, HostState};
pub use host_statistics::HostStatistics;
pub(crate) use host_statistics::{in_numbers, most_first};
pub(crate) use illness::{Illness, Prospect};
pub use politeness::Politeness;
pub(crate) use robots_file::{Detour, RobotsFile, Rules};
pub(crate) use rules_clock::RulesClock;
pub use spread::HostSpread;
pub(crate) use struggle::{Patience, Struggle};
pub(crate) use table::Hosts;
