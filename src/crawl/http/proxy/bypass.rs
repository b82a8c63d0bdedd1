//! Hosts that are reached without a proxy.

use std::net::IpAddr;

use crate::crawl::http::network::Network;

/// Hosts that are reached without a proxy, as curl reads `no_proxy`: `example.org` and `.example.org` mean the host and all its subdomains,
/// `*` means every host, and addresses or blocks of them mean hosts that are addresses.
#[derive(Clone, Debug, Default)]
pub(super) struct Bypass {
    every: bool,
    /// In lower case, without dots at either end.
    names: Vec<String>,
    networks: Vec<Network>,
}

impl Bypass {
    /// Reads a list, or says which entry is not a host.
    pub(super) fn of<'a>(list: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut bypass = Self::default();
        for text in list.into_iter().map(str::trim).filter(|text| !text.is_empty()) {
            if text == "*" {
                bypass.every = true;
            } else if let Ok(network) = text.trim_matches(['[', ']']).parse() {
                bypass.networks.push(network);
            } else {
                let name = text.strip_prefix('*').unwrap_or(text).trim_matches('.').to_ascii_lowercase();
                if name.is_empty() || name.contains([':', '/', '@', '*', ' ', '[', ']']) {
                    return Err(format!("{text:?} is no host, domain, address or block of addresses"));
                }
                bypass.names.push(name);
            }
        }
        Ok(bypass)
    }

    /// Whether this host is reached without a proxy. O(entries).
    pub(super) fn has(&self, host: &str) -> bool {
        if self.every {
            return true;
        }
        if let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
            return self.networks.iter().any(|network| network.contains(address));
        }
        let host = host.strip_suffix('.').unwrap_or(host);
        self.names.iter().any(|name| {
            let above = host.strip_suffix(name.as_str());
            above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_what_is_below_it_too() {
        let bypass = Bypass::of(["a.test", ".B.test", "*.c.test.", " 10.0.0.0/8", "::1", ""]).unwrap();
        for host in ["a.test", "x.a.test", "b.test", "x.b.test", "c.test", "a.test.", "10.1.2.3", "[::1]"] {
            assert!(bypass.has(host), "{host}");
        }
        for host in ["xa.test", "test", "a.test.x", "11.0.0.1", "[::2]", "x10.0.0.1.test"] {
            assert!(!bypass.has(host), "{host}");
        }
        assert!(Bypass::of(["*"]).unwrap().has("any.test"));
        assert!(!Bypass::default().has("any.test"));
        for text in ["http://a.test", "a.test:80", "a b", ".", "a@b"] {
            assert!(Bypass::of([text]).is_err(), "{text}");
        }
    }
}
