//! A URL in its two forms.

use super::key::Key;
use super::wire::Wire;
use super::{Fingerprint, FingerprintKey, HostKey, host};

/// A URL in its two forms: as the page spelled it (wire), and in the one spelling that stands for all its spellings (key).
///
/// Both are printable ASCII. Only a [`Canonicalizer`](super::Canonicalizer) makes one, so it need not be checked again. It takes 56 bytes
/// and the wire text, and the key's text only if that differs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CanonicalUrl {
    wire: String,
    /// Where the wire's path starts.
    path: usize,
    key: Option<Key>,
}

impl CanonicalUrl {
    pub(super) fn new(wire: Wire, key: Option<Key>) -> Self {
        Self { wire: wire.text, path: wire.path, key }
    }

    /// What is requested: the URL as the WHATWG parser writes it, without fragment, user and
    /// password.
    pub fn wire(&self) -> &str {
        &self.wire
    }

    /// The text that all spellings of this URL share.
    pub fn key(&self) -> &str {
        self.key.as_ref().map_or(&self.wire, |key| &key.text)
    }

    /// The fingerprint of the key.
    pub fn fingerprint(&self, key: FingerprintKey) -> Fingerprint {
        key.fingerprint(self.key())
    }

    /// The text of the [`HostKey`], to look one up without making one: `https://example.org`.
    pub fn origin(&self) -> &str {
        match &self.key {
            Some(key) => &key.text[..key.path],
            None => &self.wire[..self.path],
        }
    }

    /// The unit of politeness, in the key's spelling. One allocation.
    pub fn host_key(&self) -> HostKey {
        HostKey::new(self.origin())
    }

    /// The host's name or address as the key has it: in lower case, without port or trailing dot,
    /// an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        host::host(self.origin())
    }

    /// Path and query of the wire form, which robots rules are matched against. It starts with a slash.
    pub fn path_and_query(&self) -> &str {
        &self.wire[self.path..]
    }
}
