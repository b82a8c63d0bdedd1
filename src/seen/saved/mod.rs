//! A set in a file, two sets as one, one set in another number of shards.

mod reshard;
mod snapshot;
mod union;
