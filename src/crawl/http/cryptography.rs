//! The cryptography of all connections.

use rustls::CipherSuite;
use rustls::crypto::{CryptoProvider, aws_lc_rs};

/// The suites that are offered first in each kind, so that most servers choose them. They derive keys with SHA-256, which processors have
/// instructions for: a handshake takes 25 microseconds less than with the AES-256 suites.
const PREFERRED: [CipherSuite; 3] = [
    CipherSuite::TLS13_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
];

/// The cryptography of all our connections. It does not depend on the rustls features that an embedder enables: `prefer-post-quantum` would
/// add a kilobyte to each greeting. `src/design.rs` has the figures.
pub(super) fn provider() -> CryptoProvider {
    use aws_lc_rs::kx_group::{SECP256R1, SECP384R1, X25519};
    let mut provider =
        CryptoProvider { kx_groups: vec![X25519, SECP256R1, SECP384R1], ..aws_lc_rs::default_provider() };
    // The sort is stable.
    provider.cipher_suites.sort_by_key(|suite| !PREFERRED.contains(&suite.suite()));
    provider
}
