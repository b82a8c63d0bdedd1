//! How a link is written: one page, many spellings.

use std::fmt::Write;

use super::dice::Dice;
use super::host::WorldHost;
use super::page::{Style, WorldPage};
use super::words::WORDS;

/// What relative links are resolved against: a page's own address, or its `<base>`.
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

/// One of the many ways to write a page's address. The page is found by each of them.
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
