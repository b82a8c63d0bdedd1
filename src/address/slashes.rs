//! The slashes before a host, as the URL standard reads them.

/// Whether the URL standard drops this character from anywhere in a URL.
pub(super) fn is_dropped(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r')
}

/// How many slashes of either kind a text begins with, and the text after them. Dropped characters may be among them.
pub(super) fn split_slashes(text: &str) -> (usize, &str) {
    let rest = text.trim_start_matches(|c| matches!(c, '/' | '\\') || is_dropped(c));
    let slashes = text[..text.len() - rest.len()].bytes().filter(|byte| matches!(byte, b'/' | b'\\')).count();
    (slashes, rest)
}
