//! ASCII hosts whose `xn--` labels are no punycode. The URL standard accepts them unchanged since June 2026; the `url` crate (2.5) refuses
//! them. So the parser is given another text, in which these labels begin otherwise, and its answer is changed back.

use std::ops::Range;

use super::slashes::{is_dropped, split_slashes};

/// The prefix of a label that stands for a Unicode one.
const PREFIX: &str = "xn--";
/// The parser is given this prefix instead. It accepts the first character in a host, and no name has it.
const MASK: &str = "*n--";

/// The text with its host in lower case and its labels masked. `None` if the host is not ASCII or has no such label: then the parser's
/// error stands.
///
/// The mask is as long as the prefix, so that the limits on labels and names hold as before.
pub(super) fn mask(text: &str) -> Option<String> {
    let range = host(text)?;
    let host = decode(&text[range.clone()])?;
    let labels = host.split('.').map(|label| label.strip_prefix(PREFIX).map(|rest| [MASK, rest].concat()));
    if !labels.clone().any(|masked| masked.is_some()) {
        return None;
    }
    let host: Vec<_> = labels.zip(host.split('.')).map(|(masked, label)| masked.unwrap_or(label.to_owned())).collect();
    Some([&text[..range.start], &host.join("."), &text[range.end..]].concat())
}

/// Unmasks the host in this range of the text.
pub(super) fn unmask(text: &mut String, host: Range<usize>) {
    let labels = text[host.clone()].split('.').map(|label| label.strip_prefix(MASK).map_or(label.to_owned(), unmasked));
    let labels: Vec<_> = labels.collect();
    text.replace_range(host, &labels.join("."));
}

/// The label as it was before [`mask`].
fn unmasked(rest: &str) -> String {
    [PREFIX, rest].concat()
}

/// Where the parser would find the host of an http(s) URL. `None` if the text has no host of its own, such as a path. An IPv6 address in
/// brackets is not found whole; no label of it begins with `xn--`.
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
