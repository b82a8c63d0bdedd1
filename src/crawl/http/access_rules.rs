//! The access rules as a user writes them: headers, sign-ins and TLS settings for particular hosts, and where the secrets are.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::str::FromStr;

/// Headers, sign-ins and TLS settings for particular hosts, beyond the headers for all hosts.
///
/// Names and their order are as in [`HostRules`](crate::frontier::HostRules): the rule of the host's own name comes first, then the longest
/// name with a star, then the host's group, then [`FetchOptions`](crate::crawl::FetchOptions). Each header is taken from the first rule
/// that names it, a sign-in or a certificate from the first rule that has one.
///
/// ```
/// use crawler::crawl::{FetchOptions, Fetcher, HostAccess};
///
/// let mut options = FetchOptions::default();
/// let team = HostAccess { headers: vec!["X-Team: search".to_owned()], ..HostAccess::default() };
/// options.access.hosts.insert("*.example.org".to_owned(), team);
/// Fetcher::new(&options)?;
/// # Ok::<(), crawler::crawl::FetcherError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessRules {
    /// The rules for hosts, by host name.
    pub hosts: BTreeMap<String, HostAccess>,
    /// The rules for groups of hosts, by group name.
    pub groups: BTreeMap<String, GroupAccess>,
}

impl AccessRules {
    /// The names of the rules that do not check certificates: a host's name as it is, a group's as `group cdn`.
    pub fn insecure(&self) -> Vec<String> {
        let is_insecure = |access: &HostAccess| access.insecure == Some(true);
        let hosts = self.hosts.iter().filter(|(_, access)| is_insecure(access)).map(|(name, _)| name.clone());
        let groups = self.groups.iter().filter(|(_, group)| is_insecure(&group.each));
        hosts.chain(groups.map(|(name, _)| format!("group {name}"))).collect()
    }
}

/// The access rule for a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostAccess {
    /// As [`FetchOptions::headers`](crate::crawl::FetchOptions::headers).
    pub headers: Vec<String>,
    /// How the crawl signs in at the host.
    pub sign_in: Option<SignIn>,
    /// The origins that `sign_in` is sent to, such as `http://127.0.0.1:8080`. If empty: the host, by https on its default port.
    pub sign_in_to: Vec<String>,
    /// As [`FetchOptions::insecure`](crate::crawl::FetchOptions::insecure).
    pub insecure: Option<bool>,
    /// A PEM file with a client certificate, followed by its issuers. It is sent if the host asks for one.
    pub client_certificate: Option<PathBuf>,
    /// The PEM file of that certificate's key. If `None`, the key is in the same file.
    pub client_key: Option<PathBuf>,
}

/// The access rule for the hosts of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupAccess {
    /// Host names, with or without a star.
    pub hosts: Vec<String>,
    /// The rule for each of them.
    pub each: HostAccess,
}

/// How the crawl signs in at a host: by a header with a secret in it. This crawler does not fill in login forms.
///
/// ```
/// use crawler::crawl::{Secret, SignIn};
///
/// let sign_in: SignIn = "bearer env:TOKEN".parse().unwrap();
/// assert_eq!(sign_in, SignIn::Bearer(Secret::Environment("TOKEN".to_owned())));
/// assert_eq!("header X-Api-Key file:key".parse::<SignIn>().unwrap().to_string(), "header X-Api-Key file:key");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignIn {
    /// `basic SECRET`: `user:password`, by RFC 7617.
    Basic(Secret),
    /// `bearer SECRET`: a token, by RFC 6750.
    Bearer(Secret),
    /// `header NAME SECRET`: a header of this name, whose value is the secret.
    Header(String, Secret),
    /// `none`: no sign-in, even if a more general rule has one.
    None,
}

impl FromStr for SignIn {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
        match kind {
            "basic" => Ok(Self::Basic(rest.parse()?)),
            "bearer" => Ok(Self::Bearer(rest.parse()?)),
            "header" => {
                let (name, secret) = rest.split_once(' ').ok_or(())?;
                Ok(Self::Header(name.to_owned(), secret.parse()?))
            }
            "none" if rest.is_empty() => Ok(Self::None),
            _ => Err(()),
        }
    }
}

impl fmt::Display for SignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Basic(secret) => write!(f, "basic {secret}"),
            Self::Bearer(secret) => write!(f, "bearer {secret}"),
            Self::Header(name, secret) => write!(f, "header {name} {secret}"),
            Self::None => f.write_str("none"),
        }
    }
}

/// At most this many bytes of a secret's file are read.
const LONGEST: u64 = 16 << 10;

/// The place of a secret. The secret is read when a crawl begins, and appears in no setting, record or log.
///
/// ```
/// use crawler::crawl::Secret;
///
/// assert_eq!("env:TOKEN".parse(), Ok(Secret::Environment("TOKEN".to_owned())));
/// assert_eq!("file:/run/secrets/site".parse(), Ok(Secret::File("/run/secrets/site".into())));
/// assert!("hunter2".parse::<Secret>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// The value of this environment variable.
    Environment(String),
    /// The content of this file, without the final line break.
    File(PathBuf),
}

impl Secret {
    /// Reads the secret, or says why that is not possible. The reason does not contain it.
    pub(crate) fn read(&self) -> Result<String, String> {
        let text = match self {
            Self::Environment(name) => {
                std::env::var(name).map_err(|error| format!("the environment variable {name}: {error}"))?
            }
            Self::File(path) => {
                let mut text = String::new();
                let read = File::open(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
                read.map_err(|error| format!("{}: {error}", path.display()))?;
                // Some editors write an invisible byte order mark.
                if text.starts_with('\u{feff}') {
                    text.drain(..'\u{feff}'.len_utf8());
                }
                let end = text.strip_suffix('\n').map_or(text.len(), |line| line.trim_end_matches('\r').len());
                text.truncate(end);
                text
            }
        };
        if text.is_empty() { Err(format!("{self} is empty")) } else { Ok(text) }
    }
}

impl FromStr for Secret {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.split_once(':') {
            Some(("env", name)) if !name.is_empty() && !name.contains(['=', '\0']) => {
                Ok(Self::Environment(name.to_owned()))
            }
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.into())),
            _ => Err(()),
        }
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_and_a_line_end_are_none_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        for (content, secret) in [("\u{feff}hunter2\r\n", "hunter2"), ("hun\u{feff}ter2", "hun\u{feff}ter2")] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(Secret::File(path.clone()).read().unwrap(), secret, "{content:?}");
        }
        std::fs::write(&path, "\u{feff}\n").unwrap();
        assert!(Secret::File(path).read().unwrap_err().ends_with("is empty"));
    }
}
