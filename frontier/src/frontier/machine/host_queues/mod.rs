//! The queues of hosts, and the leases that are out.

mod errands;
mod lent;
mod waits;

pub(super) use errands::{Errands, RobotsCopy, SharedRobots};
pub(super) use lent::Lent;
pub(super) use waits::Waits;
