//! Percent-escapes by RFC 3986 section 6.2.2: `%7e` is `~`, and `%c3` is `%C3`.
//!
//! Each escape is decoded once. The result is never taken for the beginning of another escape: `%2541` stays, since it stands for `%41` and
//! not for `A`.

/// The escapes that a key does not have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needless {
    /// Escapes of unreserved characters. All others are then written in upper case.
    pub(super) unreserved: bool,
    /// Escapes of these characters. None of them may be a hexadecimal digit.
    pub(super) bare: &'static [u8],
}

/// Writes ASCII `text` without needless escapes. The result is never longer, and normalizing it
/// again changes nothing.
pub(super) fn normalize(text: &str, needless: Needless) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // The position in `out` of a `%` that begins no escape.
    let mut bare = None;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let Some((escape, byte)) = after.get(..2).and_then(|hex| Some((hex, decode(hex.as_bytes())?))) else {
            bare = Some(out.len());
            out.push('%');
            rest = after;
            continue;
        };
        // A digit that is decoded directly after a bare `%` could make an escape of it: `%%36%35` is not `%65`.
        let is_open =
            |bare: usize| out.len() - bare <= 2 && out[bare + 1..].bytes().all(|byte| byte.is_ascii_hexdigit());
        let completes = byte.is_ascii_hexdigit() && bare.is_some_and(is_open);
        if needless.bare.contains(&byte) || needless.unreserved && is_unreserved(byte) && !completes {
            out.push(byte.into());
        } else {
            out.push('%');
            out.extend(escape.chars().map(|c| if needless.unreserved { c.to_ascii_uppercase() } else { c }));
        }
        rest = &after[2..];
    }
    out.push_str(rest);
    out
}

/// The byte that two hexadecimal digits stand for.
fn decode(hex: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(hex[at]).to_digit(16);
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

/// Whether escaping it makes no difference (RFC 3986 section 2.3).
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::{Needless, normalize};

    const UNRESERVED: Needless = Needless { unreserved: true, bare: b"" };

    #[test]
    fn decodes_the_unreserved_and_nothing_else() {
        for (text, expected) in [
            ("", ""),
            ("/a", "/a"),
            ("/%7e%41%2d%2E%5f%30", "/~A-._0"),
            ("/%2f%3a%c3%a9", "/%2F%3A%C3%A9"),
            ("%2541", "%2541"),
            ("%", "%"),
            ("%4", "%4"),
            ("%zz%7E", "%zz~"),
        ] {
            assert_eq!(normalize(text, UNRESERVED), expected, "{text}");
        }
    }

    #[test]
    fn never_makes_an_escape_that_was_none() {
        for (text, expected) in [
            ("%%36%35", "%%365"),
            ("%4%31", "%4%31"),
            ("%%7E", "%~"),
            ("%a%62c", "%a%62c"),
            // A character that cannot continue an escape ends the danger: its neighbors may be dropped, or sorted away from it.
            ("%;%41", "%;A"),
            ("%&%41", "%&A"),
        ] {
            assert_eq!(normalize(text, UNRESERVED), expected, "{text}");
            assert_eq!(normalize(expected, UNRESERVED), expected);
        }
    }

    #[test]
    fn brackets_are_another_matter_than_the_unreserved() {
        for (text, brackets, both) in [
            ("%5b%5D%7e%2f", "[]%7e%2f", "[]~%2F"),
            ("%%5B35", "%[35", "%[35"),
            ("%5%5B", "%5[", "%5["),
            ("%255B", "%255B", "%255B"),
        ] {
            let bare = Needless { unreserved: false, bare: b"[]" };
            assert_eq!(normalize(text, bare), brackets, "{text}");
            assert_eq!(normalize(text, Needless { unreserved: true, ..bare }), both, "{text}");
        }
    }
}
