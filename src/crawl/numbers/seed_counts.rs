//! How many seeds a crawl was given.

use serde::{Deserialize, Serialize};

/// What the user gave to start from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SeedCounts {
    /// Seeds that were queued.
    pub taken: u64,
    /// Lines that were no address, and addresses that were refused or given twice.
    pub refused: u64,
}
