//! Cookies in a file in the `cookies.txt` format of browser extensions, curl and wget.

use std::fmt::Write;
use std::path::Path;

use super::cookie::{Cookie, is_public_suffix};

/// The prefix of a cookie that scripts may not see.
const HTTP_ONLY: &str = "#HttpOnly_";

/// Reads all cookies of a file. An error has the number of the line, and nothing of its content.
pub(super) fn read(path: &Path) -> Result<Vec<Cookie>, String> {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let bytes = std::fs::read(path).map_err(|error| named(&error))?;
    let text = as_letters(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes));
    let mut cookies = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_end_matches('\r');
        let (line, is_http_only) = line.strip_prefix(HTTP_ONLY).map_or((line, false), |line| (line, true));
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |reason| format!("{}:{number}: {reason}", path.display());
        cookies.push(cookie(line, is_http_only).map_err(wrong)?);
    }
    Ok(cookies)
}

fn cookie(line: &str, is_http_only: bool) -> Result<Cookie, &'static str> {
    let fields: Vec<&str> = line.splitn(7, '\t').collect();
    // Some writers leave out the last field if it is empty.
    let Some((&[domain, below, path, secure, expires, name], value)) = fields.split_first_chunk() else {
        return Err("not seven fields with tabs between them");
    };
    let expires = expires.split('.').next().and_then(|seconds| seconds.parse::<i64>().ok());
    let expires = expires.ok_or("the fifth field is no time in seconds")?;
    let is_true = |field: &str| field.eq_ignore_ascii_case("TRUE");
    let value = value.first().copied().unwrap_or_default();
    let domain = domain.strip_prefix('.').unwrap_or(domain).to_ascii_lowercase();
    for (is_wrong, reason) in [
        (domain.is_empty(), "the first field has no domain"),
        (!path.starts_with('/'), "the third field is no path, which begins with /"),
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
        // Zero, or a negative number as some write, means the end of the session.
        expires: (expires > 0).then_some(expires),
        is_host_only: !is_true(below) || is_public_suffix(&domain),
        is_secure: is_true(secure),
        is_http_only,
        created: 0,
        domain: domain.into(),
    })
}

/// Bytes as characters: each becomes the character of its number.
pub(super) fn as_letters(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// The inverse of [`as_letters`].
pub(super) fn as_bytes(letters: &str) -> Vec<u8> {
    letters.chars().filter_map(|letter| u8::try_from(letter).ok()).collect()
}

/// The content of a file with all cookies, in the order of their creation.
pub(super) fn write<'a>(cookies: impl Iterator<Item = &'a Cookie>) -> Vec<u8> {
    let mut cookies: Vec<&Cookie> = cookies.collect();
    cookies.sort_unstable_by_key(|cookie| cookie.created);
    let mut text = "# Netscape HTTP Cookie File\n# Secrets of a crawl: who has them is signed in.\n".to_owned();
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
