//! TLS as the client speaks it.

use std::error::Error;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{CipherSuite, ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::read_ahead::ReadAhead;
use super::transport::Transport;
use super::verified_chains::VerifiedChains;

/// Hosts whose sessions are kept, so that the next connection is spared the certificates and their signatures. A session has the
/// host's certificates, and takes about 6 kB with them.
const HOSTS: usize = 4096;
/// rustls counts sessions, and takes it that each host has eight.
const SESSIONS: usize = 8 * HOSTS;

/// The first suites of each kind that are offered, and so those that most servers choose: their keys are made with SHA-256, which
/// processors compute by themselves. A handshake takes 12 microseconds less than with the suites of AES-256.
const PREFERRED: [CipherSuite; 3] = [
    CipherSuite::TLS13_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
];

/// TLS as the client speaks it. Cheap to clone; clones share sessions and verified chains.
#[derive(Clone)]
pub(super) struct Tls {
    http1: TlsConnector,
    /// Offers HTTP/2 too.
    http2: TlsConnector,
}

impl Tls {
    /// # Errors
    /// Where TLS cannot be set up.
    pub(super) fn new() -> Result<Self, Box<dyn Error + Send + Sync>> {
        let http1 = config()?;
        let mut http2 = http1.clone();
        http2.alpn_protocols.insert(0, b"h2".to_vec());
        Ok(Self { http1: Arc::new(http1).into(), http2: Arc::new(http2).into() })
    }

    /// Shakes hands with a host.
    pub(super) async fn connect(
        &self,
        tcp: TcpStream,
        host: &str,
        offers_http2: bool,
    ) -> Result<Transport, Box<dyn Error + Send + Sync>> {
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())?;
        let connector = if offers_http2 { &self.http2 } else { &self.http1 };
        let stream = connector.connect(name, ReadAhead::of(tcp)).await?;
        Ok(Transport::Tls(Box::new(stream)))
    }
}

/// TLS 1.2 and 1.3 with the system's certificates, for HTTP/1.1. The cryptography is chosen here, so nothing is installed for the whole
/// process. On a system without certificates each handshake fails, and http works.
fn config() -> Result<ClientConfig, Box<dyn Error + Send + Sync>> {
    let mut provider = ring::default_provider();
    // The sort is stable.
    provider.cipher_suites.sort_by_key(|suite| !PREFERRED.contains(&suite.suite()));
    let provider = Arc::new(provider);
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
