//! How a shard remembers: one file for each way, and what they share.

pub(in crate::seen) mod blocked;
pub(in crate::seen) mod exact;
pub(in crate::seen) mod filter;
pub(in crate::seen) mod flat;
pub(in crate::seen) mod lanes;
pub(in crate::seen) mod run;
pub(in crate::seen) mod verified;
pub(in crate::seen) mod window;
