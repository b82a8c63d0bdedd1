//! A set outside of its memory and its shape: in a file ([`snapshot`]), joined with another
//! ([`union`]), in another number of shards ([`reshard`]). All of it is `impl SeenSet`; nothing
//! that answers a question names this room.

mod lines;
mod reshard;
mod snapshot;
mod union;
