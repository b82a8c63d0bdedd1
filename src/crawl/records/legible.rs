//! Makes texts from the web safe for records: they cannot control a terminal or mislead a reader.

use crate::frontier::Trouble;

/// At most this many bytes of a text are kept.
const MAX_BYTES: usize = 1024;
/// Replaces the rest of a longer text.
const CUT: char = '…';

/// The text with its [unsafe](is_unsafe) characters escaped as `\u{…}`, cut at 1,024 bytes.
pub(crate) fn legible(text: &str) -> String {
    within(text, MAX_BYTES)
}

/// The same of the message of a record, which has at most [`Trouble::WORDS`] bytes.
pub(in crate::crawl) fn message(text: &str) -> String {
    within(text, Trouble::WORDS)
}

fn within(text: &str, most: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(most));
    let mut whole = 0;
    for c in text.chars() {
        if is_unsafe(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
        if shown.len() > most {
            shown.truncate(whole);
            shown.push(CUT);
            break;
        }
        if shown.len() <= most - CUT.len_utf8() {
            whole = shown.len();
        }
    }
    shown
}

/// Whether a character could control a terminal or change the reading order of a text: control characters (C0, DEL, C1), line and paragraph
/// separators, and marks that change the writing direction.
pub(crate) fn is_unsafe(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_characters_are_escaped() {
        for (text, shown) in [
            ("text/html; charset=utf-8", "text/html; charset=utf-8"),
            ("é 漢 👩‍🚀 \u{200c}", "é 漢 👩‍🚀 \u{200c}"),
            ("a\u{1b}[31mb\u{7f}\u{9b}c\t\n", r"a\u{1b}[31mb\u{7f}\u{9b}c\u{9}\u{a}"),
            ("\u{202e}gpj.exe\u{2066}\u{200f}\u{61c}", r"\u{202e}gpj.exe\u{2066}\u{200f}\u{61c}"),
            ("a\u{2028}b\u{2029}", r"a\u{2028}b\u{2029}"),
        ] {
            assert_eq!(legible(text), shown);
            assert_eq!(legible(shown), shown);
        }
    }

    #[test]
    fn a_long_text_is_cut_within_its_bound() {
        for (piece, most) in [("x", 1024), ("é", 1024), ("\u{202e}", 1024)] {
            let long = legible(&piece.repeat(100_000));
            assert!(long.ends_with('…') && long.len() <= most && long.len() > most - 16, "{} bytes", long.len());
            assert!(!long[..long.len() - 3].contains('…') && !long.ends_with("{202…"));
        }
        let exact = "x".repeat(1024);
        assert_eq!(legible(&exact), exact);
        assert_eq!(legible(&(exact + "x")), "x".repeat(1021) + "…");
    }
}
