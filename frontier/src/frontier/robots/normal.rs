//! The normal form in which rules and paths are compared (RFC 9309 section 2.2.2).
//!
//! - an unreserved octet, and `!` `'` `(` `)` `,` `:` `@`, is written literally, however it was written: `%7E` is `~`, `%3A` is `:`;
//! - a delimiter that differs in meaning from its escape, `/` `?` `&` `=` `+` `;`, stays as it was written: `/` is not `%2F`;
//! - every other octet is an escape with upper-case digits: `%C3%9C` for `Ü`, `%2A` for a path's `*`, `%25` for a lone `%`.
//!
//! So the form is ASCII, `*` in it is always the wildcard, and it is at most three times as long as the text.

use std::borrow::Cow;

/// A rule's path in normal form.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// Literals between wildcards. No two wildcards in a row, none at the end unless `anchored`.
    pub(super) text: String,
    /// Whether there was a `$` at the end: the path must end here too.
    pub(super) anchored: bool,
    /// How specific it is: the octets of the whole rule, including wildcards and `$`, as Google counts them.
    pub(super) octets: usize,
}

/// The pattern of an Allow or Disallow value; `None` if it cannot match a path, because it begins with neither `/` nor `*`. An empty value
/// is no rule: `Disallow:` alone allows everything.
pub(super) fn pattern(value: &[u8]) -> Option<Pattern> {
    if !matches!(value.first(), Some(b'/' | b'*')) {
        return None;
    }
    let (value, mut anchored) = value.strip_suffix(b"$").map_or((value, false), |value| (value, true));
    let mut text = String::with_capacity(value.len());
    let mut octets = usize::from(anchored);
    for (stars, literal) in value.split(|&byte| byte == b'*').enumerate() {
        if stars > 0 {
            octets += 1;
            if !text.ends_with('*') {
                text.push('*');
            }
        }
        let before = text.len();
        push(&mut text, literal);
        octets += text.len() - before;
    }
    if text.ends_with('*') {
        anchored = false;
        text.pop();
    }
    Some(Pattern { text, anchored, octets })
}

/// A path and query in normal form: from its `/`, which is added if missing, up to its fragment. Most are already in this form, and are
/// borrowed.
pub(super) fn path(text: &str) -> Cow<'_, str> {
    let text = text.split('#').next().unwrap_or_default();
    if text.starts_with('/') && text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut normal = String::with_capacity(text.len() + 16);
    if !text.starts_with('/') {
        normal.push('/');
    }
    push(&mut normal, text.as_bytes());
    Cow::Owned(normal)
}

/// Appends a text in the normal form. Escapes are decoded, and octets that must be escaped are escaped again, one by one; the text need not
/// be UTF-8.
fn push(normal: &mut String, text: &[u8]) {
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        let octet = match (byte, tail) {
            (b'%', [high, low, tail @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                rest = tail;
                let octet = digit(*high) << 4 | digit(*low);
                if is_delimiter(octet) { Err(octet) } else { Ok(octet) }
            }
            _ => Ok(*byte),
        };
        match octet {
            Ok(octet) if is_plain(octet) => normal.push(char::from(octet)),
            Ok(octet) | Err(octet) => {
                const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                normal.push('%');
                normal.push(char::from(DIGITS[usize::from(octet >> 4)]));
                normal.push(char::from(DIGITS[usize::from(octet & 15)]));
            }
        }
    }
}

/// The value of a hexadecimal digit, which the caller has checked.
fn digit(hex: u8) -> u8 {
    match hex {
        b'0'..=b'9' => hex - b'0',
        _ => (hex | 0x20) - b'a' + 10,
    }
}

/// Whether a literal octet stays literal. All of these are ASCII, so a text of only these is borrowed.
fn is_plain(octet: u8) -> bool {
    octet.is_ascii_alphanumeric()
        || matches!(octet, b'-' | b'.' | b'_' | b'~' | b'!' | b'\'' | b'(' | b')' | b',' | b':' | b'@')
        || is_delimiter(octet)
}

/// Whether an octet differs in meaning from its escape: servers distinguish `/a%2Fb` from `/a/b`, so a rule for one does not apply to the
/// other.
fn is_delimiter(octet: u8) -> bool {
    matches!(octet, b'/' | b'?' | b'&' | b'=' | b'+' | b';')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_spellings_have_one_form() {
        for (text, normal) in [
            ("", "/"),
            ("?a", "/?a"),
            ("/a/b?c=d&e=f+g;h", "/a/b?c=d&e=f+g;h"),
            ("/a#b", "/a"),
            ("/%7ejoe/~joe", "/~joe/~joe"),
            ("/%62%61%7A", "/baz"),
            ("/%e3%83%84/ツ", "/%E3%83%84/%E3%83%84"),
            ("/a%2fb", "/a%2Fb"),
            ("/a%3fb%26%3D%2B%3B", "/a%3Fb%26%3D%2B%3B"),
            ("/Special%3aSearch", "/Special:Search"),
            ("/a*b$", "/a%2Ab%24"),
            ("/{a}|\"b\"", "/%7Ba%7D%7C%22b%22"),
            ("/100%", "/100%25"),
            ("/100%zz%2", "/100%25zz%252"),
            ("/%252F", "/%252F"),
        ] {
            assert_eq!(path(text), normal, "{text}");
        }
    }

    #[test]
    fn patterns_keep_their_wildcards_and_their_octets() {
        let case = |text: &str, anchored, octets| Some(Pattern { text: text.to_owned(), anchored, octets });
        for (value, expected) in [
            ("", None),
            ("a", None),
            ("$", None),
            ("%2Fa", None),
            ("/", case("/", false, 1)),
            ("/a$", case("/a", true, 3)),
            ("/a$b", case("/a%24b", false, 6)),
            ("/a%24", case("/a%24", false, 5)),
            ("/a%2A", case("/a%2A", false, 5)),
            ("/a*", case("/a", false, 3)),
            ("/a**b***", case("/a*b", false, 8)),
            ("/a*$", case("/a", false, 4)),
            ("*", case("", false, 1)),
            ("*.js$", case("*.js", true, 5)),
            ("/ü b", case("/%C3%BC%20b", false, 11)),
        ] {
            assert_eq!(pattern(value.as_bytes()), expected, "{value}");
        }
    }

    proptest! {
        #[test]
        fn the_form_is_ascii_bounded_and_its_own_form(text in "[/a-c%*$#?:2ef ü]{0,20}|.{0,20}") {
            let normal = path(&text);
            prop_assert!(normal.is_ascii() && normal.len() <= 3 * text.len() + 1);
            prop_assert!(!normal.contains(['*', '$', '#']));
            prop_assert_eq!(path(&normal), normal.as_ref());
        }
    }
}
