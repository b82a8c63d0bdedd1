//! TLS: the server's certificate, and the handshake.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A certificate with its chain and key, for TLS 1.2 and 1.3.
#[derive(Clone)]
pub struct Certificate(TlsAcceptor);

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Certificate")
    }
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", .path.display())]
pub struct CertificateError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

impl Certificate {
    /// Reads PEM files: the certificate, followed by its chain, and its key.
    ///
    /// # Errors
    /// If they cannot be read, or do not fit together.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, CertificateError> {
        let wrong = |path: &Path, reason: String| CertificateError { path: path.to_owned(), reason };
        let chain: Vec<_> = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect)
            .map_err(|error| wrong(certificate, error.to_string()))?;
        if chain.is_empty() {
            return Err(wrong(certificate, "has no certificate".to_owned()));
        }
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, error.to_string()))?;
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret));
        let mut config = config.map_err(|error| wrong(certificate, error.to_string()))?;
        config.alpn_protocols = [&b"h2"[..], b"http/1.1"].map(<[u8]>::to_vec).into();
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    pub(in crate::serve) async fn accept<T: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: T,
    ) -> io::Result<TlsStream<T>> {
        self.0.accept(stream).await
    }
}
