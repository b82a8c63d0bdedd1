//! What hosts are sent beside what all are, as a user writes it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::sign_in::SignIn;

/// What some hosts are sent beside what all are, by name.
///
/// Names are as in [`HostRules`](crate::frontier::HostRules), and so is the order: what the host's own name says comes first, then the
/// longest name with a star, then the host's group, then [`FetchOptions`](crate::crawl::FetchOptions). A header is taken from the
/// first that has one of its name, a sign-in or a certificate from the first that says one.
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
    /// What hosts are sent, by their names.
    pub hosts: BTreeMap<String, HostAccess>,
    /// What the hosts of groups are sent, by the groups' names.
    pub groups: BTreeMap<String, GroupAccess>,
}

impl AccessRules {
    /// The names of rules by which certificates are not checked: of hosts as they stand, `group cdn` of a group.
    pub fn insecure(&self) -> Vec<String> {
        let is_insecure = |access: &HostAccess| access.insecure == Some(true);
        let hosts = self.hosts.iter().filter(|(_, access)| is_insecure(access)).map(|(name, _)| name.clone());
        let groups = self.groups.iter().filter(|(_, group)| is_insecure(&group.each));
        hosts.chain(groups.map(|(name, _)| format!("group {name}"))).collect()
    }
}

/// What a host is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostAccess {
    /// As [`FetchOptions::headers`](crate::crawl::FetchOptions::headers).
    pub headers: Vec<String>,
    /// How it knows who asks.
    pub sign_in: Option<SignIn>,
    /// The origins that `sign_in` is sent to, such as `http://127.0.0.1:8080`. Where there are none: the host by https on its own port.
    pub sign_in_to: Vec<String>,
    /// As [`FetchOptions::insecure`](crate::crawl::FetchOptions::insecure).
    pub insecure: Option<bool>,
    /// A file with the certificate that it is shown where it wants one, as PEM, and those behind it by which that was signed.
    pub client_certificate: Option<PathBuf>,
    /// The file of that certificate's key, as PEM. Where there is none, it stands in the same file.
    pub client_key: Option<PathBuf>,
}

/// What the hosts of a group are sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupAccess {
    /// Names of hosts, with or without a star.
    pub hosts: Vec<String>,
    /// What each of them is sent.
    pub each: HostAccess,
}
