//! How long it took to reach servers.

use serde::{Deserialize, Serialize};

use crate::crawl::latencies::Latencies;

/// How long it took to reach servers, counting those reached. A reused connection is counted once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ConnectionTimes {
    /// Lookups of names by the system.
    pub lookup: Latencies,
    /// TCP connections.
    pub connect: Latencies,
    /// TLS handshakes.
    pub tls: Latencies,
}

impl ConnectionTimes {
    pub(in crate::crawl) fn merge(&mut self, other: &Self) {
        self.lookup.merge(&other.lookup);
        self.connect.merge(&other.connect);
        self.tls.merge(&other.tls);
    }
}
