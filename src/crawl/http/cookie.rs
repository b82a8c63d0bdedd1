//! A cookie: how it is read from `Set-Cookie`, and how it is read and written in the `cookies.txt` format of browser
//! extensions, curl and wget.

use std::fmt::Write;
use std::net::IpAddr;
use std::path::Path;

use crate::address::CanonicalUrl;
use crate::crawl::date::cookie_date;
use crate::driver::is_public_suffix;

/// The most bytes of a name and its value together (RFC 6265 section 6.1).
const MOST_BYTES: usize = 4096;
/// The most bytes of an attribute's value. A longer one is ignored.
const MOST_ATTRIBUTE: usize = 1024;

/// A cookie, as RFC 6265 section 5.3 stores it. Servers may use any bytes, and expect the same ones back. So each byte is one character
/// here, as in Latin-1.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Cookie {
    pub(super) name: Box<str>,
    pub(super) value: Box<str>,
    pub(super) domain: Box<str>,
    pub(super) path: Box<str>,
    /// Its number among all the cookies that the jar has created. A cookie that replaces another keeps the other's number.
    pub(super) created: u64,
    /// In seconds since 1970; `None` for the end of the session, which is the end of the job.
    pub(super) expires: Option<i64>,
    /// Sent only to the host that is its domain.
    pub(super) is_host_only: bool,
    pub(super) is_secure: bool,
    pub(super) is_http_only: bool,
}

impl Cookie {
    /// Reads a `Set-Cookie` header (RFC 6265 section 5.2). `None` if the cookie must be ignored, by the rules there or by those of RFC
    /// 6265bis on prefixes and secure origins. A cookie with control characters is ignored too, since a line of `cookies.txt` cannot hold
    /// it. RFC 6265bis allows only the tab among these.
    pub(super) fn parse(header: &str, url: &CanonicalUrl, now: i64) -> Option<Self> {
        if header.contains(|c: char| c.is_ascii_control() && c != '\t') {
            return None;
        }
        let mut parts = header.split(';');
        let (name, value) = parts.next()?.split_once('=')?;
        let (name, value) = (trimmed(name), trimmed(value));
        if name.is_empty() || name.len() + value.len() > MOST_BYTES {
            return None;
        }
        // Tabs separate the fields of a line of `cookies.txt`. Only the last field, the value, can contain tabs.
        if name.contains('\t') {
            return None;
        }
        let (mut domain, mut path, mut expires, mut max_age) = ("", "", None, None);
        let (mut is_secure, mut is_http_only) = (false, false);
        for part in parts {
            let (attribute, of) = part.split_once('=').unwrap_or((part, ""));
            let (attribute, of) = (trimmed(attribute), trimmed(of));
            if of.len() > MOST_ATTRIBUTE {
                continue;
            }
            // The last attribute of its name counts.
            match attribute.to_ascii_lowercase().as_str() {
                "domain" if !of.is_empty() => domain = of.strip_prefix('.').unwrap_or(of),
                "expires" => expires = cookie_date(of).or(expires),
                "httponly" => is_http_only = true,
                "max-age" => max_age = seconds(of).or(max_age),
                "path" => path = if of.starts_with('/') { of } else { "" },
                "secure" => is_secure = true,
                _ => {}
            }
        }
        // The path cannot contain tabs either. No URL has a tab in its path, so no request would have this cookie.
        if path.contains('\t') {
            return None;
        }
        let is_https = url.origin().starts_with("https:");
        let lower = name.to_ascii_lowercase();
        let is_for_host = lower.starts_with("__host-") && (!domain.is_empty() || path != "/");
        let wants_secure = lower.starts_with("__host-") || lower.starts_with("__secure-");
        if is_for_host || (wants_secure && !is_secure) || (is_secure && !is_https) {
            return None;
        }
        let domain = domain.to_ascii_lowercase();
        let host = url.host();
        let is_host_only = domain.is_empty() || (is_public_suffix(&domain) && domain == host);
        if !is_host_only && (is_public_suffix(&domain) || !domain_matches(host, &domain)) {
            return None;
        }
        Some(Self {
            name: name.into(),
            value: value.into(),
            domain: if is_host_only { host.into() } else { domain.into() },
            path: if path.is_empty() { default_path(url).into() } else { path.into() },
            created: 0,
            expires: max_age
                .map_or(expires, |seconds: i64| Some(if seconds > 0 { now.saturating_add(seconds) } else { i64::MIN })),
            is_host_only,
            is_secure,
            is_http_only,
        })
    }

    /// Whether it replaces another cookie of the same domain.
    pub(super) fn replaces(&self, other: &Self) -> bool {
        self.name == other.name && self.path == other.path && self.is_host_only == other.is_host_only
    }

    pub(super) fn is_expired(&self, now: i64) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// Whether a request for this URL gets this cookie, given that its domain is the host or a parent domain (RFC 6265 section 5.4).
    pub(super) fn is_for(&self, url: &CanonicalUrl) -> bool {
        let path = url.path_and_query().split('?').next().unwrap_or_default();
        (!self.is_host_only || *self.domain == *url.host())
            && (!self.is_secure || url.origin().starts_with("https:"))
            && path_matches(path, &self.path)
    }

    /// Roughly the bytes of memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.name.len() + self.value.len() + self.domain.len() + self.path.len()
    }
}

/// Trims ASCII white space only: any other character may be a part of the value.
fn trimmed(text: &str) -> &str {
    text.trim_matches(|letter: char| letter.is_ascii_whitespace())
}

/// RFC 6265 section 5.2.2.
fn seconds(text: &str) -> Option<i64> {
    let number = text.strip_prefix('-').unwrap_or(text);
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(if number == text { number.parse().unwrap_or(i64::MAX) } else { 0 })
}

/// RFC 6265 section 5.1.4.
fn default_path(url: &CanonicalUrl) -> &str {
    let path = url.path_and_query().split('?').next().unwrap_or_default();
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(slash) => &path[..slash],
    }
}

/// RFC 6265 section 5.1.4.
fn path_matches(path: &str, of: &str) -> bool {
    path.strip_prefix(of).is_some_and(|rest| rest.is_empty() || of.ends_with('/') || rest.starts_with('/'))
}

/// RFC 6265 section 5.1.3.
fn domain_matches(host: &str, domain: &str) -> bool {
    let is_address = || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    host == domain || host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')) && !is_address()
}

/// The prefix of a line whose cookie is hidden from scripts.
const HTTP_ONLY: &str = "#HttpOnly_";

/// Reads all cookies of a file. An error has the line's number, but none of its content.
pub(super) fn read_cookies_txt(path: &Path) -> Result<Vec<Cookie>, String> {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let bytes = std::fs::read(path).map_err(|error| named(&error))?;
    let text = as_latin1(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes));
    let mut cookies = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_end_matches('\r');
        let (line, is_http_only) = line.strip_prefix(HTTP_ONLY).map_or((line, false), |line| (line, true));
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |reason| format!("{}:{number}: {reason}", path.display());
        cookies.push(cookie_of_line(line, is_http_only).map_err(wrong)?);
    }
    Ok(cookies)
}

fn cookie_of_line(line: &str, is_http_only: bool) -> Result<Cookie, &'static str> {
    let fields: Vec<&str> = line.splitn(7, '\t').collect();
    // Some writers leave out the last field if it is empty.
    let Some((&[domain, below, path, secure, expires, name], value)) = fields.split_first_chunk() else {
        return Err("not seven fields with tabs between them");
    };
    let expires = expires.split('.').next().and_then(|seconds| seconds.parse::<i64>().ok());
    let expires = expires.ok_or("the fifth field is not a time in seconds")?;
    let is_true = |field: &str| field.eq_ignore_ascii_case("TRUE");
    let value = value.first().copied().unwrap_or_default();
    let domain = domain.strip_prefix('.').unwrap_or(domain).to_ascii_lowercase();
    for (is_wrong, reason) in [
        (domain.is_empty(), "the first field has no domain"),
        (!path.starts_with('/'), "the third field is not a path: a path begins with /"),
        (name.is_empty(), "the sixth field has no name"),
        (line.contains(|letter: char| letter.is_ascii_control() && letter != '\t'), "it has control characters"),
    ] {
        if is_wrong {
            return Err(reason);
        }
    }
    Ok(Cookie {
        name: name.into(),
        value: value.into(),
        path: path.into(),
        // Zero means the end of the session; some programs write a negative number instead.
        expires: (expires > 0).then_some(expires),
        is_host_only: !is_true(below) || is_public_suffix(&domain),
        is_secure: is_true(secure),
        is_http_only,
        created: 0,
        domain: domain.into(),
    })
}

/// Bytes as characters: each becomes the character of its number.
pub(super) fn as_latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// The inverse of [`as_latin1`].
pub(super) fn as_bytes(letters: &str) -> Vec<u8> {
    letters.chars().filter_map(|letter| u8::try_from(letter).ok()).collect()
}

/// The content of a file with all cookies, in the order of their creation.
pub(super) fn write_cookies_txt<'a>(cookies: impl Iterator<Item = &'a Cookie>) -> Vec<u8> {
    let mut cookies: Vec<&Cookie> = cookies.collect();
    cookies.sort_unstable_by_key(|cookie| cookie.created);
    let mut text =
        "# Netscape HTTP Cookie File\n# Secrets of a crawl: anyone who has this file is signed in.\n".to_owned();
    let word = |truth: bool| if truth { "TRUE" } else { "FALSE" };
    for cookie in cookies {
        let Cookie { name, value, domain, path, expires, is_host_only, is_secure, is_http_only, .. } = cookie;
        let (mark, dot) = (if *is_http_only { HTTP_ONLY } else { "" }, if *is_host_only { "" } else { "." });
        let (below, secure) = (word(!is_host_only), word(*is_secure));
        let expires = expires.unwrap_or(0);
        let _ = writeln!(text, "{mark}{dot}{domain}\t{below}\t{path}\t{secure}\t{expires}\t{name}\t{value}");
    }
    as_bytes(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::{Canonicalizer, KeyRules};

    fn set(header: &str) -> Option<Cookie> {
        let url = Canonicalizer::new(&KeyRules::default()).canonicalize("http://a.example/").unwrap();
        Cookie::parse(header, &url, 0)
    }

    #[test]
    fn what_cannot_be_written_to_a_file_is_no_cookie() {
        for header in ["n\tm=v", "n=v; path=/a\tb", "n=v\u{1}", "n\u{7f}=v", "n=v; x\u{0}"] {
            assert!(set(header).is_none(), "{header:?}");
        }
        let cookie = set("\tn\t=\tv\tw\t;\tpath=/a\t").unwrap();
        assert_eq!((&*cookie.name, &*cookie.value, &*cookie.path), ("n", "v\tw", "/a"));
    }
}
