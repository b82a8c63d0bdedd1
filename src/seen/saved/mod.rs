//! A set outside its memory and its shape: in a file ([`snapshot`]), joined with another ([`union`]), in another number of shards
//! ([`reshard`]). All of it is `impl SeenSet`; the code that answers tests depends on none of it.

mod lines;
mod reshard;
mod snapshot;
mod union;
