//! How a page has changed since its last visit, as its record says it.

use serde::{Deserialize, Serialize};

use super::page_change::PageChange;

/// What has become of a page since its last visit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Recrawled {
    /// How it compares.
    pub change: PageChange,
    /// When the body was fetched that it was compared with. `null` for a page that is new.
    #[cfg_attr(feature = "cli", schemars(extend("format" = "date-time")))]
    pub since: Option<String>,
}
