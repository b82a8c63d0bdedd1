//! What one field of a page is.

use serde::{Deserialize, Serialize};

/// What one field of a page is. In records it is a text, `null` or a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum FieldValue {
    /// All that was found, in the order of the page.
    Many(Vec<String>),
    /// The first that was found, if anything was.
    One(Option<String>),
}
