//! What a site prefers its pages to be used for: the vocabulary of AIPREF, its syntax, and that of Content-Signal.
//!
//! | statement | where | by |
//! |---|---|---|
//! | `Content-Usage: train-ai=n` | robots.txt, and the header of a response | draft-ietf-aipref-attach, draft-ietf-aipref-vocab |
//! | `Content-Signal: ai-train=no` | robots.txt | contentsignals.org |
//!
//! A statement is about some purposes, and says nothing about the others. Of several statements about one page, the most restrictive
//! counts, purpose by purpose (vocab section 5.1). Content-Usage is a Dictionary of RFC 9651, parsed as strictly as that asks: if it cannot
//! be parsed, it says nothing.

use std::fmt;
use std::str::FromStr;

/// What a page may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// To show where something is: a search engine. `search` in both vocabularies.
    Search,
    /// As input of a model that answers somebody, such as retrieval-augmented generation. `ai-input` of Content-Signal; AIPREF has no word
    /// for it.
    AiInput,
    /// To train a model. `train-ai` of AIPREF, `ai-train` of Content-Signal.
    TrainAi,
}

impl Purpose {
    /// Each purpose, in the order in which they are written.
    pub const ALL: [Self; 3] = [Self::Search, Self::AiInput, Self::TrainAi];

    /// `search`, `ai-input` or `train-ai`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::AiInput => "ai-input",
            Self::TrainAi => "train-ai",
        }
    }

    /// Its bit among those that are denied.
    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Purpose {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|purpose| purpose.name() == text).ok_or(())
    }
}

/// The purposes that a site allows and denies for a page; of the others it has said nothing. One byte.
///
/// ```
/// use crawler_frontier::frontier::{Preferences, Purpose};
///
/// let header = Preferences::of_usage(b"search=y, train-ai=n");
/// assert_eq!(header.of(Purpose::TrainAi), Some(false));
/// assert_eq!(header.of(Purpose::AiInput), None);
/// // Of two statements, the most restrictive counts.
/// let both = header.and(Preferences::of_signal(b"search=no, ai-input=yes"));
/// assert_eq!(both.to_string(), "search=n, ai-input=y, train-ai=n");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Preferences {
    denied: u8,
    allowed: u8,
}

impl Preferences {
    /// Whether a purpose is allowed; `None` if nothing was said of it.
    pub const fn of(self, purpose: Purpose) -> Option<bool> {
        match (self.denied & purpose.bit(), self.allowed & purpose.bit()) {
            (0, 0) => None,
            (0, _) => Some(true),
            _ => Some(false),
        }
    }

    /// Whether a purpose is denied.
    pub const fn denies(self, purpose: Purpose) -> bool {
        self.denied & purpose.bit() != 0
    }

    /// Whether nothing was said of any purpose.
    pub const fn is_unknown(self) -> bool {
        self.denied | self.allowed == 0
    }

    /// Both statements: a purpose that one of them denies is denied (draft-ietf-aipref-vocab section 5.1).
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        let denied = self.denied | other.denied;
        Self { denied, allowed: (self.allowed | other.allowed) & !denied }
    }

    /// This statement, and that the purpose is allowed or denied.
    #[must_use]
    pub const fn with(self, purpose: Purpose, is_allowed: bool) -> Self {
        let said = if is_allowed {
            Self { denied: 0, allowed: purpose.bit() }
        } else {
            Self { denied: purpose.bit(), allowed: 0 }
        };
        self.and(said)
    }

    /// Reads the value of a `Content-Usage` header, or of such a rule after its path (draft-ietf-aipref-vocab section 6). Several headers
    /// are joined by commas first. A value that is no Dictionary says nothing. Linear.
    pub fn of_usage(value: &[u8]) -> Self {
        let mut last = [None; Purpose::ALL.len()];
        let mut input = Input(value);
        if input.dictionary(&mut last).is_none() {
            return Self::default();
        }
        let said = |preferences: Self, (purpose, said): (Purpose, Option<bool>)| match said {
            Some(is_allowed) => preferences.with(purpose, is_allowed),
            None => preferences,
        };
        Purpose::ALL.into_iter().zip(last).fold(Self::default(), said)
    }

    /// Reads the value of a `Content-Signal` rule after its path: `search=yes, ai-train=no`. Parts that it does not know say nothing. If
    /// one purpose is named twice, the most restrictive counts. Linear.
    pub fn of_signal(value: &[u8]) -> Self {
        let signal = |preferences: Self, part: &[u8]| {
            let Some(at) = part.iter().position(|&byte| byte == b'=') else { return preferences };
            let (name, value) = (part[..at].trim_ascii(), part[at + 1..].trim_ascii());
            let is = |text: &[u8], word: &[u8]| text.eq_ignore_ascii_case(word);
            let purpose = match name {
                _ if is(name, b"search") => Purpose::Search,
                _ if is(name, b"ai-input") => Purpose::AiInput,
                _ if is(name, b"ai-train") => Purpose::TrainAi,
                _ => return preferences,
            };
            match value {
                _ if is(value, b"yes") => preferences.with(purpose, true),
                _ if is(value, b"no") => preferences.with(purpose, false),
                _ => preferences,
            }
        };
        value.split(|&byte| byte == b',').fold(Self::default(), signal)
    }
}

impl fmt::Display for Preferences {
    /// As AIPREF writes it: `search=y, train-ai=n`; nothing if nothing was said.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = Purpose::ALL.into_iter().filter_map(|purpose| Some((purpose, self.of(purpose)?)));
        said.enumerate().try_for_each(|(place, (purpose, is_allowed))| {
            let between = if place == 0 { "" } else { ", " };
            write!(f, "{between}{purpose}={}", if is_allowed { 'y' } else { 'n' })
        })
    }
}

impl fmt::Debug for Preferences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{self}]")
    }
}

/// A rule's value as its path and its statement. The path is absent if the value does not begin with `/`; it ends before the first blank
/// (draft-ietf-aipref-attach section 3.2).
pub(super) fn path_and_statement(value: &[u8]) -> (Option<&[u8]>, &[u8]) {
    if !value.starts_with(b"/") {
        return (None, value);
    }
    let end = value.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(value.len());
    (Some(&value[..end]), value[end..].trim_ascii())
}

/// A value that is no Token; a Token is never empty.
const NO_TOKEN: &[u8] = b"";

/// What is left of a structured field (RFC 9651 section 4.2). `None` anywhere means that the whole field cannot be parsed.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// A Dictionary, of which the members that name a purpose are taken (section 4.2.2): the last of each counts, whatever it is.
    fn dictionary(&mut self, last: &mut [Option<bool>; Purpose::ALL.len()]) -> Option<()> {
        self.skip(|byte| byte == b' ');
        if self.0.is_empty() {
            return Some(());
        }
        loop {
            let key = self.key()?;
            let value = if self.take(b'=') { self.item_or_list()? } else { NO_TOKEN };
            self.parameters()?;
            // `ai-input` is no label of the vocabulary, and unknown labels are ignored.
            let purpose = match key {
                b"search" => Some(Purpose::Search),
                b"train-ai" => Some(Purpose::TrainAi),
                _ => None,
            };
            if let Some(purpose) = purpose {
                last[purpose as usize] = match value {
                    b"y" => Some(true),
                    b"n" => Some(false),
                    _ => None,
                };
            }
            let is_blank = |byte| matches!(byte, b' ' | b'\t');
            self.skip(is_blank);
            if self.0.is_empty() {
                return Some(());
            }
            if !self.take(b',') {
                return None;
            }
            self.skip(is_blank);
            if self.0.is_empty() {
                return None;
            }
        }
    }

    /// A value: its text if it is a Token, and [`NO_TOKEN`] if it is something else.
    fn item_or_list(&mut self) -> Option<&'a [u8]> {
        if !self.take(b'(') {
            return self.bare_item();
        }
        loop {
            self.skip(|byte| byte == b' ');
            if self.take(b')') {
                return Some(NO_TOKEN);
            }
            self.bare_item()?;
            self.parameters()?;
            if !matches!(self.0.first(), Some(b' ' | b')')) {
                return None;
            }
        }
    }

    /// A bare item, without its parameters (section 4.2.3.1).
    fn bare_item(&mut self) -> Option<&'a [u8]> {
        match *self.0.first()? {
            b'"' => self.string().map(|()| NO_TOKEN),
            b'%' => self.display_string().map(|()| NO_TOKEN),
            b':' => self.bytes().map(|()| NO_TOKEN),
            b'?' => {
                self.0 = &self.0[1..];
                (self.take(b'0') || self.take(b'1')).then_some(NO_TOKEN)
            }
            b'@' => {
                self.0 = &self.0[1..];
                self.number().filter(|is_decimal| !is_decimal).map(|_| NO_TOKEN)
            }
            b'-' | b'0'..=b'9' => self.number().map(|_| NO_TOKEN),
            first if first.is_ascii_alphabetic() || first == b'*' => {
                Some(self.run(|byte| is_tchar(byte) || matches!(byte, b':' | b'/')))
            }
            _ => None,
        }
    }

    /// The parameters of an item or a list: they have no meaning here, but must be well formed (section 4.2.3.2).
    fn parameters(&mut self) -> Option<()> {
        while self.take(b';') {
            self.skip(|byte| byte == b' ');
            self.key()?;
            if self.take(b'=') {
                self.bare_item()?;
            }
        }
        Some(())
    }

    fn key(&mut self) -> Option<&'a [u8]> {
        let first = *self.0.first()?;
        (first.is_ascii_lowercase() || first == b'*').then(|| {
            self.run(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'.' | b'*')
            })
        })
    }

    /// An Integer of at most 15 digits, or a Decimal of at most 12 and 3; whether it is a Decimal (section 4.2.4).
    fn number(&mut self) -> Option<bool> {
        self.take(b'-');
        let whole = self.run(|byte| byte.is_ascii_digit()).len();
        if !self.take(b'.') {
            return (1..=15).contains(&whole).then_some(false);
        }
        let fraction = self.run(|byte| byte.is_ascii_digit()).len();
        ((1..=12).contains(&whole) && (1..=3).contains(&fraction)).then_some(true)
    }

    /// A String: printable ASCII, with `\"` and `\\` (section 4.2.5).
    fn string(&mut self) -> Option<()> {
        self.0 = &self.0[1..];
        loop {
            match self.next()? {
                b'"' => return Some(()),
                b'\\' if matches!(self.next()?, b'"' | b'\\') => {}
                b'\\' => return None,
                b' '..=b'~' => {}
                _ => return None,
            }
        }
    }

    /// A Display String: UTF-8, with escapes of two lower-case digits (section 4.2.10).
    fn display_string(&mut self) -> Option<()> {
        self.0 = self.0.strip_prefix(b"%\"")?;
        let mut text = Vec::new();
        loop {
            match self.next()? {
                b'"' => return std::str::from_utf8(&text).ok().map(drop),
                b'%' => {
                    let mut digit = || match self.next()? {
                        digit @ b'0'..=b'9' => Some(digit - b'0'),
                        digit @ b'a'..=b'f' => Some(digit - b'a' + 10),
                        _ => None,
                    };
                    text.push(digit()? << 4 | digit()?);
                }
                byte @ b' '..=b'~' => text.push(byte),
                _ => return None,
            }
        }
    }

    /// A Byte Sequence in colons (section 4.2.7). What it decodes to does not matter here.
    fn bytes(&mut self) -> Option<()> {
        self.0 = &self.0[1..];
        self.skip(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
        self.take(b':').then_some(())
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// Takes this byte, if it is next.
    fn take(&mut self, byte: u8) -> bool {
        let rest = self.0.strip_prefix(&[byte]);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn skip(&mut self, is_part: impl Fn(u8) -> bool) {
        self.run(is_part);
    }

    fn run(&mut self, is_part: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.0.iter().position(|&byte| !is_part(byte)).unwrap_or(self.0.len());
        let (run, rest) = self.0.split_at(end);
        self.0 = rest;
        run
    }
}

/// An octet of a token (RFC 9110 section 5.6.2).
fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
