//! Character references: `&amp;`, `&#38;`, `&#x26;`; also line ends and NULs, which the standard handles in the same step.

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};
use memchr::memchr3;

/// At most this many bytes of a name are looked up: the longest known name has 32.
const MAX_NAME: usize = 40;

/// Where a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// In an attribute's value: there, `&copy=` and `&copying` are not references.
    Attribute,
    /// In a title.
    Title,
}

/// Appends a text with its references decoded.
pub(super) fn decode(mut raw: &str, context: Context, text: &mut String) {
    while let Some(at) = memchr3(b'&', b'\r', b'\0', raw.as_bytes()) {
        text.push_str(&raw[..at]);
        let rest = &raw[at + 1..];
        raw = match raw.as_bytes()[at] {
            b'&' => reference(rest, context, text),
            b'\r' => {
                text.push('\n');
                rest.strip_prefix('\n').unwrap_or(rest)
            }
            _ => {
                text.push('\u{fffd}');
                rest
            }
        };
    }
    text.push_str(raw);
}

/// Appends what a `&` and the letters after it stand for, and returns the rest.
fn reference<'t>(rest: &'t str, context: Context, text: &mut String) -> &'t str {
    // By far the most common one.
    if let Some(rest) = rest.strip_prefix("amp;") {
        text.push('&');
        return rest;
    }
    if let Some(digits) = rest.strip_prefix('#') {
        return number(digits, text).unwrap_or_else(|| {
            text.push('&');
            rest
        });
    }
    // The longest matching name: the table also has the prefixes of names, as NUL.
    let mut found = None;
    let letters = rest.bytes().take(MAX_NAME).take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b';').count();
    for end in 1..=letters {
        let Some(&(first, second)) = NAMED_ENTITIES.get(&rest[..end]) else { break };
        if first != 0 {
            found = Some((end, first, second));
        }
    }
    let is_whole = |end: usize| rest.as_bytes()[end - 1] == b';';
    let goes_on =
        |end: usize| rest.as_bytes().get(end).is_some_and(|byte| *byte == b'=' || byte.is_ascii_alphanumeric());
    match found {
        Some((end, first, second)) if is_whole(end) || context == Context::Title || !goes_on(end) => {
            text.extend([first, second].into_iter().filter(|code| *code != 0).filter_map(char::from_u32));
            &rest[end..]
        }
        _ => {
            text.push('&');
            rest
        }
    }
}

/// Appends the character of a number, and returns the rest; `None` if there is no digit.
fn number<'t>(digits: &'t str, text: &mut String) -> Option<&'t str> {
    let (digits, base) = match digits.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (digits, 10),
    };
    let rest = digits.trim_start_matches(|letter: char| letter.is_digit(base));
    let digits = &digits[..digits.len() - rest.len()];
    if digits.is_empty() {
        return None;
    }
    let add =
        |code: u32, digit: char| code.saturating_mul(base).saturating_add(digit.to_digit(base).unwrap_or_default());
    let code = digits.chars().fold(0, add);
    let replaced = code.checked_sub(0x80).and_then(|at| *C1_REPLACEMENTS.get(at as usize)?);
    let character = replaced.or_else(|| char::from_u32(code)).filter(|character| *character != '\0');
    text.push(character.unwrap_or('\u{fffd}'));
    Some(rest.strip_prefix(';').unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(raw: &str, context: Context) -> String {
        let mut text = String::new();
        decode(raw, context, &mut text);
        text
    }

    #[test]
    fn references_are_read_by_the_letter() {
        for (raw, attribute, title) in [
            ("a&amp;b&ampc&amp=", "a&b&ampc&amp=", "a&b&c&="),
            ("&lt&lt;&ltx&lt5&lt ", "<<&ltx&lt5< ", "<<<x<5< "),
            ("&notit;&notin;&not;&not", "&notit;\u{2209}\u{ac}\u{ac}", "\u{ac}it;\u{2209}\u{ac}\u{ac}"),
            ("&NotEqualTilde;", "\u{2242}\u{338}", "\u{2242}\u{338}"),
            ("&CounterClockwiseContourIntegral;", "\u{2233}", "\u{2233}"),
            ("&nothing;&;&&x", "&nothing;&;&&x", "\u{ac}hing;&;&&x"),
            ("&#38;&#38&#x26;&#X26g&#038", "&&&&g&", "&&&&g&"),
            ("&#;&#x;&#xg&#", "&#;&#x;&#xg&#", "&#;&#x;&#xg&#"),
            (
                "&#0;&#xd800;&#x110000;&#99999999999;",
                "\u{fffd}\u{fffd}\u{fffd}\u{fffd}",
                "\u{fffd}\u{fffd}\u{fffd}\u{fffd}",
            ),
            ("&#128;&#x92;&#129;&#159;&#160;", "€’\u{81}Ÿ\u{a0}", "€’\u{81}Ÿ\u{a0}"),
            ("&#13;\r\n\r\r\nx\0", "\r\n\n\nx\u{fffd}", "\r\n\n\nx\u{fffd}"),
            ("&é&eacute;é&eacute", "&ééé&eacute".replace("&eacute", "é").as_str(), "&éééé"),
            ("&ampé", "&é", "&é"),
        ] {
            assert_eq!(decoded(raw, Context::Attribute), attribute, "{raw}");
            assert_eq!(decoded(raw, Context::Title), title, "{raw}");
        }
    }
}
