//! A page's encoding: where it was found, the body decoded to text, and the queries of its links encoded to bytes.
//!
//! The encoding that a page's first bytes declare is found exactly as in the HTML standard: "prescan a byte stream to determine its
//! encoding", "get an attribute", "get an XML encoding" and "extracting a character encoding from a meta element".

use std::borrow::Cow;
use std::io::Write;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{EncoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

use crate::crawl::media_types::charset;
use crate::driver::QueryEncoder;

/// At most this many bytes are examined to detect the encoding.
const DETECT: usize = 64 * 1024;

/// Where a page's encoding was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodingSource {
    /// The byte order mark.
    Bom,
    /// The bytes themselves: they are valid UTF-8, or resemble this encoding most.
    Detection,
    /// The `charset` of the Content-Type header.
    Header,
    /// A `<meta>`: in the first 1,024 bytes, or wherever the parser met it.
    Meta,
    /// The `encoding` of an XML declaration.
    XmlDeclaration,
}

impl EncodingSource {
    /// Its name in records: `header`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bom => "bom",
            Self::Detection => "detection",
            Self::Header => "header",
            Self::Meta => "meta",
            Self::XmlDeclaration => "xml_declaration",
        }
    }
}

/// A body and its encoding. A declaration in the body may still change the encoding (HTML standard, "confidence").
pub(super) struct PageEncoding<'a> {
    body: &'a [u8],
    encoding: &'static Encoding,
    source: EncodingSource,
    certain: bool,
    /// The body as text, if it was already checked and is UTF-8.
    utf8: Option<&'a str>,
}

impl<'a> PageEncoding<'a> {
    /// Finds the encoding in the order of the HTML standard: byte order mark, header, declarations in the first bytes, and the bytes
    /// themselves.
    pub(super) fn find(body: &'a [u8], content_type: Option<&str>) -> Self {
        let ((encoding, utf8), source) = match declared(body, content_type) {
            Some((encoding, source)) => ((encoding, None), source),
            None => (detect(body), EncodingSource::Detection),
        };
        let certain = matches!(source, EncodingSource::Bom | EncodingSource::Header);
        Self { body, encoding, source, certain, utf8 }
    }

    /// The body as text; if it is UTF-8, the same bytes. Invalid bytes become U+FFFD.
    pub(super) fn text(&self) -> Cow<'a, str> {
        self.utf8.map_or_else(|| self.encoding.decode_with_bom_removal(self.body).0, Cow::Borrowed)
    }

    /// The name in the Encoding standard: `UTF-8`, `windows-1252`.
    pub(super) fn name(&self) -> &'static str {
        self.encoding.name()
    }

    pub(super) fn source(&self) -> EncodingSource {
        self.source
    }

    /// Takes a `<meta>` that the parser has met (HTML standard, "change the encoding"). Returns whether the text is now different, which
    /// happens at most once: the first `<meta>` settles it.
    pub(super) fn declare(&mut self, label: &str) -> bool {
        let Some(declared) = for_meta(label.as_bytes()).filter(|_| !self.certain) else { return false };
        self.certain = true;
        if self.encoding == UTF_16LE || self.encoding == UTF_16BE {
            return false;
        }
        let is_same = declared == self.encoding
            || declared.is_ascii_compatible() && self.encoding.is_ascii_compatible() && self.body.is_ascii();
        (self.encoding, self.source) = (declared, EncodingSource::Meta);
        self.utf8 = self.utf8.filter(|_| is_same);
        !is_same
    }
}

/// A body as text, in the encoding with this name. Invalid bytes become U+FFFD.
pub(super) fn text_in<'a>(body: &'a [u8], encoding: &str) -> Cow<'a, str> {
    Encoding::for_label(encoding.as_bytes()).unwrap_or(UTF_8).decode_with_bom_removal(body).0
}

/// The encoding of an XML file, from its byte order mark, its Content-Type, its declaration or its first bytes; otherwise UTF-8 (RFC 7303
/// section 3, and XML 1.0 appendix F).
pub(in crate::crawl) fn encoding_of_xml(start: &[u8], content_type: Option<&str>) -> &'static Encoding {
    match (declared(start, content_type), start) {
        (Some((encoding, _)), _) => encoding,
        (None, [b'<', 0, ..]) => UTF_16LE,
        (None, [0, b'<', ..]) => UTF_16BE,
        (None, _) => UTF_8,
    }
}

/// The encoding declared by byte order mark, header or first bytes.
fn declared(body: &[u8], content_type: Option<&str>) -> Option<(&'static Encoding, EncodingSource)> {
    if let Some((encoding, _)) = Encoding::for_bom(body) {
        return Some((encoding, EncodingSource::Bom));
    }
    if let Some(encoding) = content_type.and_then(charset).and_then(|label| Encoding::for_label(label.as_bytes())) {
        return Some((encoding, EncodingSource::Header));
    }
    prescan(body, for_meta).map(|(encoding, declaration)| match declaration {
        Declaration::Meta => (encoding, EncodingSource::Meta),
        Declaration::XmlDeclaration => (encoding, EncodingSource::XmlDeclaration),
    })
}

/// The encoding for a label in a page. The label was read as ASCII, so the page cannot be in UTF-16, whatever the label says.
fn for_meta(label: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_label(label).map(|encoding| match encoding {
        encoding if encoding == UTF_16LE || encoding == UTF_16BE => UTF_8,
        encoding if encoding == X_USER_DEFINED => WINDOWS_1252,
        encoding => encoding,
    })
}

/// The encoding that the bytes resemble, and the text if they are UTF-8.
fn detect(body: &[u8]) -> (&'static Encoding, Option<&str>) {
    match *body {
        [b'<', 0, first, 0, ..] if first != 0 => return (UTF_16LE, None),
        [0, b'<', 0, first, ..] if first != 0 => return (UTF_16BE, None),
        _ => {}
    }
    if let Ok(text) = std::str::from_utf8(body) {
        return (UTF_8, Some(text));
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    let head = &body[..body.len().min(DETECT)];
    detector.feed(head, head.len() == body.len());
    (detector.guess(None, Utf8Detection::Allow), None)
}

/// How to write queries on a page in this encoding; `None` for UTF-8, which is also used for UTF-16 (Encoding standard, "get an output
/// encoding").
pub(super) fn query_encoder(encoding: &str) -> Option<QueryEncoder> {
    let encoding = Encoding::for_label(encoding.as_bytes())?.output_encoding();
    (encoding != UTF_8).then(|| QueryEncoder::new(move |query| encode(encoding, query)))
}

fn encode<'q>(encoding: &'static Encoding, query: &'q str) -> Cow<'q, [u8]> {
    if encoding.is_ascii_compatible() && query.is_ascii() {
        return query.as_bytes().into();
    }
    let mut encoder = encoding.new_encoder();
    let (mut rest, mut bytes) = (query, Vec::new());
    loop {
        // For a text in memory, the worst case always fits a number.
        let room = encoder.max_buffer_length_from_utf8_without_replacement(rest.len());
        bytes.reserve(room.unwrap_or(rest.len()));
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
        rest = &rest[read..];
        match result {
            EncoderResult::InputEmpty => return bytes.into(),
            EncoderResult::OutputFull => {}
            // `&#N;`, as in a form, with each of its punctuation marks escaped.
            EncoderResult::Unmappable(letter) => {
                write!(bytes, "%26%23{}%3B", u32::from(letter)).expect("memory takes all");
            }
        }
    }
}

/// Declarations are looked for in this many first bytes before the page is parsed.
const PRESCAN: usize = 1024;

/// The type of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Declaration {
    Meta,
    XmlDeclaration,
}

/// The first `<meta>` that declares an encoding with a known label, or else an XML declaration that does.
///
/// A construct that is cut by the end of the bytes declares nothing.
pub(super) fn prescan<E>(body: &[u8], known: impl Fn(&[u8]) -> Option<E>) -> Option<(E, Declaration)> {
    let head = &body[..body.len().min(PRESCAN)];
    let meta = meta(head, &known).map(|encoding| (encoding, Declaration::Meta));
    meta.or_else(|| xml(head).and_then(known).map(|encoding| (encoding, Declaration::XmlDeclaration)))
}

fn meta<E>(head: &[u8], known: impl Fn(&[u8]) -> Option<E>) -> Option<E> {
    let mut at = 0;
    loop {
        let rest = &head[at..];
        at += match rest {
            // The end may overlap the beginning: `<!-->` is a complete comment.
            [b'<', b'!', b'-', b'-', ..] => 2 + find(&rest[2..], b"-->")? + 2,
            [b'<', name @ ..] if is_meta(name) => {
                let (label, end) = declaration(&rest[5..])?;
                if let Some(encoding) = label.and_then(&known) {
                    return Some(encoding);
                }
                5 + end
            }
            [b'<', b'/', first, ..] | [b'<', first, ..] if first.is_ascii_alphabetic() => {
                let mut end = rest.iter().position(|byte| is_space(*byte) || *byte == b'>')?;
                loop {
                    let (attribute, length) = attribute(&rest[end..])?;
                    end += length;
                    if attribute.is_none() {
                        break end;
                    }
                }
            }
            [b'<', b'!' | b'/' | b'?', ..] => rest.iter().position(|byte| *byte == b'>')?,
            [] => return None,
            _ => 0,
        };
        at += 1;
    }
}

fn is_meta(name: &[u8]) -> bool {
    let is_named = name.get(..4).is_some_and(|name| name.eq_ignore_ascii_case(b"meta"));
    is_named && name.get(4).is_some_and(|byte| is_space(*byte) || *byte == b'/')
}

/// The label that a `<meta>` declares, from its attributes, and the number of bytes to its end.
fn declaration(tag: &[u8]) -> Option<(Option<&[u8]>, usize)> {
    let (mut http_equiv, mut content, mut charset) = (None, None, None);
    let mut at = 0;
    loop {
        let (attribute, length) = attribute(&tag[at..])?;
        at += length;
        let Some((name, value)) = attribute else { break };
        let places = [(&b"http-equiv"[..], &mut http_equiv), (b"content", &mut content), (b"charset", &mut charset)];
        // The first attribute of each name counts.
        if let Some((_, place)) = places.into_iter().find(|(known, _)| name.eq_ignore_ascii_case(known)) {
            place.get_or_insert(value);
        }
    }
    let is_pragma = http_equiv.is_some_and(|value: &[u8]| value.eq_ignore_ascii_case(b"content-type"));
    Some((charset.or_else(|| content.filter(|_| is_pragma).and_then(in_content)), at))
}

/// An attribute's name and value.
type Attribute<'a> = (&'a [u8], &'a [u8]);

/// The next attribute (an inner `None` at the tag's end), and the number of bytes to what follows; `None` if the bytes end before that.
fn attribute(rest: &[u8]) -> Option<(Option<Attribute<'_>>, usize)> {
    let start = skip(rest, 0, |byte| is_space(byte) || byte == b'/')?;
    if rest[start] == b'>' {
        return Some((None, start));
    }
    // A `=` with nothing before it is the first letter of the name.
    let end = skip(rest, start + 1, |byte| !is_space(byte) && !matches!(byte, b'/' | b'>' | b'='))?;
    let name = &rest[start..end];
    let equals = skip(rest, end, is_space)?;
    if rest[equals] != b'=' {
        return Some((Some((name, b"")), equals));
    }
    let start = skip(rest, equals + 1, is_space)?;
    if let quote @ (b'"' | b'\'') = rest[start] {
        let end = skip(rest, start + 1, |byte| byte != quote)?;
        return Some((Some((name, &rest[start + 1..end])), end + 1));
    }
    let end = skip(rest, start, |byte| !is_space(byte) && byte != b'>')?;
    Some((Some((name, &rest[start..end])), end))
}

/// The position of the first unwanted byte; `None` if there is none.
fn skip(bytes: &[u8], from: usize, wanted: impl Fn(u8) -> bool) -> Option<usize> {
    bytes.get(from..)?.iter().position(|&byte| !wanted(byte)).map(|length| from + length)
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace()
}

/// The label in the `content` of a `<meta http-equiv=content-type>`.
pub(super) fn in_content(content: &[u8]) -> Option<&[u8]> {
    let mut rest = content;
    loop {
        let at = rest.windows(7).position(|window| window.eq_ignore_ascii_case(b"charset"))?;
        rest = rest[at + 7..].trim_ascii_start();
        let Some(value) = rest.strip_prefix(b"=") else { continue };
        let value = value.trim_ascii_start();
        return match *value.first()? {
            // A quote that is not closed gives no label.
            quote @ (b'"' | b'\'') => {
                let length = value[1..].iter().position(|byte| *byte == quote)?;
                Some(&value[1..=length])
            }
            _ => value.split(|byte| is_space(*byte) || *byte == b';').next(),
        };
    }
}

/// The label of an XML declaration.
fn xml(head: &[u8]) -> Option<&[u8]> {
    let declaration = head.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..find(declaration, b">")?];
    let rest = &declaration[find(declaration, b"encoding")? + b"encoding".len()..];
    let blanks_off = |bytes: &'_ [u8]| bytes.iter().take_while(|byte| **byte <= b' ').count();
    let value = rest[blanks_off(rest)..].strip_prefix(b"=")?;
    let value = &value[blanks_off(value)..];
    let quote = *value.first().filter(|first| matches!(first, b'"' | b'\''))?;
    let label = &value[1..=value[1..].iter().position(|byte| *byte == quote)?];
    Some(label).filter(|label| !label.iter().any(|byte| *byte <= b' '))
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
