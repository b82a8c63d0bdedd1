//! Segments of a path that the parser takes for Windows drives.
//!
//! In a `file:` URL, `..` does not leave `C:` or `C|`. The `url` crate (2.5) applies that rule to all URLs, and the URL standard does not.
//! So such segments are masked before a text is parsed, and restored in the result.

use super::slashes::{is_dropped, split_slashes};

/// Appended to a segment of a letter and a colon or a bar, so that it is no drive.
const MASK: &str = "~drive~";

/// The text with its drives masked; `None` if it has none.
pub(super) fn mask(text: &str) -> Option<String> {
    if may_have_drive(text) { mask_each(text) } else { None }
}

fn mask_each(text: &str) -> Option<String> {
    let clean: String;
    let mut text = text;
    if text.contains(is_dropped) {
        clean = text.replace(is_dropped, "");
        text = &clean;
    }
    let path_end = text.find(['?', '#']).unwrap_or(text.len());
    let (path, rest) = text.split_at(path_end);
    let start = path_start(path);
    if text.contains(MASK) || !path[start..].split(['/', '\\']).any(is_drive) {
        return None;
    }
    let mut masked = path[..start].to_owned();
    for segment in path[start..].split_inclusive(['/', '\\']) {
        let name = segment.trim_end_matches(['/', '\\']);
        masked.push_str(name);
        if is_drive(name) {
            masked.push_str(MASK);
        }
        masked.push_str(&segment[name.len()..]);
    }
    masked.push_str(rest);
    Some(masked)
}

/// `false` if no byte hints at a drive, as in nearly all texts: one pass, and no decoding.
fn may_have_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().any(|(at, byte)| match byte {
        b':' | b'|' => at < 2 || matches!(bytes[at - 2], b'/' | b'\\' | b':'),
        _ => is_dropped(char::from(*byte)),
    })
}

/// A path without its masks.
pub(super) fn unmask(path: &str) -> String {
    let segments =
        path.split('/').map(|segment| segment.strip_suffix(MASK).filter(|name| is_drive(name)).unwrap_or(segment));
    segments.collect::<Vec<_>>().join("/")
}

fn is_drive(segment: &str) -> bool {
    matches!(segment.as_bytes(), [letter, b':' | b'|'] if letter.is_ascii_alphabetic())
}

/// The start of a text's path, after scheme and host if it has them.
fn path_start(text: &str) -> usize {
    let begins = |scheme: &&str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    let scheme = ["https:", "http:"].iter().find(|scheme| begins(scheme)).map_or(0, |scheme| scheme.len());
    let (slashes, rest) = split_slashes(&text[scheme..]);
    if scheme == 0 && slashes < 2 {
        // A letter and a colon at the beginning are a scheme.
        return if text.as_bytes().get(1) == Some(&b':') { 2 } else { 0 };
    }
    let host = text.len() - rest.len();
    host + rest.find(['/', '\\']).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_drive_is_passed_over() {
        let alphabet = ['C', 'é', ':', '|', '/', '\\', '\t', '?'];
        let mut texts = vec![String::new(), "http://h/a".to_owned(), "http:".to_owned()];
        for _ in 0..5 {
            let longer = texts.iter().flat_map(|text| alphabet.map(|c| format!("{text}{c}")));
            texts = longer.collect();
            for text in &texts {
                assert!(may_have_drive(text) || mask_each(text).is_none(), "{text:?}");
            }
        }
    }
}
