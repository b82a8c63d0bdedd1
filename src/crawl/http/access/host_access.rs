//! The access rules as a user writes them: what particular hosts are sent in addition.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::sign_in::SignIn;

/// What particular hosts are sent in addition to what all hosts are sent, by name.
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
    /// What hosts are sent, by host name.
    pub hosts: BTreeMap<String, HostAccess>,
    /// What the hosts of groups are sent, by group name.
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

/// What a host is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostAccess {
    /// As [`FetchOptions::headers`](crate::crawl::FetchOptions::headers).
    pub headers: Vec<String>,
    /// How the crawl signs in at it.
    pub sign_in: Option<SignIn>,
    /// The origins that `sign_in` is sent to, such as `http://127.0.0.1:8080`. If empty: the host by https on its default port.
    pub sign_in_to: Vec<String>,
    /// As [`FetchOptions::insecure`](crate::crawl::FetchOptions::insecure).
    pub insecure: Option<bool>,
    /// A PEM file with the client certificate that it is shown if it asks for one, followed by its issuers.
    pub client_certificate: Option<PathBuf>,
    /// The PEM file of that certificate's key. If `None`, the key is in the same file.
    pub client_key: Option<PathBuf>,
}

/// What the hosts of a group are sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupAccess {
    /// Host names, with or without a star.
    pub hosts: Vec<String>,
    /// What each of them is sent.
    pub each: HostAccess,
}
