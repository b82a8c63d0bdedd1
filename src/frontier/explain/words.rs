//! Numbers in words.

use std::fmt;

/// A small probability.
pub(crate) struct Chance(pub(crate) f64);

impl fmt::Display for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The estimate for a nearly empty filter is no more precise than that.
        if self.0 < 1e-9 { f.write_str("less than 1e-9") } else { write!(f, "{:.0e}", self.0) }
    }
}

pub(crate) fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}
