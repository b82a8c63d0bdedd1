//! How `crawler broken` prints.

/// How broken links are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BrokenForm {
    /// A table with a row for each page that links there (RFC 4180).
    Csv,
    /// A JSON object per line.
    Jsonl,
    /// For people: the status and the URL, and the pages below.
    Text,
}
