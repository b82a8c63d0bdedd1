//! User names and passwords in URLs. They are found so that the user can be told that they are left out, and they are never shown.

use std::ops::Range;

/// Whether a URL, or a link to one, names a user or a password. These are [never sent](super).
///
/// ```
/// # use crawler::address::has_userinfo;
/// assert!(has_userinfo("https://ann:pw@example.org/") && has_userinfo("//ann@example.org/"));
/// assert!(!has_userinfo("https://example.org/@ann") && !has_userinfo("mailto:ann@example.org"));
/// ```
pub fn has_userinfo(text: &str) -> bool {
    text.contains('@') && authority(text).is_some_and(|authority| text[authority].contains('@'))
}

/// The text without user and password; `None` if it has none. A text without a scheme has them only if there is a password, since
/// `ann@example.org` alone is a mail address.
pub fn without_userinfo(text: &str) -> Option<String> {
    let authority = authority(text).or_else(|| bare(text))?;
    let end = authority.start + text[authority.clone()].rfind('@')? + 1;
    Some(format!("{}{}", &text[..authority.start], &text[end..]))
}

/// The range of the authority: after `//`, with or without a scheme before it.
fn authority(text: &str) -> Option<Range<usize>> {
    let is_slash = |c| matches!(c, '/' | '\\');
    let scheme = text.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c)).unwrap_or(text.len());
    let behind = if text[scheme..].starts_with(':') { scheme + 1 } else { 0 };
    let start = text.len() - text[behind..].trim_start_matches(is_slash).len();
    (start >= behind + 2).then(|| start..end(text, start))
}

/// The range of the authority in a text such as `ann:pw@example.org`. A mail address with a scheme, such as `mailto:`, has none.
fn bare(text: &str) -> Option<Range<usize>> {
    let authority = 0..end(text, 0);
    let user = text[authority.clone()].rsplit_once('@')?.0;
    let (scheme, _) = user.split_once(':')?;
    let is_person =
        ["acct", "mailto", "sip", "sips", "tel", "xmpp"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    (!is_person).then_some(authority)
}

/// The end of an authority that begins at `start`.
fn end(text: &str, start: usize) -> usize {
    text[start..].find(['/', '\\', '?', '#']).map_or(text.len(), |at| start + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_passwords_are_taken_out_of_authorities_only() {
        for (text, clean) in [
            ("http://ann:pw@a.org/b", "http://a.org/b"),
            ("HTTPS://ann@a.org", "HTTPS://a.org"),
            (r"http:\\ann:p@w@a.org\b", r"http:\\a.org\b"),
            ("//ann:pw@a.org?b", "//a.org?b"),
            ("ann:pw@a.org:8080/b", "a.org:8080/b"),
        ] {
            assert_eq!(without_userinfo(text).as_deref(), Some(clean), "{text}");
        }
        for text in [
            "http://a.org/@ann",
            "http://a.org?to=http://ann:pw@b.org/",
            "mailto:ann@a.org",
            "ann@a.org",
            "/b?c=//ann:pw@d",
            "a.org",
            "",
            "http:",
            "é//ann@b",
        ] {
            assert_eq!(without_userinfo(text), None, "{text}");
            assert!(!has_userinfo(text), "{text}");
        }
    }
}
