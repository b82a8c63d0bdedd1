//! Whether a body is HTML, by its header and by how it begins.

/// Bytes looked at (WHATWG MIME Sniffing, "resource header").
pub(in crate::crawl) const SNIFFED: usize = 1445;

/// What HTML starts with, behind white space; a space or `>` must follow, but for the comment.
const HTML: [&str; 17] = [
    "<!DOCTYPE HTML",
    "<A",
    "<B",
    "<BODY",
    "<BR",
    "<DIV",
    "<FONT",
    "<H1",
    "<HEAD",
    "<HTML",
    "<IFRAME",
    "<P",
    "<SCRIPT",
    "<STYLE",
    "<TABLE",
    "<TITLE",
    "<!--",
];

/// What a document never starts with: images, sound, archives, fonts, programs.
const BINARY: [&[u8]; 24] = [
    b"\x89PNG\r\n\x1a\n",
    b"GIF87a",
    b"GIF89a",
    b"\xff\xd8\xff",
    b"BM\0",
    b"\0\0\x01\0",
    b"RIFF",
    b"II*\0",
    b"MM\0*",
    b"%PDF-",
    b"%!PS",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b\x08",
    b"Rar!\x1a\x07",
    b"7z\xbc\xaf\x27\x1c",
    b"BZh9",
    b"\xfd7zXZ\0",
    b"\x28\xb5\x2f\xfd",
    b"OggS",
    b"ID3",
    b"wOFF",
    b"\x7fELF",
    b"\0asm",
];

/// Whether a body is to be parsed as HTML: the header says HTML or XHTML, or it says nothing useful and the
/// bytes begin as HTML does; and they do not begin as an image, archive or program.
pub fn is_html(content_type: Option<&str>, body: &[u8]) -> bool {
    if BINARY.iter().any(|signature| body.starts_with(signature)) {
        return false;
    }
    let essence = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let is = |names: &[&str]| names.iter().any(|name| essence.eq_ignore_ascii_case(name));
    if is(&["text/html", "application/xhtml+xml"]) {
        return true;
    }
    let unhelpful = !essence.contains('/')
        || is(&["*/*", "unknown/unknown", "application/unknown", "application/octet-stream", "binary/octet-stream"]);
    unhelpful && begins_as_html(&body[..body.len().min(SNIFFED)])
}

fn begins_as_html(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    HTML.iter().any(|start| {
        let (begin, rest) = head.split_at(head.len().min(start.len()));
        begin.eq_ignore_ascii_case(start.as_bytes())
            && (*start == "<!--" || matches!(rest.first(), Some(b' ' | b'>' | b'\t' | b'\n' | b'\r')))
    })
}
