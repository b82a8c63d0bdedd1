//! Has this URL been seen? Asked and remembered in one act, by shards with a lock each.
//!
//! ```
//! use crawler::address::FingerprintKey;
//! use crawler::seen::{SeenOptions, SeenSet, Sighting};
//!
//! let seen = SeenSet::new(&SeenOptions::default())?;
//! let key = FingerprintKey::from_u64(7);
//! assert_eq!(seen.insert(key.fingerprint("https://example.org/")), Sighting::New);
//! assert_eq!(seen.insert(key.fingerprint("https://example.org/")), Sighting::Seen);
//! assert_eq!(seen.statistics().merged.inserted, 1);
//! # Ok::<(), crawler::seen::SeenError>(())
//! ```
//!
//! A fingerprint's leading bits choose its shard. The verdict and the bits change together, under that shard's lock: of any
//! number of threads that bring one fingerprint, one hears [`Sighting::New`].
//!
//! No I/O is done here but by the verified layout, in the directory that its options name, and in one file of ours (`run.rs`).

mod audit;
mod error;
mod groups;
mod layouts;
mod maths;
mod options;
mod probes;
mod recent;
mod saved;
mod set;
mod shard;
mod statistics;

pub use audit::AuditStatistics;
pub use error::{SeenError, SnapshotError};
pub(crate) use layouts::run::is_leftover;
pub use maths::plan::{PlanRow, plan};
pub use maths::sizing::Sizing;
pub use options::{Layout, OnFull, SeenOptions};
pub use set::{Removal, SeenSet, Sighting};
pub use statistics::{SeenStatistics, ShardStatistics, VerifiedStatistics};
