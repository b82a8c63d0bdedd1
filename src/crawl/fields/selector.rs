//! A CSS selector, or the reason and place of its error.

use scraper::Selector;
use scraper::error::SelectorErrorKind;

/// Parses a selector.
///
/// # Errors
/// What is wrong, and the character up to which it was a valid selector.
pub(super) fn selector(text: &str) -> Result<Selector, String> {
    Selector::parse(text).map_err(|error| {
        let is_one = |end: &usize| text.get(..*end).is_some_and(|start| Selector::parse(start).is_ok());
        let end = (0..text.len()).rev().find(is_one).unwrap_or_default();
        let before = &text[..end];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = match before.matches('\n').count() {
            0 => String::new(),
            lines => format!("line {}, ", lines + 1),
        };
        format!("{line}character {}: {}", before[line_start..].chars().count() + 1, reason(&error))
    })
}

fn reason(error: &SelectorErrorKind) -> String {
    match error {
        SelectorErrorKind::EndOfLine => "it ends too early".to_owned(),
        SelectorErrorKind::UnexpectedSelectorParseError(kind) => words(&format!("{kind:?}")),
        kind => words(&format!("{kind:?}")),
    }
}

/// The words of a name such as `DanglingCombinator`.
fn words(name: &str) -> String {
    let mut words = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::selector;

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for good in ["h1", "a[href^='/x' i] > b:nth-child(2n+1)", "p:has(> img), :not(.a)", "#x ~ y + z"] {
            assert!(selector(good).is_ok(), "{good}");
        }
        let told: Vec<_> =
            ["", "h1, ", "div > > p", "p::before", "a:link", "a[=x]", "\u{e9} .", "p >", "svg|a", "a\n b..c"]
                .map(|text| selector(text).unwrap_err())
                .into();
        assert_eq!(
            told,
            [
                "character 1: empty selector",
                "character 3: empty selector",
                "character 5: dangling combinator",
                "character 2: unsupported pseudo class or element",
                "character 2: unsupported pseudo class or element",
                "character 2: no qualified name in attribute selector",
                "character 3: it ends too early",
                "character 3: dangling combinator",
                "character 4: expected namespace",
                "line 2, character 3: class needs ident",
            ]
        );
    }
}
