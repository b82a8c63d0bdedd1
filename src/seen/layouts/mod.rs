//! How a shard remembers. [`filter`] is the door: it has one function for each thing that a layer must do, and knows which file implements
//! it for each layout.
//!
//! | file | layouts |
//! |---|---|
//! | [`blocked`], with [`lanes`] | blocked, and the filters of verified |
//! | [`flat`] | standard, partitioned, counting |
//! | [`lines`] | exact |
//! | [`verified`], with [`run`] | the lookup on disk of verified |
//!
//! [`cache_lines`] is the memory of the layouts with lines. [`held`] keeps a small number of whole fingerprints: the sample of the
//! [audit](super::audit), and verified's that are not on disk yet.
//!
//! A [`window`] is a piece of a batch: while it is tested, the memory of the next one is fetched. To insert a batch, each layer is called
//! for a whole window, which is a loop without calls.

mod blocked;
mod cache_lines;
pub(in crate::seen) mod filter;
mod flat;
pub(in crate::seen) mod held;
mod lanes;
pub(in crate::seen) mod lines;
pub(in crate::seen) mod run;
pub(in crate::seen) mod verified;
pub(in crate::seen) mod window;
