//! Why a field's rule is invalid.

/// Why a field's rule is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("extract.{name:?}.{key} = {value:?}: {reason}")]
#[non_exhaustive]
pub struct FieldError {
    /// The field's name.
    pub name: String,
    /// The key of its rule: `select` or `regex`.
    pub key: &'static str,
    /// The value given.
    pub value: String,
    /// What is wrong with it, and at which character.
    pub reason: String,
}
