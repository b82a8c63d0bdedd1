//! A block of IP addresses, as users write it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use ipnet::IpNet;

/// A block of addresses, as prefix and length (RFC 4632, RFC 4291 section 2.3): `10.0.0.0/8`, `fd00::/8`, or one address.
///
/// An IPv4-mapped IPv6 address counts as its IPv4 address, so a block of them has 96 bits or more. Bits of the address after the prefix are
/// ignored.
///
/// ```
/// use crawler::crawl::Network;
///
/// let network: Network = "192.168.7.1/16".parse()?;
/// assert!(network.contains("::ffff:192.168.255.255".parse()?));
/// assert!(!network.contains("192.169.0.0".parse()?));
/// assert_eq!(network.to_string(), "192.168.0.0/16");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(IpNet);

/// A text that is not a block of addresses, or a block that the user cannot have meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// A block of fewer than 96 bits around an IPv4-mapped address. It contains no IPv4 address.
    #[error("it contains no IPv4 address: write {address}/{bits} or ::ffff:{address}/{}", bits + 96)]
    Mapped {
        /// The address of the block that was probably meant.
        address: Ipv4Addr,
        /// The bits of that block.
        bits: u8,
    },
    /// Something else.
    #[error("neither an address nor a block of addresses such as 10.0.0.0/8 or fd00::/8")]
    Text,
}

impl Network {
    /// Whether an address is in this block.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let alone = text.parse::<IpAddr>().map(IpNet::from);
        let block = alone.or_else(|_| text.parse::<IpNet>()).map_err(|_| NetworkError::Text)?;
        let (address, bits) = (block.addr(), block.prefix_len());
        let block = match address.to_canonical() {
            IpAddr::V4(mapped) if address.is_ipv6() => match bits {
                96.. => IpNet::new_assert(mapped.into(), bits - 96),
                ..=32 => return Err(NetworkError::Mapped { address: mapped, bits }),
                // It covers all mapped addresses.
                _ => return Err(NetworkError::Mapped { address: Ipv4Addr::UNSPECIFIED, bits: 0 }),
            },
            _ => block,
        };
        Ok(Self(block.trunc()))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases of Nutch's `TestIPAddressFiltering`, and the ends of each kind of block.
    #[test]
    fn what_is_in_a_block() {
        for (network, inside, outside) in [
            ("127.0.0.0/8", "127.0.0.1 127.255.255.255 ::ffff:127.0.0.1", "126.255.255.255 128.0.0.0 ::1"),
            ("10.0.0.0/8", "10.0.0.13", "9.255.255.255 11.0.0.0"),
            ("172.16.0.0/12", "172.17.0.0 172.31.255.255", "171.255.255.255 172.32.0.0"),
            ("192.168.0.0/16", "192.168.0.1", "192.169.0.0"),
            ("::1/128", "::1", "::2"),
            ("::1", "::1", "::"),
            ("::ffff:7f00:0/104", "::ffff:127.0.0.1 127.0.0.1", "::ffff:128.0.0.0"),
            ("fd00::/8", "fd12:3456:789a:1::1", "fc00::1 fe00::"),
            ("fe80::/10", "fe80::2f29:b6f0:a4c:32ae febf::", "fec0::"),
            ("127.0.0.1", "127.0.0.1", "127.0.0.2"),
            ("127.0.0.1/24", "127.0.0.1 127.0.0.255", "127.0.1.1"),
            ("0.0.0.0/0", "0.0.0.0 255.255.255.255 ::ffff:8.8.8.8", "::1"),
            ("::/0", ":: ffff::", "8.8.8.8"),
        ] {
            let block: Network = network.parse().unwrap();
            let contains = |address: &str| block.contains(address.parse().unwrap());
            assert!(inside.split(' ').all(contains), "{network} has {inside}");
            assert!(!outside.split(' ').any(contains), "{network} has none of {outside}");
            assert_eq!(block.to_string().parse(), Ok(block));
        }
        let texts = "/ /8 10.0.0.0/ 10.0.0.0/33 10/8 ::/129 ::/-1 localhost 10.0.0.0/8/8 1.2.3.4/+24 fd00::/+8 fd00::/0x8 \
            1.2.3.4/256";
        for text in std::iter::once("").chain(texts.split_ascii_whitespace()) {
            let error = text.parse::<Network>().expect_err(text).to_string();
            assert!(error.starts_with("neither an address nor a block"), "{text:?}: {error}");
        }
    }

    /// Otherwise it would be a block of IPv6 addresses without a single IPv4 address.
    #[test]
    fn a_mapped_block_has_an_address_of_ipv4() {
        for (text, instead) in [
            ("::ffff:127.0.0.1/8", "127.0.0.1/8 or ::ffff:127.0.0.1/104"),
            ("::ffff:10.0.0.0/32", "10.0.0.0/32 or ::ffff:10.0.0.0/128"),
            ("::ffff:0:0/95", "0.0.0.0/0 or ::ffff:0.0.0.0/96"),
            ("::ffff:0:0/0", "0.0.0.0/0 or ::ffff:0.0.0.0/96"),
        ] {
            let error = text.parse::<Network>().expect_err(text).to_string();
            assert!(error.ends_with(&format!("write {instead}")), "{text}: {error}");
        }
    }
}
