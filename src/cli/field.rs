//! The field of a setting: where its value lives, and how it is read from text and written.

use std::ffi::OsStr;
use std::path::Path;

use super::settings::AllSettings;
use super::toml_file::{Given, GivenKind, quote};
use super::value::{SIZE, Value};
use crate::seen::SeenOptions;

/// A setting's place in [`AllSettings`], read and written without its type.
pub(super) trait SettingField: Sync {
    /// Sets the given text, or returns what was expected.
    fn set(&self, settings: &mut AllSettings, given: &Given) -> Result<(), String>;

    /// The value as written in a TOML file. Takes `&mut` because one function finds the place for reading and for
    /// writing.
    fn literal(&self, settings: &mut AllSettings) -> String;

    /// Makes relative paths start at this directory.
    fn place(&self, _: &mut AllSettings, _directory: &Path) {}

    /// Whether it may be given several times.
    fn is_list(&self) -> bool {
        false
    }

    /// Whether a refused text may be a secret.
    fn may_be_secret(&self) -> bool {
        false
    }

    /// The words that it accepts; empty if it accepts any text.
    fn words(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// The place of a `T`.
type Place<T> = fn(&mut AllSettings) -> &mut T;

/// A value.
pub(super) struct One<T>(pub(super) Place<T>);

/// A value, or the word for none.
pub(super) struct Maybe<T: 'static>(pub(super) Place<Option<T>>, pub(super) &'static str);

/// Several values. When any are given, they replace those of a lower layer.
pub(super) struct Many<T: 'static>(pub(super) Place<Vec<T>>);

/// A number of bytes.
pub(super) struct Bytes<T: 'static>(pub(super) Place<T>);

/// A number of bytes, or the word for none.
pub(super) struct MaybeBytes(pub(super) Place<Option<u64>>, pub(super) &'static str);

/// The seen set's capacity, or the word for an unknown one, with which the set starts small and grows.
pub(super) struct Capacity;

impl Capacity {
    const UNKNOWN: &str = "auto";
}

/// A value that is one of some words. If a value has several words, the first one is written.
pub(super) struct Choice<T: 'static>(pub(super) Place<T>, pub(super) &'static [(&'static str, T)]);

impl<T: Value> SettingField for One<T> {
    fn set(&self, settings: &mut AllSettings, given: &Given) -> Result<(), String> {
        *(self.0)(settings) = one(given, T::KINDS).and_then(T::of).ok_or_else(|| T::EXPECTED.to_owned())?;
        Ok(())
    }

    fn literal(&self, settings: &mut AllSettings) -> String {
        (self.0)(settings).literal()
    }

    fn place(&self, settings: &mut AllSettings, directory: &Path) {
        (self.0)(settings).place(directory);
    }
}

impl<T: Value> SettingField for Maybe<T> {
    fn set(&self, settings: &mut AllSettings, given: &Given) -> Result<(), String> {
        *(self.0)(settings) = if is_word(given, self.1) {
            None
        } else {
            let value = one(given, T::KINDS).and_then(T::of);
            Some(value.ok_or_else(|| format!("{}, or {:?}", T::EXPECTED, self.1))?)
        };
        Ok(())
    }

    fn literal(&self, settings: &mut AllSettings) -> String {
        (self.0)(settings).as_ref().map_or_else(|| quote(self.1), T::literal)
    }

    fn place(&self, settings: &mut AllSettings, directory: &Path) {
        if let Some(value) = (self.0)(settings) {
            value.place(directory);
        }
    }

    fn may_be_secret(&self) -> bool {
        T::MAY_BE_SECRET
    }
}

impl<T: Value> SettingField for Many<T> {
    fn set(&self, settings: &mut AllSettings, given: &Given) -> Result<(), String> {
        if !matches!(given.kind, GivenKind::Array | GivenKind::Untyped) {
            return Err("a list of texts, such as [\"a\", \"b\"]".to_owned());
        }
        *(self.0)(settings) = list(given).ok_or_else(|| format!("a list, each {}", T::EXPECTED))?;
        Ok(())
    }

    fn literal(&self, settings: &mut AllSettings) -> String {
        list_literal((self.0)(settings))
    }

    fn place(&self, settings: &mut AllSettings, directory: &Path) {
        for value in (self.0)(settings) {
            value.place(directory);
        }
    }

    fn is_list(&self) -> bool {
        true
    }
}

/// The description of a number of bytes, for errors.
const EXPECTED_BYTES: &str = "a size such as 10MiB, 64kB or 8192 (bytes)";

/// A number of bytes.
pub(super) fn bytes(given: &Given) -> Option<u64> {
    text(given, &[GivenKind::String, GivenKind::Integer]).and_then(|text| SIZE.parse(text))
}

impl SettingField for MaybeBytes {
    fn set(&self, settings: &mut AllSettings, given: &Given) -> Result<(), String> {
        *(self.0)(settings) = if is_word(given, self.1) {
            None
        } else {
            Some(bytes(given).ok_or_else(|| format!("{EXPECTED_BYTES}, or {:?}", self.1))?)
        };
        Ok(())
    }

    fn literal(&self, settings: &mut AllSettings) -> String {
        (self.0)(settings).map_or_else(|| quote(self.1), |bytes| quote(&SIZE.spell(bytes)))
    }
}

impl<T: Copy + TryFrom<u64> + TryInto<u64> + Sync> SettingField for Bytes<T> {
    fn set(&self, settings: &mut AllSettings, given: &Given) -> Result<(), String> {
        *(self.0)(settings) = bytes(given).and_then(|bytes| bytes.try_into().ok()).ok_or(EXPECTED_BYTES)?;
        Ok(())
    }

    fn literal(&self, settings: &mut AllSettings) -> String {
        quote(&SIZE.spell((*(self.0)(settings)).try_into().unwrap_or(u64::MAX)))
    }
}

impl SettingField for Capacity {
    fn set(&self, settings: &mut AllSettings, given: &Given) -> Result<(), String> {
        let seen = &mut settings.crawl.frontier.seen;
        seen.open_ended = is_word(given, Self::UNKNOWN);
        let known = if seen.open_ended { Some(SeenOptions::default().capacity) } else { count(given) };
        seen.capacity = known.ok_or_else(|| format!("{}, or {:?}", u64::EXPECTED, Self::UNKNOWN))?;
        Ok(())
    }

    fn literal(&self, settings: &mut AllSettings) -> String {
        let seen = &settings.crawl.frontier.seen;
        if seen.open_ended { quote(Self::UNKNOWN) } else { seen.capacity.literal() }
    }
}

impl<T: Copy + PartialEq + Sync> SettingField for Choice<T> {
    fn set(&self, settings: &mut AllSettings, given: &Given) -> Result<(), String> {
        let word = text(given, &[GivenKind::String]);
        let found = self.1.iter().find(|(name, _)| Some(*name) == word);
        *(self.0)(settings) =
            found.map(|(_, value)| *value).ok_or_else(|| format!("one of {}", self.words().join(", ")))?;
        Ok(())
    }

    fn literal(&self, settings: &mut AllSettings) -> String {
        let value = *(self.0)(settings);
        quote(self.1.iter().find(|(_, of)| *of == value).map_or("", |(name, _)| *name))
    }

    fn words(&self) -> Vec<&'static str> {
        self.1.iter().map(|(name, _)| *name).collect()
    }
}

fn count(given: &Given) -> Option<u64> {
    text(given, u64::KINDS).and_then(u64::parse)
}

/// Whether it is this word.
pub(super) fn is_word(given: &Given, word: &str) -> bool {
    text(given, &[GivenKind::String]) == Some(word)
}

/// The given values, whatever the number of them.
pub(super) fn list<T: Value>(given: &Given) -> Option<Vec<T>> {
    given.texts.iter().map(|text| T::of(text)).collect()
}

/// A list as it is written in a TOML file.
pub(super) fn list_literal<T: Value>(values: &[T]) -> String {
    format!("[{}]", values.iter().map(T::literal).collect::<Vec<_>>().join(", "))
}

/// The given text, if there is exactly one and its type is right.
pub(super) fn one<'a>(given: &'a Given, kinds: &[GivenKind]) -> Option<&'a OsStr> {
    match given.texts.as_slice() {
        [text] if given.kind == GivenKind::Untyped || kinds.contains(&given.kind) => Some(text),
        _ => None,
    }
}

/// The same, if it is UTF-8.
fn text<'a>(given: &'a Given, kinds: &[GivenKind]) -> Option<&'a str> {
    one(given, kinds).and_then(OsStr::to_str)
}
