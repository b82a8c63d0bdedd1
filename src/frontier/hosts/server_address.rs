//! The IP address by which hosts count as one server.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The IP address by which hosts count as one server: an IPv4 address, or the first 64 bits of an IPv6 address, since one machine may have
/// all addresses with that prefix.
///
/// A name may have several addresses. The least IPv4 address stands for all of them, and the least IPv6 address if there is no other: a
/// resolver returns them in a different order each time, and the addresses of both kinds mostly belong to one machine. So two hosts whose
/// names have the same addresses share it, whichever address is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ServerAddress(u64);

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
