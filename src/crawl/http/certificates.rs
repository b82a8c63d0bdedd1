//! Certificates: client certificates and roots, read from PEM files (RFC 7468); how servers' certificates are verified; and the
//! cryptography of all connections.
//!
//! # Hosts whose names rustls does not accept
//!
//! Some sites under a wildcard have a first label that is not valid in a host name: `-a.blog.example`, `a-.blog.example` (RFC 1123 section
//! 2.1). No authority certifies such a name, so a certificate can be valid for it only by a wildcard, and a wildcard that fits
//! `-a.blog.example` fits every label before `.blog.example`. So the certificate is verified for a random label that is never sent, which
//! no certificate can name. The server name in the TLS `ClientHello`, by which the server chooses its certificate, has another random
//! label. The HTTP request names the host itself. A server that does not accept two names on one connection answers 421 (RFC 9110 section
//! 15.5.20).

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(feature = "cluster")]
use std::sync::Mutex;

#[cfg(feature = "cluster")]
use rustls::client::ResolvesClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, CipherSuite, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme};

#[cfg(feature = "cluster")]
use crate::crawl::lock::lock;

/// A client certificate and its key. The key appears in no setting, record or log.
#[derive(Clone, Debug)]
pub(super) struct ClientIdentity(pub(super) Arc<CertifiedKey>);

impl ClientIdentity {
    /// Reads a certificate, followed by its issuers, and its key.
    ///
    /// # Errors
    /// Names the file and what is wrong with it.
    pub(super) fn read(certificate: &Path, key: &Path) -> Result<Self, String> {
        let chain = certificates(certificate)?;
        let key_pem = read(key)?;
        let found = PrivateKeyDer::from_pem_slice(&key_pem).map_err(|error| match error {
            pem::Error::NoItemsFound if is_encrypted(&key_pem) => {
                format!(
                    "{}: the key in it is encrypted: use one that is not, in a file that only you can read",
                    key.display()
                )
            }
            pem::Error::NoItemsFound => format!("{}: no private key in it", key.display()),
            error => format!("{}: {error}", key.display()),
        })?;
        let certified = CertifiedKey::from_der(chain, found, &provider());
        let certified = certified.map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                format!("the key in {} is not that of the certificate in {}", key.display(), certificate.display())
            }
            error => format!("{} with {}: {error}", certificate.display(), key.display()),
        })?;
        Ok(Self(Arc::new(certified)))
    }
}

/// A client certificate whose files are read again for each handshake, since they may have been renewed.
#[cfg(feature = "cluster")]
#[derive(Debug)]
pub(super) struct Renewed {
    certificate: PathBuf,
    key: PathBuf,
    /// The pair that was read last. It is used again if the files cannot be read.
    last: Mutex<Arc<CertifiedKey>>,
}

#[cfg(feature = "cluster")]
impl Renewed {
    /// # Errors
    /// As [`ClientIdentity::read`].
    pub(super) fn read(certificate: &Path, key: &Path) -> Result<Self, String> {
        let ClientIdentity(last) = ClientIdentity::read(certificate, key)?;
        Ok(Self { certificate: certificate.to_owned(), key: key.to_owned(), last: Mutex::new(last) })
    }
}

#[cfg(feature = "cluster")]
impl ResolvesClientCert for Renewed {
    fn resolve(&self, _authorities: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let mut last = lock(&self.last);
        match ClientIdentity::read(&self.certificate, &self.key) {
            Ok(ClientIdentity(read)) => *last = read,
            Err(reason) => {
                tracing::warn!(%reason, "the client certificate cannot be read again: the one read before is used");
            }
        }
        Some(Arc::clone(&last))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

/// The certificates in these files. Each must be usable as a root.
pub(super) fn roots(files: &[PathBuf]) -> Result<Vec<CertificateDer<'static>>, String> {
    let mut roots = Vec::new();
    for file in files {
        for certificate in certificates(file)? {
            let added = RootCertStore::empty().add(certificate.clone());
            added.map_err(|error| format!("{}: a certificate in it is invalid: {error}", file.display()))?;
            roots.push(certificate);
        }
    }
    Ok(roots)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let bytes = read(file)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let found = found.map_err(|error| format!("{}: {error}", file.display()))?;
    if found.is_empty() { Err(format!("{}: no PEM certificate in it", file.display())) } else { Ok(found) }
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("{}: {error}", file.display()))
}

fn is_encrypted(key: &[u8]) -> bool {
    String::from_utf8_lossy(key).contains("ENCRYPTED")
}

/// The cipher suites that are offered first, so that most servers choose them. They derive keys with SHA-256, for which processors have
/// instructions: a handshake takes 25 microseconds less than with the AES-256 suites.
const PREFERRED: [CipherSuite; 3] = [
    CipherSuite::TLS13_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
];

/// The cryptography of all our connections. It does not depend on the rustls features that an embedder enables: `prefer-post-quantum` would
/// add a kilobyte to each `ClientHello`. `src/design.rs` has the reasons.
pub(super) fn provider() -> CryptoProvider {
    use aws_lc_rs::kx_group::{SECP256R1, SECP384R1, X25519};
    let mut provider =
        CryptoProvider { kx_groups: vec![X25519, SECP256R1, SECP384R1], ..aws_lc_rs::default_provider() };
    // The sort is stable.
    provider.cipher_suites.sort_by_key(|suite| !PREFERRED.contains(&suite.suite()));
    provider
}

/// Accepts every certificate, or none. Where it accepts, anyone on the network path may read and change what is sent.
#[derive(Debug)]
pub(super) struct Unverified {
    provider: Arc<CryptoProvider>,
    accepts: bool,
}

impl Unverified {
    pub(super) fn all(provider: &Arc<CryptoProvider>) -> Self {
        Self { provider: Arc::clone(provider), accepts: true }
    }

    /// Refuses every certificate, since nothing is known to verify it by.
    pub(super) fn none(provider: &Arc<CryptoProvider>) -> Self {
        Self { provider: Arc::clone(provider), accepts: false }
    }
}

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.accepts {
            return Ok(ServerCertVerified::assertion());
        }
        Err(Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(NoRoots)))))
    }

    /// A signature by a certificate that anyone may have made proves nothing, so it is not checked.
    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// A name that no TLS connection can be made to.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "no certificate can be for this name: after its first dot, a label begins or ends with a hyphen or has an invalid character"
)]
pub(super) struct InvalidTlsName;

/// The message of a machine without certificates of authorities. It says what to do.
pub(crate) const NO_ROOTS: &str =
    "this machine has no certificates of authorities: install Debian's ca-certificates, or name a file by --ca-file";

/// The reason why each certificate is refused on a machine without certificates of authorities.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{NO_ROOTS}")]
pub(super) struct NoRoots;

/// A certificate without a wildcard for the name.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "only a wildcard certificate can be valid for a name that begins like this, and this one has no wildcard that fits"
)]
pub(super) struct NoWildcard;

/// The server name for the `ClientHello`, instead of `host`.
pub(super) fn hello_name(host: &str) -> Result<ServerName<'static>, Box<dyn std::error::Error + Send + Sync>> {
    Ok(with_first_label(host, &random_label()?).ok_or(InvalidTlsName)?)
}

fn with_first_label(name: &str, label: &str) -> Option<ServerName<'static>> {
    let (_, below) = name.split_once('.')?;
    ServerName::try_from(format!("{label}.{below}")).ok()
}

/// A random label, drawn only when needed: the first random number of a process takes aws-lc 30 ms.
fn random_label() -> Result<String, Error> {
    let mut drawn = [0; 16];
    provider().secure_random.fill(&mut drawn)?;
    Ok(drawn.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// Accepts a certificate only for its wildcard. It is verified for a label other than the one in the `ClientHello`: a server that has read
/// that label could present a certificate for it.
#[derive(Debug)]
pub(super) struct ByWildcard(pub(super) Arc<dyn ServerCertVerifier>);

impl ServerCertVerifier for ByWildcard {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        use CertificateError::{NotValidForName, NotValidForNameContext, Other};
        let none = || Error::InvalidCertificate(Other(OtherError(Arc::new(NoWildcard))));
        let name = with_first_label(&server_name.to_str(), &random_label()?).ok_or_else(none)?;
        let verified = self.0.verify_server_cert(end_entity, intermediates, &name, ocsp_response, now);
        verified.map_err(|error| match error {
            // The library's error names the random label.
            Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }) => none(),
            error => error,
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::crawl::lock::lock;

    /// Accepts every certificate, and records the name.
    #[derive(Debug, Default)]
    struct Recorder(Mutex<Vec<String>>);

    impl ServerCertVerifier for Recorder {
        fn verify_server_cert(
            &self,
            _end_entity: &CertificateDer<'_>,
            _intermediates: &[CertificateDer<'_>],
            server_name: &ServerName<'_>,
            _ocsp_response: &[u8],
            _now: UnixTime,
        ) -> Result<ServerCertVerified, Error> {
            lock(&self.0).push(server_name.to_str().into_owned());
            Ok(ServerCertVerified::assertion())
        }

        fn verify_tls12_signature(
            &self,
            _message: &[u8],
            _cert: &CertificateDer<'_>,
            _dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Err(Error::General("not asked for".to_owned()))
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.verify_tls12_signature(message, cert, dss)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            Vec::new()
        }
    }

    #[test]
    fn a_certificate_is_verified_for_a_name_that_was_never_sent() {
        let greeted = hello_name("-a.blog.example").unwrap();
        let recorder = Arc::new(Recorder::default());
        let by_wildcard = ByWildcard(Arc::clone(&recorder) as Arc<_>);
        let certificate = CertificateDer::from_slice(b"");
        by_wildcard.verify_server_cert(&certificate, &[], &greeted, &[], UnixTime::now()).unwrap();
        let verified = lock(&recorder.0).pop().unwrap();
        for name in [&*greeted.to_str(), &verified] {
            let (label, below) = name.split_once('.').unwrap();
            assert!(label.len() == 32 && below == "blog.example", "{name}");
        }
        assert_ne!(greeted.to_str(), verified);
        assert_ne!(hello_name("-a.blog.example").unwrap(), greeted);
        for name in ["-a", "a.-b.example", "-a.b-.example"] {
            assert!(hello_name(name).is_err(), "{name}");
        }
    }
}
