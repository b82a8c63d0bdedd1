//! Finds the page of the world that an address means, in any spelling.

use super::page::WorldPage;
use super::robots::{MOVED, SITEMAP, SITEMAP_PARTS};
use super::trap::Trap;
use super::world::{PageId, World};

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Asked {
    /// A page.
    Page {
        /// The page.
        id: PageId,
        /// Whether its address came with a session id.
        session: bool,
    },
    /// A host's robots.txt.
    Robots {
        /// The host.
        host: u32,
        /// Whether the client followed the redirect of the first answer.
        moved: bool,
    },
    /// A host's sitemap, whether there is one or not.
    Sitemap {
        /// The host.
        host: u32,
        /// 0 is the one that its robots.txt names, or would name.
        file: u8,
    },
    /// A page of a site without end.
    Trap {
        /// Which one.
        trap: Trap,
        /// Host and path.
        at: String,
    },
    /// No page of this world: a link that was resolved wrongly, or made up.
    Unknown,
}

impl World {
    /// The page that a request means. Knows each spelling that the world itself writes, after a client has resolved it. Does not use the
    /// crawler's own rules, so that it can convict them.
    pub fn find(&self, host: &str, path_and_query: &str) -> Asked {
        let host = host.strip_suffix(":80").unwrap_or(host);
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        if self.options().trap
            && let Some(asked) = self.find_trap(&host, path_and_query)
        {
            return asked;
        }
        let Some(host) = self.find_host(&host) else { return Asked::Unknown };
        match path_and_query {
            "/robots.txt" => return Asked::Robots { host, moved: false },
            MOVED => return Asked::Robots { host, moved: true },
            SITEMAP => return Asked::Sitemap { host, file: 0 },
            path if path == SITEMAP_PARTS[0] => return Asked::Sitemap { host, file: 1 },
            path if path == SITEMAP_PARTS[1] => return Asked::Sitemap { host, file: 2 },
            _ => {}
        }
        let (path, session) = plain(path_and_query);
        match self.find_page(host, &path) {
            Some(id) => Asked::Page { id, session },
            None => Asked::Unknown,
        }
    }

    /// The page of a trap that a request means; `None` if it is in none.
    fn find_trap(&self, host: &str, path: &str) -> Option<Asked> {
        let mirrored = || match self.find(&self.host_name(0), path) {
            Asked::Page { id, .. } => Some(id),
            _ => None,
        };
        let trap = Trap::of(self.dice, host, path, mirrored)?;
        Some(Asked::Trap { trap, at: format!("{host}{path}") })
    }

    fn find_host(&self, name: &str) -> Option<u32> {
        let index = match name.strip_suffix(".test")?.rsplit_once('-') {
            Some((_, number)) => number.parse().ok()?,
            None => 0,
        };
        (index < self.hosts() && self.host_name(index) == name).then_some(index)
    }

    fn find_page(&self, host: u32, path: &str) -> Option<PageId> {
        let host = self.host(host);
        let is = |number: &u32| *number < host.pages && WorldPage::new(host, *number).path() == path;
        let number = match label(path) {
            // The second of two twins has the first one's label.
            Some(label) => [label, label.checked_add(1)?].into_iter().find(is),
            None => (0..=host.sections).find(is),
        };
        Some(PageId { host: host.index, number: number? })
    }
}

/// The digits after the first hyphen that has some.
fn label(path: &str) -> Option<u32> {
    path.split('-').skip(1).find_map(|rest| {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        rest[..digits].parse().ok()
    })
}

/// The world's key of a request's path and query, and whether it had a session id.
fn plain(path_and_query: &str) -> (String, bool) {
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    let (path, mut session) = match path.split_once(";jsessionid=") {
        Some((path, _)) => (path, true),
        None => (path, false),
    };
    let mut parameters: Vec<&str> = query
        .split('&')
        .filter(|parameter| {
            let name = parameter.split('=').next().unwrap_or_default();
            session |= name == "PHPSESSID";
            let dropped = ["PHPSESSID", "gclid", "fbclid", "msclkid", ""].contains(&name) || name.starts_with("utm_");
            !dropped
        })
        .collect();
    parameters.sort_unstable();
    let mut plain = unescape(path);
    if !parameters.is_empty() {
        plain.push('?');
        plain.push_str(&unescape(&parameters.join("&")));
    }
    (plain, session)
}

/// Decodes unreserved characters (RFC 3986 section 2.3); the other escapes get upper-case digits.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(percent) = rest.find('%') {
        plain.push_str(&rest[..percent]);
        let escape = rest.get(percent..percent + 3).unwrap_or(&rest[percent..]);
        match u8::from_str_radix(&escape[1..], 16) {
            Ok(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => plain.push(char::from(byte)),
            _ => plain.push_str(&escape.to_ascii_uppercase()),
        }
        rest = &rest[percent + escape.len()..];
    }
    plain + rest
}
