//! What the user gave for a setting in a file, a variable or a flag, before it is parsed.

use std::ffi::OsString;

/// What the user gave for a setting: one text, or several for a list.
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
