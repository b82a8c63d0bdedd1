//! The encoding that a page's first bytes declare, by the letter of the HTML standard: "prescan a byte stream to determine its
//! encoding", "get an attribute", "get an XML encoding" and "extracting a character encoding from a meta element".

/// A declaration before parsing counts only in the first bytes: this many.
const PRESCAN: usize = 1024;

/// The type of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Declaration {
    Meta,
    XmlDeclaration,
}

/// The first `<meta>` that declares an encoding with a known label, or else an XML declaration that does.
///
/// A construct that the bytes end within declares nothing, and nothing after it does.
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
