//! A host's number while it is in memory, and its scheduling state: which queue of hosts it is in, its neighbors there, and its address.
//!
//! Lists are doubly linked and run through the hosts themselves, so a host leaves one from the middle in O(1), when a better URL is found
//! for it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;

use super::Outlook;

/// A host in memory. When the host is evicted, the number is free for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct HostId(u32);

impl HostId {
    /// No host: the end of a list.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// The host with this number.
    pub(crate) const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    /// Its number, as a place in a table.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A host's scheduling state: where it is in the queues of hosts. It follows from what is known of the host and from the time, so neither
/// the journal nor a checkpoint has it, except the address, which checkpoints store for `explain`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SchedulingState {
    /// Its neighbors in a front queue or a wait queue.
    pub(crate) link: ListLink,
    /// The rate group of its address, once that is known. The fetcher reports the address with each request.
    pub(crate) address: Option<RateGroupId>,
    /// The queue of hosts that it is in, if any.
    pub(crate) state: HostState,
    /// Its pages that are lent out, and not in hand.
    pub(crate) out: u8,
    /// The rest that follows from its latency, in milliseconds.
    pub(crate) learned_ms: u32,
    /// The outlook under which it is counted, among the hosts with URLs queued.
    pub(crate) counted: Outlook,
}

/// The one queue that a host is in, or what it waits for outside the queues. The page of [`frontier`](crate::frontier) has a picture of how
/// a host moves between these states.
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
    /// All of its pages are lent out or in hand, or as many as may be at once. They stay in its queue until they come back. If one page may
    /// be out at once, it is the first of this priority.
    Leased(u8),
    /// Its robots.txt is lent out, or the robots.txt of other hosts that redirects to this host.
    LeasedRobots,
    /// Its robots.txt is on another host, and it waits for that host's turn.
    RobotsElsewhere,
}

/// The kind of a rate group. A host may be in one of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupKind {
    Group,
    Address,
    Server,
}

impl HostState {
    /// In the wait queue of a rate group, with this priority.
    pub(crate) const fn in_line(kind: GroupKind, priority: u8) -> Self {
        match kind {
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
    pub(crate) const fn called(kind: GroupKind, priority: u8) -> Self {
        match kind {
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

/// For a host, its neighbors; for a queue, its last and its first host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListLink {
    /// The host before this one; for a queue its last.
    pub(crate) previous: HostId,
    /// The host after this one; for a queue its first.
    pub(crate) next: HostId,
}

/// A list that is empty, or a host that is in none.
impl Default for ListLink {
    fn default() -> Self {
        Self { previous: HostId::NONE, next: HostId::NONE }
    }
}

impl ListLink {
    /// The host after this one, if any.
    pub(crate) fn next(self) -> Option<HostId> {
        (self.next != HostId::NONE).then_some(self.next)
    }
}

/// The number of a rate group: one more than its place in the table, so that an `Option` of it takes four bytes in a host. The number of an
/// address or a server is reused once no host has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RateGroupId(NonZeroU32);

impl RateGroupId {
    /// The rate group at this place.
    pub(crate) fn at(place: usize) -> Self {
        let number = u32::try_from(place + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("no more than hosts and groups"))
    }

    /// The rate group of a group, by its place among the groups.
    pub(crate) const fn of_group(number: u16) -> Self {
        Self(NonZeroU32::MIN.saturating_add(number as u32))
    }

    /// Its place in the table.
    pub(crate) const fn place(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The IP address by which hosts count as one server: an IPv4 address, or the first 64 bits of an IPv6 address, since one machine may have
/// all addresses with that prefix.
///
/// A name may have several addresses. The least IPv4 address stands for all of them, and the least IPv6 address if there is no other: a
/// resolver returns them in a different order each time, and the addresses of both kinds mostly belong to one machine. So two hosts whose
/// names have the same addresses share it, whichever address is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerAddress(u64);

impl ServerAddress {
    /// The one that stands for these addresses; `None` if there are none.
    pub(crate) fn of(addresses: &[IpAddr]) -> Option<Self> {
        // No IPv6 address is below 2^32 except those that stand for an IPv4 address, and `::1`.
        addresses.iter().map(|address| Self::one(*address)).min()
    }

    fn one(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(u32::from(address).into()),
            IpAddr::V6(address) if address.is_loopback() => Self(u32::from(Ipv4Addr::LOCALHOST).into()),
            IpAddr::V6(address) => Self(u64::try_from(u128::from(address) >> 64).expect("64 bits are left")),
        }
    }

    /// Whether it is this machine's own.
    pub(crate) fn is_loopback(self) -> bool {
        self.v4().is_some_and(|address| address.is_loopback())
    }

    /// The address with this [number](Self::number); `None` for 0.
    pub(crate) fn from_number(number: u64) -> Option<Self> {
        number.checked_sub(1).map(Self)
    }

    /// The number by which it is stored: one more than the address, so that 0 means none.
    pub(crate) fn number(self) -> u64 {
        self.0.wrapping_add(1)
    }

    fn v4(self) -> Option<Ipv4Addr> {
        u32::try_from(self.0).ok().map(Ipv4Addr::from)
    }
}

/// `address 192.0.2.1` or `address 2001:db8::/64`.
impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.v4() {
            Some(address) => write!(f, "address {address}"),
            None => write!(f, "address {}/64", Ipv6Addr::from(u128::from(self.0) << 64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_stands_for_all_of_a_name() {
        for (addresses, name) in [
            (&["192.0.2.7", "192.0.2.1"][..], "address 192.0.2.1"),
            (&["192.0.2.1", "192.0.2.7"], "address 192.0.2.1"),
            (&["2001:db8::1", "203.0.113.9"], "address 203.0.113.9"),
            (&["2001:db8:0:1::5", "2001:db8:0:1:ffff::"], "address 2001:db8:0:1::/64"),
            (&["2001:db8:0:2::5", "2001:db8:0:1::5"], "address 2001:db8:0:1::/64"),
            (&["::ffff:192.0.2.1"], "address 192.0.2.1"),
            (&["::1"], "address 127.0.0.1"),
        ] {
            let addresses: Vec<IpAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
            let address = ServerAddress::of(&addresses).unwrap();
            assert_eq!(address.to_string(), name);
            assert_eq!(address.is_loopback(), name.contains("127."), "{name}");
            assert_eq!(ServerAddress::from_number(address.number()), Some(address));
        }
        assert_eq!(ServerAddress::of(&[]), None);
        assert_eq!(ServerAddress::from_number(0), None);
    }
}
