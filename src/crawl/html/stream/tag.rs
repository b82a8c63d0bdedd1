//! The bytes of a tag, by the states of the HTML standard's tokenizer: its attributes, and where it ends.
//!
//! The attributes in [`AttributeName`] are read; the first of each name counts. Their values are decoded: character references such as
//! `&amp;`, `&#38;` and `&#x26;`, and also line ends and NULs, which the standard handles in the same step.

use std::borrow::Cow;
use std::ops::Range;

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};
use memchr::{memchr, memchr3};

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

/// A part of a tag, after its name.
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
    let (value, after) = if let quote @ (b'"' | b'\'') = bytes[value] {
        let value = value + 1;
        let close = value + memchr(quote, &bytes[value..])?;
        (value..close, close + 1)
    } else {
        let close = find(bytes, value, |byte| byte == b'>' || is_space(byte))?;
        (value..close, close)
    };
    Some((Part::Attribute(start..end, value), after))
}

/// The value of an attribute in the usual form, `name="value"`. `mark` is the place of its `=`, the first mark from `at` on; `at` is after
/// the tag's name or the last attribute. `None` if it has another form.
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

/// The end of the tag whose name begins at `name`, and whether it ends with `/>`. Its attributes are skipped.
#[inline]
pub(super) fn skip(bytes: &[u8], marks: &mut Marks<'_>, name: usize) -> Option<(usize, bool)> {
    let mark = marks.part(name)?;
    if bytes[mark] == b'>' {
        return Some((mark + 1, bytes[mark - 1] == b'/'));
    }
    if let Some(after) = marks.blank_in(name..mark) {
        return skip_parts(bytes, marks, after, mark);
    }
    // Within a tag's name, a `=` is a letter.
    let after = find(bytes, name, |byte| byte != b'=' && ENDS_NAME[usize::from(byte)])?;
    skip_by_letters(bytes, after)
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
            (Part::Attribute(..), after) => at = after,
            (Part::End { self_closing }, after) => return Some((after, self_closing)),
        }
    }
}

/// White space within a tag. It includes `\r`, which becomes `\n` before the standard's tokenizer sees it.
pub(super) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\x0c' | b'\r')
}

fn find(bytes: &[u8], from: usize, wanted: impl Fn(u8) -> bool) -> Option<usize> {
    bytes.get(from..)?.iter().position(|byte| wanted(*byte)).map(|length| from + length)
}

/// An attribute that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttributeName {
    As,
    Background,
    Charset,
    /// `color`, `face` or `size`: a `<font>` with one of them is HTML.
    Color,
    Content,
    Data,
    Encoding,
    Href,
    HttpEquiv,
    Imagesrcset,
    Name,
    Poster,
    Rel,
    Src,
    Srcset,
    Type,
    /// The `href` of a link in foreign content, in its old form.
    XlinkHref,
}

const NAMES: usize = 17;

impl AttributeName {
    fn of(name: &[u8]) -> Option<Self> {
        // No two of these names have the same length and first letter, except the pair below.
        let (known, attribute) = match (name.len(), name.first()?.to_ascii_lowercase()) {
            (2, b'a') => ("as", Self::As),
            (3, b'r') => ("rel", Self::Rel),
            (3, b's') => ("src", Self::Src),
            (4, b'd') => ("data", Self::Data),
            (4, b'f') => ("face", Self::Color),
            (4, b'h') => ("href", Self::Href),
            (4, b'n') => ("name", Self::Name),
            (4, b's') => ("size", Self::Color),
            (4, b't') => ("type", Self::Type),
            (5, b'c') => ("color", Self::Color),
            (6, b'p') => ("poster", Self::Poster),
            (6, b's') => ("srcset", Self::Srcset),
            (7, b'c') if name[1].eq_ignore_ascii_case(&b'h') => ("charset", Self::Charset),
            (7, b'c') => ("content", Self::Content),
            (8, b'e') => ("encoding", Self::Encoding),
            (10, b'b') => ("background", Self::Background),
            (10, b'h') => ("http-equiv", Self::HttpEquiv),
            (10, b'x') => ("xlink:href", Self::XlinkHref),
            (11, b'i') => ("imagesrcset", Self::Imagesrcset),
            _ => return None,
        };
        name.eq_ignore_ascii_case(known.as_bytes()).then_some(attribute)
    }
}

/// The attributes of the last tag read. Their memory is reused for the next tag.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    /// A bit for each attribute that the tag has.
    present: u32,
    /// A bit for each attribute whose value must be decoded.
    coded: u32,
    places: [Range<usize>; NAMES],
    decoded: [String; NAMES],
}

impl Attributes {
    /// Reads a tag from after its name. Returns where it ends, and whether with `/>`.
    pub(super) fn read(&mut self, text: &str, marks: &mut Marks<'_>, mut at: usize) -> Option<(usize, bool)> {
        (self.present, self.coded) = (0, 0);
        let bytes = text.as_bytes();
        loop {
            let mark = marks.part(at)?;
            if mark == at && bytes[at] == b'>' {
                return Some((at + 1, false));
            }
            // One space and a name, as most attributes are written.
            let is_plain = is_space(bytes[at]) && marks.blank_in(at + 1..mark).is_none();
            if is_plain && let Some(value) = quoted(bytes, marks, at, mark) {
                let name = &bytes[at + 1..mark];
                at = value.end + 1;
                self.take(name, text, value, marks);
                continue;
            }
            // This goes on byte by byte up to the mark, instead of searching for a mark again after each part.
            while at <= mark {
                match next_part(bytes, at)? {
                    (Part::Attribute(name, value), after) => {
                        at = after;
                        self.take(&bytes[name], text, value, marks);
                    }
                    (Part::End { self_closing }, after) => return Some((after, self_closing)),
                }
            }
        }
    }

    #[inline]
    fn take(&mut self, name: &[u8], text: &str, value: Range<usize>, marks: &mut Marks<'_>) {
        let Some(name) = AttributeName::of(name) else { return };
        let (name, bit) = (name as usize, 1 << name as u32);
        if self.present & bit != 0 {
            return;
        }
        self.present |= bit;
        if marks.is_coded(value.clone()) {
            self.coded |= bit;
            self.decoded[name].clear();
            decode(&text[value.clone()], Context::Attribute, &mut self.decoded[name]);
        }
        self.places[name] = value;
    }

    /// The address of the element's link; `text` is the text from which the tag was read. In foreign content, `xlink:href` counts if there
    /// is no `href`.
    #[inline]
    pub(super) fn href<'a>(&'a self, text: &'a str, is_foreign: bool) -> Option<&'a str> {
        let href = self.get(AttributeName::Href, text);
        if is_foreign { href.or_else(|| self.get(AttributeName::XlinkHref, text)) } else { href }
    }

    /// The value of an attribute; `text` is the text from which the tag was read.
    #[inline]
    pub(super) fn get<'a>(&'a self, name: AttributeName, text: &'a str) -> Option<&'a str> {
        let (name, bit) = (name as usize, 1 << name as u32);
        if self.present & bit == 0 {
            return None;
        }
        Some(if self.coded & bit == 0 { &text[self.places[name].clone()] } else { &self.decoded[name] })
    }
}

/// At most this many bytes of a name are looked up: the longest known name has 32.
const MAX_NAME: usize = 40;

/// Where a text stands, which decides how its references are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// In an attribute's value: there, `&copy=` and `&copying` are not references.
    Attribute,
    /// In a title.
    Title,
}

/// A text with its references decoded. Most texts have none, and are not copied.
pub(super) fn decoded(raw: &str, context: Context) -> Cow<'_, str> {
    if memchr3(b'&', b'\r', b'\0', raw.as_bytes()).is_none() {
        return raw.into();
    }
    let mut text = String::with_capacity(raw.len());
    decode(raw, context, &mut text);
    text.into()
}

/// Appends a text with its references decoded.
pub(super) fn decode(mut raw: &str, context: Context, text: &mut String) {
    while let Some(at) = memchr3(b'&', b'\r', b'\0', raw.as_bytes()) {
        text.push_str(&raw[..at]);
        let rest = &raw[at + 1..];
        raw = match raw.as_bytes()[at] {
            b'&' => reference(rest, context, text),
            b'\r' => {
                text.push('\n');
                rest.strip_prefix('\n').unwrap_or(rest)
            }
            _ => {
                text.push('\u{fffd}');
                rest
            }
        };
    }
    text.push_str(raw);
}

/// Appends what a `&` and the letters after it stand for, and returns the rest.
fn reference<'t>(rest: &'t str, context: Context, text: &mut String) -> &'t str {
    // By far the most common one.
    if let Some(rest) = rest.strip_prefix("amp;") {
        text.push('&');
        return rest;
    }
    if let Some(digits) = rest.strip_prefix('#') {
        return number(digits, text).unwrap_or_else(|| {
            text.push('&');
            rest
        });
    }
    // The longest matching name counts. The table also has the prefixes of names, with a NUL as their character.
    let mut found = None;
    let letters = rest.bytes().take(MAX_NAME).take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b';').count();
    for end in 1..=letters {
        let Some(&(first, second)) = NAMED_ENTITIES.get(&rest[..end]) else { break };
        if first != 0 {
            found = Some((end, first, second));
        }
    }
    let is_whole = |end: usize| rest.as_bytes()[end - 1] == b';';
    let goes_on =
        |end: usize| rest.as_bytes().get(end).is_some_and(|byte| *byte == b'=' || byte.is_ascii_alphanumeric());
    match found {
        Some((end, first, second)) if is_whole(end) || context == Context::Title || !goes_on(end) => {
            text.extend([first, second].into_iter().filter(|code| *code != 0).filter_map(char::from_u32));
            &rest[end..]
        }
        _ => {
            text.push('&');
            rest
        }
    }
}

/// Appends the character of a number, and returns the rest; `None` if there is no digit.
fn number<'t>(digits: &'t str, text: &mut String) -> Option<&'t str> {
    let (digits, base) = match digits.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (digits, 10),
    };
    let rest = digits.trim_start_matches(|letter: char| letter.is_digit(base));
    let digits = &digits[..digits.len() - rest.len()];
    if digits.is_empty() {
        return None;
    }
    let add =
        |code: u32, digit: char| code.saturating_mul(base).saturating_add(digit.to_digit(base).unwrap_or_default());
    let code = digits.chars().fold(0, add);
    let replaced = code.checked_sub(0x80).and_then(|at| *C1_REPLACEMENTS.get(at as usize)?);
    let character = replaced.or_else(|| char::from_u32(code)).filter(|character| *character != '\0');
    text.push(character.unwrap_or('\u{fffd}'));
    Some(rest.strip_prefix(';').unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(tag: &str) -> String {
        let (mut at, mut told) = (0, String::new());
        while let Some((part, after)) = next_part(tag.as_bytes(), at) {
            at = after;
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

    #[test]
    fn references_are_read_by_the_letter() {
        for (raw, attribute, title) in [
            ("a&amp;b&ampc&amp=", "a&b&ampc&amp=", "a&b&c&="),
            ("&lt&lt;&ltx&lt5&lt ", "<<&ltx&lt5< ", "<<<x<5< "),
            ("&notit;&notin;&not;&not", "&notit;\u{2209}\u{ac}\u{ac}", "\u{ac}it;\u{2209}\u{ac}\u{ac}"),
            ("&NotEqualTilde;", "\u{2242}\u{338}", "\u{2242}\u{338}"),
            ("&CounterClockwiseContourIntegral;", "\u{2233}", "\u{2233}"),
            ("&nothing;&;&&x", "&nothing;&;&&x", "\u{ac}hing;&;&&x"),
            ("&#38;&#38&#x26;&#X26g&#038", "&&&&g&", "&&&&g&"),
            ("&#;&#x;&#xg&#", "&#;&#x;&#xg&#", "&#;&#x;&#xg&#"),
            (
                "&#0;&#xd800;&#x110000;&#99999999999;",
                "\u{fffd}\u{fffd}\u{fffd}\u{fffd}",
                "\u{fffd}\u{fffd}\u{fffd}\u{fffd}",
            ),
            ("&#128;&#x92;&#129;&#159;&#160;", "€’\u{81}Ÿ\u{a0}", "€’\u{81}Ÿ\u{a0}"),
            ("&#13;\r\n\r\r\nx\0", "\r\n\n\nx\u{fffd}", "\r\n\n\nx\u{fffd}"),
            ("&é&eacute;é&eacute", "&ééé&eacute".replace("&eacute", "é").as_str(), "&éééé"),
            ("&ampé", "&é", "&é"),
        ] {
            assert_eq!(decoded(raw, Context::Attribute), attribute, "{raw}");
            assert_eq!(decoded(raw, Context::Title), title, "{raw}");
        }
    }
}
