//! Which partition a URL is in.

use crate::address::{CanonicalUrl, FingerprintKey};
use crate::gate::domain;

/// The most partitions that a crawl may have.
pub(crate) const MOST: u32 = 1024;

/// Which part of a URL decides its partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartitionBy {
    /// Its registrable domain: all hosts of a site together.
    Domain,
    /// Its host's name: http and https together, and all ports.
    #[default]
    Host,
}

impl PartitionBy {
    /// Its name in settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Domain => "domain",
            Self::Host => "host",
        }
    }
}

/// Which partition a URL is in: the same on all machines, for as long as the crawl lasts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partitions {
    pub(crate) count: u32,
    pub(crate) by: PartitionBy,
    pub(crate) key: FingerprintKey,
}

impl Partitions {
    /// The partition of a URL.
    pub(crate) fn of(&self, url: &CanonicalUrl) -> u32 {
        let text = match self.by {
            PartitionBy::Domain => domain(url.host()),
            // http and https of a name are one server.
            PartitionBy::Host => url.host(),
        };
        let bits = self.key.fingerprint(text).bits();
        u32::try_from(bits % u64::from(self.count.max(1))).unwrap_or_default()
    }

    /// The node that should own a partition: the one whose place draws the highest number for it. So a new node takes its share from all
    /// others, and a node that leaves gives its partitions to all others (rendezvous hashing: Thaler and Ravishankar 1998). A node that
    /// returns to its place gets back the partitions it had.
    pub(crate) fn target<'a>(&self, partition: u32, nodes: impl Iterator<Item = (&'a str, u64)>) -> Option<&'a str> {
        let draw = |place: u64| self.key.fingerprint(&format!("{partition} {place}")).bits();
        nodes.max_by_key(|(node, place)| (draw(*place), *node)).map(|(node, _)| node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::{Canonicalizer, KeyRules};

    #[test]
    fn hosts_of_a_site_are_together_by_domain_and_apart_by_host() {
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        let of = |by, text: &str| {
            let partitions = Partitions { count: 64, by, key: FingerprintKey::from_u64(7) };
            partitions.of(&canonicalizer.canonicalize(text).unwrap())
        };
        let pages = |by| [1, 2, 3, 4, 5].map(|host| of(by, &format!("https://www{host}.example.co.uk/{host}")));
        assert_eq!(pages(PartitionBy::Domain), [of(PartitionBy::Domain, "http://example.co.uk/"); 5]);
        let apart = pages(PartitionBy::Host);
        assert!(apart.iter().any(|partition| *partition != apart[0]));
        let ports = ["http://a.test/b", "http://a.test/c?d", "https://a.test/", "https://a.test:8443/"];
        assert_eq!(ports.map(|port| of(PartitionBy::Host, port)), [of(PartitionBy::Host, ports[0]); 4]);
    }

    #[test]
    fn a_node_that_goes_moves_its_partitions_alone() {
        let partitions = Partitions { count: 1000, by: PartitionBy::Host, key: FingerprintKey::from_u64(7) };
        let nodes = [("a", 1), ("b", 2), ("c", 3), ("d", 4)];
        let all: Vec<_> = (0..1000).map(|partition| partitions.target(partition, nodes.into_iter()).unwrap()).collect();
        for (node, _) in nodes {
            let owned = all.iter().filter(|owner| **owner == node).count();
            assert!((200..300).contains(&owned), "{owned}");
        }
        for (partition, owner) in (0..).zip(&all) {
            let without = partitions.target(partition, nodes.into_iter().filter(|(node, _)| *node != "b")).unwrap();
            assert!(without == *owner || *owner == "b");
        }
        assert_eq!(partitions.target(1, std::iter::empty()), None);
        let again = nodes.map(|(node, place)| (if node == "b" { "e" } else { node }, place));
        for (partition, owner) in (0..).zip(&all) {
            let owner = if *owner == "b" { "e" } else { owner };
            assert_eq!(partitions.target(partition, again.into_iter()), Some(owner), "b came back to its place");
        }
    }
}
