//! What a frontier knows of each host, and where the host is in its queues.
//!
//! A [`Host`] has facts, which only records change, and a [`SchedulingState`], its place in the queues of hosts, which follows from the
//! facts. The table ([`Hosts`]) has the hosts in memory; [`Evicted`] counts the others. Decisions are made on a draft of the host's next
//! [`HostStatus`]; it takes effect once the journal has it.
//!
//! # How a host fails
//!
//! An answer makes a host well, whatever happened before, unless its status is 408, 425, 429 or 5xx. Each failure that counts against the
//! host doubles its rest, from `politeness.backoff` to `max_backoff`, and `host_failures` of them in a row retire it. Its [`FailureState`]
//! says what is wrong with it, its [`Outlook`] whether it may come back. [`FailingHosts`] counts failing hosts by their outlook, and
//! [`Patience`] says how long the crawl waits for them. Hopeless hosts do not delay the end of a crawl.
//!
//! # What a host costs
//!
//! 128 bytes (two cache lines that are loaded together), its key's text once, and 16 bytes for its usage of its budget. Its robots rules,
//! its failure state and its further levels of URLs are stored elsewhere, since most hosts have none. [`RulesCache`] bounds the rules in
//! memory. A host with nothing queued can be evicted to an image on disk, and then costs only its share of an index.
//!
//! # Modules
//!
//! - `host`: one host; `slot`: its number and its scheduling state; `host_status`: its status, how that changes, and how many hosts fail.
//! - `table`: the hosts in memory, and the cache of their robots rules; `robots_file`: what is known of one robots.txt.
//! - `politeness`: the options; `politeness_table`: the options compiled for each host name; `usage`: budgets, and what hosts have used of
//!   them.
//! - `statistics`: hosts in numbers, and evicted hosts; `host_list`: a list of hosts that shows why each waits.

mod host;
pub(crate) mod host_list;
pub(crate) mod host_status;
mod politeness;
pub(crate) mod politeness_table;
mod robots_file;
mod slot;
pub(crate) mod statistics;
mod table;
mod usage;

pub(crate) use host::Host;
pub(crate) use host_list::HostList;
#[cfg(feature = "lending")]
pub(crate) use host_status::HostTurn;
pub(crate) use host_status::{FailingHosts, FailureState, HostStatus, Outlook, Patience, Rest};
pub use politeness::{HostGroup, HostRule, HostRules, Hours, Politeness, QueueOrder};
pub(crate) use politeness_table::{
    AddressSharing, CountsByAddress, GroupUsage, HostPolicy, PolitenessTable, Sharing, SpentBudget,
};
pub use robots_file::Validators;
pub(crate) use robots_file::{RULES_HOLD, RobotsFile, RobotsRedirect, Rules};
pub(crate) use slot::{GroupKind, HostId, HostState, ListLink, RateGroupId, SchedulingState, ServerAddress};
pub use statistics::QueueStatistics;
pub(crate) use statistics::{Evicted, HostStatistics};
pub(crate) use table::{Hosts, RulesCache, SchedulingStates};
pub(crate) use usage::{HostBudget, HostCost, Usage};
