//! Files of certificates and keys, as PEM (RFC 7468).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

/// A certificate that hosts are shown, and its key. The key stands in no setting, record or log.
#[derive(Clone, Debug)]
pub(super) struct Identity(pub(super) Arc<CertifiedKey>);

impl Identity {
    /// Reads a certificate, with those that it was signed by behind it, and its key.
    ///
    /// # Errors
    /// The file, and what is wrong with it.
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
        let certified = CertifiedKey::from_der(chain, found, &ring::default_provider());
        let certified = certified.map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                format!("the key in {} is not that of the certificate in {}", key.display(), certificate.display())
            }
            error => format!("{} with {}: {error}", certificate.display(), key.display()),
        })?;
        Ok(Self(Arc::new(certified)))
    }
}

/// The certificates of these files, each of which can be a root.
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
