//! The guard: which addresses and ports may be connected to, and which addresses belong to the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Network;
use crate::address::CanonicalUrl;
use crate::crawl::FetchOptions;
use crate::frontier::Failure;

/// How the message about a denied address ends.
pub(crate) const DENIED: &str = "is denied by fetch.deny_networks";

/// Which addresses may be connected to.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    allows_private: bool,
    allowed: Box<[Network]>,
    denied: Box<[Network]>,
}

impl Guard {
    /// The guard that the options set.
    pub(super) fn new(options: &FetchOptions) -> Self {
        Self {
            allows_private: options.allow_private_addresses,
            allowed: options.allow_networks.clone().into(),
            denied: options.deny_networks.clone().into(),
        }
    }

    /// A guard that refuses nothing.
    pub(super) fn open() -> Self {
        Self { allows_private: true, allowed: Box::default(), denied: Box::default() }
    }

    /// Refuses ports and addresses that must not be connected to, with the reason. The addresses of a name are checked when they are
    /// dialed. `is_resolved_elsewhere`: a proxy or client resolves the host, and would take `localhost` for its own machine (RFC 6761
    /// section 6.3).
    pub(super) fn check(&self, url: &CanonicalUrl, is_resolved_elsewhere: bool) -> Result<(), (Failure, String)> {
        let port = url.port();
        if port == 0 {
            return Err((Failure::Port, "port 0 cannot be connected to".to_owned()));
        }
        if is_bad_port(port) {
            return Err((Failure::Port, format!("port {port} belongs to another protocol")));
        }
        let host = url.host();
        if let Ok(address) = host.trim_matches(['[', ']']).parse()
            && let Some(refusal) = self.refusal(address)
        {
            return Err((Failure::Address, format!("{address} {refusal}")));
        }
        let name = host.strip_suffix('.').unwrap_or(host);
        let is_local = name == "localhost" || name.ends_with(".localhost");
        if is_resolved_elsewhere && is_local && !self.allows_private {
            return Err((Failure::Address, format!("{host} is the proxy's own machine")));
        }
        Ok(())
    }

    /// Why an address is refused; `None` if it may be connected to. Denied networks override allowed ones.
    pub(super) fn refusal(&self, address: IpAddr) -> Option<&'static str> {
        let is_in = |networks: &[Network], address| networks.iter().any(|network| network.contains(address));
        if !self.denied.is_empty() && reached_by(address).any(|reached| is_in(&self.denied, reached)) {
            return Some(DENIED);
        }
        let is_allowed = self.allows_private || is_global(address) || is_in(&self.allowed, address);
        (!is_allowed).then_some("is not public")
    }
}

/// An address, and the other addresses that a connection to it may reach. An IPv6 address that carries an IPv4 address reaches the latter.
/// The unspecified address reaches loopback: Linux connects `0.0.0.0` with 127.0.0.1 and `::` with `::1`, and other systems may take
/// 127.0.0.1 for `::` too.
fn reached_by(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    let carried = match address {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(address) => carried_by(address),
    };
    let loopback: &[IpAddr] = match (address, carried) {
        (_, Some(Ipv4Addr::UNSPECIFIED)) => &[IpAddr::V4(Ipv4Addr::LOCALHOST)],
        (IpAddr::V6(Ipv6Addr::UNSPECIFIED), _) => &[IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::LOCALHOST)],
        _ => &[],
    };
    std::iter::once(address).chain(carried.map(IpAddr::V4)).chain(loopback.iter().copied())
}

/// Whether an address belongs to the public internet. By IANA's special-purpose registries (RFC 6890 and its updates), such an address is
/// not private, shared, loopback, link-local, for documentation or benchmarks, multicast or reserved. An IPv6 address that carries an IPv4
/// address (mapped, 6to4, NAT64) is judged by the latter. Teredo and the deprecated forms are refused.
fn is_global(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_global_v4(address),
        IpAddr::V6(address) => is_global_v6(address),
    }
}

fn is_global_v4(address: Ipv4Addr) -> bool {
    match address.octets() {
        // "This network", private, loopback; then multicast, reserved and broadcast.
        [0 | 10 | 127 | 224.., ..] => false,
        // Shared by carriers (RFC 6598).
        [100, second, ..] => second & 0xc0 != 64,
        [172, second, ..] => second & 0xf0 != 16,
        // Link-local and private; IETF protocols, documentation (RFC 5737), the former 6to4 relays; benchmarks (RFC 2544).
        octets => !matches!(
            octets,
            [169, 254, ..]
                | [192, 168, ..]
                | [192, 0, 0 | 2, _]
                | [192, 88, 99, _]
                | [198, 18 | 19, ..]
                | [198, 51, 100, _]
                | [203, 0, 113, _]
        ),
    }
}

fn is_global_v6(address: Ipv6Addr) -> bool {
    if let Some(carried) = carried_by(address) {
        return is_global_v4(carried);
    }
    match address.segments() {
        // IETF protocols (Teredo, benchmarks, ORCHID), documentation (RFC 3849, RFC 9637).
        [0x2001, second, ..] => second >= 0x200 && second != 0xdb8,
        [0x3fff, second, ..] => second >= 0x1000,
        // Nothing else is assigned as global unicast (RFC 4291).
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

/// The IPv4 address that an IPv6 address leads to.
fn carried_by(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        // Mapped, NAT64 (RFC 6052), 6to4.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
        }
        _ => None,
    }
}

/// Whether a port belongs to another protocol, by the Fetch standard's list of bad ports. Its server could read an HTTP request as
/// commands.
fn is_bad_port(port: u16) -> bool {
    BAD_PORTS.binary_search(&port).is_ok()
}

/// <https://fetch.spec.whatwg.org/#port-blocking>, ascending.
const BAD_PORTS: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531,
    532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060,
    5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_public_internet_is_global() {
        // Both ends of each block, and its neighbors outside.
        let refused = "0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 100.100.100.200 127.0.0.1 \
            127.255.255.255 169.254.0.0 169.254.169.254 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.255 \
            192.0.2.0 192.0.2.255 192.88.99.0 192.168.0.0 192.168.255.255 198.18.0.0 198.19.255.255 198.51.100.7 203.0.113.7 \
            224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 \
            :: ::1 ::2 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.1.2.3 ::ffff:169.254.169.254 64:ff9b::7f00:1 64:ff9b::a00:1 \
            64:ff9b:1::808:808 100::1 2001::1 2001:0:7f00:1:: 2001:2::1 2001:10::1 2001:1ff:ffff:: 2001:db8::1 \
            2002:7f00:1:: 2002:a00:1:: 2002:c0a8:101::1 3fff::1 3fff:fff:: 4000:: 5f00::1 fc00::1 fd00:ec2::254 fe80::1 \
            febf::1 fec0::1 ff02::1 1fff:ffff::";
        for text in refused.split_ascii_whitespace() {
            assert!(!is_global(text.parse().unwrap()), "{text} is not global");
        }
        let global = "1.0.0.0 1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 \
            169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.3.0 192.88.98.255 \
            192.88.100.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 \
            203.0.114.0 223.255.255.255 \
            ::ffff:8.8.8.8 64:ff9b::808:808 2000:: 2001:200:: 2001:db7:: 2001:db9:: 2001:4860:4860::8888 2002:808:808:: \
            2606:4700::1111 3ffe:: 3fff:1000::";
        for text in global.split_ascii_whitespace() {
            assert!(is_global(text.parse().unwrap()), "{text} is global");
        }
    }

    /// Unlike Nutch's filter, which passes only included addresses, this one passes public addresses without permission.
    #[test]
    fn networks_are_allowed_and_denied() {
        let networks = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let mut options = FetchOptions { allow_networks: networks(&["10.1.0.0/16", "::1"]), ..FetchOptions::default() };
        options.deny_networks = networks(&["10.1.2.0/24", "93.184.216.0/24"]);
        let verdict = |options: &FetchOptions, address: &str| Guard::new(options).refusal(address.parse().unwrap());
        for (address, refusal) in [
            ("10.1.0.1", None),
            ("::ffff:10.1.0.1", None),
            ("::1", None),
            ("8.8.8.8", None),
            ("10.2.0.1", Some("is not public")),
            ("127.0.0.1", Some("is not public")),
            ("10.1.2.3", Some("is denied by fetch.deny_networks")),
            ("93.184.216.34", Some("is denied by fetch.deny_networks")),
            ("::ffff:93.184.216.34", Some("is denied by fetch.deny_networks")),
        ] {
            assert_eq!(verdict(&options, address), refusal, "{address}");
        }
        options.allow_private_addresses = true;
        assert_eq!(verdict(&options, "10.2.0.1"), None);
        assert!(verdict(&options, "10.1.2.3").is_some());
    }

    /// A denied address stays denied in every other form.
    #[test]
    fn what_leads_to_a_denied_address_is_denied() {
        for (denied, address, is_denied) in [
            ("127.0.0.0/8", "0.0.0.0", true),
            ("127.0.0.0/8", "::ffff:0.0.0.0", true),
            ("127.0.0.0/8", "::", true),
            ("127.0.0.2", "0.0.0.0", false),
            ("::1", "::", true),
            ("::1", "0.0.0.0", false),
            ("0.0.0.0", "0.0.0.0", true),
            ("8.8.8.8", "::ffff:8.8.8.8", true),
            ("8.8.8.8", "64:ff9b::8.8.8.8", true),
            ("8.8.8.8", "64:ff9b::8.8.4.4", false),
            ("127.0.0.0/8", "64:ff9b::0.0.0.0", true),
            ("127.0.0.0/8", "2002:7f00:1::", true),
            ("127.0.0.0/8", "2002:8000:1::", false),
            ("127.0.0.0/8", "2001:7f00:1::", false),
            ("64:ff9b::/96", "64:ff9b::8.8.8.8", true),
            ("2002::/16", "2002:808:808::1", true),
        ] {
            let denied = vec![denied.parse().unwrap()];
            let options =
                FetchOptions { allow_private_addresses: true, deny_networks: denied, ..FetchOptions::default() };
            let refusal = Guard::new(&options).refusal(address.parse().unwrap());
            assert_eq!(refusal.is_some(), is_denied, "{address} where {:?} is denied", options.deny_networks);
        }
        // Only the addresses that are named are allowed, not their other forms.
        let allowed = vec!["127.0.0.0/8".parse().unwrap()];
        let guard = Guard::new(&FetchOptions { allow_networks: allowed, ..FetchOptions::default() });
        for address in ["0.0.0.0", "::", "64:ff9b::127.0.0.1", "2002:7f00:1::"] {
            assert_eq!(guard.refusal(address.parse().unwrap()), Some("is not public"), "{address}");
        }
    }

    #[test]
    fn ports_of_other_protocols_are_bad() {
        assert!(BAD_PORTS.is_sorted());
        for port in [0, 22, 25, 53, 6000, 6667, 10080] {
            assert!(is_bad_port(port), "{port}");
        }
        for port in [80, 81, 443, 3000, 8000, 8080, 8443] {
            assert!(!is_bad_port(port), "{port}");
        }
    }
}
