//! Identities: what stands for a request in the seen test, if that is not its URL's key.
//!
//! Two requests to one URL may differ in their method or body, and two URLs may be one request to the scraper. The scraper then gives the
//! request an identity: a digest of method, URL and body, Scrapy's request fingerprint, Crawlee's `uniqueKey`.

use super::{Fingerprint, FingerprintKey};

/// What stands for a request in the seen test, in place of its URL's key: 1 to 64 bytes of any value. If yours is longer, use its digest.
///
/// ```
/// use crawler_frontier::address::{FingerprintKey, Identity};
///
/// let key = FingerprintKey::random();
/// let identity = Identity::new("https://example.org/")?;
/// assert_ne!(identity.fingerprint(key), key.fingerprint("https://example.org/")); // It is not that URL.
/// assert!(Identity::new("").is_err() && Identity::new(&[0; 65]).is_err());
/// # Ok::<(), crawler_frontier::address::IdentityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity<'a>(&'a [u8]);

/// An [`Identity`] that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdentityBuf(Box<[u8]>);

/// An identity that is empty or too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an identity of {bytes} bytes: it must have 1 to {}; use the digest of a longer one", Identity::MOST)]
pub struct IdentityError {
    bytes: usize,
}

/// Hashed before an identity's bytes. Keys of URLs are ASCII, so none begins with this byte, and no identity is hashed as a key is.
const DOMAIN: u8 = 0xff;

impl<'a> Identity<'a> {
    /// The most bytes.
    pub const MOST: usize = 64;

    /// The identity with these bytes.
    ///
    /// # Errors
    /// If there are none, or more than [`MOST`](Self::MOST).
    pub fn new(bytes: &'a (impl AsRef<[u8]> + ?Sized)) -> Result<Self, IdentityError> {
        match bytes.as_ref() {
            bytes if (1..=Self::MOST).contains(&bytes.len()) => Ok(Self(bytes)),
            bytes => Err(IdentityError { bytes: bytes.len() }),
        }
    }

    /// Its bytes.
    pub const fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// The fingerprint, by which the seen set knows it. It differs from that of a URL or a text with the same bytes.
    pub fn fingerprint(self, key: FingerprintKey) -> Fingerprint {
        let mut hashed = [DOMAIN; 1 + Self::MOST];
        hashed[1..=self.0.len()].copy_from_slice(self.0);
        key.fingerprint_bytes(&hashed[..=self.0.len()])
    }

    /// The same, owned.
    pub fn to_buf(self) -> IdentityBuf {
        IdentityBuf(self.0.into())
    }
}

impl IdentityBuf {
    /// The same, borrowed.
    pub const fn borrow(&self) -> Identity<'_> {
        Identity(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// XXH3 of the byte FF and the identity's bytes, like `strategy_1_never_changes`.
    #[test]
    fn it_is_hashed_in_a_domain_of_its_own() {
        let key = FingerprintKey::from_u64(1);
        for text in ["a", "http://a.org/", &"x".repeat(64)] {
            let identity = Identity::new(text).unwrap();
            let prefixed = [&[0xff], text.as_bytes()].concat();
            assert_eq!(identity.fingerprint(key), key.fingerprint_bytes(&prefixed));
            assert_ne!(identity.fingerprint(key), key.fingerprint(text));
            assert_eq!(identity.to_buf().borrow(), identity);
        }
    }

    #[test]
    fn it_has_1_to_64_bytes() {
        for (length, is_one) in [(0, false), (1, true), (64, true), (65, false)] {
            assert_eq!(Identity::new(&vec![0; length]).is_ok(), is_one, "{length}");
        }
        let error = Identity::new(&[0; 65]).unwrap_err();
        assert_eq!(error.to_string(), "an identity of 65 bytes: it must have 1 to 64; use the digest of a longer one");
    }
}
