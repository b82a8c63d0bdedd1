//! The head of a response in the form that archive readers expect.

use std::borrow::Cow;

/// The coding that the client has removed.
const CHUNKED: &str = "chunked";

/// The head as written to a record: HTTP/1.1 at the latest, and without the chunking that its body no longer has. The header that announced
/// the chunking is kept under another name, as other crawlers do.
pub(super) fn archived(head: &[u8]) -> Cow<'_, [u8]> {
    let is_later = !head.starts_with(b"HTTP/1.");
    let is_told = |line: &[u8]| value(line, b"transfer-encoding").is_some();
    if !is_later && !lines(head).any(is_told) {
        return Cow::Borrowed(head);
    }
    let mut archived = Vec::with_capacity(head.len() + 64);
    for (at, line) in lines(head).enumerate() {
        if at == 0 && is_later {
            let rest = line.iter().position(|byte| *byte == b' ').map_or(&b" 200"[..], |space| &line[space..]);
            archived.extend([b"HTTP/1.1", rest].concat());
        } else if let Some(codings) = value(line, b"transfer-encoding") {
            archived.extend([b"x-orig-", line, b"\r\n"].concat());
            let others = codings.split(',').map(str::trim).filter(|coding| !coding.eq_ignore_ascii_case(CHUNKED));
            let others = others.filter(|coding| !coding.is_empty()).collect::<Vec<_>>().join(", ");
            if others.is_empty() {
                continue;
            }
            archived.extend(format!("transfer-encoding: {others}").bytes());
        } else {
            archived.extend(line);
        }
        archived.extend(b"\r\n");
    }
    archived.extend(b"\r\n");
    Cow::Owned(archived)
}

/// Whether the body has a content coding, so that compressing it gains nothing.
pub(super) fn is_encoded(head: &[u8]) -> bool {
    lines(head).any(|line| value(line, b"content-encoding").is_some_and(|coding| coding != "identity"))
}

/// The status line and the headers.
fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .take_while(|line| !line.is_empty())
}

/// The value of a header with this name.
fn value<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a str> {
    let value = line.strip_prefix(name)?.strip_prefix(b":")?;
    Some(str::from_utf8(value).unwrap_or_default().trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(head: &str) -> String {
        String::from_utf8(archived(head.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn chunks_that_are_undone_are_not_promised() {
        let plain = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\nset-cookie: a\r\n\r\n";
        assert_eq!(shown(plain), plain);
        assert_eq!(
            shown("HTTP/1.1 404 No\r\na: b\r\ntransfer-encoding: Chunked\r\nc: d\r\n\r\n"),
            "HTTP/1.1 404 No\r\na: b\r\nx-orig-transfer-encoding: Chunked\r\nc: d\r\n\r\n"
        );
        assert_eq!(
            shown("HTTP/1.0 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n"),
            "HTTP/1.0 200 OK\r\nx-orig-transfer-encoding: gzip, chunked\r\ntransfer-encoding: gzip\r\n\r\n"
        );
    }

    #[test]
    fn later_versions_are_written_as_the_last_that_readers_know() {
        assert_eq!(shown("HTTP/2.0 200 OK\r\na: b\r\n\r\n"), "HTTP/1.1 200 OK\r\na: b\r\n\r\n");
    }

    #[test]
    fn a_content_coding_is_found() {
        assert!(is_encoded(b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\n\r\n"));
        assert!(!is_encoded(b"HTTP/1.1 200 OK\r\ncontent-encoding: identity\r\n\r\n"));
        assert!(!is_encoded(b"HTTP/1.1 200 OK\r\nx: y\r\n\r\ncontent-encoding: br\r\n"));
    }
}
