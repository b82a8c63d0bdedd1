use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

/// Bytes in which a `<meta charset>` counts (HTML standard, "prescan a byte stream").
const PRESCAN: usize = 1024;
/// Bytes that detection looks at.
const DETECT: usize = 64 * 1024;

/// Where a page's encoding was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodingSource {
    /// The byte order mark.
    Bom,
    /// The bytes themselves: valid UTF-8, or what they look like most.
    Detection,
    /// The `charset` of the Content-Type header.
    Header,
    /// A `<meta>` in the first 1,024 bytes.
    Meta,
}

/// A body as text.
pub(super) struct Decoded<'a> {
    pub(super) text: Cow<'a, str>,
    /// By the Encoding standard: `UTF-8`, `windows-1252`.
    pub(super) encoding: &'static str,
    pub(super) source: EncodingSource,
}

/// Decodes a body; what is invalid becomes U+FFFD. Borrows where it is UTF-8.
pub(super) fn decode<'a>(body: &'a [u8], content_type: Option<&str>) -> Decoded<'a> {
    let (encoding, source) = find(body, content_type);
    let (text, _) = encoding.decode_with_bom_removal(body);
    Decoded { text, encoding: encoding.name(), source }
}

fn find(body: &[u8], content_type: Option<&str>) -> (&'static Encoding, EncodingSource) {
    if let Some((encoding, _)) = Encoding::for_bom(body) {
        return (encoding, EncodingSource::Bom);
    }
    if let Some(encoding) = content_type.and_then(charset).and_then(|label| Encoding::for_label(label.as_bytes())) {
        return (encoding, EncodingSource::Header);
    }
    if let Some(encoding) = prescan(&body[..body.len().min(PRESCAN)]) {
        return (encoding, EncodingSource::Meta);
    }
    (detect(body), EncodingSource::Detection)
}

/// The `charset` of a Content-Type, or of a `<meta content>`: the first that has a value, quotes off.
fn charset(content_type: &str) -> Option<&str> {
    let mut rest = content_type;
    loop {
        let at = rest.as_bytes().windows(7).position(|window| window.eq_ignore_ascii_case(b"charset"))?;
        rest = &rest[at + 7..];
        let Some(value) = rest.trim_ascii_start().strip_prefix('=') else { continue };
        let value = value.trim_ascii_start();
        let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''));
        let end = |found: Option<usize>| found.unwrap_or(value.len());
        return Some(match quote {
            Some(quote) => value[1..].split(quote).next().unwrap_or_default(),
            None => &value[..end(value.find(|letter: char| letter.is_ascii_whitespace() || letter == ';'))],
        });
    }
}

fn detect(body: &[u8]) -> &'static Encoding {
    match *body {
        [b'<', 0, first, 0, ..] if first != 0 => return UTF_16LE,
        [0, b'<', 0, first, ..] if first != 0 => return UTF_16BE,
        _ => {}
    }
    if std::str::from_utf8(body).is_ok() {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    let head = &body[..body.len().min(DETECT)];
    detector.feed(head, head.len() == body.len());
    detector.guess(None, Utf8Detection::Allow)
}

/// The HTML standard's prescan: comments are skipped, the first `<meta>` that declares a known encoding wins.
fn prescan(head: &[u8]) -> Option<&'static Encoding> {
    let mut rest = head;
    while let Some(at) = rest.iter().position(|byte| *byte == b'<') {
        rest = &rest[at..];
        if rest.starts_with(b"<!--") {
            // `<!-->` is a whole comment: its end may overlap its beginning.
            let end = rest[2..].windows(3).position(|window| window == b"-->")?;
            rest = &rest[2 + end + 3..];
            continue;
        }
        let tag = rest.get(1..)?;
        let is_end = tag.first() == Some(&b'/');
        let name = if is_end { &tag[1..] } else { tag };
        if name.first().is_some_and(u8::is_ascii_alphabetic) {
            let length = name.iter().position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>'))?;
            let is_meta = !is_end && name[..length].eq_ignore_ascii_case(b"meta");
            let (declared, behind) = attributes(&name[length..]);
            if let Some(encoding) = declared.filter(|_| is_meta) {
                return Some(encoding);
            }
            rest = behind;
        } else if matches!(tag.first(), Some(b'!' | b'/' | b'?')) {
            rest = &rest[rest.iter().position(|byte| *byte == b'>')?..];
        } else {
            rest = tag;
        }
    }
    None
}

/// The encoding that a tag's attributes would declare, were it a `<meta>`; and what follows the tag.
fn attributes(mut rest: &[u8]) -> (Option<&'static Encoding>, &[u8]) {
    let mut pragma = false;
    let mut by_charset = None;
    let mut by_content = None;
    while let Some((name, value, behind)) = attribute(rest) {
        rest = behind;
        let value = String::from_utf8_lossy(value);
        if name.eq_ignore_ascii_case(b"http-equiv") {
            pragma |= value.eq_ignore_ascii_case("content-type");
        } else if name.eq_ignore_ascii_case(b"charset") && by_charset.is_none() {
            by_charset = Some(Encoding::for_label(value.as_bytes()));
        } else if name.eq_ignore_ascii_case(b"content") && by_content.is_none() {
            by_content = charset(&value).and_then(|label| Encoding::for_label(label.as_bytes()));
        }
    }
    let declared = by_charset.unwrap_or(by_content.filter(|_| pragma)).map(|encoding| {
        // The declaration was read as ASCII, so it cannot be in UTF-16.
        match encoding {
            encoding if encoding == UTF_16LE || encoding == UTF_16BE => UTF_8,
            encoding if encoding == X_USER_DEFINED => WINDOWS_1252,
            encoding => encoding,
        }
    });
    (declared, rest)
}

/// One attribute's name and value, and what follows; `None` at the tag's end, or where the bytes end within.
fn attribute(rest: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let skip = |bytes: &[u8], wanted: fn(&u8) -> bool| bytes.iter().take_while(|byte| wanted(byte)).count();
    let rest = &rest[skip(rest, |byte| byte.is_ascii_whitespace() || *byte == b'/')..];
    let length = skip(rest, |byte| !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'>' | b'='));
    let (name, rest) = rest.split_at(length);
    if name.is_empty() && rest.first() != Some(&b'=') {
        return None;
    }
    let after_name = &rest[skip(rest, u8::is_ascii_whitespace)..];
    let Some(value) = after_name.strip_prefix(b"=") else { return Some((name, &[], rest)) };
    let value = &value[skip(value, u8::is_ascii_whitespace)..];
    if let quote @ (b'"' | b'\'') = value.first()? {
        let end = value[1..].iter().position(|byte| byte == quote)?;
        return Some((name, &value[1..=end], &value[end + 2..]));
    }
    let end = skip(value, |byte| !byte.is_ascii_whitespace() && *byte != b'>');
    Some((name, &value[..end], &value[end..]))
}
