//! How `crawler broken` prints.

/// How broken links are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BrokenForm {
    /// A table with a row for each page that has one (RFC 4180).
    Csv,
    /// A JSON object a line.
    Jsonl,
    /// For people: the status and the URL, and below it the pages.
    Text,
}
