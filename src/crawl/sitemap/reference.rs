//! References in texts and attributes.

/// What a reference stands for.
pub(super) enum Reference {
    /// One of XML's own five, or a number.
    Letter(char),
    /// Not a reference: it is part of the text.
    Text,
    /// An entity that is not resolved.
    Unknown,
}

impl Reference {
    /// The reference whose name is between `&` and `;`.
    pub(super) fn of(name: &str) -> Self {
        let letter = match name {
            "amp" => Some('&'),
            "apos" => Some('\''),
            "gt" => Some('>'),
            "lt" => Some('<'),
            "quot" => Some('"'),
            _ => name.strip_prefix('#').and_then(character),
        };
        match letter {
            Some(letter) => Self::Letter(letter),
            None if is_name(name) => Self::Unknown,
            None => Self::Text,
        }
    }
}

/// An attribute's value, with each of its references resolved separately. Calls `unknown` for each that is not resolved.
pub(super) fn value(raw: &str, mut unknown: impl FnMut(&str)) -> String {
    let mut value = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((text, behind)) = rest.split_once('&') {
        value.push_str(text);
        rest = behind;
        let name = &rest[..rest.find(['&', ';']).unwrap_or(rest.len())];
        let reference = if rest[name.len()..].starts_with(';') { Reference::of(name) } else { Reference::Text };
        match reference {
            Reference::Letter(letter) => value.push(letter),
            Reference::Text => {
                value.push('&');
                continue;
            }
            Reference::Unknown => unknown(name),
        }
        rest = &rest[name.len() + 1..];
    }
    value.push_str(rest);
    value
}

/// The character of a numeric reference, without its `#`.
fn character(number: &str) -> Option<char> {
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    code.ok().and_then(char::from_u32).filter(|letter| *letter != '\0')
}

/// Whether this can be an entity's name: `&b=2;` in a URL cannot.
fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(char::is_alphabetic)
        && letters.all(|letter| letter.is_alphanumeric() || "-_.:".contains(letter))
        && text.len() <= 64
}
