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
mod blocked;
mod error;
mod exact;
mod filter;
mod flat;
mod groups;
mod growth;
mod interval;
mod lanes;
mod load;
mod options;
mod plan;
mod probes;
mod recent;
mod reshard;
mod run;
mod set;
mod shard;
mod sizing;
mod snapshot;
mod statistics;
mod union;
mod verified;
mod window;

pub use audit::AuditStatistics;
pub use error::{SeenError, SnapshotError};
pub use options::{Layout, OnFull, SeenOptions};
pub use plan::{PlanRow, plan};
pub(crate) use run::is_leftover;
pub use set::{Removal, SeenSet, Sighting};
pub use sizing::Sizing;
pub use statistics::{SeenStatistics, ShardStatistics, VerifiedStatistics};
