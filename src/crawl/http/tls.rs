//! TLS as the client speaks it.

use std::error::Error;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use super::verified_chains::VerifiedChains;

/// Hosts whose sessions are kept, so that the next connection is spared the certificates and their signatures. A session has the
/// host's certificates, and takes about 6 kB with them.
const HOSTS: usize = 4096;
/// rustls counts sessions, and takes it that each host has eight.
const SESSIONS: usize = 8 * HOSTS;

/// TLS 1.2 and 1.3 with the system's certificates, for HTTP/1.1. The cryptography is chosen here, so nothing is installed for the whole
/// process. On a system without certificates each handshake fails, and http works.
pub(super) fn config() -> Result<ClientConfig, Box<dyn Error + Send + Sync>> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let mut config = match Verifier::new(provider) {
        Ok(verifier) => {
            let verifier = Arc::new(VerifiedChains::by(verifier));
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
        Err(error) => {
            tracing::warn!(%error, "https will fail");
            builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth()
        }
    };
    config.resumption = Resumption::in_memory_sessions(SESSIONS);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Whether an error is one of TLS.
pub(super) fn is_tls(error: &(dyn Error + 'static)) -> bool {
    error.is::<rustls::Error>()
}
