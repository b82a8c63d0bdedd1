//! Why options are refused.

use crate::seen::SeenError;

/// Why no frontier can be made with these options. All are checked before anything is made, and the first invalid one is reported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// An option is out of its range or does not parse.
    #[error("{option} = {value}: {reason}")]
    Option {
        /// The option, by its path: `scope.include`.
        option: &'static str,
        /// What was given.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A rule for a host or a group is out of its range or does not parse.
    #[error(transparent)]
    Rule(Box<RuleError>),
    /// The seen set's options.
    #[error("seen.{0}")]
    Seen(#[from] SeenError),
}

/// An invalid rule for a host or a group.
#[derive(Debug, thiserror::Error)]
#[error("{table}.{name:?}{}{key} = {value}: {reason}", if key.is_empty() { "" } else { "." })]
#[non_exhaustive]
pub struct RuleError {
    /// `hosts` or `groups`.
    pub table: String,
    /// The name of the host or the group.
    pub name: String,
    /// The key within the rule; empty for its name.
    pub key: String,
    /// What was given.
    pub value: String,
    /// What is wrong with it.
    pub reason: String,
}
