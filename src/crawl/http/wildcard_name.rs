//! Hosts whose names rustls does not accept.
//!
//! Some sites under a wildcard have a first label that is not valid in a host name: `-a.blog.example`, `a-.blog.example` (RFC 1123 section
//! 2.1). No authority certifies such a name, so only a wildcard makes a certificate valid for it: a wildcard that fits `-a.blog.example`
//! fits every label before `.blog.example`. So the certificate is verified for a random label that is never sent: no certificate can name
//! it. The greeting has another random label, by which the server finds its certificate, and the request names the host itself. A server
//! that does not accept both on one connection answers 421 (RFC 9110 section 15.5.20).

use std::fmt::Write;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};

use super::cryptography::provider;

/// A name that no TLS connection can be made to.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "no certificate can be for this name: after its first dot, a label begins or ends with a hyphen or has a strange character"
)]
pub(super) struct Unspeakable;

/// A certificate without a wildcard for the name.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("only a wildcard is good for a name that begins like this, and the certificate has none that fits")]
pub(super) struct NoWildcard;

/// The name that a server is greeted by instead of `host`.
pub(super) fn greeting(host: &str) -> Result<ServerName<'static>, Box<dyn std::error::Error + Send + Sync>> {
    Ok(with_first_label(host, &drawn_label()?).ok_or(Unspeakable)?)
}

fn with_first_label(name: &str, label: &str) -> Option<ServerName<'static>> {
    let (_, below) = name.split_once('.')?;
    ServerName::try_from(format!("{label}.{below}")).ok()
}

/// A random label, drawn only when needed: the first random number of a process takes aws-lc 30 ms.
fn drawn_label() -> Result<String, Error> {
    let mut drawn = [0; 16];
    provider().secure_random.fill(&mut drawn)?;
    Ok(drawn.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// Accepts a certificate only for its wildcard. It is verified for a label other than the one in the greeting: a server that has read the
/// greeting could show a certificate for that label.
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
        let name = with_first_label(&server_name.to_str(), &drawn_label()?).ok_or_else(none)?;
        let verified = self.0.verify_server_cert(end_entity, intermediates, &name, ocsp_response, now);
        verified.map_err(|error| match error {
            // The library's error names the drawn label.
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
    struct Noting(Mutex<Vec<String>>);

    impl ServerCertVerifier for Noting {
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
        let greeted = greeting("-a.blog.example").unwrap();
        let noting = Arc::new(Noting::default());
        let by_wildcard = ByWildcard(Arc::clone(&noting) as Arc<_>);
        let certificate = CertificateDer::from_slice(b"");
        by_wildcard.verify_server_cert(&certificate, &[], &greeted, &[], UnixTime::now()).unwrap();
        let verified = lock(&noting.0).pop().unwrap();
        for name in [&*greeted.to_str(), &verified] {
            let (label, below) = name.split_once('.').unwrap();
            assert!(label.len() == 32 && below == "blog.example", "{name}");
        }
        assert_ne!(greeted.to_str(), verified);
        assert_ne!(greeting("-a.blog.example").unwrap(), greeted);
        for name in ["-a", "a.-b.example", "-a.b-.example"] {
            assert!(greeting(name).is_err(), "{name}");
        }
    }
}
