//! The text and `rel` of a link.

use crate::crawl::records::is_unsafe;

/// At most this many bytes of a text are kept.
const MAX_TEXT: usize = 512;

/// The text and `rel` of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkText {
    /// The first non-empty text of an `<a>` with this link: white space folded, cut at 512 bytes.
    pub text: Option<String>,
    /// The first `rel` of one of its elements, likewise.
    pub rel: Option<String>,
}

/// A text of the page with white space folded and unsafe characters removed, cut at 512 bytes; `None` if nothing is left.
pub(super) fn folded(text: impl Iterator<Item = char>) -> Option<String> {
    let mut folded = String::new();
    for letter in text {
        if folded.len() + letter.len_utf8() > MAX_TEXT {
            break;
        }
        // Many pages use a no-break space where a plain one is meant.
        if letter.is_ascii_whitespace() || letter == '\u{a0}' {
            if !folded.is_empty() && !folded.ends_with(' ') {
                folded.push(' ');
            }
        } else if !is_unsafe(letter) {
            // Unsafe characters are left out: the text means the same without them.
            folded.push(letter);
        }
    }
    folded.truncate(folded.trim_end().len());
    Some(folded).filter(|folded| !folded.is_empty())
}
