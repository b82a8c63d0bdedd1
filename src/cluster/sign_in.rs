//! The servers of a cluster, and our credentials for them.

use std::fmt;
use std::path::PathBuf;

use crate::crawl::Secret;

/// The servers of a cluster, and our credentials for them.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    /// Their addresses: `nats://host:port`, or `tls://` where TLS is a must.
    pub addresses: Vec<String>,
    /// Our credentials. They are read when a connection is made.
    pub sign_in: Option<Secret>,
    /// Certificates that are trusted for servers besides the system's, as PEM.
    pub ca_file: Option<PathBuf>,
    /// Our certificate and its key, as PEM.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// Our credentials for the servers.
#[derive(PartialEq, Eq)]
pub(crate) enum ServerCredentials {
    /// A seed, from which the key follows.
    Nkey(String),
    /// A file of credentials, as `nsc` writes it.
    Signed(String),
    Token(String),
    UserAndPassword(String, String),
}

impl ServerCredentials {
    /// Tells the kind of a secret by its form: a credentials file, a seed of a user's key, `user:password`, or else a token.
    fn of(text: String) -> Self {
        let is_seed = text.len() == 58
            && text.starts_with("SU")
            && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
        if text.contains("-----BEGIN NATS USER JWT-----") {
            return Self::Signed(text);
        }
        if is_seed {
            return Self::Nkey(text);
        }
        match text.split_once(':') {
            Some((user, password)) => Self::UserAndPassword(user.to_owned(), password.to_owned()),
            None => Self::Token(text),
        }
    }
}

impl Servers {
    /// Our credentials; `None` if the servers need none.
    pub(crate) fn read(&self) -> Result<Option<ServerCredentials>, String> {
        self.sign_in.as_ref().map(|secret| secret.read().map(ServerCredentials::of)).transpose()
    }

    /// Refuses an address that is malformed or has a secret in it: addresses are shown and kept.
    ///
    /// # Errors
    /// What is wrong. It names no secret.
    pub fn check(&self) -> Result<(), String> {
        if self.addresses.is_empty() {
            return Err("names no server".to_owned());
        }
        for address in &self.addresses {
            let (scheme, rest) = address.split_once("://").unwrap_or(("nats", address));
            if rest.contains('@') {
                return Err("has a user or a token in an address; put it where cluster.sign_in says".to_owned());
            }
            if !["nats", "tls"].contains(&scheme) || rest.is_empty() || rest.contains(['/', ' ']) {
                return Err(format!("{address:?} is not nats://HOST:PORT or tls://HOST:PORT"));
            }
        }
        Ok(())
    }
}

impl fmt::Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.addresses.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_by_its_form() {
        let of = |text: &str| ServerCredentials::of(text.to_owned());
        let seed = format!("SU{}", "A7".repeat(28));
        assert!(of(&seed) == ServerCredentials::Nkey(seed.clone()));
        assert!(of("ann:a:b") == ServerCredentials::UserAndPassword("ann".to_owned(), "a:b".to_owned()));
        assert!(of("SU1") == ServerCredentials::Token("SU1".to_owned()));
        let signed = "-----BEGIN NATS USER JWT-----\neyJ0:x\n";
        assert!(of(signed) == ServerCredentials::Signed(signed.to_owned()));
    }

    #[test]
    fn addresses_are_servers_and_no_secrets() {
        let check = |address: &str| Servers { addresses: vec![address.to_owned()], ..Servers::default() }.check();
        for good in ["nats://a:4222", "tls://a.example", "a:4222", "127.0.0.1"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["nats://ann:secret@a", "http://a", "nats://", "nats://a/b", "a b"] {
            let reason = check(bad).unwrap_err();
            assert!(!reason.contains("secret"), "{reason}");
        }
        assert!(Servers::default().check().is_err());
    }
}
