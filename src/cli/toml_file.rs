//! Reads `crawler.toml`: each key and value, with its place. The one door to the TOML parser.

use std::ffi::OsString;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A line and column of a file, both from 1; columns count characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FilePlace {
    pub(super) file: Arc<str>,
    pub(super) line: usize,
    pub(super) column: usize,
}

impl fmt::Display for FilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// One `key = value` of the file. The value may be a table where none is expected.
#[derive(Debug)]
pub(super) struct TomlEntry {
    /// Dotted, section first.
    pub(super) key: String,
    /// Where the key stands.
    pub(super) key_at: FilePlace,
    /// Where the value stands.
    pub(super) value_at: FilePlace,
    pub(super) given: Given,
    /// The rule that it belongs to, if any; its key is then only a name.
    pub(super) rule: Option<RuleName>,
}

/// A table in a section of rules.
#[derive(Clone, Debug)]
pub(super) struct RuleName {
    pub(super) section: &'static str,
    pub(super) name: String,
    pub(super) at: FilePlace,
}

/// The sections whose tables are rules.
pub(super) const HOSTS: &str = "hosts";
pub(super) const GROUPS: &str = "groups";
pub(super) const EXTRACT: &str = "extract";

/// Reads the entries of a file in order, or says where it is not TOML.
pub(super) fn entries(file: &str, text: &str) -> Result<Vec<TomlEntry>, Vec<String>> {
    let places = Places { file: file.into(), text };
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let place = |error: &toml::de::Error| places.at(error.span().map_or(0, |span| span.start));
        return Err(errors.iter().map(|error| format!("{}: {}", place(error), error.message())).collect());
    }
    let mut entries = Vec::new();
    for (section, value) in table.get_ref() {
        let name = section.get_ref();
        let DeValue::Table(keys) = value.get_ref() else {
            entries.push(places.entry(name.to_string(), section.span(), value));
            continue;
        };
        for (key, value) in keys {
            let section = [HOSTS, GROUPS, EXTRACT].into_iter().find(|section| section == name);
            if let (Some(section), DeValue::Table(said)) = (section, value.get_ref()) {
                let rule = RuleName { section, name: key.get_ref().to_string(), at: places.at(key.span().start) };
                entries.extend(said.iter().map(|(key, value)| TomlEntry {
                    rule: Some(rule.clone()),
                    ..places.entry(key.get_ref().to_string(), key.span(), value)
                }));
            } else {
                entries.push(places.entry(format!("{name}.{}", key.get_ref()), key.span(), value));
            }
        }
    }
    entries.sort_by_key(|entry| (entry.key_at.line, entry.key_at.column));
    Ok(entries)
}

/// Sections that came as JSON, as a file's text; or why they cannot be one: TOML has no null.
pub(super) fn of_json(sections: &impl serde::Serialize) -> Result<String, String> {
    toml::to_string(sections).map_err(|error| format!("null cannot stand in settings: leave the key out ({error})"))
}

/// A text as a TOML string.
pub(super) fn quote(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// Turns byte offsets of a text into places.
struct Places<'a> {
    file: Arc<str>,
    text: &'a str,
}

impl Places<'_> {
    fn at(&self, offset: usize) -> FilePlace {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_starts = before.rfind('\n').map_or(0, |newline| newline + 1);
        FilePlace {
            file: Arc::clone(&self.file),
            line: before.matches('\n').count() + 1,
            column: before[line_starts..].chars().count() + 1,
        }
    }

    fn entry(&self, key: String, key_span: Range<usize>, value: &Spanned<DeValue<'_>>) -> TomlEntry {
        TomlEntry {
            key,
            key_at: self.at(key_span.start),
            value_at: self.at(value.span().start),
            given: given(value.get_ref(), self.text.get(value.span()).unwrap_or_default()),
            rule: None,
        }
    }
}

fn given(value: &DeValue<'_>, spelled: &str) -> Given {
    let (kind, texts) = match value {
        DeValue::Array(items) => {
            let texts: Option<Vec<_>> = items.iter().map(|item| item.get_ref().as_str().map(OsString::from)).collect();
            (if texts.is_some() { GivenKind::Array } else { GivenKind::Other }, texts.unwrap_or_default())
        }
        DeValue::Boolean(truth) => (GivenKind::Boolean, vec![truth.to_string().into()]),
        DeValue::Datetime(_) | DeValue::Table(_) => (GivenKind::Other, Vec::new()),
        DeValue::Float(number) => (GivenKind::Float, vec![number.as_str().into()]),
        DeValue::Integer(number) => {
            let decimal = u64::from_str_radix(number.as_str(), number.radix()).map(|number| number.to_string());
            (GivenKind::Integer, vec![decimal.unwrap_or_else(|_| number.to_string()).into()])
        }
        DeValue::String(text) => (GivenKind::String, vec![text.to_string().into()]),
    };
    Given { kind, texts, spelled: spelled.lines().next().unwrap_or_default().to_owned() }
}

/// The user's value for a setting: one text, or several for a list.
#[derive(Clone, Debug)]
pub(super) struct Given {
    /// Its type in its source.
    pub(super) kind: GivenKind,
    /// Its text or texts, without quotes; a path need not be UTF-8.
    pub(super) texts: Vec<OsString>,
    /// Its spelling in its source, for messages.
    pub(super) spelled: String,
}

/// The type of a given value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GivenKind {
    Array,
    Boolean,
    Float,
    Integer,
    /// A date, a table, or an array of these.
    Other,
    String,
    /// From a flag or the environment, where everything is text.
    Untyped,
}
