//! How large a filter must be, and what its numbers say. Pure arithmetic over
//! [`Layout`](crate::seen::Layout): nothing here allocates a filter, reads a clock or a file.
//!
//! [`sizing`] turns a number of URLs and a rate into bits and probes, and back; for the blocked layout it needs [`load`], since its lines
//! fill unevenly. [`growth`] plans the layers of a shard with it, and [`plan`] makes a table for people. [`interval`] says how far a
//! measured rate may be from the true one.

pub(in crate::seen) mod arithmetic;
pub(in crate::seen) mod growth;
pub(in crate::seen) mod interval;
mod load;
pub(in crate::seen) mod plan;
pub(in crate::seen) mod sizing;
