//! How a shard remembers: the code of each layout. The rest of `seen` calls [`filter`], which has one function for each task of a layer,
//! and passes the call on to the layout.
//!
//! | file | layouts |
//! |---|---|
//! | [`bloom`] | blocked, and the filters of verified; standard, partitioned, counting |
//! | [`lines`] | exact |
//! | [`quotient`] | quotient |
//! | [`verified`], with [`run`] | the lookup on disk of verified |
//!
//! [`cache_lines`] is the memory of the layouts with lines, and the operations on a line's bits.
//!
//! [`window`] has the questions to a layer and its answers. A [`ProbeWindow`](window::ProbeWindow) is a piece of a batch: while it is
//! tested, the memory of the next one is fetched. To insert a batch, each layer is called for a whole window, which is a loop without
//! calls.

mod bloom;
pub(in crate::seen) mod cache_lines;
pub(in crate::seen) mod filter;
pub(in crate::seen) mod lines;
pub(in crate::seen) mod quotient;
pub(in crate::seen) mod run;
pub(in crate::seen) mod verified;
pub(in crate::seen) mod window;
