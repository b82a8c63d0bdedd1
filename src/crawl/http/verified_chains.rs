//! Certificates that were verified already.

use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use ahash::AHashMap;
use ring::digest::{Context, Digest, SHA256};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

use crate::crawl::lock::lock;

/// For so long a chain need not be verified again. A certificate that runs out meanwhile is good for so much longer.
const LASTS: Duration = Duration::from_secs(3600);
/// Chains that are remembered, at most.
const MOST: usize = 16_384;

/// Verifies a chain of certificates once for each name that shows it. In each handshake the server still proves that the certificate is
/// its own.
pub(super) struct VerifiedChains<V> {
    verifier: V,
    /// When each was verified, by the digest of its name and certificates.
    chains: Mutex<AHashMap<[u8; 32], UnixTime>>,
}

impl<V> VerifiedChains<V> {
    pub(super) fn by(verifier: V) -> Self {
        Self { verifier, chains: Mutex::default() }
    }

    fn has(&self, chain: &Digest, now: UnixTime) -> bool {
        let chains = lock(&self.chains);
        chains.get(chain.as_ref()).is_some_and(|at| now.as_secs().saturating_sub(at.as_secs()) < LASTS.as_secs())
    }

    fn add(&self, chain: &Digest, now: UnixTime) {
        let mut chains = lock(&self.chains);
        if chains.len() >= MOST {
            chains.clear();
        }
        if let Ok(digest) = chain.as_ref().try_into() {
            chains.insert(digest, now);
        }
    }
}

impl<V> fmt::Debug for VerifiedChains<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedChains").field("chains", &lock(&self.chains).len()).finish_non_exhaustive()
    }
}

impl<V: ServerCertVerifier> ServerCertVerifier for VerifiedChains<V> {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let chain = digest(end_entity, intermediates, server_name);
        if self.has(&chain, now) {
            return Ok(ServerCertVerified::assertion());
        }
        let verified = self.verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)?;
        self.add(&chain, now);
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

/// The digest of a name and its certificates, each behind its length.
fn digest(end_entity: &CertificateDer<'_>, intermediates: &[CertificateDer<'_>], name: &ServerName<'_>) -> Digest {
    let mut digest = Context::new(&SHA256);
    let name = name.to_str();
    let parts = [name.as_bytes(), end_entity].into_iter().chain(intermediates.iter().map(|part| &**part));
    for part in parts {
        digest.update(&(part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Takes every certificate but an empty one, and counts.
    #[derive(Debug, Default)]
    struct Counting(AtomicUsize);

    impl ServerCertVerifier for Counting {
        fn verify_server_cert(
            &self,
            end_entity: &CertificateDer<'_>,
            _intermediates: &[CertificateDer<'_>],
            _server_name: &ServerName<'_>,
            _ocsp_response: &[u8],
            _now: UnixTime,
        ) -> Result<ServerCertVerified, Error> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let is_good = !end_entity.is_empty();
            is_good.then(ServerCertVerified::assertion).ok_or(Error::General("empty".to_owned()))
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
    fn a_chain_is_verified_once_for_each_name_and_again_after_its_time() {
        let verified = VerifiedChains::by(Counting::default());
        let show = |certificates: [&[u8]; 2], name: &'static str, seconds: u64| {
            let [first, second] = certificates.map(CertificateDer::from);
            let (name, now) =
                (ServerName::try_from(name).unwrap(), UnixTime::since_unix_epoch(Duration::from_secs(seconds)));
            let is_good = verified.verify_server_cert(&first, &[second], &name, &[], now).is_ok();
            (is_good, verified.verifier.0.load(Ordering::Relaxed))
        };
        assert_eq!(show([b"ab", b"c"], "a.test", 0), (true, 1));
        assert_eq!(show([b"ab", b"c"], "a.test", 3599), (true, 1));
        assert_eq!(show([b"ab", b"c"], "b.test", 0), (true, 2), "another name");
        assert_eq!(show([b"a", b"bc"], "a.test", 0), (true, 3), "other certificates of the same bytes");
        assert_eq!(show([b"ab", b"c"], "a.test", 3600), (true, 4));
        assert_eq!(show([b"", b"c"], "a.test", 0), (false, 5));
        assert_eq!(show([b"", b"c"], "a.test", 0), (false, 6), "what is no good is not remembered");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let verified = VerifiedChains::by(Counting::default());
        let name = ServerName::try_from("a.test").unwrap();
        for number in 0..MOST as u64 + 2 {
            let certificate = CertificateDer::from(number.to_le_bytes().to_vec());
            verified.verify_server_cert(&certificate, &[], &name, &[], UnixTime::since_unix_epoch(LASTS)).unwrap();
        }
        assert!(lock(&verified.chains).len() <= MOST);
    }
}
