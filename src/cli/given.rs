//! What somebody gave for a setting, in a file, in the environment or as a flag, before it has a type.

use std::ffi::OsString;

/// What somebody gave for a setting: one text, or several for a list.
#[derive(Clone, Debug)]
pub(super) struct Given {
    /// What it was in the place it stood.
    pub(super) kind: GivenKind,
    /// Its text or texts, without quotes; a path need not be UTF-8.
    pub(super) texts: Vec<OsString>,
    /// As it was spelled there, for messages.
    pub(super) spelled: String,
}

/// The type of a given value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GivenKind {
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
