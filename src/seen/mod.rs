//! Has this URL been seen? Asked and remembered in one act, by shards with a lock each.

mod options;
mod set;
mod statistics;

pub use options::{Layout, SeenError, SeenOptions};
pub use set::{SeenSet, Sighting};
pub use statistics::{SeenStatistics, ShardStatistics};
