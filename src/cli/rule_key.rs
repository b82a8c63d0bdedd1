//! A key of a rule for a host or a group: its value, or why it is refused.

use super::field::one;
use super::given::Given;
use super::value::Value;

/// Why a key of a rule is refused.
#[derive(Debug)]
pub(super) enum Refused {
    /// There is no such key. Holds the key that may have been meant.
    Key(Option<&'static str>),
    /// The value is invalid, and may be a secret. Holds the expected form.
    Secret(String),
    /// The value is invalid. Holds the expected form.
    Value(String),
}

/// The given value.
pub(super) fn value<T: Value>(given: &Given) -> Result<T, Refused> {
    one(given, T::KINDS).and_then(T::of).ok_or_else(|| Refused::Value(T::EXPECTED.to_owned()))
}
