//! Why options are refused.

use crate::seen::SeenError;

/// Why no frontier can be made with these options. All are checked before anything is made, and the first that does not fit is told.
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
    #[error("{table}.{name:?}{}{key} = {value}: {reason}", if key.is_empty() { "" } else { "." })]
    Rule {
        /// `hosts` or `groups`.
        table: String,
        /// The name of the host or the group.
        name: String,
        /// What of the rule; empty for its name.
        key: String,
        /// What was given.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The seen set's options.
    #[error("seen.{0}")]
    Seen(#[from] SeenError),
}
