//! The server's token, compared in constant time; and the names of this machine, which needs no token if none is set.

use std::io;
use std::net::IpAddr;

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use base64::prelude::{BASE64_STANDARD_NO_PAD, Engine};
use http::uri::Authority;

/// A token that clients must give. Tokens are compared by their tags, so timing does not reveal where they differ.
#[derive(Debug)]
pub(crate) struct SecretToken {
    /// Drawn at the start.
    key: hmac::Key,
    token: hmac::Tag,
}

impl SecretToken {
    /// # Errors
    /// If the token is empty, or the system has no random numbers.
    pub(crate) fn new(token: &str) -> io::Result<Self> {
        if token.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the token is empty"));
        }
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map_err(|_| io::Error::other("the system has no random numbers"))?;
        let token = hmac::sign(&key, token.as_bytes());
        Ok(Self { key, token })
    }

    /// Whether this is the token.
    pub(crate) fn is(&self, given: &[u8]) -> bool {
        hmac::verify(&self.key, given, self.token.as_ref()).is_ok()
    }

    /// Whether the token is in an `Authorization` header: as `Bearer TOKEN`, or, as browsers send a login, as `Basic` with any name and the
    /// token as the password.
    pub(crate) fn is_in(&self, authorization: &str) -> bool {
        let Some((scheme, given)) = authorization.split_once(' ') else { return false };
        let given = given.trim();
        if scheme.eq_ignore_ascii_case("bearer") {
            return self.is(given.as_bytes());
        }
        // The padding may be left out.
        let pair = BASE64_STANDARD_NO_PAD.decode(given.trim_end_matches('='));
        let pair = pair.ok().filter(|_| scheme.eq_ignore_ascii_case("basic")).unwrap_or_default();
        let colon = pair.iter().position(|byte| *byte == b':');
        colon.is_some_and(|colon| self.is(&pair[colon + 1..]))
    }
}

/// Whether the name that a request asks for, with or without a port, always means this machine, whatever DNS says.
pub(crate) fn is_this_machine(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    if host.contains('@') {
        return false;
    }
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_are_told_from_others() {
        for host in ["localhost", "LocalHost:8080", "127.0.0.1:8080", "127.9.9.9", "[::1]:8080", "[::1]"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in [
            "",
            "ann@localhost",
            "192.168.0.1:8080",
            "10.0.0.1",
            "[::2]",
            "evil.example:8080",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
        ] {
            assert!(!is_this_machine(host), "{host}");
        }
    }

    #[test]
    fn the_token_is_found_in_both_schemes_and_must_be_the_one() {
        let token = SecretToken::new("open sesame").unwrap();
        for given in [
            "Bearer open sesame",
            "bearer  open sesame",
            // The example of RFC 7617: Aladdin:open sesame.
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
            "basic QWxhZGRpbjpvcGVuIHNlc2FtZQ",
        ] {
            assert!(token.is_in(given), "{given}");
        }
        for given in [
            "Bearer open sesam",
            "Bearer open sesames",
            "Basic open sesame",
            "Basic QWxhZGRpbjpvcGVuIHNlc2Ft",
            "Basic b3BlbiBzZXNhbWU=",
            "open sesame",
            "Bearer",
            "Basic",
            "",
        ] {
            assert!(!token.is_in(given), "{given}");
        }
        assert!(SecretToken::new("").is_err());
    }
}
