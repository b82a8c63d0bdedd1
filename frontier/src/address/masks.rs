//! Masks for parts of a URL that the `url` crate (2.5) reads otherwise than the URL standard. They are masked before a text is parsed, and
//! restored in the result.
//!
//! - Segments of a path that look like Windows drives. In a `file:` URL, `..` does not leave `C:` or `C|`. The crate applies that rule to all
//!   URLs, and the standard does not.
//! - ASCII hosts whose `xn--` labels are invalid punycode. The standard accepts them unchanged since June 2026; the crate refuses them. So the
//!   crate is given a text in which these labels begin with another prefix.

use std::ops::Range;

/// Whether the URL standard drops this character from anywhere in a URL.
pub(super) fn is_dropped(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r')
}

/// How many slashes and backslashes a text begins with, and the text after them. Dropped characters may be among them.
pub(super) fn split_slashes(text: &str) -> (usize, &str) {
    let rest = text.trim_start_matches(|c| matches!(c, '/' | '\\') || is_dropped(c));
    let slashes = text[..text.len() - rest.len()].bytes().filter(|byte| matches!(byte, b'/' | b'\\')).count();
    (slashes, rest)
}

/// Appended to a segment that is a letter and a colon or bar, so that the parser takes it for no drive.
const DRIVE_MASK: &str = "~drive~";

/// The text with its drives masked; `None` if it has none.
pub(super) fn mask_drives(text: &str) -> Option<String> {
    if may_have_drive(text) { mask_each(text) } else { None }
}

fn mask_each(text: &str) -> Option<String> {
    let clean: String;
    let mut text = text;
    if text.contains(is_dropped) {
        clean = text.replace(is_dropped, "");
        text = &clean;
    }
    let path_end = text.find(['?', '#']).unwrap_or(text.len());
    let (path, rest) = text.split_at(path_end);
    let start = path_start(path);
    if text.contains(DRIVE_MASK) || !path[start..].split(['/', '\\']).any(is_drive) {
        return None;
    }
    let mut masked = path[..start].to_owned();
    for segment in path[start..].split_inclusive(['/', '\\']) {
        let name = segment.trim_end_matches(['/', '\\']);
        masked.push_str(name);
        if is_drive(name) {
            masked.push_str(DRIVE_MASK);
        }
        masked.push_str(&segment[name.len()..]);
    }
    masked.push_str(rest);
    Some(masked)
}

/// `false` if no byte hints at a drive, as in nearly all texts: one pass, and no decoding.
fn may_have_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().any(|(at, byte)| match byte {
        b':' | b'|' => at < 2 || matches!(bytes[at - 2], b'/' | b'\\' | b':'),
        _ => is_dropped(char::from(*byte)),
    })
}

/// A path without its masks.
pub(super) fn unmask_drives(path: &str) -> String {
    let segments = path
        .split('/')
        .map(|segment| segment.strip_suffix(DRIVE_MASK).filter(|name| is_drive(name)).unwrap_or(segment));
    segments.collect::<Vec<_>>().join("/")
}

fn is_drive(segment: &str) -> bool {
    matches!(segment.as_bytes(), [letter, b':' | b'|'] if letter.is_ascii_alphabetic())
}

/// The start of a text's path, after scheme and host if it has them.
fn path_start(text: &str) -> usize {
    let begins = |scheme: &&str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    let scheme = ["https:", "http:"].iter().find(|scheme| begins(scheme)).map_or(0, |scheme| scheme.len());
    let (slashes, rest) = split_slashes(&text[scheme..]);
    if scheme == 0 && slashes < 2 {
        // A letter and a colon at the beginning are a scheme.
        return if matches!(text.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic()) { 2 } else { 0 };
    }
    let host = text.len() - rest.len();
    host + rest.find(['/', '\\']).unwrap_or(rest.len())
}

/// The prefix of a label that stands for a Unicode one.
const PREFIX: &str = "xn--";
/// The parser is given this prefix instead. It accepts the first character in a host, and no name has it.
const PUNYCODE_MASK: &str = "*n--";

/// The text with its host in lower case and its labels masked. `None` if the host is not ASCII or has no such label: then the parser's
/// error stands.
///
/// The mask is as long as the prefix, so that the limits on labels and names hold as before.
pub(super) fn mask_punycode(text: &str) -> Option<String> {
    let range = host(text)?;
    let host = decode(&text[range.clone()])?;
    let labels = host.split('.').map(|label| label.strip_prefix(PREFIX).map(|rest| [PUNYCODE_MASK, rest].concat()));
    if !labels.clone().any(|masked| masked.is_some()) {
        return None;
    }
    let host: Vec<_> = labels.zip(host.split('.')).map(|(masked, label)| masked.unwrap_or(label.to_owned())).collect();
    Some([&text[..range.start], &host.join("."), &text[range.end..]].concat())
}

/// Unmasks the host in this range of the text.
pub(super) fn unmask_punycode(text: &mut String, host: Range<usize>) {
    let labels =
        text[host.clone()].split('.').map(|label| label.strip_prefix(PUNYCODE_MASK).map_or(label.to_owned(), unmasked));
    let labels: Vec<_> = labels.collect();
    text.replace_range(host, &labels.join("."));
}

/// The label as it was before [`mask_punycode`].
fn unmasked(rest: &str) -> String {
    [PREFIX, rest].concat()
}

/// Where the parser would find the host of an http(s) URL. `None` if the text has no host of its own, as a path has none. An IPv6 address
/// in brackets is found only in part, which does no harm: it has no label that begins with `xn--`.
fn host(text: &str) -> Option<Range<usize>> {
    let scheme = text.find(':').filter(|&end| {
        let scheme: String = text[..end].chars().filter(|&c| !is_dropped(c)).collect();
        ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
    });
    let rest = &text[scheme.map_or(0, |end| end + 1)..];
    let (slashes, authority) = split_slashes(rest);
    if scheme.is_none() && slashes < 2 {
        return None;
    }
    let start = text.len() - authority.len();
    let authority = &authority[..authority.find(['/', '\\', '?', '#']).unwrap_or(authority.len())];
    let userinfo = authority.rfind('@').map_or(0, |at| at + 1);
    let host = &authority[userinfo..];
    let end = host.find(':').unwrap_or(host.len());
    Some(start + userinfo..start + userinfo + end)
}

/// A host's text without escapes and in lower case. `None` if it is not ASCII, or holds a character that no host may hold.
fn decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes().filter(|&byte| !is_dropped(byte.into()));
    let mut host = String::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        let byte = if byte == b'%' {
            let mut digit = || char::from(bytes.next()?).to_digit(16);
            u8::try_from(digit()? * 16 + digit()?).ok()?
        } else {
            byte
        };
        let is_forbidden = byte <= b' ' || byte >= 0x7f || b"#/:<>?@[\\]^|%".contains(&byte);
        if is_forbidden {
            return None;
        }
        host.push(byte.to_ascii_lowercase().into());
    }
    Some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_drive_is_passed_over() {
        let alphabet = ['C', 'é', ':', '|', '/', '\\', '\t', '?'];
        let mut texts = vec![String::new(), "http://h/a".to_owned(), "http:".to_owned()];
        for _ in 0..5 {
            let longer = texts.iter().flat_map(|text| alphabet.map(|c| format!("{text}{c}")));
            texts = longer.collect();
            for text in &texts {
                assert!(may_have_drive(text) || mask_each(text).is_none(), "{text:?}");
            }
        }
    }
}
