//! Files of certificates and keys, as PEM (RFC 7468).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(feature = "cluster")]
use std::sync::Mutex;

use rustls::RootCertStore;
#[cfg(feature = "cluster")]
use rustls::SignatureScheme;
#[cfg(feature = "cluster")]
use rustls::client::ResolvesClientCert;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::cryptography::provider;
#[cfg(feature = "cluster")]
use crate::crawl::lock::lock;

/// A certificate that hosts are shown, and its key. The key appears in no setting, record or log.
#[derive(Clone, Debug)]
pub(super) struct Identity(pub(super) Arc<CertifiedKey>);

impl Identity {
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
                    "{}: the key in it is encrypted: keep one that is not, where only you can read it",
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

/// Our certificate and its key, which may be renewed while a connection is open.
#[cfg(feature = "cluster")]
#[derive(Debug)]
pub(super) struct Renewed {
    certificate: PathBuf,
    key: PathBuf,
    /// The pair that was read last: used again when the files cannot be read.
    last: Mutex<Arc<CertifiedKey>>,
}

#[cfg(feature = "cluster")]
impl Renewed {
    /// # Errors
    /// As [`Identity::read`].
    pub(super) fn read(certificate: &Path, key: &Path) -> Result<Self, String> {
        let Identity(last) = Identity::read(certificate, key)?;
        Ok(Self { certificate: certificate.to_owned(), key: key.to_owned(), last: Mutex::new(last) })
    }
}

#[cfg(feature = "cluster")]
impl ResolvesClientCert for Renewed {
    fn resolve(&self, _authorities: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let mut last = lock(&self.last);
        match Identity::read(&self.certificate, &self.key) {
            Ok(Identity(read)) => *last = read,
            Err(reason) => tracing::warn!(%reason, "the certificate that was read before is shown"),
        }
        Some(Arc::clone(&last))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

/// The certificates in these files; each must be usable as a root.
pub(super) fn roots(files: &[PathBuf]) -> Result<Vec<CertificateDer<'static>>, String> {
    let mut roots = Vec::new();
    for file in files {
        for certificate in certificates(file)? {
            let added = RootCertStore::empty().add(certificate.clone());
            added.map_err(|error| format!("{}: a certificate in it is none: {error}", file.display()))?;
            roots.push(certificate);
        }
    }
    Ok(roots)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let bytes = read(file)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let found = found.map_err(|error| format!("{}: {error}", file.display()))?;
    if found.is_empty() { Err(format!("{}: no certificate in it, as PEM", file.display())) } else { Ok(found) }
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("{}: {error}", file.display()))
}

fn is_encrypted(key: &[u8]) -> bool {
    String::from_utf8_lossy(key).contains("ENCRYPTED")
}
