//! The URL-seen test: has this URL been seen? The question is answered and the URL remembered in one act, in shards with a lock each.
//!
//! ```
//! use crawler_frontier::address::FingerprintKey;
//! use crawler_frontier::seen::{SeenOptions, SeenSet, Sighting};
//!
//! let seen = SeenSet::new(&SeenOptions::default())?;
//! let key = FingerprintKey::from_u64(7);
//! assert_eq!(seen.insert(key.fingerprint("https://example.org/")), Sighting::New);
//! assert_eq!(seen.insert(key.fingerprint("https://example.org/")), Sighting::Seen);
//! assert_eq!(seen.statistics().merged.inserted, 1);
//! # Ok::<(), crawler_frontier::seen::SeenError>(())
//! ```
//!
//! # The life of a fingerprint
//!
//! ```text
//!  64 bits ─▶ probes: which shard? ─▶ its lock ─▶ the layers: a filter each ─▶ verified, if any ─▶ audit ─▶ New or Seen
//!                                                 newest first, then older     looked up on disk   1 in 1,024
//! ```
//!
//! The leading bits choose the shard, so equal URLs always meet at the same lock. Under it the verdict and the bits change together: if
//! several threads bring one fingerprint, exactly one is told [`Sighting::New`]. A fingerprint that was inserted is never `New`
//! again. A new fingerprint is taken for seen at the rate that the set was made for; in the exact layout almost never, and in the verified
//! one never.
//!
//! A batch is sorted by shard, so that each shard is locked once, and tested in windows: while one window is tested, the memory of the next
//! is being fetched. That makes a batch several times faster than single tests. A short batch, such as the links of a page, has few
//! fingerprints for each shard. Where the shards' memory is, is known without their locks, so that of the next shards is fetched while one is
//! tested.
//!
//! # Layouts
//!
//! A [`Layout`] is how a shard remembers; its page says what each layout costs. A layout's name, number and shape are in `options.rs`, its
//! code in `layouts`, and its size in `sizing.rs`. `growth.rs` plans the layers of a shard. Only `probes.rs` decides how the 64 bits are
//! spent.
//!
//! # Locks
//!
//! Each shard has a lock, and no thread holds two. A thread that finds a shard of its batch locked goes on with the others, and waits for that
//! shard at the end. [`is_full`](SeenSet::is_full) and [`check`](SeenSet::check) read a flag and lock nothing. While a snapshot is written,
//! one shard is locked at a time.
//!
//! # Growth
//!
//! All layers of a shard are planned when the set is made. When the newest layer has answered `New` as often as its plan says, the next is
//! added, larger and more exact, so that the combined rate stays below the target. Bits are never moved. The lines of the exact layout are
//! split instead, some with each new URL, so it always has one layer. A set that must not grow reports that it is [full](SeenSet::is_full).
//!
//! # Audit
//!
//! The filter's false positives are not only estimated. Up to 57,344 URLs, every fingerprint is also kept exactly, and each answer is
//! compared. Beyond that, only the fingerprints of a sample are kept; its share is halved as the set grows, down to one in 1,024 by
//! default. [`AuditStatistics`] has the measured rate, and how far it may be from the rate of all URLs.
//!
//! # Snapshots
//!
//! [`SeenSet::save`] writes options, counters, cells and the audit, in frames with a checksum each. It does not sync, so the caller decides
//! when the snapshot is durable. A snapshot is of one moment for each shard, not for the set. If the set was in use, everything that was
//! inserted since must be inserted again after loading, as a resume does from the journal. The verified layout's runs on disk are no part
//! of this: they have no names, are never synced, and are written anew when a snapshot is loaded.
//!
//! `snapshot.rs` saves, loads and unites sets, and `reshard.rs` gives a set another number of shards. Both are `impl SeenSet`; the code
//! that answers tests depends on neither.
//!
//! Only the verified layout opens files, in the directory that its options name; the code is in `layouts/run.rs`.

mod audit;
pub(crate) mod firsts;
mod groups;
pub(crate) mod growth;
mod hints;
mod layouts;
mod options;
mod probes;
mod recent;
mod reshard;
mod set;
mod shard;
mod sizing;
mod snapshot;
mod statistics;

pub(crate) use firsts::Firsts;
pub use layouts::window::{Removal, Sighting};
pub use options::{Layout, OnFull, SeenError, SeenOptions, SnapshotError};
pub use set::SeenSet;
pub use sizing::Sizing;
pub use statistics::{AuditStatistics, GenerationStatistics, SeenStatistics, ShardStatistics, VerifiedStatistics};
