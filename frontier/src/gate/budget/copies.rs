//! Copies: the place of a page that may copy the first page with its text, and the hosts of the seeds, which other hosts may mirror.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use crate::address::{CanonicalUrl, host_of};

/// The place of a copy. The copy's path is `above`, then directories that the copied page does not have, then the rest, which both paths
/// share.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CopyPlace<'a> {
    /// The path up to the rest that both paths share. It stands for one copy of the set of pages.
    pub(super) directory: &'a str,
    /// The path up to where both first differ. All copies of the set are below it.
    pub(super) above: &'a str,
    /// It is on another host than the copied page.
    pub(super) is_other_host: bool,
}

/// The place of a page that has the file name and query of another page, and is in other directories or on another host. `None` for other
/// pages.
pub(super) fn place<'a>(url: &'a str, first: &str) -> Option<CopyPlace<'a>> {
    let ((host, path), (first_host, first_path)) = (split(url)?, split(first)?);
    let ((own, file), (others, first_file)) = (at_file(path), at_file(first_path));
    if file != first_file {
        return None;
    }
    let is_other_host = host != first_host;
    if own == others {
        return is_other_host.then_some(CopyPlace { directory: "", above: "", is_other_host });
    }
    let count = |path: &str| path.split('/').count();
    let front = own.split('/').zip(others.split('/')).take_while(|(own, other)| own == other).count();
    let most = count(own).min(count(others)) - front;
    let end = own.rsplit('/').zip(others.rsplit('/')).take_while(|(own, other)| own == other).take(most).count();
    let up_to = |directories: usize| own.match_indices('/').nth(directories).map_or(own, |(at, _)| &own[..at]);
    Some(CopyPlace { directory: up_to(count(own) - end - 1), above: up_to(front - 1), is_other_host })
}

/// The directories of a path, and its file name with the query. Both begin with a slash.
fn at_file(path: &str) -> (&str, &str) {
    let length = path.find('?').unwrap_or(path.len());
    path.split_at(path[..length].rfind('/').unwrap_or_default())
}

/// Host and path of a URL.
fn split(url: &str) -> Option<(&str, &str)> {
    let rest = &url[url.find("//")? + 2..];
    rest.find('/').map(|slash| rest.split_at(slash))
}

/// The most origins that are checked for one URL.
const MOST_ORIGINS: usize = 64;

/// The origins of the seeds, and of the URLs that they redirect to: `https://a.example`. If there are more than [`MOST_ORIGINS`], mirrors
/// are not looked for.
#[derive(Debug, Default)]
pub(super) struct Originals(RwLock<Vec<Box<str>>>);

impl Originals {
    /// Adds an origin. The write lock is taken only for a new one, and not at all once there are too many.
    pub(super) fn add(&self, origin: &str) {
        let is_new = {
            let known = self.read();
            known.len() <= MOST_ORIGINS && known.iter().all(|known| **known != *origin)
        };
        if is_new {
            self.0.write().unwrap_or_else(PoisonError::into_inner).push(origin.into());
        }
    }

    /// All origins, for a checkpoint.
    pub(super) fn all(&self) -> Vec<String> {
        self.read().iter().map(ToString::to_string).collect()
    }

    /// Whether this is the host of a seed; `None` if there are none, or too many.
    pub(super) fn has_host(&self, host: &str) -> Option<bool> {
        let are_few = (1..=MOST_ORIGINS).contains(&self.read().len());
        are_few.then(|| self.any(|origin| host_of(origin) == host))
    }

    /// Whether the page of a URL was found at its path on one of them. `is_found` says whether a key was found.
    pub(super) fn has_page(&self, url: &CanonicalUrl, is_found: impl Fn(&str) -> bool) -> bool {
        let path = &url.key()[url.origin().len()..];
        self.any(|origin| is_found(&format!("{origin}{path}")))
    }

    fn any(&self, holds: impl Fn(&str) -> bool) -> bool {
        let known = self.read();
        known.len() <= MOST_ORIGINS && known.iter().any(|origin| holds(origin))
    }

    fn read(&self) -> RwLockReadGuard<'_, Vec<Box<str>>> {
        // A panic cannot leave a list of texts half changed.
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_in_another_directory_or_on_another_host() {
        for (url, first, expected) in [
            ("http://a/3.9/x/y.html", "http://a/3.8/x/y.html", Some(("/3.9", "", false))),
            ("http://a/en/3.10/x/", "http://a/en/3.1/x/", Some(("/en/3.10", "/en", false))),
            ("http://a/de/3.10/x/", "http://a/en/3.1/x/", Some(("/de/3.10", "", false))),
            ("http://b/py/x", "http://a/py/x", Some(("", "", true))),
            ("http://b/2/x", "http://a/1/x", Some(("/2", "", true))),
            ("http://a/1/2/x", "http://a/2/1/x", Some(("/1/2", "", false))),
            ("http://a/1/", "http://a/2/", Some(("/1", "", false))),
            // A root beside versions.
            ("http://a/x", "http://a/1/x", Some(("", "", false))),
            ("http://a/1/x", "http://a/x", Some(("/1", "", false))),
            ("http://a/b/x", "http://a/b/1/x", Some(("/b", "/b", false))),
            ("http://a/a/a/x", "http://a/a/x", Some(("/a/a", "/a", false))),
            // Months, lists in another order, another file of the same directory, and the page itself.
            ("http://a/month/2", "http://a/month/1", None),
            ("http://a/x?b=/2/", "http://a/x?b=/1/", None),
            ("http://a/1/x?a=2", "http://a/2/x?a=1", None),
            ("http://a/x", "http://a/x", None),
            ("no url", "http://a/x", None),
        ] {
            let expected =
                expected.map(|(directory, above, is_other_host)| CopyPlace { directory, above, is_other_host });
            assert_eq!(place(url, first), expected, "{url} {first}");
        }
    }
}
