//! The bytes of a tag, by the states of the HTML standard's tokenizer: its attributes, and where it ends.

use std::ops::Range;

use memchr::memchr;

use super::marks::Marks;

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

/// What follows the name in a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// An attribute: the ranges of its name and its value. The value is empty if there is none.
    Attribute(Range<usize>, Range<usize>),
    /// The tag's end.
    End {
        /// `/>`.
        self_closing: bool,
    },
}

/// The next part of a tag, and where it ends; `None` if the bytes end within the tag, which is then no tag.
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
    // A `=` with nothing before it is the first letter of the name.
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

/// The value of an attribute in the usual form, `name="value"`. Its `=` is the first mark from `at` on, and `at` is after the tag's name or
/// the last attribute. `None` if it has another form.
#[inline]
pub(super) fn quoted(bytes: &[u8], marks: &mut Marks<'_>, at: usize, mark: usize) -> Option<Range<usize>> {
    let quote = *bytes.get(mark + 1)?;
    let is_quoted = bytes[mark] == b'=' && matches!(quote, b'"' | b'\'');
    // The byte before the `=` must be a letter of the name; otherwise the `=` itself is.
    let is_named = mark > at && !ENDS_NAME[usize::from(bytes[mark - 1])];
    if !is_quoted || !is_named {
        return None;
    }
    marks.quote(quote, mark + 2).map(|close| mark + 2..close)
}

/// Where a tag ends, starting from its name, whatever its attributes; and whether with `/>`.
#[inline]
pub(super) fn skip(bytes: &[u8], marks: &mut Marks<'_>, name: usize) -> Option<(usize, bool)> {
    let mark = marks.part(name)?;
    if bytes[mark] == b'>' {
        return Some((mark + 1, bytes[mark - 1] == b'/'));
    }
    if let Some(behind) = marks.blank_in(name..mark) {
        return skip_parts(bytes, marks, behind, mark);
    }
    // Within a tag's name, a `=` is a letter.
    let behind = find(bytes, name, |byte| byte != b'=' && ENDS_NAME[usize::from(byte)])?;
    skip_by_letters(bytes, behind)
}

/// As [`skip`], from after the tag's name, with `mark` as the first mark.
#[inline]
fn skip_parts(bytes: &[u8], marks: &mut Marks<'_>, mut at: usize, mut mark: usize) -> Option<(usize, bool)> {
    loop {
        match quoted(bytes, marks, at, mark) {
            Some(value) => at = value.end + 1,
            None => return skip_by_letters(bytes, at),
        }
        mark = marks.part(at)?;
        if bytes[mark] == b'>' {
            return Some((mark + 1, bytes[mark - 1] == b'/'));
        }
    }
}

#[cold]
fn skip_by_letters(bytes: &[u8], mut at: usize) -> Option<(usize, bool)> {
    loop {
        match next_part(bytes, at)? {
            (Part::Attribute(..), behind) => at = behind,
            (Part::End { self_closing }, behind) => return Some((behind, self_closing)),
        }
    }
}

/// White space within a tag; `\r` becomes `\n` before the tokenizer sees it.
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
