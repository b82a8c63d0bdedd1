//! How a setting's value is read from a text and written as TOML, for each type that a setting has.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::quantity::{COUNT, SIZE, TIME};
use super::settings::Settings;
use super::toml_file::quote;
use crate::address::FingerprintKey;

/// What somebody gave for a setting: one text, or several for a list.
#[derive(Clone, Debug)]
pub(super) struct Given {
    /// What it was in the place it stood.
    pub(super) kind: Kind,
    /// Its text or texts, without quotes.
    pub(super) texts: Vec<String>,
    /// As it was spelled there, for messages.
    pub(super) spelled: String,
}

/// The type of a given value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Array,
    Boolean,
    Float,
    Integer,
    /// A date, a table, an array of those.
    Other,
    String,
    /// From a flag or the environment, where everything is text.
    Untyped,
}

/// One type of value.
pub(super) trait Value: Sized + 'static {
    /// What a good value is, for "expected …".
    const EXPECTED: &'static str;
    /// The TOML types it may have.
    const KINDS: &'static [Kind];

    /// From its text.
    fn parse(text: &str) -> Option<Self>;

    /// As it stands in a TOML file.
    fn literal(&self) -> String;
}

impl Value for bool {
    const EXPECTED: &'static str = "true or false";
    const KINDS: &'static [Kind] = &[Kind::Boolean];

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn literal(&self) -> String {
        self.to_string()
    }
}

impl Value for f64 {
    const EXPECTED: &'static str = "a number such as 0.0001 or 1e-4";
    const KINDS: &'static [Kind] = &[Kind::Float, Kind::Integer];

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }

    fn literal(&self) -> String {
        format!("{self:?}")
    }
}

impl Value for Duration {
    const EXPECTED: &'static str = "a duration with its unit, such as 250ms, 1s or \"1h 30m\"";
    const KINDS: &'static [Kind] = &[Kind::String, Kind::Integer];

    fn parse(text: &str) -> Option<Self> {
        TIME.parse(text).map(Self::from_micros)
    }

    fn literal(&self) -> String {
        let spelled = TIME.spell(u64::try_from(self.as_micros()).unwrap_or(u64::MAX));
        quote(if spelled == "0" { "0s" } else { &spelled })
    }
}

impl Value for String {
    const EXPECTED: &'static str = "a text";
    const KINDS: &'static [Kind] = &[Kind::String];

    fn parse(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn literal(&self) -> String {
        quote(self)
    }
}

impl Value for PathBuf {
    const EXPECTED: &'static str = "a path";
    const KINDS: &'static [Kind] = &[Kind::String];

    fn parse(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| text.into())
    }

    fn literal(&self) -> String {
        quote(&self.to_string_lossy())
    }
}

impl Value for SocketAddr {
    const EXPECTED: &'static str = "an address with a port, such as 127.0.0.1:8080";
    const KINDS: &'static [Kind] = &[Kind::String];

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn literal(&self) -> String {
        quote(&self.to_string())
    }
}

impl Value for FingerprintKey {
    const EXPECTED: &'static str = "a number of 64 bits in hexadecimal, as a text";
    const KINDS: &'static [Kind] = &[Kind::String];

    fn parse(text: &str) -> Option<Self> {
        u64::from_str_radix(text, 16).ok().map(Self::from_u64)
    }

    fn literal(&self) -> String {
        quote(&format!("{:016x}", self.to_u64()))
    }
}

/// Counts of each width.
macro_rules! counts {
    ($($width:ty: $expected:literal),*) => {$(
        impl Value for $width {
            const EXPECTED: &'static str = $expected;
            const KINDS: &'static [Kind] = &[Kind::Integer, Kind::String];

            fn parse(text: &str) -> Option<Self> {
                COUNT.parse(text)?.try_into().ok()
            }

            fn literal(&self) -> String {
                grouped(u64::try_from(*self).unwrap_or(u64::MAX))
            }
        }
    )*};
}
counts! {
    u8: "a count of at most 255",
    u32: "a count such as 8, 10_000 or 1M, below 2^32",
    u64: "a count such as 8, 10_000 or 1M",
    usize: "a count such as 8, 10_000 or 1M"
}

/// Five digits and more in groups of three: `10_000`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let (first, rest) = digits.split_at((digits.len() - 1) % 3 + 1);
    rest.as_bytes().chunks(3).fold(first.to_owned(), |text, group| text + "_" + &String::from_utf8_lossy(group))
}

/// Where a setting's value lives in [`Settings`], read and written without regard to its type.
pub(super) trait Field: Sync {
    /// Takes what was given; or says what is expected.
    fn set(&self, settings: &mut Settings, given: &Given) -> Result<(), String>;

    /// The value as it stands in a TOML file. Takes `&mut` only because one function finds the place for both ways.
    fn literal(&self, settings: &mut Settings) -> String;

    /// May be given several times.
    fn is_list(&self) -> bool {
        false
    }

    /// The words that it takes, where it takes no others.
    fn words(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// The place of a `T`.
type Place<T> = fn(&mut Settings) -> &mut T;

/// A value.
pub(super) struct One<T>(pub(super) Place<T>);

/// A value, or the word for none.
pub(super) struct Maybe<T: 'static>(pub(super) Place<Option<T>>, pub(super) &'static str);

/// Texts. Given at all, they replace those of a lower layer.
pub(super) struct Many(pub(super) Place<Vec<String>>);

/// A number of bytes.
pub(super) struct Bytes(pub(super) Place<usize>);

/// One of some words; the first of a value's words is the one it is written with.
pub(super) struct Choice<T: 'static>(pub(super) Place<T>, pub(super) &'static [(&'static str, T)]);

impl<T: Value> Field for One<T> {
    fn set(&self, settings: &mut Settings, given: &Given) -> Result<(), String> {
        *(self.0)(settings) = one(given, T::KINDS).and_then(T::parse).ok_or_else(|| T::EXPECTED.to_owned())?;
        Ok(())
    }

    fn literal(&self, settings: &mut Settings) -> String {
        (self.0)(settings).literal()
    }
}

impl<T: Value> Field for Maybe<T> {
    fn set(&self, settings: &mut Settings, given: &Given) -> Result<(), String> {
        *(self.0)(settings) = if one(given, &[Kind::String]) == Some(self.1) {
            None
        } else {
            let value = one(given, T::KINDS).and_then(T::parse);
            Some(value.ok_or_else(|| format!("{}, or {:?}", T::EXPECTED, self.1))?)
        };
        Ok(())
    }

    fn literal(&self, settings: &mut Settings) -> String {
        (self.0)(settings).as_ref().map_or_else(|| quote(self.1), T::literal)
    }
}

impl Field for Many {
    fn set(&self, settings: &mut Settings, given: &Given) -> Result<(), String> {
        if !matches!(given.kind, Kind::Array | Kind::Untyped) {
            return Err("a list of texts, such as [\"a\", \"b\"]".to_owned());
        }
        (self.0)(settings).clone_from(&given.texts);
        Ok(())
    }

    fn literal(&self, settings: &mut Settings) -> String {
        let texts: Vec<_> = (self.0)(settings).iter().map(|text| quote(text)).collect();
        format!("[{}]", texts.join(", "))
    }

    fn is_list(&self) -> bool {
        true
    }
}

impl Field for Bytes {
    fn set(&self, settings: &mut Settings, given: &Given) -> Result<(), String> {
        let bytes = one(given, &[Kind::String, Kind::Integer]).and_then(|text| SIZE.parse(text)?.try_into().ok());
        *(self.0)(settings) = bytes.ok_or("a size such as 10MiB, 64kB or 8192 (bytes)")?;
        Ok(())
    }

    fn literal(&self, settings: &mut Settings) -> String {
        quote(&SIZE.spell(*(self.0)(settings) as u64))
    }
}

impl<T: Copy + PartialEq + Sync> Field for Choice<T> {
    fn set(&self, settings: &mut Settings, given: &Given) -> Result<(), String> {
        let word = one(given, &[Kind::String]);
        let found = self.1.iter().find(|(name, _)| Some(*name) == word);
        *(self.0)(settings) =
            found.map(|(_, value)| *value).ok_or_else(|| format!("one of {}", self.words().join(", ")))?;
        Ok(())
    }

    fn literal(&self, settings: &mut Settings) -> String {
        let value = *(self.0)(settings);
        quote(self.1.iter().find(|(_, of)| *of == value).map_or("", |(name, _)| *name))
    }

    fn words(&self) -> Vec<&'static str> {
        self.1.iter().map(|(name, _)| *name).collect()
    }
}

/// The one text that was given, where its type is right.
fn one<'a>(given: &'a Given, kinds: &[Kind]) -> Option<&'a str> {
    match given.texts.as_slice() {
        [text] if given.kind == Kind::Untyped || kinds.contains(&given.kind) => Some(text),
        _ => None,
    }
}
