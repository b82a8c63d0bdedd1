//! A lease that is out under a token, in as few bytes as possible.

use crate::frontier::hosts::{HostId, RateGroupId};
use crate::frontier::{Lease, LeaseToken, Timestamp};
use crate::gate::Position;

/// No slot: the end of a list.
pub(super) const NONE: u32 = u32::MAX;

/// A lease that is out. `host` and the fields before it are state, though a resume learns the host only at its end; the machine keeps the
/// other fields here. It is packed to 44 bytes, and would take 48 otherwise.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
pub(crate) struct OutLease {
    /// 56 bits of its number, 0 in a free slot; above them the first 8 of the failure epoch's 24.
    pub(super) number: u64,
    /// 48 bits of its deadline, in milliseconds; above them the other 16 bits of the failure epoch.
    pub(super) deadline: u64,
    pub(crate) page: PageBits,
    pub(crate) host: HostId,
    /// The rate group of its address, if it counts for one.
    pub(crate) address: Option<RateGroupId>,
    /// Bytes that its request was charged with; for a page in hand, the bytes of its response, which are state. At most 4 GiB.
    pub(crate) charged: u32,
    /// Its neighbors in the list by deadline; in the list of free slots, the next.
    pub(super) before: u32,
    pub(super) after: u32,
}

/// Bits of a number, and of a deadline.
const NUMBER_BITS: u32 = LeaseToken::BITS;
const DEADLINE_BITS: u32 = 48;
/// The latest deadline, in the year 10889.
pub(crate) const LATEST: Timestamp = Timestamp::from_micros(((1 << DEADLINE_BITS) - 1) * 1000);

impl OutLease {
    /// A slot that is free.
    pub(super) const FREE: Self = Self {
        number: 0,
        deadline: 0,
        page: PageBits(0),
        host: HostId::NONE,
        address: None,
        charged: 0,
        before: NONE,
        after: NONE,
    };

    pub(super) fn number(&self) -> u64 {
        self.number & ((1 << NUMBER_BITS) - 1)
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Timestamp {
        Timestamp::from_micros((self.deadline & ((1 << DEADLINE_BITS) - 1)) * 1000)
    }

    #[inline]
    pub(super) fn set_deadline(&mut self, deadline: Timestamp) {
        let millis = deadline.min(LATEST).as_micros() / 1000;
        self.deadline = self.deadline >> DEADLINE_BITS << DEADLINE_BITS | millis;
    }

    /// The failure epoch of its host when it went out, modulo 16 million.
    pub(crate) fn failure_epoch(&self) -> u32 {
        let [epoch, others] = [self.number >> NUMBER_BITS << 16, self.deadline >> DEADLINE_BITS];
        u32::try_from(epoch | others).expect("24 bits")
    }

    pub(crate) fn set_failure_epoch(&mut self, epoch: u32) {
        let [last, middle, first, _] = epoch.to_le_bytes();
        self.number = self.number() | u64::from(first) << NUMBER_BITS;
        self.deadline =
            self.deadline & ((1 << DEADLINE_BITS) - 1) | u64::from(u16::from_le_bytes([last, middle])) << DEADLINE_BITS;
    }
}

/// A page's position; the bits above its 48 have the page's priority and flags. Two of the flags are state: whether the page is in hand,
/// and whether it keeps its tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageBits(u64);

impl PageBits {
    const POSITION: u64 = (1 << 48) - 1;
    const IS_GIVEN_UP: u64 = 1 << 56;
    const IS_FIRST_CONTACT: u64 = 1 << 57;
    const IS_ROBOTS: u64 = 1 << 58;
    const IS_IN_HAND: u64 = 1 << 59;
    const KEEPS_TRIES: u64 = 1 << 60;
    const IS_PLAIN: u64 = 1 << 61;
    /// What [`with`](Self::with) leaves as it is.
    const STATE: u64 = Self::POSITION | Self::IS_ROBOTS | Self::IS_IN_HAND | Self::KEEPS_TRIES;

    pub(crate) fn of(page: Option<Position>) -> Self {
        Self(page.map_or(Self::IS_ROBOTS, Position::to_u64))
    }

    /// What the machine keeps of this lease.
    pub(crate) fn with(self, lease: &Lease) -> Self {
        let flag = |is_set, bit| if is_set { bit } else { 0 };
        let flags = flag(lease.trouble.is_some(), Self::IS_GIVEN_UP)
            | flag(lease.is_first_contact, Self::IS_FIRST_CONTACT)
            | flag(lease.is_plain(), Self::IS_PLAIN);
        Self(self.with_priority(lease.priority).0 | flags)
    }

    /// The same, if only its priority is known.
    pub(crate) fn with_priority(self, priority: u8) -> Self {
        Self(self.0 & Self::STATE | u64::from(priority) << 48)
    }

    /// Its host has answered.
    pub(super) fn in_hand(self, keeps_tries: bool) -> Self {
        Self(self.0 | Self::IS_IN_HAND | if keeps_tries { Self::KEEPS_TRIES } else { 0 })
    }

    /// Whether its lease says no more than these bits: see [`Lease::is_plain`].
    pub(crate) fn is_plain(self) -> bool {
        self.0 & Self::IS_PLAIN != 0
    }

    pub(crate) fn is_in_hand(self) -> bool {
        self.0 & Self::IS_IN_HAND != 0
    }

    pub(crate) fn keeps_tries(self) -> bool {
        self.0 & Self::KEEPS_TRIES != 0
    }

    /// `None` for a robots.txt.
    pub(crate) fn position(self) -> Option<Position> {
        (self.0 & Self::IS_ROBOTS == 0).then(|| Position::from_u64(self.0 & Self::POSITION))
    }

    pub(crate) fn priority(self) -> u8 {
        self.0.to_le_bytes()[6]
    }

    pub(crate) fn is_given_up(self) -> bool {
        self.0 & Self::IS_GIVEN_UP != 0
    }

    pub(crate) fn is_first_contact(self) -> bool {
        self.0 & Self::IS_FIRST_CONTACT != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_takes_forty_four_bytes_and_its_parts_do_not_touch() {
        assert_eq!(size_of::<OutLease>(), 44);
        let number = (1 << NUMBER_BITS) - 5;
        let mut lease = OutLease { number, ..OutLease::FREE };
        for (millis, epoch) in
            [(0, 0), (1, 1 << 16), ((1 << DEADLINE_BITS) - 1, (1 << 24) - 1), (77, 0xab_cdef), (5, 3)]
        {
            let deadline = Timestamp::from_micros(millis * 1000);
            lease.set_failure_epoch(epoch);
            lease.set_deadline(deadline);
            assert_eq!((lease.number(), lease.deadline(), lease.failure_epoch()), (number, deadline, epoch));
        }
        lease.set_failure_epoch((1 << 24) + 9);
        lease.set_deadline(Timestamp::from_micros(u64::MAX));
        assert_eq!((lease.number(), lease.deadline(), lease.failure_epoch()), (number, LATEST, 9));
    }
}
