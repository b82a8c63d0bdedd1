//! What `crawler diff` prints.

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiffForm {
    /// Counts and numbers as JSON.
    Json,
    /// Each page that differs, a line each.
    Pages,
    /// Counts and numbers, for people.
    Text,
}
