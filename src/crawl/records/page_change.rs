//! How a page compares with its last visit.

use serde::{Deserialize, Serialize};

/// How a page compares with its last visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PageChange {
    /// It has another body, or redirects elsewhere.
    Changed,
    /// It was there, and this time nobody can tell: no whole response, or a status that says nothing of the page.
    Failed,
    /// It was there, and now is a 404 or 410.
    Gone,
    /// It was not known.
    New,
    /// A 304, or the same body.
    Unchanged,
}

impl PageChange {
    /// Its name, as records have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Failed => "failed",
            Self::Gone => "gone",
            Self::New => "new",
            Self::Unchanged => "unchanged",
        }
    }
}
