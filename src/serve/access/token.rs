//! The server's token, compared in constant time.

use std::io;

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;

/// A token that clients must give. Tokens are compared by their tags, so timing does not reveal where they differ.
#[derive(Debug)]
pub(in crate::serve) struct SecretToken {
    /// Drawn at the start.
    key: hmac::Key,
    token: hmac::Tag,
}

impl SecretToken {
    /// # Errors
    /// If the token is empty, or the system has no random numbers.
    pub(in crate::serve) fn new(token: &str) -> io::Result<Self> {
        if token.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the token is empty"));
        }
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map_err(|_| io::Error::other("the system has no random numbers"))?;
        let token = hmac::sign(&key, token.as_bytes());
        Ok(Self { key, token })
    }

    /// Whether this is the token.
    pub(in crate::serve) fn is(&self, given: &[u8]) -> bool {
        hmac::verify(&self.key, given, self.token.as_ref()).is_ok()
    }
}
