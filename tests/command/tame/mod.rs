//! Whether a text could control a terminal.

/// It has no control characters, and nothing changes the reading order of its lines.
#[track_caller]
pub(crate) fn is_tame(what: &str, text: &str) {
    let turns = |c| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let line = text.lines().find(|line| line.chars().any(|c| c.is_control() && c != '\t' || turns(c)));
    assert!(line.is_none(), "{what}: {line:?}");
}
