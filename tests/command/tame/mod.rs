//! Whether a text would be obeyed.

/// A terminal obeys nothing in it, and each of its lines is read in the order in which it is written.
#[track_caller]
pub(crate) fn is_tame(what: &str, text: &str) {
    let turns = |c| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let line = text.lines().find(|line| line.chars().any(|c| c.is_control() && c != '\t' || turns(c)));
    assert!(line.is_none(), "{what}: {line:?}");
}
