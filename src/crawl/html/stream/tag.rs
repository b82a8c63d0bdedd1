//! The letters of a tag, by the states of the HTML standard's tokenizer: its attributes, and where it ends.

use std::ops::Range;

use memchr::memchr;

/// Bytes that end an attribute's name.
const ENDS_NAME: [bool; 256] = {
    let mut ends = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        ends[byte as usize] = is_space(byte) || matches!(byte, b'/' | b'>' | b'=');
        byte += 1;
    }
    ends
};

/// What stands in a tag behind its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// An attribute: where its name stands, and where its value. One without a value has an empty one.
    Attribute(Range<usize>, Range<usize>),
    /// The tag's end.
    End {
        /// `/>`.
        self_closing: bool,
    },
}

/// The next part of a tag, and where it ends; `None` where the bytes end within the tag: it is none then.
#[inline]
pub(super) fn next_part(bytes: &[u8], mut at: usize) -> Option<(Part, usize)> {
    loop {
        match *bytes.get(at)? {
            b'>' => return Some((Part::End { self_closing: false }, at + 1)),
            b'/' if *bytes.get(at + 1)? == b'>' => return Some((Part::End { self_closing: true }, at + 2)),
            byte if byte == b'/' || is_space(byte) => at += 1,
            _ => break,
        }
    }
    // A `=` that nothing stands before is the name's first letter.
    let start = at;
    let end = find(bytes, at + 1, |byte| ENDS_NAME[usize::from(byte)])?;
    let equals = find(bytes, end, |byte| !is_space(byte))?;
    if bytes[equals] != b'=' {
        return Some((Part::Attribute(start..end, end..end), equals));
    }
    let value = find(bytes, equals + 1, |byte| !is_space(byte))?;
    let (value, behind) = if let quote @ (b'"' | b'\'') = bytes[value] {
        let value = value + 1;
        let close = value + memchr(quote, &bytes[value..])?;
        (value..close, close + 1)
    } else {
        let close = find(bytes, value, |byte| byte == b'>' || is_space(byte))?;
        (value..close, close)
    };
    Some((Part::Attribute(start..end, value), behind))
}

/// Where a tag ends, whatever its attributes, and whether in `/>`.
#[inline]
pub(super) fn skip(bytes: &[u8], mut at: usize) -> Option<(usize, bool)> {
    // Most tags have nothing behind their name.
    if *bytes.get(at)? == b'>' {
        return Some((at + 1, false));
    }
    loop {
        match next_part(bytes, at)? {
            (Part::Attribute(..), behind) => at = behind,
            (Part::End { self_closing }, behind) => return Some((behind, self_closing)),
        }
    }
}

/// White space within a tag; `\r` is `\n` before the tokenizer sees it.
pub(super) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\x0c' | b'\r')
}

fn find(bytes: &[u8], from: usize, wanted: impl Fn(u8) -> bool) -> Option<usize> {
    bytes.get(from..)?.iter().position(|byte| wanted(*byte)).map(|length| from + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(tag: &str) -> String {
        let (mut at, mut told) = (0, String::new());
        while let Some((part, behind)) = next_part(tag.as_bytes(), at) {
            at = behind;
            match part {
                Part::Attribute(name, value) => told.extend([&tag[name], "=", &tag[value], "|"]),
                Part::End { self_closing } => return format!("{told}{}", if self_closing { "/>" } else { ">" }),
            }
        }
        told + "none"
    }

    #[test]
    fn attributes_come_in_all_their_forms() {
        for (tag, expected) in [
            (" a=1 b='2' c=\"3\" d>", "a=1|b=2|c=3|d=|>"),
            (" a = 1\r\nb\t=\x0c'2'>", "a=1|b=2|>"),
            (" a='1'b=2>", "a=1|b=2|>"),
            (" a=1/>", "a=1/|>"),
            (" a='1'/>", "a=1|/>"),
            ("/>", "/>"),
            ("/ >", ">"),
            ("/a/b//>", "a=|b=|/>"),
            (" =a=b =>", "=a=b|==|>"),
            (" a=>b", "a=|>"),
            (" a= >", "a=|>"),
            (" a=b'c\"d<e>", "a=b'c\"d<e|>"),
            (" a'=\"b\"c\" d>", "a'=b|c\"=|d=|>"),
            (" a=''>", "a=|>"),
            (" a", "none"),
            (" a=", "none"),
            (" a='b>", "none"),
            (" a='b'", "a=b|none"),
            (" a /", "a=|none"),
        ] {
            assert_eq!(parts(tag), expected, "{tag}");
        }
    }
}
