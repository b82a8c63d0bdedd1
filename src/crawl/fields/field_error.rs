//! Why a field cannot be taken.

/// Why a field cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("extract.{name:?}.{key} = {value:?}: {reason}")]
#[non_exhaustive]
pub struct FieldError {
    /// The field's name.
    pub name: String,
    /// What of its rule: `select` or `regex`.
    pub key: &'static str,
    /// What was given.
    pub value: String,
    /// What is wrong with it, and at which character.
    pub reason: String,
}
