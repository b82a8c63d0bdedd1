//! The links of a page, and their spellings: the address of a page can be written in many ways.

use std::fmt::Write;

use super::dice::{Dice, WORDS};
use super::host::{Hop, PageKind, Style, WorldHost, WorldPage};
use super::world::{PageId, World};

/// A link, without its text. The dice determine its spelling and its markup.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorldLink {
    pub(super) to: PageId,
    pub(super) nofollow: bool,
    pub(super) dice: Dice,
}

const DUPLICATE: u64 = 401;
const TREE: u64 = 402;
const AWAY: u64 = 403;

impl World {
    /// The links of an HTML page. It links to each of its children in its host's tree, so each page has at least one link to it. Its other
    /// links lead to pages that have a link already, like most links of real pages.
    pub(super) fn links(&self, page: &WorldPage) -> Vec<WorldLink> {
        let host = &page.host;
        let mut links = Vec::new();
        // Only 93 of 100 pages are HTML, so each of them has more links.
        let share = u32::from(self.options().duplicate_percent);
        let hundredths = share * 100 * 100 / (100 - share) / 93;
        let dice = page.dice.on(DUPLICATE);
        let count = hundredths / 100 + u32::from(dice.below(100) < hundredths % 100);
        for nth in 0..count {
            let dice = dice.on(u64::from(nth));
            links.push(WorldLink { to: self.well_known(page, dice), nofollow: dice.on(1).per_mille(30), dice });
        }
        let dice = page.dice.on(TREE);
        let mut tree = |to: PageId, nofollow| {
            let dice = dice.on(u64::from(to.host) << 32 | u64::from(to.number));
            links.push(WorldLink { to, nofollow: nofollow && dice.on(1).per_mille(10), dice });
        };
        let first_child = u64::from(page.number) * u64::from(host.fan) + 1;
        for number in first_child..(first_child + u64::from(host.fan)).min(u64::from(host.pages)) {
            #[expect(clippy::cast_possible_truncation, reason = "less than `pages`, a u32")]
            let number = number as u32;
            tree(PageId { host: host.index, number }, number >= host.fixed());
        }
        if host.index == 0 && (page.number == 0 || (host.sections + 1..host.fixed()).contains(&page.number)) {
            if page.number == 0 {
                (host.sections + 1..host.fixed()).for_each(|number| tree(PageId { host: 0, number }, false));
            }
            let list = page.number.saturating_sub(host.sections);
            self.lists.hosts(list, self.hosts()).for_each(|host| tree(PageId { host, number: 0 }, false));
        }
        links
    }

    /// A page that many links lead to: the front page, the parent page, or a popular page of this host or another.
    fn well_known(&self, page: &WorldPage, dice: Dice) -> PageId {
        let host = &page.host;
        match dice.below(100) {
            0..35 => PageId { host: host.index, number: 0 },
            35..55 if page.number > 0 => PageId { host: host.index, number: (page.number - 1) / host.fan },
            35..80 => popular(host.index, host.pages, dice.on(2)),
            _ => {
                let host = self.at(dice.on(3).below(self.pages())).host;
                popular(host, self.pages_of(host), dice.on(2))
            }
        }
    }

    /// The target of a redirect.
    pub(super) fn hop(&self, page: &WorldPage, hop: Hop) -> PageId {
        let at = |number| PageId { host: page.host.index, number };
        match hop {
            Hop::Next => at(page.number + 1),
            Hop::Previous => at(page.number - 1),
            Hop::Away => {
                let dice = page.dice.on(AWAY);
                let candidate = |nth: u64| self.at(dice.on(nth).below(self.pages()));
                // A chain of redirects must not grow beyond three, so this one leads to a page that does not redirect.
                (0..4)
                    .map(candidate)
                    .find(|&id| self.page(id).kind() == PageKind::Html)
                    .unwrap_or_else(|| PageId { number: 0, ..candidate(0) })
            }
        }
    }
}

/// A random page of a host. Low numbers are likelier: the density falls like a logarithm.
fn popular(host: u32, pages: u32, dice: Dice) -> PageId {
    let (one, two) = (u64::from(dice.below(pages)), u64::from(dice.on(1).below(pages)));
    #[expect(clippy::cast_possible_truncation, reason = "less than `pages`, a u32")]
    PageId { host, number: (one * two / u64::from(pages)) as u32 }
}

/// The base of relative links: a page's own address, or its `<base>`.
#[derive(Clone, Debug)]
pub(super) struct Base {
    pub(super) host: u32,
    /// The directory, with a slash at both ends.
    pub(super) directory: String,
}

const DECORATION: u64 = 501;
const DOTS: u64 = 502;
const FORM: u64 = 503;
const AUTHORITY: u64 = 504;
const FRAGMENT: u64 = 505;

impl Base {
    pub(super) fn of(page: &WorldPage) -> Self {
        let mut directory = page.path();
        let path = directory.find('?').unwrap_or(directory.len());
        directory.truncate(directory[..path].rfind('/').map_or(0, |slash| slash + 1));
        Self { host: page.host.index, directory }
    }
}

/// One of the many ways to write a page's address. [`World::find`] finds the page from each of them.
pub(super) fn spell(page: &WorldPage, base: &Base, dice: Dice) -> String {
    let mut href = respell(page, dice.on(DECORATION));
    let form = dice.on(FORM);
    match form.below(100) {
        40.. if page.host.index == base.host => {
            href = relative(&base.directory, &href);
            if form.on(1).per_mille(50) && !href.starts_with('.') {
                href.insert_str(0, "./");
            }
        }
        percent => {
            detour(&mut href, dice.on(DOTS));
            if percent < 20 || page.host.index != base.host {
                if href == "/" && form.on(1).per_mille(500) {
                    href.clear();
                }
                let scheme = match form.on(2).below(100) {
                    0..10 => "",
                    10..12 => "HTTP:",
                    _ => "http:",
                };
                href = format!("{scheme}//{}{href}", authority(&page.host, dice.on(AUTHORITY)));
            }
        }
    }
    let fragment = dice.on(FRAGMENT);
    if fragment.per_mille(80) {
        _ = write!(href, "#{}", fragment.on(1).pick(&WORDS));
    }
    href
}

/// The path with a session id in it, as in a page's redirect to itself.
pub(super) fn with_session(mut path: String, dice: Dice) -> String {
    if dice.per_mille(500) {
        let end = path.find('?').unwrap_or(path.len());
        path.insert_str(end, &format!(";jsessionid={:016X}", dice.on(1).bits()));
        path
    } else {
        with_parameter(&path, &format!("PHPSESSID={:016x}", dice.on(1).bits()), false)
    }
}

/// Path and query in another spelling; the directory may differ in escapes.
fn respell(page: &WorldPage, dice: Dice) -> String {
    let path = page.path();
    let value = dice.on(1);
    match dice.below(1000) {
        // A rule for `*.pdf$` looks at the end of the text, so the addresses of files stay as they are.
        0..140 if matches!(page.style(), Style::File(_)) => path,
        0..70 => {
            let tracking = match value.below(6) {
                0 => "utm_source=feed".to_owned(),
                1 => "utm_source=list&utm_medium=email&utm_campaign=spring".to_owned(),
                2 => format!("gclid=Cj0{:x}", value.bits()),
                3 => format!("fbclid=IwAR{:x}", value.bits()),
                4 => format!("msclkid={:x}", value.bits()),
                _ => "utm_content=a%20b".to_owned(),
            };
            with_parameter(&path, &tracking, value.on(1).per_mille(300))
        }
        70..100 => with_session(path, value),
        100..140 => match path.split_once('?') {
            Some((path, query)) => format!("{path}?{}", query.rsplit('&').collect::<Vec<_>>().join("&")),
            None => format!("{path}?"),
        },
        140..180 => {
            let escaped = if value.per_mille(500) { "%2D" } else { "%2d" };
            path.replacen('~', "%7E", 1).replacen('-', escaped, 1)
        }
        180..210 => path.replace("%C3%A9", "%c3%a9").replace("%2F", "%2f").replace("%2B", "%2b"),
        210..240 => path.replace("%C3%A9", "é"),
        _ => path,
    }
}

fn with_parameter(path: &str, parameter: &str, first: bool) -> String {
    match path.split_once('?') {
        None => format!("{path}?{parameter}"),
        Some((path, query)) if first => format!("{path}?{parameter}&{query}"),
        Some(_) => format!("{path}&{parameter}"),
    }
}

/// Inserts dot segments, which change nothing.
fn detour(path: &mut String, dice: Dice) {
    match dice.below(1000) {
        0..15 => path.insert_str(0, "/."),
        15..30 => path.insert_str(0, &format!("/{}/..", dice.on(1).pick(&WORDS))),
        30..40 => path.insert_str(0, "/%2e"),
        _ => {}
    }
}

fn authority(host: &WorldHost, dice: Dice) -> String {
    match dice.below(1000) {
        0..20 => host.name().to_ascii_uppercase(),
        20..45 => format!("{}:80", host.name()),
        45..55 => format!("{}.", host.name()),
        55..400 => host.name(),
        _ => host.written(),
    }
}

/// From a directory to a path (RFC 3986 section 5.2, backwards).
fn relative(directory: &str, path: &str) -> String {
    let end = path.find('?').unwrap_or(path.len());
    let shared = directory.bytes().zip(path[..end].bytes()).take_while(|(one, two)| one == two).count();
    // A slash is ASCII, so the cut is at the boundary of a character.
    let shared = directory.as_bytes()[..shared].iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let up = directory[shared..].matches('/').count();
    let rest = &path[shared..];
    match up {
        // An empty reference, or a query alone, would keep the file's name.
        0 if rest.is_empty() || rest.starts_with('?') => format!("./{rest}"),
        _ => "../".repeat(up) + rest,
    }
}

#[cfg(test)]
mod tests {
    use super::relative;

    #[test]
    fn relative_references_lead_from_directory_to_path() {
        for (directory, path, expected) in [
            ("/", "/", "./"),
            ("/", "/docs/a-1", "docs/a-1"),
            ("/docs/", "/", "../"),
            ("/docs/", "/docs/", "./"),
            ("/docs/", "/docs/?q=1", "./?q=1"),
            ("/docs/", "/docs/item.php?id=a-1", "item.php?id=a-1"),
            ("/docs/", "/docsets/a-1", "../docsets/a-1"),
            ("/docs/2019/07/", "/docs/2020/a-1", "../../2020/a-1"),
            ("/caf%C3%A9/", "/café/a-1", "../café/a-1"),
        ] {
            assert_eq!(relative(directory, path), expected, "from {directory} to {path}");
        }
    }
}
