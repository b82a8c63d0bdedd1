//! Where a host is in the queues of hosts.

use super::Outlook;
use crate::frontier::queues::{ListLink, RateGroupId};

/// Where a host is in the queues of hosts, and as what it is counted there. It follows from what is known of the host and from the time, so
/// neither the journal nor a checkpoint has it, but for what `explain` shows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HostSlot {
    /// Its neighbors in a front queue.
    pub(crate) link: ListLink,
    /// The rate group of its address, once that is known. The fetcher reports it with each request, so checkpoints store the address only
    /// for `explain`.
    pub(crate) address: Option<RateGroupId>,
    /// The queue of hosts that it is in, if any.
    pub(crate) state: HostState,
    /// Its pages that are lent out.
    pub(crate) out: u8,
    /// The rest that follows from its latency, in milliseconds.
    pub(crate) learned_ms: u32,
    /// The outlook under which it is counted, among the hosts with URLs queued.
    pub(crate) counted: Outlook,
}

/// The one place where a host is. The page of [`frontier`](crate::frontier) has a picture of how it moves between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HostState {
    /// Nothing is queued; its clock runs on.
    #[default]
    Idle,
    /// On the agenda.
    Snoozed,
    /// On the agenda, until its hours begin.
    Asleep,
    /// In the front queue of this priority.
    Due(u8),
    /// In the front queue of this priority: it waited for its group, which called it and reserved a place for it.
    Called(u8),
    /// The same, for its address.
    CalledByAddress(u8),
    /// The same, for its server.
    CalledByServer(u8),
    /// Due with this priority, and in the wait queue of its group, which rests or has as many requests out as it may.
    InLine(u8),
    /// The same, for its address.
    InLineOfAddress(u8),
    /// The same, for its server.
    InLineOfServer(u8),
    /// Due with this priority, and in the wait queue of its domain, which has had more turns than others.
    GivesWay(u8),
    /// The same, and it has never answered.
    NewGivesWay(u8),
    /// Due with this priority, and held back: it has never answered, and the maximum of such hosts is lent out.
    Held(u8),
    /// All of its pages are lent out, or as many as may be. They stay in its queue until they come back.
    Leased,
    /// Its robots.txt is lent out, or a robots.txt that other hosts have there.
    LeasedRobots,
    /// Its robots.txt is on another host, whose turn it waits for.
    RobotsElsewhere,
}

/// One of the three rate groups that a host may be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupKind {
    Group,
    Address,
    Server,
}

impl HostState {
    /// In the wait queue of a rate group, with this priority.
    pub(crate) const fn in_line(tie: GroupKind, priority: u8) -> Self {
        match tie {
            GroupKind::Group => Self::InLine(priority),
            GroupKind::Address => Self::InLineOfAddress(priority),
            GroupKind::Server => Self::InLineOfServer(priority),
        }
    }

    /// In the wait queue of its domain, with this priority.
    pub(crate) const fn giving_way(is_new: bool, priority: u8) -> Self {
        if is_new { Self::NewGivesWay(priority) } else { Self::GivesWay(priority) }
    }

    /// If it is in the wait queue of its domain: its priority there, and whether it is new.
    pub(crate) const fn gives_way(self) -> Option<(u8, bool)> {
        match self {
            Self::GivesWay(priority) => Some((priority, false)),
            Self::NewGivesWay(priority) => Some((priority, true)),
            _ => None,
        }
    }

    /// Called by a rate group, and in the front queue of this priority.
    pub(crate) const fn called(tie: GroupKind, priority: u8) -> Self {
        match tie {
            GroupKind::Group => Self::Called(priority),
            GroupKind::Address => Self::CalledByAddress(priority),
            GroupKind::Server => Self::CalledByServer(priority),
        }
    }

    /// The kind of rate group that it waits for, and its priority there.
    pub(crate) const fn line(self) -> Option<(GroupKind, u8)> {
        match self {
            Self::InLine(priority) => Some((GroupKind::Group, priority)),
            Self::InLineOfAddress(priority) => Some((GroupKind::Address, priority)),
            Self::InLineOfServer(priority) => Some((GroupKind::Server, priority)),
            _ => None,
        }
    }

    /// The kind of rate group that called it.
    pub(crate) const fn caller(self) -> Option<GroupKind> {
        match self {
            Self::Called(_) => Some(GroupKind::Group),
            Self::CalledByAddress(_) => Some(GroupKind::Address),
            Self::CalledByServer(_) => Some(GroupKind::Server),
            _ => None,
        }
    }
}
