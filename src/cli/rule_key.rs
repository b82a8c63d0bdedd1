//! A key of a rule for a host or a group: its value, or why it is refused.

use super::field::one;
use super::given::Given;
use super::value::Value;

/// Why a key of a rule is refused.
#[derive(Debug)]
pub(super) enum Refused {
    /// There is no such key. The one that may have been meant.
    Key(Option<&'static str>),
    /// The value is not what is expected, and may be a secret.
    Secret(String),
    /// The value is not what is expected.
    Value(String),
}

/// The value that is given.
pub(super) fn value<T: Value>(given: &Given) -> Result<T, Refused> {
    one(given, T::KINDS).and_then(T::of).ok_or_else(|| Refused::Value(T::EXPECTED.to_owned()))
}
