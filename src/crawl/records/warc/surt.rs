//! SURT keys (Sort-friendly URI Reordering Transform): URLs in the order of their domains, as archive indexes are sorted:
//! `com,example)/a?b=1`.

use std::fmt::Write;

/// Parameters that name a session, each with 32 letters or digits.
const SESSIONS: [&str; 3] = ["jsessionid=", "phpsessid=", "sid="];
const SESSION: usize = 32;
/// An ASP session parameter: eight letters after this name, and a value of 24.
const ASP: &str = "aspsessionid";
/// Letters or digits of a session in a path, in parentheses before an `.aspx`.
const PATH_SESSION: usize = 24;

/// The key of a URL in an index. Replay tools compute it from the requested URL, so the same rules must apply: those of the Internet
/// Archive's canonicalizer. Scheme, user name, a leading `www.`, the scheme's default port, a trailing slash, the fragment and session ids
/// are left out. Everything is in lower case, and parameters are sorted.
pub(super) fn surt(url: &str) -> String {
    let url = url.split('#').next().unwrap_or_default();
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
    let host = authority.rsplit('@').next().unwrap_or_default().to_lowercase();
    let is_port = |port: &str| port.bytes().all(|digit| digit.is_ascii_digit());
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if is_port(port) => (host.to_owned(), port.to_owned()),
        _ => (host, String::new()),
    };
    let mut key = if host.starts_with('[') {
        host.trim_matches(['[', ']']).to_owned()
    } else {
        without_www(&host).trim_matches('.').rsplit('.').collect::<Vec<_>>().join(",")
    };
    let usual = if scheme.eq_ignore_ascii_case("https") { "443" } else { "80" };
    if !port.is_empty() && port != usual {
        let _ = write!(key, ":{port}");
    }
    key.push(')');
    key.push_str(&without_path_session(whole_path(&escaped(path))));
    let query = query.map(|query| sorted(&without_session(&escaped(query)))).unwrap_or_default();
    if !query.is_empty() {
        key.extend(["?", &query]);
    }
    key
}

/// The host without a leading `www.`, `www2.` and so on.
fn without_www(host: &str) -> &str {
    let rest = host.strip_prefix("www").map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    rest.and_then(|rest| rest.strip_prefix('.')).unwrap_or(host)
}

/// Undoes every escape, repeatedly, then escapes again what must be; in lower case.
fn escaped(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    loop {
        let undone = unescaped(&bytes);
        if undone.len() == bytes.len() {
            break;
        }
        bytes = undone;
    }
    let mut escaped = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            0..=0x20 | 0x7f.. | b'#' | b'%' => _ = write!(escaped, "%{byte:02x}"),
            _ => escaped.push(char::from(byte.to_ascii_lowercase())),
        }
    }
    escaped
}

fn unescaped(bytes: &[u8]) -> Vec<u8> {
    let digit = |at: usize| match bytes.get(at) {
        Some(digit @ b'0'..=b'9') => Some(digit - b'0'),
        Some(letter @ (b'a'..=b'f' | b'A'..=b'F')) => Some((letter | 0x20) - b'a' + 10),
        _ => None,
    };
    let (mut undone, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(byte) = bytes.get(at) {
        if let (b'%', Some(high), Some(low)) = (byte, digit(at + 1), digit(at + 2)) {
            undone.push(high << 4 | low);
            at += 3;
        } else {
            undone.push(*byte);
            at += 1;
        }
    }
    undone
}

/// The path without empty segments and `.`; `..` removes the segment before it.
fn whole_path(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => _ = segments.pop(),
            _ => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

fn without_session(query: &str) -> String {
    let mut query = query.to_owned();
    for name in SESSIONS {
        let found = query.rmatch_indices(name).map(|(at, _)| (at, at + name.len() + SESSION)).find(|(at, end)| {
            let id = query.get(at + name.len()..*end);
            id.is_some_and(|id| id.bytes().all(|byte| byte.is_ascii_alphanumeric()))
                && (*end == query.len() || query[*end..].starts_with('&'))
        });
        if let Some((at, end)) = found {
            query.replace_range(at..(end + 1).min(query.len()), "");
        }
    }
    for find in [asp_session, cold_fusion_session] {
        if let Some((at, end)) = find(&query) {
            query.replace_range(at..(end + 1).min(query.len()), "");
        }
    }
    query
}

/// The start and end of the last `aspsessionid` with its value.
fn asp_session(query: &str) -> Option<(usize, usize)> {
    let is_letters = |text: Option<&str>| text.is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_alphabetic()));
    query.rmatch_indices(ASP).map(|(at, _)| (at, at + ASP.len() + 8 + 1 + 24)).find(|(at, end)| {
        let name = at + ASP.len();
        is_letters(query.get(name..name + 8))
            && query.get(name + 8..name + 9) == Some("=")
            && is_letters(query.get(name + 9..*end))
            && (*end == query.len() || query[*end..].starts_with('&'))
    })
}

/// The last `cfid` with a `cftoken` right after it.
fn cold_fusion_session(query: &str) -> Option<(usize, usize)> {
    query.rmatch_indices("cfid=").find_map(|(at, name)| {
        let value_end = |from: usize| query[from..].find('&').map_or(query.len(), |length| from + length);
        let id = at + name.len();
        let id_end = value_end(id);
        let token = query[id_end..].strip_prefix("&cftoken=").map(|_| id_end + "&cftoken=".len())?;
        let end = value_end(token);
        (id_end > id && end > token).then_some((at, end))
    })
}

/// The path without a session in parentheses before an `.aspx`: `(a(0123…)b(0123…))/` or `(0123…)/`. Removes the last one of each kind.
fn without_path_session(mut path: String) -> String {
    for is_session in [is_many_sessions, is_one_session] {
        let found = path.rmatch_indices("/(").map(|(at, _)| at + 1).find_map(|at| {
            let end = at + path[at..].find(")/")? + 2;
            let page = path[end..].rfind(".aspx")?;
            (page > 0 && is_session(&path[at + 1..end - 2])).then_some((at, end))
        });
        if let Some((at, end)) = found {
            path.replace_range(at..end, "");
        }
    }
    path
}

fn is_one_session(text: &str) -> bool {
    text.len() == PATH_SESSION && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// One or more of `a(0123…)`.
fn is_many_sessions(text: &str) -> bool {
    let is_part = |part: &[u8]| {
        part.len() == PATH_SESSION + 3
            && part[0].is_ascii_alphabetic()
            && part[1] == b'('
            && part[PATH_SESSION + 2] == b')'
            && part[2..PATH_SESSION + 2].iter().all(u8::is_ascii_alphanumeric)
    };
    !text.is_empty() && text.as_bytes().chunks(PATH_SESSION + 3).all(is_part)
}

fn sorted(query: &str) -> String {
    let mut parameters: Vec<&str> = query.split('&').collect();
    parameters.sort_unstable();
    parameters.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys are those that the Internet Archive's Python package `surt` 0.3.1 makes of these URLs.
    #[test]
    fn keys_match_those_of_replay_tools() {
        for (url, key) in [
            ("http://www.example.com/", "com,example)/"),
            ("http://www2.Example.com:80/A/b/?b=1&a=2", "com,example)/a/b?a=2&b=1"),
            ("https://example.com:8443/x/", "com,example:8443)/x"),
            ("http://example.com/a?", "com,example)/a"),
            ("http://example.com/?PHPSESSID=0123456789abcdef0123456789abcdef&x=1", "com,example)/?x=1"),
            ("http://example.com/a?x=1&sid=0123456789abcdef0123456789abcdef", "com,example)/a?&x=1"),
            ("http://example.com/a?x=1&sid=0123456789abcdef0123456789abcdef&b=2", "com,example)/a?b=2&x=1"),
            ("http://e.com/a?x=1&ASPSESSIONIDabcdefgh=ABCDEFGHIJKLMNOPQRSTUVWX&y=2", "com,e)/a?x=1&y=2"),
            ("http://e.com/a?aspsessionidabcdefgh=aaaaaaaaaaaaaaaaaaaaaaaa", "com,e)/a"),
            (
                "http://e.com/a?aspsessionidabcdefg1=aaaaaaaaaaaaaaaaaaaaaaaa",
                "com,e)/a?aspsessionidabcdefg1=aaaaaaaaaaaaaaaaaaaaaaaa",
            ),
            ("http://e.com/a?cfid=1&cftoken=2&x=3", "com,e)/a?x=3"),
            ("http://e.com/a?x=3&CFID=1&CFTOKEN=2", "com,e)/a?&x=3"),
            ("http://e.com/a?cfid=1&x=2&cftoken=3", "com,e)/a?cfid=1&cftoken=3&x=2"),
            ("http://e.com/a?cfid=&cftoken=2", "com,e)/a?cfid=&cftoken=2"),
            ("http://e.com/a/(0123456789abcdefghijklmn)/b.aspx", "com,e)/a/b.aspx"),
            ("http://e.com/a/(S(0123456789abcdefghijklmn))/b.aspx", "com,e)/a/b.aspx"),
            (
                "http://e.com/a/(a(0123456789abcdefghijklmn)b(0123456789abcdefghijklmn))/b/c.aspx?x=1",
                "com,e)/a/b/c.aspx?x=1",
            ),
            ("http://e.com/a/(0123456789abcdefghijklmn)/b.html", "com,e)/a/(0123456789abcdefghijklmn)/b.html"),
            ("http://e.com/(0123456789abcdefghijklmn)/.aspx", "com,e)/(0123456789abcdefghijklmn)/.aspx"),
            ("http://127.0.0.1:8080/a%20b/%7Ec", "1,0,0,127:8080)/a%20b/~c"),
            ("http://[::1]:80/a", "::1)/a"),
            ("http://[::1]:81/a", "::1:81)/a"),
            ("http://example.com/a//b/../c", "com,example)/a/c"),
            ("http://example.com/%C3%A9?q=%C3%A9&A=B", "com,example)/%c3%a9?a=b&q=%c3%a9"),
            ("http://example.com/a?b&a&=", "com,example)/a?=&a&b"),
            ("http://user:p@example.com/", "com,example)/"),
            ("http://example.com/a/b/", "com,example)/a/b"),
            ("http://example.com?x", "com,example)/?x"),
            ("http://example.com/robots.txt#f", "com,example)/robots.txt"),
            ("http://example.com/a?sid=short", "com,example)/a?sid=short"),
            ("http://example.com/a%2Fb%2fC", "com,example)/a/b/c"),
            ("http://example.com/a%252Fb", "com,example)/a/b"),
            ("http://example.com/a?q=a%26b", "com,example)/a?b&q=a"),
            ("http://example.com/a;b=C?x=%23", "com,example)/a;b=c?x=%23"),
            ("http://example.com/a|b", "com,example)/a|b"),
            ("http://example.com/a'b\"c", "com,example)/a'b\"c"),
            ("http://sub.a.example.co.uk/", "uk,co,example,a,sub)/"),
            ("https://www.example.com:443/", "com,example)/"),
            ("http://wwww.example.com/", "com,example,wwww)/"),
            ("http://example.com/?a=1&&b=2", "com,example)/?&a=1&b=2"),
            ("http://example.com/a+b?x=a+b", "com,example)/a+b?x=a+b"),
            ("http://example.com/a%2e%2e/b", "com,example)/a../b"),
            ("http://example.com/a/./b/..", "com,example)/a"),
            ("http://example.com/%zz%4", "com,example)/%25zz%254"),
        ] {
            assert_eq!(surt(url), key, "{url}");
        }
    }
}
