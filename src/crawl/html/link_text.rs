//! What a link says beside where it leads.

use crate::crawl::records::is_unsafe;

/// Bytes of a text that are kept.
const MAX_TEXT: usize = 512;

/// What a link says beside where it leads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkText {
    /// The first text that one of the `<a>` with this link has: white space folded, cut at 512 bytes.
    pub text: Option<String>,
    /// The first `rel` that one of its elements has, likewise.
    pub rel: Option<String>,
}

/// A text of the page with its white space folded, without unsafe characters, cut at 512 bytes; `None` where nothing is left.
pub(super) fn folded(text: impl Iterator<Item = char>) -> Option<String> {
    let mut folded = String::new();
    for letter in text {
        if folded.len() + letter.len_utf8() > MAX_TEXT {
            break;
        }
        // Many write one that does not break where a blank is meant.
        if letter.is_ascii_whitespace() || letter == '\u{a0}' {
            if !folded.is_empty() && !folded.ends_with(' ') {
                folded.push(' ');
            }
        } else if !is_unsafe(letter) {
            // Left out: a text says no less without them.
            folded.push(letter);
        }
    }
    folded.truncate(folded.trim_end().len());
    Some(folded).filter(|folded| !folded.is_empty())
}
